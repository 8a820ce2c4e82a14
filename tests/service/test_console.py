"""The pages for people: what they show, and what would break them.

A browser tries them at length.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from html import escape
from pathlib import Path
from typing import Any

import pytest
from selectolax.lexbor import LexborHTMLParser

from tests.browsers import BROWSER, needs_browser
from tests.service.serving import TIDES, Service, service_here, story

JSON = "application/json"
SCRIPT = "javascript:window.broken=1"
LONG = " ".join(f"word{place}" for place in range(600))
HOSTILE = (
    "</textarea></details><script>window.broken=1</script><img src=x onerror='window.broken=1'>"
    "\"'><svg onload=window.broken=1><a "
    'href="javascript:window.broken=1">x</a><style>*{display:none}</style>'
    "<base href=https://evil.example/><link rel=stylesheet href=https://evil.example/a.css> {{ 777 "
    "* 777 }} "
    "<form action=https://evil.example/><meta http-equiv=refresh content='0;https://evil.example/'>"
    " \u202eevil\u2066 \x1b[31m"
)
EVIL = f'https://evil.example/">{HOSTILE}'
FORBIDDEN = (
    "main img, main script, main style, main base, main link, main meta, main a[href^=javascript], "
    "[onload]"
)
LAMP = (
    "<h1>Lamp</h1><script "
    'type="application/ld+json">{"@type":"Product","name":"Lamp","sku":"%s"}</script><p>%s</p>'
)


@pytest.fixture(scope="module")
def console() -> Iterator[Service]:
    """A service with some pages."""
    with service_here(paragraphs="mark") as started:
        for url, text in ((EVIL, story(1)), (SCRIPT, LONG)):
            started.check(url, text=text)
        yield started


def sent(console: Service, path: str, **form: str) -> LexborHTMLParser:
    """Return the page that answers a form.

    The first section of it has what was found, and the last one the form.
    """
    answer = console.http.post(path, data=form)
    assert answer.status_code == 200, answer.text
    return LexborHTMLParser(answer.text)


def texts(page: LexborHTMLParser, selector: str) -> list[str]:
    return [" ".join(node.text().split()) for node in page.css(selector)]


def test_two_texts_are_compared(console: Service) -> None:
    second = TIDES.replace("fog", "mist")
    page = sent(console, "/", first=TIDES, second=second)
    (told, *_) = texts(page, "main section")
    for words in (
        "Near duplicate (0.9",
        "This is the verdict on the second page",
        "Estimate",
        "±",
        "limit 254",
        "probe 4 finds",
    ):
        assert words in told
    assert (texts(page, "del"), texts(page, "ins")) == (["fog,"], ["mist,"])
    assert texts(page, "textarea[name=second]") == [second]
    assert len(page.css("rect.near")) == len(page.css(".legend li")) > 0


def test_what_is_left_out_is_shown_and_does_no_harm(console: Service) -> None:
    html = f"<main><h1>Tides</h1><p>{TIDES}</p></main><footer>{escape(HOSTILE)}</footer>"
    for path, form in (("/", {"first": html, "second": html}), ("/search", {"page": html})):
        page = sent(console, path, **form)
        parts = texts(page, ".omitted li")
        assert len(parts) == len(form)
        assert all("1 line in <footer>, " in part for part in parts)
        assert all("<script>window.broken=1" in part for part in parts)
        assert page.css(FORBIDDEN) == []


def test_pages_of_one_site_are_told_apart_by_their_marks(console: Service) -> None:
    pair = {"first": LAMP % ("A", TIDES), "second": LAMP % ("B", TIDES)}
    urls = {f"{name}-url": f"https://lamps.example/{name}" for name in pair}
    page = sent(console, "/", **pair, **urls)
    (told, *_) = texts(page, "main section")
    assert "New, a sibling of https://lamps.example/first: other data" in told
    assert "their marks say that their content is different" in told
    assert "Kept apartother data, declared sku A and B" in told
    assert (texts(page, "del"), texts(page, "ins")) == (["declared sku A"], ["declared sku B"])
    assert texts(page, "h3")[0] == "Marks that differ"
    assert page.css_first("input[name=first-url]").attributes["value"] == urls["first-url"]
    # Without URLs, nothing says that they are of one site.
    assert texts(sent(console, "/", **pair), "h2")[0].startswith("Exact duplicate")


def test_the_page_says_that_a_person_has_told_pages_apart(tmp_path: Path) -> None:
    file = tmp_path / "apart.jl"
    file.write_text('{"url": "https://tides.example/2"}\n')
    # First two similar texts, then two different ones.
    for second in (TIDES, LONG):
        with service_here(apart=str(file)) as console:
            urls = {"first-url": "https://a.example/1", "second-url": "https://tides.example/2"}
            page = sent(console, "/", first=TIDES, second=second, **urls)
        (told, *_) = texts(page, "main section")
        assert "Why: a person has told them apart (the option `apart`)." in told
        assert "Kept aparta person has told them apart" in told
        assert "their marks say" not in told
        assert "copies count at about" not in told


def test_the_index_is_searched_and_shown(console: Service) -> None:
    page = sent(console, "/search", page=LONG.replace("word9 ", ""), url="https://new.example/")
    assert f"of {SCRIPT}" in texts(page, "h2")[0]
    (row,) = (row for row in texts(page, "main tr") if SCRIPT in row)
    assert "accepted" in row
    page = sent(
        console, "/search", page=f"{' '.join(f'other{place}' for place in range(600))}\n\n{LONG}"
    )
    rows = [row for row in texts(page, "[aria-label=Paragraphs] tr") if row.endswith(SCRIPT)]
    assert rows
    assert all("known" in row for row in rows)
    shown = texts(LexborHTMLParser(console.http.get("/index").text), "main")[0]
    assert "Pages2" in shown
    # On a busy machine, the mean may be 1, without a point, or 12.3.
    found = re.search(
        r"Pages checked, by kind .*new\d.* answer .*/search(\d[\d.]*).* in the index All2", shown
    )
    assert found is not None, shown
    assert 0 < float(found[1]) < 60


def test_the_http_interface_is_shown(console: Service) -> None:
    document = console.http.get("/openapi.json").json()
    page = LexborHTMLParser(console.http.get("/docs").text)
    headings = set(texts(page, "h3"))
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            assert f"{method.upper()} {path}" in headings
            assert operation["summary"] in page.css_first("main").text()
    for name, schema in document["components"]["schemas"].items():
        assert name in headings
        for field in schema.get("properties", {}):
            assert field in texts(page, "dt")
    targets = {node.attributes["href"] for node in page.css("main a[href^='#']")}
    assert targets
    assert all(page.css_first(f"[id='{target[1:]}']") for target in targets if target)
    assert page.css_first("a[href='/openapi.json']")
    assert page.css("script, [style], img") == []
    assert "A read-only token is refused." in page.css_first("main").text()
    # What it shows of JSON is JSON.
    shown = [node.text() for node in page.css("pre code")]
    assert (
        json.dumps(
            document["paths"]["/v1/forget"]["post"]["requestBody"]["content"][JSON]["example"],
            indent=2,
        )
        in shown
    )


@pytest.mark.parametrize("kind", ["text", "html"])
@pytest.mark.parametrize(("path", "fields"), [("/", ("first", "second")), ("/search", ("page",))])
def test_a_hostile_text_is_nothing_but_text(
    console: Service, path: str, fields: tuple[str, ...], kind: str
) -> None:
    form = {f"{name}-kind": kind for name in fields}
    form |= {name: f"{HOSTILE} {story(1)} {number} {HOSTILE}" for number, name in enumerate(fields)}
    page = sent(console, path, **form, **({"url": EVIL} if path == "/search" else {}))
    assert len(page.css("h2")) == 2
    assert [node.text().strip() for node in page.css("textarea")] == [form[name] for name in fields]
    assert page.css(FORBIDDEN) == []
    assert [node.attributes["action"] for node in page.css("form")] == [path]
    shown = page.css("main section")[0].text()
    assert not {"\u202e", "\u2066", "\x1b"} & set(shown)
    assert "603729" not in shown


@pytest.mark.parametrize(
    ("path", "form", "status", "said"),
    [
        ("/", {}, 400, "the first page is empty"),
        ("/", {"first": TIDES, "second": " "}, 400, "the second page is empty"),
        ("/", {f"{each}": "x" for each in range(11)}, 400, "the form of this page"),
        ("/search", {"page": TIDES, "url": "u" * 9000}, 400, "8192"),
        ("/search", {"page": f"{'<div>' * 100_000}{TIDES}"}, 422, "deep"),
    ],
)
def test_bad_input_gets_the_form_again_and_a_reason(
    console: Service, path: str, form: dict[str, str], status: int, said: str
) -> None:
    answer = console.http.post(path, data=form)
    assert (answer.status_code, answer.headers["content-type"]) == (
        status,
        "text/html; charset=utf-8",
    )
    page = LexborHTMLParser(answer.text)
    assert said in texts(page, "[role=alert]")[0]
    assert page.css("form")


@pytest.mark.parametrize("before", range(4))
def test_what_is_escaped_in_a_long_form_comes_back_whole(console: Service, before: int) -> None:
    """However it lies across the pieces that it is read in."""
    text = "x" * before + "ä & + = % 100 " * 5_000
    page = sent(console, "/", first=text, second="a text")
    shown = page.css("textarea")[0].text().strip()
    assert (len(shown), shown == text.strip()) == (len(text.strip()), True)


def test_the_page_of_the_interface_shows_names_as_code(console: Service) -> None:
    page = LexborHTMLParser(console.http.get("/docs").text)
    prose = " ".join(each.text() for each in page.css("p, dd"))
    assert ("`" in prose, "near_duplicate" in [each.text() for each in page.css("dd code")]) == (
        False,
        True,
    )


@pytest.mark.parametrize("path", ["/v1/info", "/openapi.json", "/nowhere"])
def test_answers_for_programs_are_neither_guessed_nor_kept(console: Service, path: str) -> None:
    headers = console.http.get(path).headers
    assert (headers["x-content-type-options"], headers["cache-control"]) == ("nosniff", "no-store")


def test_the_icon_that_browsers_ask_for_is_no_error(console: Service) -> None:
    answer = console.http.get("/favicon.ico")
    assert (answer.status_code, answer.content) == (204, b"")


@pytest.mark.parametrize("path", ["/", "/search", "/index", "/docs"])
def test_every_page_forbids_what_it_does_not_need(console: Service, path: str) -> None:
    headers = console.http.get(path).headers
    assert (
        "default-src 'none'; style-src 'self'; form-action 'self'"
        in headers["content-security-policy"]
    )
    assert (headers["x-content-type-options"], headers["cache-control"]) == ("nosniff", "no-store")


@pytest.fixture
def tab(console: Service) -> Iterator[Any]:
    """A tab of a browser that does not heed the policy of the pages.

    `trouble` has what went wrong in it.
    """
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=BROWSER, args=["--no-sandbox"])
        opened: Any = browser.new_context(base_url=console.url, bypass_csp=True).new_page()
        opened.trouble = []
        for event, what in {
            "request": "url",
            "pageerror": "message",
            "dialog": "message",
            "console": "text",
        }.items():
            opened.on(event, lambda met, what=what: opened.trouble.append(getattr(met, what)))
        # Answered with 204.
        opened.route("**/favicon.ico", lambda route: route.fulfill(body=""))
        yield opened
        browser.close()


def send(tab: Any, path: str, **fields: str) -> None:
    """Send the form of a page, and open all that is folded in its answer."""
    tab.goto(path)
    for name, text in fields.items():
        tab.locator(f"[name={name}]").fill(text)
    tab.locator("main button").click()
    for summary in tab.locator("summary").all():
        summary.click()


@needs_browser
@pytest.mark.nightly
def test_a_browser_runs_and_loads_nothing_of_a_hostile_text_and_sends_no_form_of_others(
    tab: Any, console: Service
) -> None:
    text = f"{HOSTILE} {story(1)} {HOSTILE}"
    for path, fields in (
        ("/", {"first": text, "second": text + "x"}),
        ("/search", {"page": text, "url": EVIL}),
    ):
        send(tab, path, **fields)
        assert tab.get_by_role("heading", level=2).count() == 2
        assert tab.evaluate("window.broken") is None
    assert [each for each in tab.trouble if not each.startswith(console.url)] == []
    tab.goto("about:blank")
    with tab.expect_response(f"{console.url}/search") as answered:
        tab.set_content(
            f'<form method=post action="{console.url}/search"><input name=page value=x></form>'
        )
        tab.evaluate("document.forms[0].submit()")
    assert answered.value.status == 403


# Values of one short word, such as 0.982, that are broken into several lines.
BROKEN_VALUES = """
[...document.querySelectorAll('.facts dd')].map(value => {
    const range = document.createRange();
    range.selectNodeContents(value);
    const text = value.textContent.trim();
    const lines = new Set([...range.getClientRects()].map(box => Math.round(box.top)));
    return text.length < 12 && !/\\s/.test(text) && lines.size > 1 ? text : null;
}).filter(text => text !== null)
"""


@needs_browser
@pytest.mark.nightly
def test_the_pages_fit_a_phone_and_are_accessible(tab: Any) -> None:
    from axe_playwright_python.sync_playwright import Axe

    found = list[Any]()
    tab.set_viewport_size({"width": 390, "height": 800})
    long = {"first": f"{TIDES} {'x' * 300}", "second": TIDES.replace("fog", "mist " * 30)}
    for path, fields in (
        ("/", long),
        ("/search", {"page": LONG.replace("word9 ", "")}),
        ("/search", {}),
    ):
        send(tab, path, **fields)
        assert tab.evaluate("document.documentElement.scrollWidth") <= 390
        assert tab.evaluate(BROKEN_VALUES) == []
        for scheme, options in (("light", {}), ("dark", {"runOnly": ["color-contrast"]})):
            tab.emulate_media(color_scheme=scheme)
            found += Axe().run(tab, options=options).response["violations"]
    assert [(each["id"], each["nodes"][0]["html"]) for each in found] == []
