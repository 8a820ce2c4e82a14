from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import pytest

from crawldedup.errors import ConfigurationError, StoreUnavailableError
from crawldedup.journal import crawls, journals, streams
from crawldedup.journal.records import line_of, record_in
from crawldedup.journal.streams import CRAWLS, JOURNAL_ACL_RULES, StreamJournal, keys_of
from crawldedup.stores.redis.client import ACL_RULES
from tests.journal.lines import END, START, header, page
from tests.servers import RedisServer, free_port, wait_until

if TYPE_CHECKING:
    from tests.servers import ClusterSetup


@pytest.fixture(autouse=True)
def quick_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "_BATCH_SECONDS", 0.05)


def write(url: str, crawl: str, *records: dict[str, Any], writer: str = "host-1", started: float = START) -> None:
    journal = StreamJournal(url, header(crawl, started=started), writer)
    for record in records:
        journal.write(line_of(record))
    journal.close()
    assert (journal.lost, journal.trouble) == (0, None)


def read(url: str, crawl: str | None = None) -> list[list[Any]]:
    """The records of each journal of a crawl."""
    with journals(url, crawl) as paths:
        return [[record_in(line) for line in path.read_bytes().splitlines()] for path in paths]


def states(url: str) -> list[tuple[str, int, int, str]]:
    return [(crawl.name, crawl.processes, crawl.pages, crawl.state) for crawl in crawls(url)]


def check_crawls_of(url: str) -> None:
    write(url, "old", page(0), END)
    write(url, "new", page(1), page(2), started=START + 1)
    write(url, "new", page(3), page(4), END, writer="host-2", started=START + 2)
    assert states(url) == [("new", 2, 4, "running"), ("old", 1, 2, "finished")]
    assert sorted(read(url), key=str) == [
        [header("new", started=START + 1), page(1), page(2)],
        [header("new", started=START + 2), page(3), page(4), END],
    ]
    assert read(url, "old") == [[header("old"), page(0), END]]
    with pytest.raises(ConfigurationError, match=r"there is no crawl 'x' .* there are: new, old$"):
        read(url, "x")


def test_crawls_come_back_as_they_were_written(redis_server: RedisServer) -> None:
    redis_server.client.zadd(CRAWLS, {"forgotten": 1, "expired": time.time()})
    check_crawls_of(redis_server.url)
    assert set(redis_server.client.zrange(CRAWLS, 0, -1)) == {b"expired", b"old", b"new"}
    assert all(0 < int(redis_server.client.ttl(key)) <= streams.TTL_SECONDS for key in keys_of("old"))


@pytest.mark.exhaustive
def test_crawls_come_back_from_a_cluster(cluster: ClusterSetup) -> None:
    check_crawls_of(cluster.url)


def test_a_stream_is_capped_and_keeps_header_and_end(
    redis_server: RedisServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streams, "MOST_LINES", 100)
    write(redis_server.url, "a", *map(page, range(1500)), END)
    write(redis_server.url, "a", *map(page, range(1500)), END, writer="host-2")
    first, second = read(redis_server.url)
    assert first[0] == second[0] == header("a")
    assert len(first) + len(second) < 500
    assert states(redis_server.url) == [("a", 2, 4, "finished")]


def test_a_dead_server_costs_lines_and_no_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "MOST_WAITING", 50)
    journal = StreamJournal(f"redis://:secret@127.0.0.1:{free_port()}/0", header("a"), "host-1")
    for number in range(70):
        journal.write(line_of(page(number)))
    wait_until(lambda: journal.trouble)
    journal.close()
    assert journal.lost == 70
    assert "cannot be used" in (journal.trouble or "")
    assert "secret" not in (journal.trouble or "")
    with pytest.raises(StoreUnavailableError):
        crawls(f"redis://127.0.0.1:{free_port()}/0")


def test_a_server_that_comes_late_gets_what_waits() -> None:
    port = free_port()
    journal = StreamJournal(f"redis://127.0.0.1:{port}/0", header("a"), "host-1")
    journal.write(line_of(page(1)))
    wait_until(lambda: journal.trouble)
    with RedisServer(port=port) as server:
        journal.write(line_of(page(2)))
        wait_until(lambda: server.client.xlen(keys_of("a")[0]) == 2)
        journal.write(line_of(END))
        journal.close()
        assert journal.lost == 0
        assert read(server.url) == [[header("a"), page(1), page(2), END]]


@pytest.mark.exhaustive
def test_a_silent_server_makes_nobody_wait() -> None:
    with RedisServer() as server, server.frozen():
        journal = StreamJournal(server.url, header("a"), "host-1")
        for number in range(1000):
            journal.write(line_of(page(number)))
        wait_until(lambda: journal.trouble)
        journal.close()
    assert journal.lost == 1000


def test_a_full_server_and_a_foreign_key_cost_lines_only(redis_server: RedisServer) -> None:
    redis_server.client.set(keys_of("foreign")[0], "x")
    journal = StreamJournal(redis_server.url, header("foreign"), "host-1")
    journal.write(line_of(page(1)))
    journal.close()
    assert "WRONGTYPE" in (journal.trouble or "")
    assert journal.lost == 1
    with redis_server.configured(maxmemory=1):
        journal = StreamJournal(redis_server.url, header("full"), "host-1")
        journal.write(line_of(page(1)))
        journal.close()
    assert "is full" in (journal.trouble or "")
    assert journal.lost == 1


def test_the_rules_for_journals_are_enough(redis_server: RedisServer) -> None:
    rules = (*ACL_RULES, *JOURNAL_ACL_RULES)
    redis_server.client.execute_command("ACL SETUSER", "crawler", "reset", "on", ">pass", *rules)  # type: ignore[no-untyped-call]
    write(redis_server.url.replace("://", "://crawler:pass@"), "a", page(1), END)
    url = redis_server.url.replace("://", "://crawler:pass@")
    assert states(url) == [("a", 1, 2, "finished")]
    assert read(url) == [[header("a"), page(1), END]]
