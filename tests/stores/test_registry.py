from __future__ import annotations

import re
import traceback
from pathlib import Path

import pytest

from crawldedup.errors import ConfigurationError
from crawldedup.stores.redis.store import RedisClusterStore, RedisStore
from crawldedup.stores.registry import check_store_url, is_persistent, make_store, shown_url
from crawldedup.stores.sqlite.store import MemoryStore, SqliteStore
from tests.stores.pages import LAYOUT


@pytest.mark.parametrize(
    ("url", "kind"),
    [
        ("memory://", MemoryStore),
        ("sqlite:///index.sqlite", SqliteStore),
        ("sqlite:////var/lib/index.sqlite", SqliteStore),
        ("sqlite:///with%20space.sqlite", SqliteStore),
        ("redis://localhost", RedisStore),
        ("redis://localhost:6379/3", RedisStore),
        ("redis://user:pass%2Fword@localhost:6379/0?socket_timeout=5", RedisStore),
        ("redis://[::1]:6379/0", RedisStore),
        ("rediss://example.com:6380", RedisStore),
        ("unix:///run/redis.sock?db=1", RedisStore),
        ("redis+sentinel://localhost/mymaster", RedisStore),
        ("redis+cluster://localhost", RedisClusterStore),
    ],
)
def test_the_scheme_chooses_the_store_and_nothing_is_opened(
    url: str, kind: type, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert check_store_url("store", url) == url
    assert type(make_store(url, LAYOUT)) is kind
    assert is_persistent(url) is (url != "memory://")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("seen.sqlite", "did you mean 'sqlite:///seen.sqlite'?"),
        ("/var/seen.db", "did you mean 'sqlite:////var/seen.db'?"),
        ("", "must be a URL with one of the schemes memory://, sqlite://, redis://"),
        ("localhost:6379", "must be a URL"),
        ("mongodb://localhost", r"must be a URL .* redis\+cluster://$"),
        ("redsi://localhost", "did you mean 'redis'"),
        ("mongodb://user:geheim@localhost", "must be a URL"),
        ("mongodb://user:gehe/im@localhost", "must be a URL"),
        ("memory:/", "must be a URL"),
        ("Memory://something", "takes nothing behind it"),
        ("sqlite://index.sqlite", "sqlite:///relative"),
        ("sqlite:///", "sqlite:///relative"),
        ("sqlite:///folder/", "sqlite:///relative"),
        ("sqlite:///nul%00.sqlite", "sqlite:///relative"),
        ("redis://one,two", "write redis://user"),
        ("redis://localhost:port/0", "Port could not"),
        ("redis://local host", "write redis://user"),
        ("redis://localhost/zero", "write redis://user"),
        ("redis://localhost?colour=red", "'colour'"),
        *((f"redis://localhost?socket_timeout={value}", "number of seconds above 0") for value in ("-1", "0", "inf")),
        ("redis://localhost?db=one", "'db'"),
        ("redis://localhost?ssl_cert_reqs=none", "'ssl_cert_reqs'"),
        ("unix://localhost/run/redis.sock", "write unix://"),
        ("redis+sentinel://a,b", r"write redis\+sentinel://"),
        ("redis+sentinel://a,,b/crawl", r"write redis\+sentinel://"),
        ("redis+sentinel://a/crawl?ssl_ca_certs=x", "'ssl_ca_certs'"),
        ("redis+cluster://", r"write redis\+cluster://"),
        ("redis+cluster://a/1", r"write redis\+cluster://"),
        ("redis+cluster://a?db=1", "no databases"),
        ("redis+cluster://a?sentinel_username=b", "'sentinel_username'"),
        ("redis://:geheim@localhost:port/0", "percent-encoded"),
        ("redis://:gehe/im@localhost:6379/0", "percent-encoded"),
        ("redis://:gehe#im@localhost:6379/0", "percent-encoded"),
        ("redis://user:12?geheim@localhost", "percent-encoded"),
        ("redis://localhost:port/0?password=geheim", "percent-encoded"),
        ("redis+sentinel://user:gehe,im@a,b", r"write redis\+sentinel://"),
        ("redis+sentinel://a,b?sentinel_password=geheim", r"write redis\+sentinel://"),
        ("redis+cluster://user:geheim@a:port", r"write redis\+cluster://"),
    ],
)
def test_a_wrong_url_is_refused_at_once_and_shows_no_password(url: str, said: str) -> None:
    for use in (lambda: make_store(url, LAYOUT), lambda: check_store_url("SETTING", url)):
        with pytest.raises(ConfigurationError, match=said) as caught:
            use()
        assert "gehe" not in "".join(traceback.format_exception(caught.value))
    assert str(caught.value).startswith("SETTING")


@pytest.mark.parametrize("value", [None, 5, b"memory://"])
def test_what_is_no_text_is_no_url(value: object) -> None:
    with pytest.raises(ConfigurationError, match=f"^store is {re.escape(repr(value))}; it must be a URL"):
        check_store_url("store", value)


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("redis://localhost:6379/0", "redis://localhost:6379/0"),
        ("redis://user:geheim@localhost", "redis://user:***@localhost"),
        ("redis://:geheim@localhost", "redis://:***@localhost"),
        ("redis://geheim@localhost", "redis://***@localhost"),
        ("redis://:ge@he/im@localhost", "redis://:***@localhost"),
        ("redis://localhost/0?db=1&password=ge@heim&ssl=1", "redis://localhost/0?db=1&password=***&ssl=1"),
        ("unix:///run/redis@home.sock", "unix:///run/redis@home.sock"),
        ("unix://:geheim@/run/redis.sock", "unix://:***@/run/redis.sock"),
        ("sqlite:///index.sqlite", "sqlite:///index.sqlite"),
        ("redis+sentinel://user:geheim@a:1,b/crawl/0", "redis+sentinel://user:***@a:1,b/crawl/0"),
        (
            "redis+sentinel://a/c?sentinel_password=geheim&ssl=true",
            "redis+sentinel://a/c?sentinel_password=***&ssl=true",
        ),
        ("redis+cluster://:ge@he/im@a:1,b:2", "redis+cluster://:***@a:1,b:2"),
    ],
)
def test_passwords_are_not_shown(url: str, shown: str) -> None:
    assert shown_url(url) == shown
