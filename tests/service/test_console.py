"""The pages for people: what they show, and what would break them."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from selectolax.lexbor import LexborHTMLParser

from tests.service.serving import TIDES, Service, service_here, story

SCRIPT = "javascript:window.broken=1"
LONG = " ".join(f"word{place}" for place in range(600))
HOSTILE = (
    "</textarea></details><script>window.broken=1</script><img src=x onerror='window.broken=1'>"
    '"\'><svg onload=window.broken=1><a href="javascript:window.broken=1">x</a><style>*{display:none}</style>'
    "<base href=https://evil.example/><link rel=stylesheet href=https://evil.example/a.css> {{ 777 * 777 }} "
    "<form action=https://evil.example/><meta http-equiv=refresh content='0;https://evil.example/'>"
    " \u202eevil\u2066 \x1b[31m"
)
EVIL = f'https://evil.example/">{HOSTILE}'
FORBIDDEN = "main img, main script, main style, main base, main link, main meta, main a[href^=javascript], [onload]"
PRICE = '<h1>Lamp</h1><script type="application/ld+json">{"@type":"Product","name":"Lamp","sku":"%s"}</script><p>%s</p>'


@pytest.fixture(scope="module")
def console() -> Iterator[Service]:
    """A service with some pages."""
    with service_here(paragraphs="mark") as started:
        for url, text in ((EVIL, story(1)), (SCRIPT, LONG)):
            started.check(url, text=text)
        yield started


def sent(console: Service, path: str, **form: str) -> LexborHTMLParser:
    """Return the page that answers a form. The first section of it has what was found, and the last one the form."""
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
        "This is the verdict of a crawl",
        "Estimate",
        "±",
        "limit 254",
        "probe 4 meets",
    ):
        assert words in told
    assert (texts(page, "del"), texts(page, "ins")) == (["fog,"], ["mist,"])
    assert texts(page, "textarea[name=second]") == [second]
    assert len(page.css("rect.near")) == len(page.css(".legend li")) > 0
    page = sent(console, "/", first=PRICE % ("A", TIDES), second=PRICE % ("B", TIDES))
    assert "their product attributes differ" in texts(page, "main")[0]
    assert len(page.css("del")) == len(page.css("ins")) == 1


def test_the_index_is_searched_and_shown(console: Service) -> None:
    page = sent(console, "/search", page=LONG.replace("word9 ", ""), url="https://new.example/")
    assert f"of {SCRIPT}" in texts(page, "h2")[0]
    (row,) = (row for row in texts(page, "main tr") if SCRIPT in row)
    assert "accepted" in row
    page = sent(console, "/search", page=f"{' '.join(f'other{place}' for place in range(600))}\n\n{LONG}")
    rows = [row for row in texts(page, "[aria-label=Paragraphs] tr") if row.endswith(SCRIPT)]
    assert rows
    assert all("known" in row for row in rows)
    shown = texts(LexborHTMLParser(console.http.get("/index").text), "main")[0]
    assert "Pages2" in shown
    assert re.search(r"/search\d\.\d+.* Pages checked, by kind. .*new\d.* holds. All2", shown)


@pytest.mark.parametrize("kind", ["text", "html"])
@pytest.mark.parametrize(("path", "fields"), [("/", ("first", "second")), ("/search", ("page",))])
def test_a_hostile_text_is_nothing_but_text(console: Service, path: str, fields: tuple[str, ...], kind: str) -> None:
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
        ("/", {f"{each}": "x" for each in range(11)}, 400, "no form of this page"),
        ("/search", {"page": TIDES, "url": "u" * 9000}, 400, "8192"),
        ("/search", {"page": f"{'<div>' * 100_000}{TIDES}"}, 422, "deep"),
        ("/search", {"page": "x" * (9 << 20)}, 413, "--max-body"),
    ],
)
def test_bad_input_gets_the_form_again_and_a_reason(
    console: Service, path: str, form: dict[str, str], status: int, said: str
) -> None:
    answer = console.http.post(path, data=form)
    assert (answer.status_code, answer.headers["content-type"]) == (status, "text/html; charset=utf-8")
    page = LexborHTMLParser(answer.text)
    assert said in texts(page, "[role=alert]")[0]
    assert page.css("form")


@pytest.mark.parametrize("path", ["/", "/search", "/index"])
def test_every_page_forbids_what_it_does_not_need(console: Service, path: str) -> None:
    headers = console.http.get(path).headers
    assert "default-src 'none'; style-src 'self'; form-action 'self'" in headers["content-security-policy"]
    assert (headers["x-content-type-options"], headers["cache-control"]) == ("nosniff", "no-store")
