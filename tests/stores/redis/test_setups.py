"""Redis with TLS, restricted users, replicas, sentinels and clusters: real ones, whose servers are
killed.
"""

from __future__ import annotations

import contextlib
import traceback
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import redis

from crawldedup.errors import ConfigurationError, StoreError, StoreUnavailableError
from crawldedup.passwords import shown_url
from crawldedup.stores.anchors import AnchorQuery
from crawldedup.stores.contract import Retention
from crawldedup.stores.redis.client import connect, read_url
from crawldedup.stores.redis.errors import store_errors
from crawldedup.stores.redis.store import RedisStore
from crawldedup.stores.registry import make_store
from crawldedup.verdict import Kind
from tests.servers import (
    Certificate,
    ClusterSetup,
    RedisServer,
    SentinelSetup,
    TlsFront,
    wait_until,
)
from tests.stores.pages import FOR_EVER, LAYOUT, Page, checked, name_of, query, random_page
from tests.stores.test_contract import exited_process

RUN_BOOK = (Path(__file__).parents[3] / "docs/how-to/redis.md").read_text("utf-8")
ACL_RULES = RUN_BOOK.partition("```text\n")[2].partition("```")[0].split()
"""As the documentation has them."""

# As the scripts of a store, this one does no harm when the client sends it twice.
WRITING = "redis.call('SET', KEYS[1], ARGV[1]) return redis.call('GET', KEYS[1])"


def refusal(url: str, use: Callable[[str], object]) -> str:
    with (
        pytest.raises(ConfigurationError) as caught,
        store_errors(shown_url(url), lambda: False, "test"),
    ):
        use(url)
    return str(caught.value)


def client_of(url: str) -> redis.Redis:
    return connect(read_url(url))


def ping(url: str) -> None:
    with contextlib.closing(client_of(url)) as client:
        client.ping()


def open_store(url: str) -> None:
    with contextlib.closing(make_store(url, LAYOUT)) as store:
        store.open()


class TestTls:
    """Of a server that asks for a certificate, too."""

    @pytest.fixture
    def url(self, redis_server: RedisServer, certificate: Certificate) -> Iterator[str]:
        with TlsFront(certificate, redis_server) as front:
            yield f"rediss://localhost:{front.port}/0"

    def test_a_store_works(self, url: str, certificate: Certificate) -> None:
        own = f"ssl_certfile={certificate.file}&ssl_keyfile={certificate.key}"
        with contextlib.closing(
            RedisStore(f"{url}?ssl_ca_certs={certificate.file}&{own}", LAYOUT)
        ) as store:
            store.open()
            page = query(random_page(np.random.default_rng(1)), "https://example.com/1")
            assert [checked(store, page).kind for _ in range(2)] == [Kind.NEW, Kind.REVISIT]

    def test_a_certificate_that_is_a_strangers_is_a_configuration_error(
        self, url: str, certificate: Certificate
    ) -> None:
        trusting = f"{url}?ssl_ca_certs={certificate.file}"
        own = f"&ssl_certfile={certificate.file}&ssl_keyfile={certificate.key}"
        ping(f"{url}?ssl_cert_reqs=none{own}")
        for wrong in (f"{url}?{own[1:]}", f"{trusting}{own}".replace("localhost", "127.0.0.1")):
            assert "do not agree on TLS" in refusal(wrong, ping), wrong
        # Servers mostly hang up on who has no certificate, without a word.
        with (
            pytest.raises((ConfigurationError, StoreUnavailableError)),
            store_errors("", lambda: False, "test"),
        ):
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

    @pytest.mark.parametrize("credentials", ["", ":wr0ng@", "crawler:wr0ng@", "nobody:s3cret@"])
    def test_a_wrong_password_is_a_configuration_error_that_does_not_show_it(
        self, restricted: RedisServer, credentials: str
    ) -> None:
        with restricted.locked("s3cret"):
            said = refusal(restricted.url.replace("//", f"//{credentials}"), open_store)
            assert "refuses the user or the password" in said
            assert "wr0ng" not in said
            assert "s3cret" not in said
            for right in (":s3cret@", "crawler:s3cret@"):
                open_store(restricted.url.replace("//", f"//{right}"))

    def test_a_server_that_repeats_the_password_is_not_quoted(self) -> None:
        """A server that does not know a command repeats its arguments, as do some proxies."""
        with RedisServer("--rename-command", "AUTH", "") as server:
            url = server.url.replace("//", "//:ge%40heim@")
            with pytest.raises(StoreError, match=r"'\*\*\*'") as caught:
                open_store(url)
        assert "ge@heim" not in "".join(traceback.format_exception(caught.value))

    def test_a_store_needs_exactly_the_commands_that_are_documented(
        self, restricted: RedisServer
    ) -> None:
        # Database 1, so that one must be selected.
        others = restricted.url.replace("/0", "/1")
        with contextlib.closing(
            RedisStore(others.replace("//", "//crawler:s3cret@"), LAYOUT)
        ) as store:
            use_everything(store, others)
        denied = [
            entry["object"]
            for entry in restricted.client.acl_log()
            if entry["username"] == "crawler"
        ]
        # The client introduces itself, and does not mind that nobody listens.
        assert set(denied) <= {"client", "client|setinfo"}
        called = {
            name.removeprefix("cmdstat_").split("|")[0]
            for name in restricted.client.info("commandstats")
        }
        allowed = {rule[1:].split("|")[0] for rule in ACL_RULES if rule.startswith("+")}
        by_others = {
            "acl",
            "config",
            "info",
            "flushall",
            "flushdb",
            "del",
            "auth",
            "hello",
            "client",
            "eval",
            "ping",
        }
        assert allowed <= called <= allowed | by_others

    def test_other_keys_are_out_of_reach(self, restricted: RedisServer) -> None:
        with client_of(restricted.url.replace("//", "//crawler:s3cret@")) as client:
            for call in (lambda: client.hget("mine", "a"), client.flushall, client.keys):
                with pytest.raises(redis.exceptions.NoPermissionError):
                    call()


