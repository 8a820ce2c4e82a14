"""What `AsyncDeduplicator` does beside handing on: workers, batches, and stores that fail."""

import asyncio
import functools
import gc
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any, ParamSpec

import pytest

from crawldedup import AsyncDeduplicator, Deduplicator, Kind, Page, PageError, compare
from crawldedup.aio import Judged, heartbeats
from crawldedup.aio import deduplicator as aio
from crawldedup.errors import ClosedError, ConfigurationError, StoreUnavailableError, WorkerError
from tests.servers import RedisServer

A, B = "https://example.com/a", "https://example.com/b"
OBEDIENT = "tests.scrapy_plugin.deadly_extractor.obedient"
P = ParamSpec("P")


def in_a_loop(test: Callable[P, Awaitable[None]]) -> Callable[P, None]:
    @functools.wraps(test)
    def run(*args: P.args, **kwargs: P.kwargs) -> None:
        asyncio.run(test(*args, **kwargs))  # type: ignore[arg-type]

    return run


def story(number: int, words: int = 80) -> str:
    """Return a text unlike those of other numbers."""
    return " ".join(f"word{number}x{place * place % 97}" for place in range(words))


def html(first: str, number: int = 0) -> str:
    """Return a page that begins with this word."""
    return f"<p>{first} {story(number)}"


async def outcomes(dedup: AsyncDeduplicator, pages: list[Page]) -> list[str]:
    """Return the kinds of pages that come at once, or what their errors are."""
    results = await asyncio.gather(*map(dedup.judge, pages), return_exceptions=True)
    return [
        str(result.verdict.kind)
        if isinstance(result, Judged)
        else str(getattr(result, "reason", type(result).__name__))
        for result in results
    ]


def test_every_method_of_the_other_form_is_there() -> None:
    names = {
        name for name in dir(Deduplicator) if not name.startswith("_") and name != "check_batch"
    }
    assert {name for name in names if not hasattr(AsyncDeduplicator, name)} == set()
    assert all(
        getattr(AsyncDeduplicator, name).__doc__
        for name in dir(AsyncDeduplicator)
        if name[0] != "_"
    )


@pytest.mark.parametrize(
    "options", [{"paragraphs": "mark"}, {"distinguish_params": "img"}], ids=str
)
@in_a_loop
async def test_verdicts_are_those_of_the_other_form(options: dict[str, Any]) -> None:
    texts = [story(at % 7, 30 + 5 * at) for at in range(30)] + ["short", "", "short"]
    forms: list[dict[str, Any]] = [{form: text} for text in texts for form in ("html", "text")]
    forms += [{"html": "half a pair \ud800"}, {"text": "half another pair \ud800"}]
    pages = [Page(f"https://e.com/{at}?img={at % 2}", **form) for at, form in enumerate(forms)]
    errors: list[tuple[str, str]] = []
    found: list[tuple[str, str]] = []
    with Deduplicator(**options) as other:
        expected = list(
            other.check_many(
                pages, on_unreadable=lambda page, error: errors.append((page.url, error.reason))
            )
        )
        async with AsyncDeduplicator(workers=2, **options) as dedup:
            # Those of pages that cannot be read have a reason.
            answers = dedup.check_many(
                pages, on_error=lambda page, error: found.append((page.url, error.reason))
            )  # type: ignore[attr-defined]
            assert [verdict async for verdict in answers] == expected
            looked = await dedup.check(A, html=html("a"), remember=False)
            assert looked == other.check(A, html=html("a"), remember=False)
            assert (await dedup.info()).pages == other.pages
    assert found == errors


@in_a_loop
async def test_a_verdict_is_not_held_back_until_the_next_page_comes() -> None:
    async def slowly() -> AsyncIterator[Page]:
        for url in (A, B):
            yield Page(url, html=html("a"))
        await asyncio.sleep(30)
        raise AssertionError("nobody waits for this")

    async with AsyncDeduplicator() as dedup, asyncio.timeout(20):
        verdicts = dedup.check_many(slowly())
        assert [str((await anext(verdicts)).kind) for _ in range(2)] == ["new", "exact_duplicate"]
        await verdicts.aclose()


