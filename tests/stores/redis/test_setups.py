"""Redis with TLS, restricted users, replicas, sentinels and clusters: real ones, whose servers are killed."""

from __future__ import annotations

import contextlib
import traceback
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import redis

from crawldedup.errors import ConfigurationError, StoreUnavailableError
from crawldedup.stores.base import AnchorQuery, PageName, Retention, Status
from crawldedup.stores.redis.client import connect, read_url, store_errors
from crawldedup.stores.redis.store import RedisClusterStore, RedisStore
from crawldedup.stores.registry import shown_url
from tests.servers import Certificate, ClusterSetup, RedisServer, SentinelSetup, TlsFront, wait_until
from tests.stores.pages import LAYOUT, checked, name_of, query, random_page, url_key_of
from tests.stores.test_contract import exited_process

RUN_BOOK = (Path(__file__).parents[3] / "docs/how-to/redis.md").read_text("utf-8")
ACL_RULES = RUN_BOOK.partition("```text\n")[2].partition("```")[0].split()
"""As the documentation has them."""

# As the scripts of a store, this one does no harm when the client sends it twice.
WRITING = "redis.call('SET', KEYS[1], ARGV[1]) return redis.call('GET', KEYS[1])"
READING = "return redis.call('GET', KEYS[1])"


def calls(server: RedisServer) -> dict[str, int]:
    """How often a server was asked for which command; `script` for `SCRIPT LOAD`."""
    stats = server.client.info("commandstats")
    return {name.removeprefix("cmdstat_").split("|")[0]: each["calls"] for name, each in stats.items()}


def refusal(url: str, use: Callable[[str], object]) -> str:
    with pytest.raises(ConfigurationError) as caught, store_errors(shown_url(url), lambda: False, "test"):
        use(url)
    return str(caught.value)


def client_of(url: str) -> redis.Redis:
    return connect(read_url(url))


def ping(url: str) -> None:
    with contextlib.closing(client_of(url)) as client:
        client.ping()


def open_cluster(url: str) -> None:
    RedisClusterStore(url, LAYOUT).open()


class TestTls:
    """Of a server that asks for a certificate, too."""

    @pytest.fixture
    def url(self, redis_server: RedisServer, certificate: Certificate) -> Iterator[str]:
        with TlsFront(certificate, redis_server) as front:
            yield f"rediss://localhost:{front.port}/0"

    def test_a_store_works(self, url: str, certificate: Certificate) -> None:
        own = f"ssl_certfile={certificate.file}&ssl_keyfile={certificate.key}"
        with contextlib.closing(RedisStore(f"{url}?ssl_ca_certs={certificate.file}&{own}", LAYOUT)) as store:
            store.open()
            page = query(random_page(np.random.default_rng(1)), "https://example.com/1")
            assert [checked(store, page).status for _ in range(2)] == [Status.NEW, Status.REVISIT]

    def test_a_certificate_that_is_a_strangers_is_a_configuration_error(
        self, url: str, certificate: Certificate
    ) -> None:
        trusting = f"{url}?ssl_ca_certs={certificate.file}"
        own = f"&ssl_certfile={certificate.file}&ssl_keyfile={certificate.key}"
        ping(f"{url}?ssl_cert_reqs=none{own}")
        for wrong in (f"{url}?{own[1:]}", f"{trusting}{own}".replace("localhost", "127.0.0.1")):
            assert "do not agree on TLS" in refusal(wrong, ping), wrong
        # Servers mostly hang up on who has no certificate, without a word.
        with pytest.raises((ConfigurationError, StoreUnavailableError)), store_errors("", lambda: False, "test"):
            ping(trusting)


