"""Hostile pages cost their own request, and nobody else's."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from crawldedup import Options, Page, PageError
from crawldedup.service.readers import ReaderPool
from crawldedup.text.keys import NO_KEY
from tests.service.serving import ServiceProcess, story

if TYPE_CHECKING:
    from pathlib import Path

DEADLY = "tests.scrapy_plugin.deadly_extractor.deadly"


def test_pages_that_kill_or_never_end_are_refused_and_others_are_read() -> None:
    async def main() -> list[str]:
        pool = ReaderPool(Options(extractor=DEADLY), readers=2, page_seconds=1)
        words = ["one", "deadly", "two", "endless", "three", "endless", "four"]
        pages = [Page(word, html=f"<p>{word} {story(1)}") for word in words]
        try:
            results = await asyncio.gather(*(pool.read(page, NO_KEY) for page in pages), return_exceptions=True)
            # Whoever leaves takes the page along.
            left = asyncio.ensure_future(pool.read(pages[3], NO_KEY))
            await asyncio.sleep(0.3)
            left.cancel()
            results += await asyncio.gather(*(pool.read(page, NO_KEY) for page in pages[:1]), return_exceptions=True)
        finally:
            pool.close()
        return [result.reason if isinstance(result, PageError) else type(result).__name__ for result in results]

    read = "Fingerprint"
    assert asyncio.run(main()) == [read, "broken", read, "too_slow", read, "too_slow", read, read]


def test_a_page_gets_the_fingerprint_that_it_has_elsewhere() -> None:
    from crawldedup import Deduplicator

    pages = [
        Page("a", html=f"<p>{story(1)} é"),
        Page("a", html=f"<p>{story(1)} é".encode("latin-1"), encoding="latin-1"),
        Page("a", text=story(1, 20_000)),
    ]

    async def main() -> list[dict[str, object]]:
        pool = ReaderPool(Options(keep_texts=True), readers=1, page_seconds=30)
        try:
            return [(await pool.read(page, NO_KEY)).as_dict() for page in pages]
        finally:
            pool.close()

    dedup = Deduplicator(key=0, keep_texts=True)
    expected = [dedup.fingerprint(html=page.html, text=page.text, encoding=page.encoding) for page in pages]
    assert asyncio.run(main()) == [each.as_dict() for each in expected]


@pytest.mark.exhaustive
def test_texts_are_decided_while_a_page_is_read_that_never_ends(tmp_path: Path) -> None:
    with ServiceProcess("--store", f"sqlite:///{tmp_path}/index.sqlite", "--extractor", DEADLY) as service:
        service.check("https://a.example/", html=f"<p>{story(1)}")

        async def main() -> None:
            import httpx

            async with httpx.AsyncClient(base_url=service.url, timeout=60) as http:
                endless = {"url": "u", "html": "<p>endless"}
                reading = asyncio.ensure_future(http.post("/v1/check", json=endless))
                for number in range(50):
                    answer = await http.post("/v1/check", json={"url": f"u{number}", "text": story(number + 2)})
                    assert answer.json()["kind"] == "new"
                assert not reading.done()
                answer = await reading
                assert (answer.status_code, answer.json()["reason"]) == (422, "too_slow")

        asyncio.run(main())
