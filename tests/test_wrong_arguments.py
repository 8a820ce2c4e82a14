"""Arguments of the wrong type are refused by name, before anything happens."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from crawldedup import AsyncDeduplicator, Deduplicator, Page
from crawldedup.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Callable

HTML = b"<p>" + b"some words of a page " * 20
FINGERPRINT = Deduplicator().fingerprint(html=HTML)


@pytest.mark.parametrize(
    ("argument", "value"),
    [
        ("store", 5),
        ("namespace", 5),
        ("extractor", ["text"]),
        ("min_words", True),
        ("ttl_refresh", "no"),
        ("store_urls", None),
    ],
)
def test_of_a_deduplicator(argument: str, value: Any) -> None:
    for cls in (Deduplicator, AsyncDeduplicator):
        with pytest.raises(ConfigurationError, match=f"{argument} is"):
            cls(**{argument: value})


CALLS: dict[str, Callable[[Any], object]] = {
    "url is None": lambda dedup: dedup.check(None, html=HTML),
    "url is b'http": lambda dedup: dedup.check(b"http://example.com/", html=HTML),
    "text is b'x'": lambda dedup: dedup.check("u", text=b"x"),
    "html is 5": lambda dedup: dedup.check("u", html=5),
    "encoding is 5": lambda dedup: dedup.check("u", html=HTML, encoding=5),
    "scope_key is 5": lambda dedup: dedup.check("u", html=HTML, scope_key=5),
    "canonical is 5": lambda dedup: dedup.check("u", fingerprint=FINGERPRINT, canonical=5),
    "revisit_similarity is '1'": lambda dedup: dedup.check("u", text="thin", revisit_similarity="1"),
    "fingerprint is 'x'": lambda dedup: dedup.check("u", fingerprint="x"),
    "url is None; it must be a str": lambda dedup: dedup.forget(None),
    "identity is 5": lambda dedup: dedup.forget("u", identity=5),
    "url is 5": lambda dedup: dedup.find(html=HTML, url=5),
    "canonical is 6": lambda dedup: dedup.explain("u", html=HTML, canonical=6),
    "similarity is '0.9'": lambda dedup: dedup.find(html=HTML, similarity="0.9"),
}
MANY: dict[str, Callable[[Any], Any]] = {
    "each must be a Page": lambda dedup: dedup.check_many([Page("u", html=HTML), "http://x"]),
}
CALLS |= {said: lambda dedup, call=call: list(call(dedup)) for said, call in MANY.items()}
BATCHES: dict[str, Callable[[Any], Any]] = {
    "batch is 1.5": lambda dedup: list(dedup.check_many([], batch=1.5)),
    "batch is '3'": lambda dedup: list(dedup.check_many([], batch="3")),
}


@pytest.mark.parametrize("said", CALLS | BATCHES)
def test_of_its_methods(said: str) -> None:
    with Deduplicator() as dedup, pytest.raises(ConfigurationError, match=said):
        (CALLS | BATCHES)[said](dedup)


@pytest.mark.parametrize("said", [said for said in CALLS if not said.startswith("batch")])
def test_of_its_asynchronous_methods(said: str) -> None:
    async def call() -> None:
        async with AsyncDeduplicator() as dedup:
            if said in MANY:
                _ = [verdict async for verdict in MANY[said](dedup)]
            else:
                await CALLS[said](dedup)

    with pytest.raises(ConfigurationError, match=said):
        asyncio.run(call())
