import pytest

from crawldedup.report.render.templates import page_of
from tests.report.conftest import ReportOf
from tests.report.synthetic_journal import Line


def new(url: str, moment: float = 0) -> Line:
    return {"t": moment, "url": url, "outcome": "new"}


def copy(url: str, original: str = "https://example.com/original", moment: float = 1) -> Line:
    return {"t": moment, "url": url, "outcome": "exact", "original": original, "similarity": 1}


@pytest.mark.parametrize(
    ("path", "pattern"),
    [
        ("", ""),
        ("/", "/"),
        ("/news/2026/11/30/the-last-boat.html?a=1#b", "/news/{date}/*"),
        ("/item/12345/reviews", "/item/{n}/reviews"),
        ("/shop;jsessionid=0A1B2C3D/cart", "/shop;*/cart"),
        ("/s/0123456789abcdef0123456789abcdef/page", "/s/{id}/page"),
        ("/a/b/c/d/e/f", "/a/b/c/d/…"),
        ("/en/the-last-boat/", "/en/*/"),
    ],
)
def test_what_differs_in_names_only_is_one_pattern(report_of: ReportOf, path: str, pattern: str) -> None:
    (group,) = report_of(new(f"https://user@www.example.com:8080{path}"))["patterns"]
    assert (group["site"], group["name"]) == ("example.com:8080", pattern)


def test_only_unusual_ports_are_sites_of_their_own(report_of: ReportOf) -> None:
    urls = ["http://a:8000/", "http://a:9000/", "http://a:80/", "http://a/", "https://a:443/", "https://www.b.com:80/"]
    copies = [copy("http://a:9000/1", "http://a:80/"), copy("http://a/1", "http://a:80/")]
    report = report_of(*map(new, [*urls, "http://[::1]:8000/", "http://a:b:c/", "http://[/"]), *copies)
    sites = {group["site"]: group["responses"] for group in report["sites"]}
    assert sites == {"a": 5, "a:9000": 2, "a:8000": 1, "b.com:80": 1, "::1:8000": 1, "[": 1}
    assert report["totals"]["across_sites"] == 1


def test_a_folder_of_many_names_is_one_pattern(report_of: ReportOf) -> None:
    names = [chr(ord("a") + first) + chr(ord("a") + second) for first in range(10) for second in range(10)]
    groups = report_of(*(new(f"https://example.com/wiki/{name}") for name in names), new("https://example.com/a"))[
        "patterns"
    ]
    assert [(group["name"], group["counts"]["new"]) for group in groups] == [("/wiki/*", 100), ("/a", 1)]


NUMBERS = range(120)
TRAPS = {
    "calendar": (
        [f"calendar/{2000 + number // 12}/{number % 12 + 1:02}/" for number in NUMBERS],
        [f"events?month={2000 + number // 12}-{number % 12 + 1:02}" for number in NUMBERS],
    ),
    "session ids": (
        [f"a;jsessionid={number:032x}/b" for number in NUMBERS],
        [f"page?PHPSESSID={number:032x}" for number in NUMBERS],
    ),
    "many URLs, few texts": ([f"topic/{number}" for number in NUMBERS], []),
}


@pytest.mark.parametrize("trap", TRAPS)
def test_a_trap_in_a_path_and_in_a_parameter_is_named(report_of: ReportOf, trap: str) -> None:
    paths, queries = TRAPS[trap]
    copies = [copy(f"https://example.com/{path}") for path in paths]
    copies += [copy(f"https://e.org/{path}", f"https://e.org/{n % 120}") for n, path in enumerate(queries)]
    report = report_of(*copies)
    assert [group["trap"] for group in report["stale"] if group["site"] == "example.com"] == [trap]
    texts = [finding["text"] for finding in report["findings"]]
    assert any(text.startswith(f"A trap ({trap}): 120 of 120 pages at example.com") for text in texts)
    parameters = [group for group in report["parameters"] if group["site"] == "e.org"]
    assert [group["trap"] for group in parameters] == ([trap] if queries else [])
    assert all(100 < group["values"] < 140 for group in parameters)


@pytest.mark.parametrize("known", [75, 1])
def test_a_calendar_with_texts_of_its_own_is_no_trap_when_it_is_crawled_again(report_of: ReportOf, known: int) -> None:
    months = [f"https://example.com/calendar/2026/{number:03}?month=2026-{number % 12 + 1:02}" for number in range(150)]
    step = len(months) // known
    revisits = [{"t": number, "url": url, "outcome": "revisit"} for number, url in enumerate(months[::step])]
    copies = [copy(url, moment=number) for number, url in enumerate(months) if number % step]
    texts = [finding["text"].partition(" are ")[0] for finding in report_of(*revisits, *copies)["findings"]]
    # One that has nearly none is a trap again.
    named = [f"A trap (calendar): 149 of 150 pages at example.com{name}" for name in ("/calendar/{n}/{n}", "?month=")]
    assert [text for text in texts if "A trap" in text] == (named if known == 1 else [])


def test_a_url_of_many_parameters_does_not_fill_the_table(report_of: ReportOf) -> None:
    odd = "&".join(f"p{number}={number}" for number in range(900))
    report = report_of(new(f"https://example.com/?{odd}"), *[new("https://example.com/?=1&id=2")] * 2)
    assert [group["name"] for group in report["parameters"][:3]] == ["", "id", "p0"]
    assert len(report["parameters"]) == 32
    assert "(no name)" in page_of(report)


def test_mirrors_print_views_and_choices_are_no_traps(report_of: ReportOf) -> None:
    mirror = [
        copy(f"https://mirror.example.com/print/{number}", f"https://example.com/{number}") for number in range(120)
    ]
    sorting = [
        copy(f"https://shop.example/list?sort={number % 3}", f"https://shop.example/{number}") for number in range(120)
    ]
    forum = [new(f"https://forum.example/thread?id={number}") for number in range(60)]
    forum += [copy(f"https://forum.example/thread?id={number}&by=1", f"{number}") for number in range(60, 140)]
    report = report_of(*mirror, *sorting, *forum)
    assert not any(group["trap"] for group in (*report["stale"], *report["patterns"], *report["parameters"]))
    assert {group["name"] for group in report["stale"]} == {"/print/{n}", "/list", "/thread"}


def test_a_place_is_stale_when_its_last_pages_are_not_new(report_of: ReportOf) -> None:
    once = [new(f"https://example.com/old/{number}", number) for number in range(60)]
    later = [
        copy(f"https://example.com/old/{number}?again", f"https://example.com/{number}", 100) for number in range(60)
    ]
    early = [copy(f"https://example.com/live/{number}", f"https://example.com/{number}", 0) for number in range(60)]
    live = [new(f"https://example.com/live/{number}?now", 100) for number in range(60)]
    # Revisits tell nothing of novelty.
    revisits = [{"t": 1, "url": f"https://e.org/{number}", "outcome": "revisit"} for number in range(200)]
    report = report_of(*once, *later, *early, *live, *revisits)
    assert [site["recent"] for site in report["sites"] if site["site"] == "e.org"] == [None]
    assert [(group["name"], group["since_new"]) for group in report["stale"]] == [("/old/{n}", 60)]
    assert {group["name"]: group["recent"] for group in report["patterns"] if group["recent"]} == {
        "/old/{n}": 0.4,
        "/live/{n}": 0.6,
    }
