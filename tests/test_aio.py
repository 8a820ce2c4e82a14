"""What `AsyncDeduplicator` hands on; that its verdicts are those of `Deduplicator` is tested beside it."""

from __future__ import annotations

import asyncio
import inspect
import random

import pytest

from crawldedup import AsyncDeduplicator, Deduplicator, Kind, Page, fingerprint
from crawldedup.errors import ClosedError

A, B = "https://example.com/a", "https://example.com/b"
WORDS = ["".join(random.Random(number).choices("abdeiklmnorstu", k=6)) for number in range(3000)]
TEXT = " ".join(random.Random(1).choices(WORDS, k=400))
PUBLIC = [name for name in dir(Deduplicator) if not name.startswith("_")]


def edited(places: int) -> str:
    """The text with one word changed at each of so many places."""
    words = TEXT.split()
    for number in range(places):
        words[(number * 2 + 1) * len(words) // (2 * places)] = f"edit{number}"
    return " ".join(words)


@pytest.mark.parametrize("name", PUBLIC)
def test_every_method_takes_the_same_arguments(name: str) -> None:
    ours, original = (getattr(cls, name) for cls in (AsyncDeduplicator, Deduplicator))
    assert ours.__doc__
    assert isinstance(ours, property) == isinstance(original, property)
    if isinstance(original, property):
        return
    assert inspect.iscoroutinefunction(ours) == (name not in ("check_many", "from_options"))
    assert [(of.name, of.kind, of.default) for of in inspect.signature(ours).parameters.values()] == [
        (of.name, of.kind, of.default) for of in inspect.signature(original).parameters.values()
    ]


def test_both_have_the_same_members() -> None:
    assert [name for name in dir(AsyncDeduplicator) if not name.startswith("_")] == PUBLIC


def test_a_closed_one_says_so_and_opens_again(store_url: str) -> None:
    async def work() -> None:
        dedup = AsyncDeduplicator(store_url)
        await dedup.check(A, text=TEXT)
        await dedup.close()
        await dedup.close()
        with pytest.raises(ClosedError):
            await dedup.check(A, text=TEXT)
        await dedup.open()
        assert (await dedup.check(A, text=TEXT)).kind is Kind.REVISIT
        await dedup.close()

    asyncio.run(work())


def test_a_page_is_judged_without_being_remembered(store_url: str) -> None:
    async def work() -> None:
        async with AsyncDeduplicator(store_url) as dedup:
            page = await dedup.fingerprint(text=TEXT)
            looked = [await dedup.check_fingerprint(url, page, remember=False) for url in (A, B)]
            assert [str(verdict.kind) for verdict in looked] == ["new", "new"]
            await dedup.check_fingerprint(A, page)
            verdict = await dedup.check_fingerprint(B, page, remember=False)
            assert (str(verdict.kind), verdict.original, verdict.copies) == ("exact_duplicate", A, 1)
            assert (await dedup.info()).pages == 1

    asyncio.run(work())


@pytest.mark.parametrize(("canonical", "kind"), [(A, "near_duplicate"), (None, "new"), ("https://example.com/", "new")])
def test_a_page_that_names_its_original_is_judged_with_it(store_url: str, canonical: str | None, kind: str) -> None:
    async def work() -> None:
        async with AsyncDeduplicator(store_url) as dedup:
            await dedup.check_fingerprint(A, fingerprint(text=TEXT))
            verdict = await dedup.check_fingerprint(B, fingerprint(text=edited(13)), canonical=canonical)
            assert str(verdict.kind) == kind

    asyncio.run(work())


def test_cancelled_tasks_lose_no_page(store_url: str) -> None:
    pages = [Page(f"{A}/{number}", text=" ".join(WORDS[number * 90 :][:90])) for number in range(30)]
    dedup = AsyncDeduplicator(store_url)

    async def check(page: Page) -> str:
        return str((await dedup.check(page.url, text=page.text)).kind)

    async def check_many() -> list[str]:
        return [str(verdict.kind) async for verdict in dedup.check_many(pages, batch=5)]

    async def cancelled() -> None:
        tasks = [*(asyncio.create_task(check(page)) for page in pages), asyncio.create_task(check_many())]
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
        assert any(task.cancelled() for task in tasks)

    async def settled() -> None:
        assert {await check(page) for page in pages} <= {"new", "revisit"}
        assert set(await check_many()) == {"revisit"}
        assert (await dedup.info()).pages == len(pages)
        await dedup.close()

    asyncio.run(cancelled())
    asyncio.run(settled())
