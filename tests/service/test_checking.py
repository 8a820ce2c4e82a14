"""What a process of the service makes of the pages of all its requests."""

import asyncio

import pytest

from crawldedup import Page
from crawldedup.service import endpoints
from crawldedup.service.command import ServiceSettings
from crawldedup.service.endpoints import Checker
from crawldedup.service.problems import ProblemError
from tests.service.serving import story


def test_more_pages_than_may_wait_are_refused_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(endpoints, "_MOST_WAITING", 32)

    async def work() -> None:
        checker = Checker(ServiceSettings())
        groups = [[Page(f"{group}/{at}", html=story(32 * group + at)) for at in range(32)] for group in range(3)]
        first = asyncio.ensure_future(checker.check_many(groups[0]))
        await asyncio.sleep(0.05)
        with pytest.raises(ProblemError, match="32 pages wait") as refused:
            await checker.check_many(groups[1])
        assert (refused.value.problem.status, refused.value.problem.retry_after) == (503, 1)
        assert {getattr(each, "kind", each) for each in await first} == {"new"}
        assert {getattr(each, "kind", each) for each in await checker.check_many(groups[2])} == {"new"}
        await checker.close()

    asyncio.run(work())


def test_pages_of_a_group_are_decided_in_their_order() -> None:
    async def work() -> list[str]:
        checker = Checker(ServiceSettings(readers=2))
        contents = (
            {"html": story(1)},
            {"text": story(1)},
            {"html": ""},
            {"html": f"<b>{story(1)}"},
            {"text": story(2)},
        )
        pages = [Page(f"https://e.com/{at}", **content) for at, content in enumerate(contents)]  # type: ignore[arg-type]
        results = await checker.check_many(pages)
        await checker.close()
        return [str(getattr(each, "kind", None) or getattr(each, "reason", each)) for each in results]

    assert asyncio.run(work()) == ["new", "exact_duplicate", "empty", "exact_duplicate", "new"]


def test_pages_of_html_are_asked_about_in_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    # On a busy machine the reader takes longer for each.
    monkeypatch.setattr(endpoints, "_GATHERING_SECONDS", 5.0)

    async def work() -> list[int]:
        checker = Checker(ServiceSettings())
        await checker.check(Page("https://e.com/", html=story(1)))
        groups: list[int] = []
        measured = checker.dedup.on_batch
        checker.dedup.on_batch = lambda pages, seconds: (groups.append(pages), measured(pages, seconds))[1]
        pages = (Page(f"https://e.com/{number}", html=story(number) * 9) for number in range(2, 34))
        await asyncio.gather(*map(checker.check, pages))
        await checker.close()
        return groups

    groups = asyncio.run(work())
    assert (sum(groups), len(groups) <= 3) == (32, True), groups
