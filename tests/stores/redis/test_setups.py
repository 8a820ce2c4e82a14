"""Redis with TLS, restricted users, replicas, sentinels and clusters: real ones, whose servers are killed."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import redis

from crawldedup.errors import ConfigurationError, StoreUnavailableError
from crawldedup.stores.base import AnchorQuery, PageName, Query, Retention, Status
from crawldedup.stores.redis.client import connect, read_url, store_errors
from crawldedup.stores.redis.store import RedisStore
from crawldedup.stores.registry import make_store, shown_url
from tests.servers import Certificate, RedisServer, SentinelSetup, TlsFront, wait_until
from tests.stores.pages import FOR_EVER, LAYOUT, Page, checked, name_of, query, random_page
from tests.stores.test_contract import exited_process

RUN_BOOK = (Path(__file__).parents[3] / "docs/how-to/redis.md").read_text("utf-8")
ACL_RULES = RUN_BOOK.partition("```text\n")[2].partition("```")[0].split()
"""As the documentation has them."""

# As the scripts of a store, this one does no harm when the client sends it twice.
WRITING = "redis.call('SET', KEYS[1], ARGV[1]) return redis.call('GET', KEYS[1])"


def refusal(url: str, use: Callable[[str], object]) -> str:
    with pytest.raises(ConfigurationError) as caught, store_errors(shown_url(url), lambda: False, "test"):
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

    @pytest.mark.parametrize("credentials", ["", ":wr0ng@", "crawler:wr0ng@", "nobody:s3cret@"])
    def test_a_wrong_password_is_a_configuration_error_that_does_not_show_it(
        self, restricted: RedisServer, credentials: str
    ) -> None:
        with restricted.configured(requirepass="s3cret"):
            said = refusal(restricted.url.replace("//", f"//{credentials}"), open_store)
            assert "refuses the user or the password" in said
            assert "wr0ng" not in said
            assert "s3cret" not in said
            for right in (":s3cret@", "crawler:s3cret@"):
                open_store(restricted.url.replace("//", f"//{right}"))

    def test_a_store_needs_exactly_the_commands_that_are_documented(self, restricted: RedisServer) -> None:
        # Database 1, so that one must be selected.
        others = restricted.url.replace("/0", "/1")
        with contextlib.closing(RedisStore(others.replace("//", "//crawler:s3cret@"), LAYOUT)) as store:
            use_everything(store, others)
        denied = [entry["object"] for entry in restricted.client.acl_log() if entry["username"] == "crawler"]
        # The client introduces itself, and does not mind that nobody listens.
        assert set(denied) <= {"client", "client|setinfo"}
        called = {name.removeprefix("cmdstat_").split("|")[0] for name in restricted.client.info("commandstats")}
        allowed = {rule[1:].split("|")[0] for rule in ACL_RULES if rule.startswith("+")}
        by_others = {"acl", "config", "info", "flushall", "flushdb", "del", "auth", "hello", "client", "eval", "ping"}
        assert allowed <= called <= allowed | by_others


def use_everything(store: RedisStore, others: str) -> None:
    """Call every method of a store, with enough pages that every step of its scripts is taken."""
    rng = np.random.default_rng(2)

    def ask(name: object, page: Page | None = None, text: bytes = b"", **values: Any) -> Query:
        asked = query(page or random_page(rng), f"https://example.com/{name}")
        return replace(asked, record=replace(asked.record, packed_text=text), **values)

    def name(number: object) -> PageName:
        return name_of(f"https://example.com/{number}")

    store.open()
    pages = [random_page(rng) for _ in range(300)]
    # Pages of one template, too: a range holds more of them than are read.
    alike = [replace(random_page(rng), search_weights=pages[1].search_weights) for _ in range(100)]
    for number, page in enumerate(pages + alike):
        checked(store, ask(number, page))
    # One more text for a known URL, and a URL that another crawler at work has.
    checked(store, ask(0))
    with contextlib.closing(RedisStore(others, LAYOUT)) as fellow:
        fellow.open()
        checked(fellow, ask("fellow", pages[0]))
        assert checked(store, ask("fellow", pages[0])).status is Status.EXACT
    store.find([ask("", pages[1])])
    store.heartbeat()
    store.info()
    store.note("rules", "text")
    # Copies in a batch whose answer was lost.
    copies = [ask(f"copy/{number}", pages[3]) for number in range(2)]
    store.check(copies)
    store._run({place: call.retried() for place, call in enumerate(store._checks(copies))})
    # A text that is kept, and one that takes its place.
    for text in (b"one", b"two"):
        checked(store, ask("text", text=text, is_pending=True))
    store.deliver([name("text")])
    store.remembered([name("text")], FOR_EVER)
    store.forget(name(2))
    # The oldest pages go, and at last a whole list of them.
    for number in range(500):
        checked(store, ask(f"limited/{number}", retention=Retention(10_000, max_pages=20)))
    # Of two pages with anchors, the second is in the place of the first.
    for number in range(2):
        store.anchors(AnchorQuery("url", name(number), (number, number + 1), most_anchors=3))
    store.forget(name(1), anchors_alone=True)
    # The lease of a crawler of this machine that died is expired.
    redis.Redis.from_url(others).hset("crawldedup:{test}:w", "7", exited_process())
    store.open()
    store.clear()


@pytest.mark.nightly
class TestSentinels:
    def test_a_client_goes_on_with_the_new_master_after_a_kill(self) -> None:
        with SentinelSetup() as sentinels, contextlib.closing(client_of(sentinels.url)) as client:
            client.eval(WRITING, 1, "a", 5)
            client.wait(1, 1000)
            dead = sentinels.master
            dead.stop()
            with pytest.raises(StoreUnavailableError), store_errors(sentinels.url, lambda: True, "test"):
                client.eval(WRITING, 1, "b", 6)
            wait_until(lambda: client.eval(WRITING, 1, "b", 6))
            assert client.mget("a", "b") == [b"5", b"6"]
            assert sentinels.master is not dead
