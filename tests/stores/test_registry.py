"""URLs of stores: which class serves them, what they show, and whether an index is there."""

from __future__ import annotations

import contextlib
import pkgutil
import sys
import traceback
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from crawldedup import Deduplicator
from crawldedup.errors import ConfigurationError, StoreError
from crawldedup.passwords import shown_url, without_passwords
from crawldedup.stores import registry
from crawldedup.stores.redis.cluster import RedisClusterStore
from crawldedup.stores.redis.store import RedisStore
from crawldedup.stores.registry import (
    BUILT_IN,
    check_store_url,
    is_persistent,
    make_store,
    require_index,
)
from crawldedup.stores.sqlite.store import MemoryStore, SqliteStore
from crawldedup.verdict import Kind
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
        ("sqlite:////data/me@home.sqlite", "sqlite:////data/me@home.sqlite"),
        ("redis:///:geheim@localhost", "redis:///:***@localhost"),
        ("redis:/:geheim@localhost/0", "***@localhost/0"),
        ("redis//:geheim@localhost", "***@localhost"),
        (
            "redis+sentinel://a/c?sentinel_password=geheim&ssl=1",
            "redis+sentinel://a/c?sentinel_password=***&ssl=1",
        ),
    ],
)
def test_passwords_are_not_shown(url: str, shown: str) -> None:
    assert shown_url(url) == shown


@pytest.mark.parametrize("start", ["sqlite://", "memory://", "redis:/", "redis//", "rdis://", ""])
def test_no_wrong_url_shows_its_password(start: str) -> None:
    url = f"{start}user:geheim@host/0"
    with pytest.raises(ConfigurationError) as caught:
        check_store_url("SETTING", url)
    assert "geheim" not in "".join(traceback.format_exception(caught.value))


@pytest.mark.parametrize(
    ("message", "shown"),
    [
        ("no such file: redis://:ge@he/im@h/0", "no such file: redis://:***@h/0"),
        (
            "invalid choice: 'redis://u:geheim@h/0' (see)",
            "invalid choice: 'redis://u:***@h/0' (see)",
        ),
        ("unrecognized: --stoer rdis://:geheim@h x", "unrecognized: --stoer rdis://:***@h x"),
        ("http://u:geheim@h:1/a: no", "http://u:***@h:1/a: no"),
        ("of https://h.example/@me/a:b@c", "of https://h.example/@me/a:b@c"),
        ("12:30 at //u@h", "12:30 at //u@h"),
    ],
)
def test_no_message_shows_a_password_of_a_url(message: str, shown: str) -> None:
    assert without_passwords(message) == shown


def test_the_table_of_schemes_has_those_of_every_class() -> None:
    for scheme, path in BUILT_IN.items():
        kind = pkgutil.resolve_name(path)
        assert scheme in kind.schemes
        assert {BUILT_IN.get(name) for name in kind.schemes} == {path}


TOY_STORE = """
from crawldedup.stores.sqlite.store import MemoryStore

class ToyStore(MemoryStore):
    schemes = ("toy",)

    def __init__(self, url, layout):
        super().__init__("memory://", layout)

class NoAnchors:
    schemes = ("toy",)
    is_persistent = False

for name in "open open_read_only heartbeat close check find deliver remembered forget clear note info".split():
    setattr(NoAnchors, name, getattr(MemoryStore, name))

class Unfinished:
    schemes = ("toy",)
    is_persistent = False

    def open(self): ...

class Misnamed(ToyStore):
    schemes = ("game",)

a_function = len
"""


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., None]]:
    """Install packages that add stores: a name of each, and its entry points."""
    (tmp_path / "toy_store.py").write_text(TOY_STORE)
    monkeypatch.syspath_prepend(tmp_path)

    def install(package: str, **stores: str) -> None:
        folder = tmp_path / f"{package}-1.0.dist-info"
        folder.mkdir()
        (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
        lines = [f"{scheme} = {value}\n" for scheme, value in stores.items()]
        (folder / "entry_points.txt").write_text("[crawldedup.stores]\n" + "".join(lines))

    yield install
    sys.modules.pop("toy_store", None)


class TestStoresOfOtherPackages:
    def test_a_crawl_uses_the_class_of_an_entry_point(self, install: Callable[..., None]) -> None:
        install("toystore", toy="toy_store:ToyStore")
        story = "The river ferry runs every hour from the harbour. " * 9
        assert check_store_url("store", "TOY://anywhere") == "TOY://anywhere"
        assert is_persistent("toy://") is False
        with Deduplicator("toy://anywhere", paragraphs="mark") as dedup:
            first = dedup.check("https://news.example/", text=story)
            second = dedup.check("https://copy.example/", text=story)
        assert (first.kind, second.kind) == (Kind.NEW, Kind.EXACT_DUPLICATE)
        assert second.original == "https://news.example/"

    def test_a_wrong_url_is_answered_with_its_scheme_too(
        self, install: Callable[..., None]
    ) -> None:
        install("toystore", toy="toy_store:ToyStore")
        with pytest.raises(
            ConfigurationError, match=r"redis\+cluster://, toy://; did you mean 'toy'"
        ):
            make_store("tooy://", LAYOUT)

    def test_a_built_in_scheme_is_not_replaced(self, install: Callable[..., None]) -> None:
        install("toystore", memory="toy_store:ToyStore")
        assert type(make_store("memory://", LAYOUT)) is MemoryStore

    def test_only_paragraphs_need_anchors(self, install: Callable[..., None]) -> None:
        install("toystore", toy="toy_store:NoAnchors")
        said = "paragraphs is set, but the store toy://a cannot recognize paragraphs"
        with pytest.raises(ConfigurationError, match=said):
            make_store("toy://a", LAYOUT, paragraphs=True)
        assert registry.store_class("store", "toy://a").schemes == ("toy",)

    @pytest.mark.parametrize(
        ("value", "said"),
        [
            ("toy_store:Missing", "cannot be loaded from 'toy_store:Missing' of toystore: Attrib"),
            ("no_such_module:Toy", "cannot be loaded from 'no_such_module:Toy' of toystore: Modul"),
            ("toy_store:a_function", "it must be a class that implements"),
            ("toy_store:Unfinished", "Unfinished from .* of toystore, lacks open_read_only, heart"),
            ("toy_store:Misnamed", r"has the schemes \('game',\); 'toy' must be one of them"),
        ],
    )
    def test_a_broken_one_is_named(
        self, install: Callable[..., None], value: str, said: str
    ) -> None:
        install("toystore", toy=value)
        with pytest.raises(ConfigurationError, match=f"^SETTING: the store for toy://.*{said}"):
            check_store_url("SETTING", "toy://")
        assert is_persistent("memory://") is False

    def test_two_packages_may_not_add_one_scheme(self, install: Callable[..., None]) -> None:
        install("toystore", toy="toy_store:ToyStore")
        install("gamestore", TOY="toy_store:Misnamed")
        said = "'toy_store:Misnamed' of gamestore and 'toy_store:ToyStore' of toystore; uninstall"
        with pytest.raises(ConfigurationError, match=said):
            make_store("toy://", LAYOUT)


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
