"""URLs of stores: which are taken, what they show, and whether an index is there."""

from __future__ import annotations

import contextlib
import traceback
from dataclasses import replace
from pathlib import Path

import pytest

from crawldedup.errors import ConfigurationError, StoreError
from crawldedup.stores.redis.cluster import RedisClusterStore
from crawldedup.stores.redis.store import RedisStore
from crawldedup.stores.registry import (
    check_store_url,
    is_persistent,
    make_store,
    require_index,
    shown_url,
)
from crawldedup.stores.sqlite.store import MemoryStore, SqliteStore
from tests.stores.backends import Backend
from tests.stores.pages import LAYOUT


@pytest.mark.parametrize(
    ("url", "kind"),
    [
        ("memory://", MemoryStore),
        ("sqlite:///index.sqlite", SqliteStore),
        ("redis://user:pass%2Fword@localhost:6379/0?socket_timeout=5", RedisStore),
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


WRONG = {
    "did you mean 'sqlite:///seen.sqlite'?": ["seen.sqlite"],
    "did you mean 'redis'": ["redsi://localhost"],
    "must be a URL with one of the schemes memory://, sqlite://, redis://": [
        "",
        "mongodb://u:gehe/im@l",
    ],
    "sqlite:///relative": ["sqlite://index.sqlite", "sqlite:///"],
    "number of seconds above 0": ["redis://localhost?socket_timeout=inf"],
    "'(colour|db)'": ["redis://a?colour=red", "redis://a?db=one"],
    r"write redis\+sentinel://": [
        "redis+sentinel://user:gehe,im@a,b",
        "redis+sentinel://a?sentinel_password=geheim",
    ],
    r"write redis\+cluster://": ["redis+cluster://", "redis+cluster://user:geheim@a:port"],
    "percent-encoded": [
        "redis://:gehe/im@localhost:6379/0",
        "redis://localhost:port/0?password=geheim",
    ],
}


@pytest.mark.parametrize(
    ("url", "said"), [(url, said) for said, urls in WRONG.items() for url in urls]
)
def test_a_wrong_url_is_refused_at_once_and_shows_no_password(url: str, said: str) -> None:
    for use in (lambda: make_store(url, LAYOUT), lambda: check_store_url("SETTING", url)):
        with pytest.raises(ConfigurationError, match=said) as caught:
            use()
        assert "gehe" not in "".join(traceback.format_exception(caught.value))
    assert str(caught.value).startswith("SETTING")


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("redis://user:geheim@localhost", "redis://user:***@localhost"),
        ("redis://geheim@localhost", "redis://***@localhost"),
        ("redis://:ge@he/im@localhost", "redis://:***@localhost"),
        (
            "redis://localhost/0?db=1&password=ge@heim&ssl=1",
            "redis://localhost/0?db=1&password=***&ssl=1",
        ),
        ("unix://:geheim@/run/redis.sock", "unix://:***@/run/redis.sock"),
        (
            "redis+sentinel://a/c?sentinel_password=geheim&ssl=1",
            "redis+sentinel://a/c?sentinel_password=***&ssl=1",
        ),
    ],
)
def test_passwords_are_not_shown(url: str, shown: str) -> None:
    assert shown_url(url) == shown


class TestRequiredIndex:
    def begin(self, url: str, *namespaces: str) -> None:
        for namespace in namespaces:
            with contextlib.closing(make_store(url, replace(LAYOUT, namespace=namespace))) as store:
                store.open()

    def test_one_that_is_not_there_is_named(self, shared_backend: Backend) -> None:
        said = r"^there is no index 'nwes' in [\w+]+://.*: check the store and the name"
        with pytest.raises(ConfigurationError, match=said):
            require_index(shared_backend.url, "nwes")
        self.begin(shared_backend.url, "news", "a.b:c-d", "news.items")
        before = shared_backend.contents()
        for name in ("news", "a.b:c-d", "news.items"):
            require_index(shared_backend.url, name)
        with pytest.raises(ConfigurationError, match="there is no index"):
            require_index(shared_backend.url, "nwes")
        assert shared_backend.contents() == before
        with contextlib.closing(
            make_store(shared_backend.url, replace(LAYOUT, namespace="news"))
        ) as store:
            store.clear()
        with pytest.raises(ConfigurationError, match="there is no index"):
            require_index(shared_backend.url, "news")

    def test_a_file_without_one_is_left_as_it_is(self, tmp_path: Path) -> None:
        (tmp_path / "empty.sqlite").touch()
        (tmp_path / "other.sqlite").write_text("no database " * 100)
        for name in ("missing", "folder/missing", "empty", "other"):
            with pytest.raises(StoreError if name == "other" else ConfigurationError):
                require_index(f"sqlite:///{tmp_path}/{name}.sqlite", "news")
        assert sorted(path.name for path in tmp_path.iterdir()) == ["empty.sqlite", "other.sqlite"]
        assert (tmp_path / "empty.sqlite").stat().st_size == 0