@pytest.mark.parametrize("is_asynchronous", [False, True])
@in_a_loop
async def test_an_error_ends_the_iteration_after_the_verdicts_before_it(
    is_asynchronous: bool,
) -> None:
    def pages() -> Any:
        yield Page(A, text=story(1))
        yield Page(B, html=b"")
        yield Page(B, text=story(2))
        raise LookupError("the source has no more")

    async def asynchronous() -> AsyncIterator[Page]:
        for page in pages():
            yield page

    seen: list[object] = []

    async def check(dedup: AsyncDeduplicator, **how: Any) -> None:
        async for verdict in dedup.check_many(
            (asynchronous if is_asynchronous else pages)(), **how
        ):
            seen.append(str(verdict.kind))

    async with AsyncDeduplicator() as dedup:
        with pytest.raises(PageError, match="empty"):
            await check(dedup)
        with pytest.raises(LookupError):
            await check(dedup, on_error=lambda page, _: seen.append(page.url))
        with pytest.raises(ConfigurationError, match="each must be a Page"):
            await anext(dedup.check_many(["http://x"]))  # type: ignore[list-item]
    assert seen == ["new", "revisit", B, "new"]


@in_a_loop
async def test_pages_that_end_or_outlast_their_worker_cost_themselves_alone() -> None:
    words = ["a", "crash", "b", "forever", "c", "leave", "d", "raise", "e"]
    async with AsyncDeduplicator(extractor=OBEDIENT, page_seconds=3) as dedup:
        pages = [
            Page(f"https://e.com/{word}", html=html(word, at)) for at, word in enumerate(words)
        ]
        assert await outcomes(dedup, pages) == [
            *(
                "new",
                "WorkerError",
                "new",
                "too_slow",
                "new",
                "UnexpectedReadError",
                "new",
                "broken",
                "new",
            )
        ]
        assert dedup.waiting == 0


@in_a_loop
async def test_pages_that_wait_are_asked_about_together_and_a_lone_one_waits_for_nobody() -> None:
    sizes: list[int] = []
    async with AsyncDeduplicator() as dedup:
        check = dedup._dedup.check_batch
        dedup._dedup.check_batch = lambda pages, contents: (
            sizes.append(len(pages)),
            check(pages, contents),
        )[1]
        pages = [Page(f"https://e.com/{number}", text=story(number)) for number in range(100)]
        assert set(await outcomes(dedup, pages)) == {"new"}
        assert sizes == [32, 32, 32, 4]
        await dedup.judge(pages[0])
        assert sizes[4:] == [1]
        assert [verdict.url async for verdict in dedup.check_many(pages)] == [
            page.url for page in pages
        ]
        assert len(sizes) < 55
        foreign = Deduplicator(key=b"0123456789abcdef").fingerprint(text=story(1))
        mixed = [pages[0], Page(B, fingerprint=foreign), Page(B, text=story(0))]
        assert await outcomes(dedup, mixed) == ["revisit", "key", "exact_duplicate"]


@pytest.mark.usefixtures("own_keys")
@in_a_loop
async def test_an_index_that_another_begins_again_has_another_key_and_nobody_notices(
    redis_server: RedisServer,
) -> None:
    async with AsyncDeduplicator(redis_server.url) as dedup:
        for page in ({"text": story(1)}, {"html": f"<p>{story(1)}"}):
            for ask in (dedup.check(A, **page), anext(dedup.check_many([Page(A, **page)]))):
                assert (await ask).kind == Kind.NEW
                assert (await dedup.check(B, **page)).kind == Kind.EXACT_DUPLICATE
                redis_server.client.flushall()
                with Deduplicator(redis_server.url) as other:
                    other.check("https://b.example/", text=story(2))
        assert (await dedup.explain(B, html=html("a", 2))).verdict.is_duplicate


