"""The methods: crawldedup, and other packages that get the text that crawldedup reads."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final

from benchmarks.shared.peers import DETECTORS, load
from crawldedup import Deduplicator, Options, Page
from crawldedup.reading.reader import PageReader

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from contextlib import AbstractContextManager

    from benchmarks.shared.peers import Detector
    from benchmarks.siblings_parts.site import Page as SitePage

_PEERS: Final = (("datasketch", "MinHashLSH 0.9"), ("simhash", "(1e0ng), k=3"))
CRAWLDEDUP: Final = "crawldedup"
_NO_KEY: Final = 0
"""Unkeyed hashes, so that every run has the same result."""


@dataclass(frozen=True)
class ReadPage:
    """A page of a site, and the text that crawldedup compares of it."""

    page: SitePage
    text: str


Check = Callable[[ReadPage], str | None]
"""Returns the URL of the earlier page that a page is a copy of.

It is None for a new page, which is remembered.
"""


@dataclass(frozen=True)
class Method:
    """A method under test. `start` begins with an empty index."""

    name: str
    start: Callable[[], AbstractContextManager[Check]]


@dataclass(frozen=True)
class Methods:
    """The methods that can run here, and the peers that are not installed."""

    present: list[Method]
    absent: list[str]


def read(pages: Iterable[SitePage]) -> list[ReadPage]:
    """The pages, each with its main text, or all its text if that has too few words to compare."""
    reader = PageReader(Options(key=_NO_KEY))
    found = []
    for page in pages:
        content = reader.content(Page(page.url, html=page.html))
        found.append(ReadPage(page, content.whole or content.text))
    return found


def all_methods() -> Methods:
    """Every method, crawldedup first."""
    methods = Methods(
        [
            Method(CRAWLDEDUP, _defaults),
            Method(f"{CRAWLDEDUP}, volatile=True", _learning),
            Method(f'{CRAWLDEDUP}, distinguish="nothing"', _similarity),
        ],
        [],
    )
    for package, settings in _PEERS:
        peer = load(package)
        if peer is None:
            methods.absent.append(f"{package} is not installed: {settings} is left out")
            continue
        detector = partial(DETECTORS[package, settings], peer.module)
        name = f"{package} {peer.version} {settings}"
        methods.present.append(Method(name, partial(_by_text, detector)))
    methods.present.append(Method("exact text", partial(_by_text, _exact_text)))
    return methods


@contextmanager
def _defaults() -> Iterator[Check]:
    with Deduplicator(key=_NO_KEY) as dedup:
        yield partial(_check, dedup)


@contextmanager
def _learning() -> Iterator[Check]:
    with Deduplicator(key=_NO_KEY, volatile=True) as dedup:
        yield partial(_check, dedup)


@contextmanager
def _similarity() -> Iterator[Check]:
    with Deduplicator(key=_NO_KEY, distinguish="nothing") as dedup:
        yield partial(_check, dedup)


def _check(dedup: Deduplicator, read_page: ReadPage) -> str | None:
    page = read_page.page
    verdict = dedup.check(page.url, html=page.html)
    return verdict.original if verdict.is_duplicate else None


@contextmanager
def _by_text(make: Callable[[], Detector]) -> Iterator[Check]:
    detector = make()
    yield lambda read_page: detector(read_page.page.url, read_page.text)


def _exact_text() -> Detector:
    known: dict[bytes, str] = {}

    def check(url: str, text: str) -> str | None:
        digest = hashlib.sha256(text.encode()).digest()
        original = known.setdefault(digest, url)
        return None if original == url else original

    return check
