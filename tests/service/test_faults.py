"""A service that is stopped, whose store is restarted, or whose processes die: nothing is lost, and nothing made up."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from crawldedup import Deduplicator
from tests.processes import is_there
from tests.servers import RedisServer, wait_until
from tests.service.serving import ServiceProcess, story

if TYPE_CHECKING:
    from collections.abc import Iterator

CLIENTS = 6


class Load:
    """Clients that check a page and its copy, one after the other, until they are told to stop."""

    def __init__(self, service: ServiceProcess) -> None:
        self.answers: dict[str, tuple[int, dict[str, Any]]] = {}
        self.statuses: Counter[int] = Counter()
        self.lost: list[str] = []
        self._service = service
        self._done = threading.Event()
        self._threads = [threading.Thread(target=self._ask, args=(number,)) for number in range(CLIENTS)]

    def __enter__(self) -> Load:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *raised: object) -> None:
        self._done.set()
        for thread in self._threads:
            thread.join()

    def _ask(self, client: int) -> None:
        with httpx.Client(base_url=self._service.url, timeout=30) as http:
            number = 0
            while not self._done.is_set():
                for copy in ("original", "copy"):
                    url = f"https://{client}.example/{number}/{copy}"
                    try:
                        answer = http.post("/v1/check", json={"url": url, "text": story(1000 * client + number)})
                    except (httpx.ConnectError, httpx.RemoteProtocolError, httpx.ReadError, httpx.WriteError):
                        self.lost.append(url)
                        time.sleep(0.02)
                        continue
                    self.statuses[answer.status_code] += 1
                    self.answers[url] = answer.status_code, answer.json()
                number += 1

    def wait_for(self, verdicts: int) -> None:
        before = self.statuses[200]
        wait_until(lambda: self.statuses[200] >= before + verdicts)

    def kinds(self) -> Iterator[tuple[str | None, str | None]]:
        """Yield what a page and its copy were called; None for what was not answered with a verdict."""
        for url in list(self.answers):
            if url.endswith("/original"):
                both = [self.answers.get(each, (0, {}))[1] for each in (url, url.replace("/original", "/copy"))]
                yield both[0].get("kind"), both[1].get("kind")


@pytest.mark.parametrize("workers", ["1", pytest.param("2", marks=pytest.mark.nightly)])
def test_nothing_is_lost_when_the_service_is_stopped_under_load(workers: str, tmp_path: Path) -> None:
    store = f"sqlite:///{tmp_path / 'index.sqlite'}"
    with ServiceProcess("--store", store, "--workers", workers) as service, Load(service) as load:
        load.wait_for(100)
        assert service.stop() in (0, -signal.SIGTERM)
        assert not load._done.is_set()
    # What was answered is remembered, and what was not answered has not been begun.
    assert set(load.statuses) == {200}
    with Deduplicator(store) as dedup:
        known = {match.url for page in load.answers for match in dedup.find(text=_text_of(page)) if match.exact}
        assert {url for url, (_, verdict) in load.answers.items() if verdict["kind"] == "new"} == known
        assert dedup.pages == len(known)
        assert dedup.info().pages == len(known)


def _text_of(url: str) -> str:
    client, number = url.removeprefix("https://").split("/")[:2]
    return story(1000 * int(client.partition(".")[0]) + int(number))


def test_while_redis_restarts_there_are_refusals_and_no_wrong_verdicts() -> None:
    lasting = RedisServer("--appendonly", "yes", "--appendfsync", "always")
    with lasting as server, ServiceProcess("--store", server.url) as service, Load(service) as load:
        load.wait_for(50)
        server.stop()
        wait_until(lambda: load.statuses[503] > CLIENTS)
        assert service.http.get("/health/live").status_code == 200
        refused = service.http.get("/health/ready")
        assert (refused.status_code, refused.headers["retry-after"].isdecimal()) == (503, True)
        assert server.url not in refused.text
        server.start()
        load.wait_for(50)
        assert service.http.get("/health/ready").status_code == 200
    assert set(load.statuses) == {200, 503}
    assert not load.lost
    answered = Counter(load.kinds())
    # A page whose answer was lost may have been remembered, so only its copy may be a duplicate or not.
    assert set(answered) <= {
        ("new", "exact_duplicate"),
        ("new", None),
        (None, "new"),
        (None, "exact_duplicate"),
        (None, None),
    }
    assert answered["new", "exact_duplicate"] >= 40


@pytest.mark.usefixtures("own_keys")
def test_an_index_that_another_begins_again_has_another_key_and_nobody_notices() -> None:
    with RedisServer() as server, ServiceProcess("--store", server.url) as service:
        for page in ({"text": story(1)}, {"html": f"<p>{story(1)}"}, {"text": story(1)}):
            assert service.check("https://a.example/1", **page)["kind"] == "new"
            assert service.check("https://a.example/2", **page)["kind"] == "exact_duplicate"
            server.client.flushall()
            with Deduplicator(server.url) as other:
                other.check("https://b.example/", text=story(2))


@pytest.mark.nightly
def test_a_worker_that_dies_is_replaced_and_the_index_stays(tmp_path: Path) -> None:
    store = f"sqlite:///{tmp_path / 'index.sqlite'}"
    with ServiceProcess("--store", store, "--workers", "2") as service:
        service.check("https://a.example/1", text=story(1))
        workers = _workers(service)
        assert len(workers) == 2
        os.kill(workers[0], signal.SIGKILL)
        wait_until(lambda: len(_workers(service)) == 2 and workers[0] not in _workers(service))
        wait_until(lambda: _is_known(service))
    # The index is left, so that the next crawler does not take this one to be at work.
    with Deduplicator(store) as dedup:
        assert dedup.check("https://a.example/1", text=story(1)).kind == "revisit"


@pytest.mark.nightly
def test_workers_end_with_a_parent_that_is_killed(tmp_path: Path) -> None:
    with ServiceProcess("--store", f"sqlite:///{tmp_path / 'index.sqlite'}", "--workers", "2") as service:
        workers = _workers(service)
        assert len(workers) == 2
        service.stop(signal.SIGKILL)
        wait_until(lambda: not any(is_there(worker) for worker in workers))


def _workers(service: ServiceProcess) -> list[int]:
    children = Path(f"/proc/{service.process.pid}/task/{service.process.pid}/children").read_text().split()
    return [int(each) for each in children if b"spawn_main" in Path(f"/proc/{each}/cmdline").read_bytes()]


def _is_known(service: ServiceProcess) -> bool:
    with contextlib.suppress(httpx.TransportError):
        return bool(service.check("https://a.example/1", text=story(1))["kind"] == "revisit")
    return False