@in_a_loop
async def test_a_store_that_fails_is_left_alone_and_found_again() -> None:
    server = RedisServer()
    dedup = AsyncDeduplicator(server.url)
    with pytest.raises(StoreUnavailableError):
        await dedup.open()
    begun = time.monotonic()
    assert set(await outcomes(dedup, [Page(A, html=html("a"))] * 50)) == {"unavailable"}
    assert time.monotonic() - begun < 0.4
    with server:
        async with asyncio.timeout(30):
            while await outcomes(dedup, [Page(A, html=html("a"))]) != ["new"]:
                await asyncio.sleep(0.1)
        server.stop()
        while await outcomes(dedup, [Page(A, html=html("a"))]) != ["unavailable"]:
            await asyncio.sleep(0.05)
        await dedup.close()


@in_a_loop
async def test_delivered_pages_are_told_and_others_are_abandoned(tmp_path: Path) -> None:
    store = f"sqlite:///{tmp_path}/index.sqlite"
    async with AsyncDeduplicator(store) as dedup:
        for at in range(4):
            await dedup.check(f"https://e.com/{at}", html=html("a", at), delivered=False)
        dedup.deliver("https://e.com/1")
        # What raises between two pages loses no name.
        with pytest.raises(PageError):
            await dedup.check("https://e.com/empty", html="")
        dedup.deliver("https://e.com/2")
    with Deduplicator(store) as later:
        kinds = [later.check(f"https://f.com/{at}", html=html("a", at)).kind for at in range(4)]
    assert kinds == [Kind.NEW, Kind.EXACT_DUPLICATE, Kind.EXACT_DUPLICATE, Kind.NEW]


@in_a_loop
async def test_the_lease_is_renewed_while_nothing_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    beats: list[float] = []
    monkeypatch.setattr(heartbeats, "HEARTBEAT_SECONDS", 0.05)
    monkeypatch.setattr(Deduplicator, "heartbeat", lambda _: beats.append(time.monotonic()))
    dedup = AsyncDeduplicator()
    await dedup.check(A, text=story(1), remember=False)
    await asyncio.sleep(0.2)
    assert not beats
    await dedup.check(A, text=story(1))  # joins the crawl as `open` does
    for _ in range(3):
        before = len(beats)
        await asyncio.sleep(0.3)
        assert len(beats) > before
        await dedup.close()
        await dedup.open()
    await dedup.close()


