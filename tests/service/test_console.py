"""The pages, as a person meets them in a browser, and as one would break them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.browsers import BROWSER, needs_browser
from tests.service.serving import BREAD, TIDES, ServiceProcess

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser, ConsoleMessage, Page, Request

EVIL = 'https://evil.example/"><script>window.broken=1</script>'
SCRIPT = "javascript:window.broken=1"
LONG = " ".join(f"word{place}" for place in range(600))
HOSTILE = (
    "</textarea></details><script>window.broken=1</script><img src=x onerror='window.broken=1'>"
    '"\'><svg onload=window.broken=1><a href="javascript:window.broken=1">x</a><style>*{display:none}</style>'
    "<base href=https://evil.example/><link rel=stylesheet href=https://evil.example/a.css> {{ 7 * 7 }} "
    "<form action=https://evil.example/><meta http-equiv=refresh content='0;https://evil.example/'>"
    " \u202eevil\u2066 \x1b[31m"
)
PRICE = '<h1>Lamp</h1><script type="application/ld+json">{"@type":"Product","name":"Lamp","sku":"%s"}</script><p>%s</p>'


@pytest.fixture(scope="module")
def console() -> Iterator[ServiceProcess]:
    """A service with some pages."""
    with ServiceProcess("--store", "memory://", "--paragraphs", "mark") as started:
        for url, text, copies in (("https://tides.example/1", TIDES, 3), (EVIL, BREAD, 2), (SCRIPT, LONG, 1)):
            started.check(url, text=text)
            for copy in range(copies):
                started.check(f"https://copy{copy}.example/", text=text, identity=f"{url} {copy}")
        yield started


class Visit:
    """A tab, and what went wrong or elsewhere in it."""

    def __init__(self, tab: Page, service: ServiceProcess) -> None:
        self.tab = tab
        self.trouble: list[str] = []
        self._own = service.url
        tab.on("request", self._watch)
        tab.on("pageerror", lambda error: self.trouble.append(str(error)))
        tab.on("dialog", lambda dialog: self.trouble.append(dialog.message))
        tab.on("console", self._hear)

    def _watch(self, request: Request) -> None:
        if not request.url.startswith(self._own):
            self.trouble.append(request.url)

    def _hear(self, said: ConsoleMessage) -> None:
        # There is no icon.
        if said.type == "error" and not said.location["url"].endswith("/favicon.ico"):
            self.trouble.append(said.text)

    def send(self, path: str, button: str, **fields: str) -> None:
        self.tab.goto(path)
        for label, text in fields.items():
            self.tab.locator(f"[name={label}]").fill(text)
        self.tab.get_by_role("button", name=button).click()

    def text(self) -> str:
        return self.tab.locator("main").inner_text()


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=BROWSER, args=["--no-sandbox"])
        yield opened
        opened.close()


@pytest.fixture
def visit(browser: Browser, console: ServiceProcess) -> Iterator[Visit]:
    context = browser.new_context(base_url=console.url)
    yield Visit(context.new_page(), console)
    context.close()


@needs_browser
def test_two_texts_are_compared(visit: Visit) -> None:
    second = TIDES.replace("fog", "mist")
    visit.send("/", "Compare", first=TIDES, second=second)
    told = visit.text()
    assert "Near duplicate (0.9" in told
    assert "This is the verdict of a crawl" in told
    for name in ("Similarity, exactly", "Estimate", "±", "limit 254", "probe 4 meets", "89 and 89"):
        assert name in told
    assert visit.tab.locator("del").all_inner_texts() == ["fog,"]
    assert visit.tab.locator("ins").all_inner_texts() == ["mist,"]
    assert visit.tab.get_by_label("Second page", exact=True).input_value() == second
    visit.tab.get_by_text("The search bits that differ").click()
    assert visit.tab.locator("rect.near").count() == visit.tab.locator(".legend li").count() > 0
    assert visit.trouble == []


@needs_browser
def test_facts_that_keep_pages_apart_are_shown(visit: Visit) -> None:
    visit.send("/", "Compare", first=PRICE % ("A", TIDES), second=PRICE % ("B", TIDES))
    assert "their product attributes differ" in visit.text()
    assert (visit.tab.locator("del").count(), visit.tab.locator("ins").count()) == (1, 1)


@needs_browser
def test_the_index_is_searched(visit: Visit) -> None:
    visit.send("/search", "Search", page=LONG.replace("word9 ", ""), url="https://new.example/")
    row = visit.tab.get_by_role("row").filter(has_text=SCRIPT)
    assert "accepted" in row.inner_text()
    assert f"of {SCRIPT}" in visit.text()
    visit.send("/search", "Search", page=f"{' '.join(f'other{place}' for place in range(600))}\n\n{LONG}")
    paragraphs = visit.tab.get_by_role("region", name="Paragraphs")
    assert "known" in paragraphs.inner_text()
    assert SCRIPT in paragraphs.inner_text()
    assert visit.trouble == []


@needs_browser
@pytest.mark.parametrize("bypass", [False, True], ids=["with its policy", "without its policy"])
def test_a_hostile_text_is_nothing_but_text(browser: Browser, console: ServiceProcess, bypass: bool) -> None:
    context = browser.new_context(base_url=console.url, bypass_csp=bypass)
    visit = Visit(context.new_page(), console)
    for kind in ("text", "html"):
        for path, fields in (("/", ("first", "second")), ("/search", ("page",))):
            visit.tab.goto(path)
            for number, name in enumerate(fields):
                visit.tab.locator(f"[name={name}]").fill(f"{HOSTILE} {TIDES} {number} {HOSTILE}")
                visit.tab.locator(f"[name={name}-kind]").select_option(kind)
            if path == "/search":
                visit.tab.locator("[name=url]").fill(f"https://evil.example/{HOSTILE}")
            visit.tab.locator("main button").click()
            for summary in visit.tab.locator("summary").all():
                summary.click()
            assert visit.tab.get_by_role("heading", level=2).count() == 2
            assert visit.tab.locator(f"[name={fields[0]}]").input_value() == f"{HOSTILE} {TIDES} 0 {HOSTILE}"
            shown = visit.tab.locator("main section").first.inner_text()
            assert not {"\u202e", "\u2066", "\x1b"} & set(shown)
            assert visit.tab.evaluate("window.broken") is None
            assert (
                visit.tab.locator("main img, main script, main style, main base, main a[href^=javascript]").count() == 0
            )
    assert visit.trouble == []
    context.close()


@needs_browser
def test_the_policy_stops_what_would_still_get_in(visit: Visit) -> None:
    visit.tab.goto("/")
    visit.tab.evaluate(
        """() => {
            const script = document.createElement("script");
            script.textContent = "window.broken = 1";
            const image = document.createElement("img");
            image.src = "https://evil.example/pixel";
            const form = document.createElement("form");
            form.action = "https://evil.example/";
            document.body.append(script, image, form);
            form.submit();
        }"""
    )
    visit.tab.wait_for_timeout(200)
    assert visit.tab.evaluate("window.broken") is None
    told = "\n".join(visit.trouble)
    for blocked in ("inline script", "the image 'https://evil.example/pixel'", "form-action 'self'"):
        assert blocked in told, told


def test_a_name_that_was_moved_to_this_machine_is_refused(console: ServiceProcess) -> None:
    for path in ("/", "/search", "/v1/info", "/metrics", "/page.css"):
        answer = console.http.get(path, headers={"host": "evil.example"})
        assert (answer.status_code, "--host" in answer.json()["detail"]) == (421, True)
    assert console.http.get("/health/live", headers={"host": "evil.example"}).status_code == 200


@needs_browser
def test_another_sites_page_cannot_send_the_form(visit: Visit, console: ServiceProcess) -> None:
    with visit.tab.expect_response(f"{console.url}/search") as answered:
        visit.tab.set_content(f'<form method=post action="{console.url}/search"><input name=page value=x></form>')
        visit.tab.evaluate("document.forms[0].submit()")
    assert answered.value.status == 403


@needs_browser
def test_the_pages_fit_a_phone_and_are_accessible(visit: Visit) -> None:
    from axe_playwright_python.sync_playwright import Axe

    axe, found = Axe(), list[Any]()
    visit.tab.set_viewport_size({"width": 390, "height": 800})
    for path, button, fields in (
        ("/", "Compare", {"first": f"{TIDES} {'x' * 300}", "second": TIDES.replace("fog", "mist " * 30)}),
        ("/search", "Search", {"page": TIDES.replace("fog", "mist")}),
        ("/search", "Search", {}),
    ):
        visit.send(path, button, **fields)
        for summary in visit.tab.locator("summary").all():
            summary.click()
        assert visit.tab.evaluate("document.documentElement.scrollWidth") <= 390
        visit.tab.emulate_media(color_scheme="light")
        found += axe.run(visit.tab).response["violations"]
        visit.tab.emulate_media(color_scheme="dark")
        found += axe.run(visit.tab, options={"runOnly": ["color-contrast"]}).response["violations"]
    assert [(each["id"], each["nodes"][0]["html"]) for each in found] == []


@pytest.mark.parametrize(
    ("path", "form", "status", "said"),
    [
        ("/", {}, 400, "the first page is empty"),
        ("/", {"first": TIDES, "second": " "}, 400, "the second page is empty"),
        ("/", {"first": TIDES, "first-kind": "pdf", "second": TIDES}, 400, "it can be guess, text, html"),
        ("/", {f"{each}": "x" for each in range(11)}, 400, "no form of this page"),
        ("/search", {}, 400, "the page is empty"),
        ("/search", {"page": TIDES, "url": "u" * 9000}, 400, "8192"),
        ("/search", {"page": f"{'<div>' * 100_000}{TIDES}"}, 422, "deep"),
        ("/search", {"page": "x" * (9 << 20)}, 413, "--max-body"),
    ],
)
def test_bad_input_gets_the_form_again_and_a_reason(
    console: ServiceProcess, path: str, form: dict[str, str], status: int, said: str
) -> None:
    answer = console.http.post(path, data=form)
    assert (answer.status_code, answer.headers["content-type"]) == (status, "text/html; charset=utf-8")
    problem = answer.text.partition('role="alert">')[2].partition("</p>")[0]
    assert said in problem
    assert "<form" in answer.text
    assert "Traceback" not in console.log()


def test_every_page_forbids_what_it_does_not_need(console: ServiceProcess) -> None:
    for path in ("/", "/search", "/index"):
        headers = console.http.get(path).headers
        assert "default-src 'none'; style-src 'self'; form-action 'self'" in headers["content-security-policy"]
        assert (headers["x-content-type-options"], headers["cache-control"]) == ("nosniff", "no-store")
    assert 'endpoint="/search"' in console.http.get("/metrics").text
