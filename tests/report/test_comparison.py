import pytest

from tests.report.conftest import ReportOf
from tests.report.synthetic_journal import Line


def page(path: str, digest: str, outcome: str = "new", moment: float = 1, **more: object) -> Line:
    return {"t": moment, "url": f"https://example.com/{path}", "outcome": outcome, "digest": digest, **more}


def counted(changes: Line) -> dict[str, int]:
    """The changes that there were."""
    return {change: pages for change, pages in changes.items() if pages}


EARLIER = (
    page("same", "a"),
    page("changed", "b"),
    page("to-copy", "c"),
    page("old-place", "d"),
    page("gone", "e"),
    page("copy", "a", "exact"),
    page("by-flag", "f"),
    page("404", "", "skipped"),
    page("skipped", "a", "exact"),
)
NOW = (
    page("same", "a"),
    # A page counts as it was met last.
    page("changed", "b", moment=1),
    page("changed", "b2", moment=2),
    page("to-copy", "c", "near"),
    page("new-place", "d"),
    page("copy", "a", "exact"),
    page("new-copy", "a", "exact"),
    page("by-flag", "f", "revisit", changed=True),
    page("404", "", "skipped"),
    {"t": 1, "url": "https://other.example/", "outcome": "new"},
    {"t": 1, "skipped": "https://example.com/skipped", "rule": "x"},
    {"t": 1, "skipped": "https://example.com/same", "rule": "x"},
)


def test_pages_are_compared_by_url_and_text(report_of: ReportOf) -> None:
    compared = report_of(*NOW, earlier=EARLIER)["comparison"]
    assert compared is not None
    assert counted(compared["total"]) == {
        "new": 2,
        "changed": 2,
        "same": 2,
        "duplicated": 2,
        "moved": 1,
        "skipped": 1,
        "gone": 1,
    }
    assert {each["site"]: each["new"] for each in compared["sites"]} == {"example.com": 1, "other.example": 1}
    assert {(each["change"], each["url"].rpartition("/")[2]) for each in compared["examples"]} == {
        ("new", "new-place"),
        ("new", ""),
        ("changed", "changed"),
        ("changed", "by-flag"),
        ("duplicated", "to-copy"),
        ("duplicated", "new-copy"),
        ("moved", "old-place"),
        ("skipped", "skipped"),
        ("gone", "gone"),
    }
    assert compared["name"] == "former"


@pytest.mark.parametrize(
    "settings", [{"store": "memory://"}, {"store": "redis://other:6379/0"}, {"store": "memory://", "other": True}]
)
def test_texts_of_different_indexes_are_not_compared(report_of: ReportOf, settings: dict[str, object]) -> None:
    both = {"store": "memory://"} if settings.get("other") else {}
    compared = report_of(*NOW, earlier=EARLIER, settings=both, earlier_settings=settings)["comparison"]
    assert compared is not None
    assert not compared["by_text"]
    assert counted(compared["total"]) == {"new": 2, "changed": 1, "same": 3, "duplicated": 2, "skipped": 1, "gone": 2}


def test_a_crawl_is_the_same_as_itself(report_of: ReportOf) -> None:
    compared = report_of(*NOW, earlier=NOW)["comparison"]
    assert compared is not None
    assert set(counted(compared["total"])) == {"changed", "same"}