def use_everything(store: RedisStore, others: str) -> None:
    """Call every method of a store, with enough pages that every step of its scripts is taken."""
    rng = np.random.default_rng(2)
    server = redis.Redis.from_url(others)
    pages, other = [random_page(rng) for _ in range(300)], random_page(rng)

    def url(name: object) -> str:
        return f"https://example.com/{name}"

    def check(page: Page, name: object, text: bytes = b"", **values: object) -> Kind:
        asked = query(page, url(name))
        return checked(
            store, replace(asked, record=replace(asked.record, packed_text=text), **values)
        ).kind  # type: ignore[arg-type]

    store.open()
    assert {check(page, number) for number, page in enumerate(pages)} == {Kind.NEW}
    # One more text for a known URL, and pages of one template: a range holds more of them than are
    # read.
    check(random_page(rng), 0)
    for number in range(100):
        check(
            replace(random_page(rng), search_weights=pages[1].search_weights), f"template/{number}"
        )
    store.find([query(pages[1], "")])
    # A URL that another crawler at work has.
    with contextlib.closing(RedisStore(others, LAYOUT)) as fellow:
        fellow.open()
        assert checked(fellow, query(other, url("fellow"))).kind is Kind.NEW
        assert check(other, "fellow") is Kind.EXACT_DUPLICATE
    store.heartbeat()
    assert store.info().pages > 0
    assert store.note("rules", "text") == "text"
    assert [
        page and page.packed_text for page in store.remembered([name_of(url(3))], FOR_EVER)
    ] == [b""]
    assert store.forget(name_of(url(2)))
    store.check([query(random_page(rng), url(f"batch/{number}")) for number in range(3)])
    # Copies in a batch whose answer was lost.
    copies = [query(pages[3], url(f"copy/{number}")) for number in range(2)]
    store._connection.send([call.retried() for call in store._checks(copies)])
    # A text that is kept, and one that takes its place.
    for page, text in ((pages[4], b"one"), (random_page(rng), b"two")):
        check(page, "text", text, is_pending=True)
    store.deliver([name_of(url("text"))])
    # The oldest pages go, and at last a whole list of them.
    for number in range(500):
        check(random_page(rng), f"limited/{number}", retention=Retention(10_000, max_pages=20))
    # Of two pages with anchors, the second is in the place of the first.
    for number in range(2):
        store.anchors(
            AnchorQuery(url(number), name_of(url(number)), (number, number + 1), most_anchors=3)
        )
    store.forget(name_of(url(1)), anchors_alone=True)
    # A store that lost a part of its records goes on.
    server.delete(*server.scan_iter("crawldedup:*:r:*"))
    check(random_page(rng), "later")
    # The lease of a crawler of this machine that died is expired.
    server.hset("crawldedup:{test}:w", "7", exited_process())
    store.open()
    store.clear()
    assert store.info().pages == 0


@pytest.mark.nightly
class TestSentinels:
    def test_a_client_goes_on_with_the_new_master_after_a_kill(
        self, sentinels: SentinelSetup
    ) -> None:
        with contextlib.closing(client_of(sentinels.url)) as client:
            client.eval(WRITING, 1, "a", 5)
            client.wait(1, 1000)
            dead = sentinels.master
            dead.stop()
            with (
                pytest.raises(StoreUnavailableError),
                store_errors(sentinels.url, lambda: True, "test"),
            ):
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
        with (
            sentinels.sentinels[1].frozen(),
            contextlib.closing(client_of(sentinels.url)) as client,
        ):
            # On a busy machine it may hold the master to be dead for a moment.
            wait_until(client.ping)

    def test_sentinels_with_a_user_of_their_own(self, sentinels: SentinelSetup) -> None:
        for sentinel in sentinels.sentinels:
            sentinel.client.execute_command(
                "ACL SETUSER", "watcher", "reset", "on", ">hush", "+sentinel|masters"
            )
        url = f"{sentinels.url}?sentinel_username=watcher&sentinel_password="
        ping(f"{url}hush")
        for wrong in (f"{url}wr0ng", sentinels.url.replace("/crawl", "/crwal")):
            with pytest.raises(
                StoreUnavailableError, match="none of the sentinels that answer has a master"
            ) as caught:
                open_store(wrong)
            assert "wr0ng" not in "".join(traceback.format_exception(caught.value))


@pytest.mark.nightly
class TestCluster:
    def test_users_need_some_commands_more(self, cluster: ClusterSetup) -> None:
        for node in cluster.nodes:
            more = ("+cluster|slots", "+command")
            node.client.execute_command(
                "ACL SETUSER", "crawler", "reset", "on", ">s3cret", *ACL_RULES, *more
            )
        url = cluster.url.replace("//", "//crawler:s3cret@")
        open_store(url)
        said = refusal(url.replace("s3cret", "wr0ng"), open_store)
        assert "refuses the user or the password" in said
        assert "wr0ng" not in said

    def test_a_server_of_another_kind_is_a_configuration_error(
        self, cluster: ClusterSetup, redis_server: RedisServer
    ) -> None:
        said = refusal(
            redis_server.url.removesuffix("/0").replace("redis:", "redis+cluster:"), open_store
        )
        assert "is not a node of a cluster, so write redis://" in said
        other = next(
            node for node in cluster.masters if node is not cluster.master_of("crawldedup:{test}:m")
        )
        assert "is a node of a cluster, so write redis+cluster://" in refusal(other.url, open_store)