@in_a_loop
async def test_what_waits_is_answered_before_it_closes_and_nothing_afterwards(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(
        aio, "_CLOSE_SECONDS", 100
    )  # on a busy machine, a worker alone may take ten to start
    dedup = AsyncDeduplicator()
    pages = [Page(f"https://e.com/{at}", html=html("a", at)) for at in range(50)]
    asked = [asyncio.ensure_future(dedup.judge(page)) for page in pages]
    await asyncio.sleep(0)
    await dedup.close()
    assert {str((await each).verdict.kind) for each in asked} == {"new"}
    for call in (
        dedup.check(A, text="x"),
        dedup.check(A, html="x"),
        dedup.info(),
        dedup.explain(A, text="x"),
    ):
        with pytest.raises(ClosedError):
            await call
    await dedup.close()
    await dedup.open()
    assert (await dedup.judge(pages[0])).verdict.kind == Kind.REVISIT
    await dedup.close()


@in_a_loop
async def test_what_does_not_end_cannot_hold_up_the_close(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(aio, "_CLOSE_SECONDS", 0.5)
    dedup = AsyncDeduplicator(extractor=OBEDIENT)
    stuck = asyncio.ensure_future(dedup.check(A, html=html("forever")))
    await asyncio.sleep(0.1)
    begun = time.monotonic()
    await dedup.close()
    assert time.monotonic() - begun < 3
    with pytest.raises(WorkerError):
        await stuck


@in_a_loop
async def test_cancelled_tasks_lose_no_page(caplog: pytest.LogCaptureFixture) -> None:
    pages = [
        Page(f"https://e.com/{at}", **{"html" if at % 2 else "text": story(at)}) for at in range(30)
    ]  # type: ignore[arg-type]
    async with AsyncDeduplicator() as dedup:

        async def check_many() -> list[str]:
            return [str(verdict.kind) async for verdict in dedup.check_many(pages)]

        tasks: list[asyncio.Task[Any]] = [asyncio.create_task(dedup.judge(page)) for page in pages]
        tasks.append(asyncio.create_task(check_many()))
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
        assert any(task.cancelled() for task in tasks)
        wait = asyncio.create_task(dedup.check_many([Page(A, html=b"")] * 99).__anext__())
        await asyncio.sleep(0.01)
        wait.cancel()
        assert {*await outcomes(dedup, pages)} <= {"new", "revisit"}
        assert set(await check_many()) == {"revisit"}
        assert (await dedup.info()).pages == len(pages)
        assert dedup.waiting == 0
        gc.collect()
    assert caplog.messages == []


@in_a_loop
async def test_it_can_be_explained_compared_and_searched() -> None:
    contents: list[dict[str, Any]] = [{"html": html("b")}, {"text": f"a {story(0)}"}]
    async with AsyncDeduplicator() as dedup:
        await dedup.check(A, html=html("a"))
        with Deduplicator() as other:
            other.check(A, html=html("a"))
            for content in contents:
                told, expected = await dedup.explain(B, **content), other.explain(B, **content)
                assert (told.verdict, told.text, told.marks, told.omissions) == (
                    expected.verdict,
                    expected.text,
                    expected.marks,
                    expected.omissions,
                )
                (found,) = await dedup.find(**content)
                assert (found.url, found.exact) == (A, "text" in content)
        compared = await dedup.compare(Page(A, html=html("a")), Page(B, text=story(0)))
        assert compared == compare(
            Page(A, html=html("a")), Page(B, text=story(0)), key=dedup.key.secret
        )
        assert await dedup.forget(A) == 1
        assert await dedup.note("a name", "a text") == await dedup.note("a name") == "a text"
        await dedup.clear()
        assert (await dedup.info()).pages == 0


@in_a_loop
async def test_the_text_of_a_page_comes_with_its_verdict() -> None:
    page = f"<title>A Ferry - News</title><nav>Home</nav><h1>A Ferry</h1><p>{story(3)}</p>"
    shell = "<title>Acme</title><body><div id=root></div><script src=/main.js></script>"
    contents: list[dict[str, Any]] = [
        {"html": page},
        {"text": story(3), "title": "A Ferry"},
        {"html": shell},
        {"fingerprint": Deduplicator(key=0).fingerprint(text=story(3))},
    ]
    texts, kinds = [], []
    async with AsyncDeduplicator(key=0) as dedup:
        with Deduplicator(key=0) as other:
            for number, content in enumerate(contents):
                url = f"https://a.example/{number}"
                checked = await dedup.check_with_text(url, **content)
                assert checked == other.check_with_text(url, **content)
                texts.append((checked.name, checked.text))
                kinds.append(str(checked.verdict.kind))
    assert kinds == ["new", "near_duplicate", "thin", "near_duplicate"]
    assert texts == [
        ("A Ferry", f"A Ferry\n{story(3)}"),
        ("A Ferry", story(3)),
        (None, None),
        (None, None),
    ]


def test_a_shell_is_thin_and_not_remembered() -> None:
    shell = "<title>Acme</title><body><div id=root></div><script src=/main.js></script>"

    async def kinds() -> list[Kind]:
        async with AsyncDeduplicator() as dedup:
            pages = [Page(f"https://acme.example/{number}", html=shell) for number in (1, 2, 2)]
            verdicts = [verdict.kind async for verdict in dedup.check_many(pages)]
            verdicts.append((await dedup.check(pages[0].url, html=shell)).kind)
            assert dedup.pages == 0
            with pytest.raises(PageError, match="script has yet to bring"):
                await dedup.judge(pages[0])
            return verdicts

    assert asyncio.run(kinds()) == [Kind.THIN] * 4
