"""What came just below the limit, and parameters that choose a picture."""

from typing import Any

import pytest

from crawldedup.report.render.templates import lines_of, page_of
from tests.report.conftest import ReportOf
from tests.report.synthetic_journal import Line

SHOP = "https://shop.example"


def new(path: str, nearest: str = "", similarity: float = 0.8, **values: Any) -> Line:
    line = {"t": 1, "url": SHOP + path, "outcome": "new", **values}
    if nearest:
        line |= {"rejected_url": SHOP + nearest, "rejected_similarity": similarity, "rejected_by": "similarity"}
    return line


def test_places_are_listed_with_an_example_those_first_that_differ_by_query_alone(report_of: ReportOf) -> None:
    report = report_of(
        *(new(f"/topic/{number}", f"/topic/{number - 1}", 0.7) for number in range(1, 9)),
        new("/member?u=1&sid=a", "/member?u=1&sid=b", 0.75, difference="24 [-users-] {+guests+}"),
        new("/member?u=2&sid=a", "/member?u=2&sid=b", 0.65),
        new("/other"),
        {"t": 1, "url": f"{SHOP}/x", "outcome": "new", "rejected_url": "", "rejected_similarity": float("nan")},
    )
    rows = [(row["name"], row["pages"], row["by_query"], row["highest"], row["cause"]) for row in report["below"]]
    assert rows == [("/member", 2, 2, 0.75, "similarity"), ("/topic/{n}", 8, 0, 0.7, "similarity")]
    assert report["below"][0]["example"]["nearest"] == f"{SHOP}/member?u=1&sid=b"
    text = "2 new pages nearly match a page whose URL differs in its query alone. See what keeps them apart."
    assert text in [finding["text"] for finding in report["findings"]]
    page = page_of(report)
    assert "Just below the limit" in page
    assert "<del>users</del>" in page
    assert "Just below the limit" in map(str, lines_of(report))


@pytest.mark.parametrize(("name", "told"), [("img", True), ("sort", False), ("sid", False)])
def test_values_of_a_parameter_with_the_same_text_may_be_pictures(report_of: ReportOf, name: str, told: bool) -> None:
    paths = [(f"/{item}?c=7&{name}={value}", f"/{item}?c=7&{name}=1") for item in range(4) for value in (2, 3)]
    # Other parameters, one of them beside it.
    paths.append((f"/1?c=8&{name}=9", f"/1?c=7&{name}=1"))
    # A value for each page is no picture.
    paths += [(f"/own/{item}?v={item}", f"/own/{item}") for item in range(60)]
    copies = [
        {"t": 1, "url": f"{SHOP}/p{url}", "outcome": "exact", "original": f"{SHOP}/p{original}"}
        for url, original in paths
    ]
    report = report_of(*copies)
    assert report["variants"] == ([{"site": "shop.example", "name": name, "values": 3, "pages": 4}] if told else [])
    found = [finding["text"] for finding in report["findings"] if "same text" in finding["text"]]
    assert len(found) == told
    assert not told or found[0].startswith("Parameter img at shop.example: 3 values, same text. If these show")


@pytest.mark.parametrize(("name", "told"), [("img", True), ("ref", False)])
def test_a_shop_of_three_products_whose_pictures_have_a_parameter_is_told(
    report_of: ReportOf, name: str, told: bool
) -> None:
    """The page that came first has no picture in its URL, or was found by a link that names where it stands."""
    pages: list[Line] = []
    for item, first in enumerate((f"{SHOP}/p/0", f"{SHOP}/p/1", f"{SHOP}/p/2?ref=home&utm_source=a")):
        copy = {"t": 2, "outcome": "exact", "original": first}
        pages.append({"t": 1, "url": first, "outcome": "new"})
        pages += [copy | {"url": f"{SHOP}/p/{item}?{name}={value}"} for value in (1, 2, 3)]
    expected = [{"site": "shop.example", "name": "img", "values": 3, "pages": 3}]
    assert report_of(*pages)["variants"] == (expected if told else [])


def test_up_to_ten_volatile_lines_are_named(report_of: ReportOf) -> None:
    report = report_of(*({"t": 1, "volatile": f"shop.example: {n} people are looking {n}"} for n in range(10, 22)))
    page = page_of(report)
    assert [f"{n} people are looking {n}</li>" in page for n in range(10, 22)] == [True] * 10 + [False] * 2
    assert "These are ten of 12." in page
    (text,) = (finding["text"] for finding in report["findings"] if "volatile" in finding["text"])
    assert text.endswith("shop.example: 12 people are looking 12; and 9 more.")