class TestAccess:
    @pytest.fixture
    def restricted(self, redis_server: RedisServer) -> Iterator[RedisServer]:
        client = redis_server.client
        client.execute_command("ACL SETUSER", "crawler", "reset", "on", ">s3cret", *ACL_RULES)
        client.execute_command("ACL LOG RESET")
        # Other tests of this server may have left the scripts there.
        client.script_flush()
        client.config_resetstat()
        yield redis_server
        client.acl_deluser("crawler")

    def test_a_store_needs_exactly_the_commands_that_are_documented(self, restricted: RedisServer) -> None:
        # Database 1, so that one must be selected.
        store = RedisStore(restricted.url.replace("//", "//crawler:s3cret@").replace("/0", "/1"), LAYOUT)
        others = redis.Redis.from_url(restricted.url.replace("/0", "/1"))
        use_everything(store, others)
        store.close()
        denied = [entry["object"] for entry in restricted.client.acl_log() if entry["username"] == "crawler"]
        # The client introduces itself, and does not mind that nobody listens.
        assert set(denied) <= {"client", "client|setinfo"}
        allowed = {rule[1:].split("|")[0] for rule in ACL_RULES if rule.startswith("+")}
        by_others = {"acl", "config", "info", "flushall", "flushdb", "del", "auth", "hello", "client", "eval", "ping"}
        assert allowed - calls(restricted).keys() == set()
        assert calls(restricted).keys() - allowed <= by_others

    def test_other_keys_are_out_of_reach(self, restricted: RedisServer) -> None:
        restricted.client.hset("mine", "a", 1)
        with client_of(restricted.url.replace("//", "//crawler:s3cret@")) as client:
            for call in (lambda: client.hget("mine", "a"), lambda: client.flushall(), lambda: client.keys()):
                with pytest.raises(redis.exceptions.NoPermissionError):
                    call()


def use_everything(store: RedisStore, server: redis.Redis) -> None:
    """Call every method of a store, with enough pages that every step of its scripts is taken."""
    rng = np.random.default_rng(2)
    pages, other = [random_page(rng) for _ in range(300)], random_page(rng)
    store.open()
    for number, page in enumerate(pages):
        assert checked(store, query(page, f"https://example.com/{number}")).status is Status.NEW
    # One more text for a known URL, and pages of one template: a range holds more of them than are read.
    checked(store, query(random_page(rng), "https://example.com/0"))
    for number in range(100):
        page = replace(random_page(rng), search_weights=pages[1].search_weights)
        checked(store, query(page, f"https://example.com/template/{number}"))
    store.find([query(pages[1], "")])
    # A URL that another crawler at work has.
    at = server.connection_pool.connection_kwargs
    fellow = RedisStore(f"redis://127.0.0.1:{at['port']}/{at['db']}", LAYOUT)
    fellow.open()
    for each, status in ((fellow, Status.NEW), (store, Status.EXACT)):
        assert checked(each, query(other, "https://example.com/fellow")).status is status
    fellow.close()
    store.heartbeat()
    assert store.info().pages > 0
    assert store.note("rules", "text") == "text"
    assert [
        page and page.packed_text for page in store.remembered([name_of("https://example.com/3")], Retention())
    ] == [b""]
    assert store.forget(name_of("https://example.com/2"))
    store.check([query(random_page(rng), f"https://example.com/batch/{number}") for number in range(3)])
    # Copies in a batch whose answer was lost.
    copies = [query(pages[3], f"https://example.com/copy/{number}") for number in range(2)]
    store._run({place: call.retried() for place, call in enumerate(store._checks(copies))})
    # A text that is kept, and one that takes its place.
    for page, text in ((pages[4], b"one"), (random_page(rng), b"two")):
        asked = query(page, "https://example.com/text")
        checked(store, replace(asked, record=replace(asked.record, packed_text=text), is_pending=True))
    store.deliver([name_of("https://example.com/text")])
    # The oldest pages go, and at last a whole list of them.
    for number in range(500):
        page = random_page(rng)
        limited = Retention(ttl_seconds=10_000, max_pages=20)
        checked(store, replace(query(page, f"https://example.com/limited/{number}"), retention=limited))
    # Of two pages with anchors, the second is in the place of the first.
    for number in range(2):
        url = f"https://example.com/covered/{number}"
        store.anchors(AnchorQuery(url, PageName(url_key_of(url)), (number, number + 1), most_anchors=3))
    store.forget(name_of("https://example.com/covered/1"), anchors_alone=True)
    # A store that lost a part of its records goes on.
    server.delete(*server.scan_iter("crawldedup:*:r:*"))
    checked(store, query(random_page(rng), "https://example.com/later"))
    # The lease of a crawler of this machine that died is expired.
    server.hset("crawldedup:{test}:w", "7", exited_process())
    store.open()
    store.clear()
    assert store.info().pages == 0


