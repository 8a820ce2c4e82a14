"""Plans that are made where a page is read are those that would be made where it is judged."""

from __future__ import annotations

import pytest

from crawldedup import Deduplicator
from crawldedup.scope import salt_of, xored
from tests.evaluation.methods.test_methods import SPECS, edited, text_of


@pytest.mark.parametrize("spec", SPECS)
def test_a_plan_moves_with_its_page(spec: str) -> None:
    dedup = Deduplicator(method=spec)
    method, task = dedup.reader.method, dedup.plan_task()
    salt = salt_of("example.com", method.signature_bytes)
    for seed in range(20):
        page = dedup.fingerprint(text=" ".join(text_of(seed)))
        how = {"similarity": task.similarity, "recall": task.recall, "pages": task.pages}
        moved = method.plan(page, page.search, page.verify, **how).moved(  # type: ignore[arg-type]
            [table.key_of(salt.number, salt.signature) for table in method.tables]
        )
        made = method.plan(page, page.search ^ salt.number, xored(page.verify, salt.signature), **how)  # type: ignore[arg-type]
        assert moved.tables.tolist() == made.tables.tolist()
        assert moved.lows.tolist() == made.lows.tolist()
        assert moved.highs.tolist() == made.highs.tolist()
        assert moved.recall == made.recall


@pytest.mark.parametrize("scope", ["global", "site"])
@pytest.mark.parametrize("spec", SPECS)
def test_verdicts_are_the_same_with_plans_made_ahead(spec: str, scope: str) -> None:
    planned, unplanned = (Deduplicator(method=spec, scope=scope) for _ in range(2))
    for seed in range(60):
        words = text_of(seed // 3)
        page = planned.fingerprint(text=" ".join(edited(words) if seed % 3 else words))
        ahead = planned.reader.plan_ahead(page, planned.plan_task())
        url = f"http://site{seed % 2}.example/{seed}"
        assert planned.check_fingerprint(url, ahead) == unplanned.check_fingerprint(url, page)


def test_a_plan_that_fits_is_used_and_another_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    dedup = Deduplicator(scope="site")
    page = dedup.fingerprint(text=" ".join(text_of(1)))
    ahead = dedup.reader.plan_ahead(page, dedup.plan_task())
    asked: list[object] = []
    plan = type(dedup.reader.method).plan
    monkeypatch.setattr(
        type(dedup.reader.method), "plan", lambda *page, **task: asked.append(task) or plan(*page, **task)
    )
    dedup.check_fingerprint("http://a.example/", ahead)
    assert asked == []
    dedup.check_fingerprint("http://b.example/", ahead, similarity=0.8)
    assert asked == [{"similarity": 0.8, "recall": 0.98, "pages": 1}]


def test_a_task_is_the_same_until_an_index_has_doubled() -> None:
    dedup = Deduplicator(expected_pages=1000)
    assert dedup.plan_task().pages == 1024
    assert Deduplicator(expected_pages=1024).plan_task() == dedup.plan_task()
    assert Deduplicator(expected_pages=1025).plan_task().pages == 2048
    assert Deduplicator().plan_task(0.8).similarity == 0.8


def test_a_page_for_its_exact_copies_needs_no_plan() -> None:
    dedup = Deduplicator()
    thin = dedup.fingerprint(text="a few words")
    assert dedup.reader.plan_ahead(thin, dedup.plan_task()).planned is None