@pytest.mark.nightly
class TestSentinels:
    def test_a_client_goes_on_with_the_new_master_after_a_kill(self, sentinels: SentinelSetup) -> None:
        with contextlib.closing(client_of(sentinels.url)) as client:
            client.eval(WRITING, 1, "a", 5)
            client.wait(1, 1000)
            dead = sentinels.master
            dead.stop()
            with pytest.raises(StoreUnavailableError), store_errors(sentinels.url, lambda: True, "test"):
                client.eval(WRITING, 1, "b", 6)
            wait_until(lambda: client.eval(WRITING, 1, "b", 6))
            assert client.mget("a", "b") == [b"5", b"6"]
            assert sentinels.master is not dead

    def test_a_client_follows_when_the_roles_are_exchanged(self, sentinels: SentinelSetup) -> None:
        with contextlib.closing(client_of(sentinels.url)) as client:
            client.eval(WRITING, 1, "a", 5)
            before = sentinels.master
            wait_until(lambda: sentinels.sentinels[0].client.sentinel_failover("crawl"))
            wait_until(lambda: sentinels.master is not before)
            # What the sentinels do ten seconds later.
            before.follow(sentinels.master)
            before.client.client_kill_filter(_type="normal", skipme=True)
            wait_until(lambda: client.eval(WRITING, 1, "b", 6))
            assert sentinels.master.client.mget("a", "b") == [b"5", b"6"]

    def test_one_sentinel_is_enough_to_find_the_master(self, sentinels: SentinelSetup) -> None:
        sentinels.sentinels[0].stop()
        with sentinels.sentinels[1].frozen(), contextlib.closing(client_of(sentinels.url)) as client:
            # On a busy machine it may hold the master to be dead for a moment.
            wait_until(client.ping)

    def test_sentinels_with_a_user_of_their_own(self, sentinels: SentinelSetup) -> None:
        for sentinel in sentinels.sentinels:
            sentinel.client.execute_command("ACL SETUSER", "watcher", "reset", "on", ">hush", "+sentinel|masters")
        url = f"{sentinels.url}?sentinel_username=watcher&sentinel_password="
        with contextlib.closing(client_of(f"{url}hush")) as client:
            assert client.ping()
        for wrong in (f"{url}wr0ng", sentinels.url.replace("/crawl", "/crwal")):
            store = RedisStore(wrong, LAYOUT)
            with pytest.raises(StoreUnavailableError, match="no sentinel that answers names a master") as caught:
                store.open()
            assert "wr0ng" not in "".join(traceback.format_exception(caught.value))


@pytest.mark.nightly
class TestCluster:
    def test_users_need_some_commands_more(self, cluster: ClusterSetup) -> None:
        for node in cluster.nodes:
            more = ("+cluster|slots", "+command")
            node.client.execute_command("ACL SETUSER", "crawler", "reset", "on", ">s3cret", *ACL_RULES, *more)
        url = cluster.url.replace("//", "//crawler:s3cret@")
        open_cluster(url)
        said = refusal(url.replace("s3cret", "wr0ng"), open_cluster)
        assert "refuses the user or the password" in said
        assert "wr0ng" not in said

    def test_a_server_of_another_kind_is_a_configuration_error(
        self, cluster: ClusterSetup, redis_server: RedisServer
    ) -> None:
        said = refusal(redis_server.url.removesuffix("/0").replace("redis:", "redis+cluster:"), open_cluster)
        assert "is not a node of a cluster, so write redis://" in said
        other = next(node for node in cluster.masters if node is not cluster.master_of("crawldedup:{test}:m"))
        said = refusal(other.url, lambda url: RedisStore(url, LAYOUT).open())
        assert "is a node of a cluster, so write redis+cluster://" in said
