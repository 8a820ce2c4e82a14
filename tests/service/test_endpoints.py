"""What the endpoints answer."""

from __future__ import annotations

import asyncio
import base64
import json
import re

import pytest

from crawldedup import Deduplicator, Fingerprint, Kind, Page, Verdict, compare, wire
from crawldedup.explain import Comparison
from crawldedup.service import endpoints
from crawldedup.service.command import ServiceSettings
from crawldedup.service.endpoints import Checker
from crawldedup.service.problems import ProblemError
from tests.servers import RedisServer
from tests.service.serving import TIDES, Service, service_here, story


def test_a_copy_is_found_however_its_page_is_sent(service: Service) -> None:
    first = service.check("https://a.example/tides", text=f"{TIDES} Café.")
    assert first["kind"] == "new"
    assert wire.plain(wire.from_plain(Verdict, first)) == first
    html = f"<p>{TIDES} Café.</p>"
    latin = html.encode("latin-1")
    for page in ({"html": html}, {"html_base64": base64.b64encode(latin).decode(), "encoding": "latin-1"}):
        verdict = service.check("https://b.example/", **page, identity=str(page))
        assert (verdict["kind"], verdict["original"]) == ("exact_duplicate", "https://a.example/tides")
    for kind, content in (
        ("text/html; charset=ISO-8859-1", latin),
        ("text/plain", f"{TIDES} Café.".encode()),
        ("text/plain; charset=latin-1", f"{TIDES} Café.".encode("latin-1")),
    ):
        names = {"url": "https://b.example/", "identity": kind}
        answer = service.http.post("/v1/check", params=names, content=content, headers={"content-type": kind})
        assert answer.json()["kind"] == "exact_duplicate"
    assert service.check("https://a.example/tides", text=f"{TIDES} Café.")["kind"] == "revisit"


def test_a_fingerprint_may_be_made_elsewhere_with_the_key_of_the_index(service: Service) -> None:
    with Deduplicator(service.http.get("/v1/info").json()["store"], paragraphs="mark") as dedup:
        made = dedup.fingerprint(text=story(2))
    again = wire.from_plain(Fingerprint, json.loads(json.dumps(wire.plain(made))))
    assert (wire.plain(again), again.paragraphs) == (wire.plain(made), made.paragraphs)
    for number, kind in enumerate(("new", "exact_duplicate")):
        assert service.check(f"https://d.example/{number}", fingerprint=wire.plain(made))["kind"] == kind
    foreign = wire.plain(Deduplicator(key=7).fingerprint(text=story(2)))
    refused = service.post("/v1/check", {"url": "https://d.example/3", "fingerprint": foreign})
    assert (refused.status_code, refused.json()["type"]) == (409, "urn:crawldedup:other-key")


def test_a_batch_is_decided_in_order_and_tells_what_it_could_not_read(service: Service) -> None:
    forms = [{"text": story(101)}, {"html": story(101)}, {"html": ""}, {"html": f"<b>{story(101)}"}]
    pages = [{"url": f"https://e.example/{number}", **page} for number, page in enumerate(forms)]
    pages += [{"url": f"https://n.example/{rank}", "text": story(9), "rank": rank} for rank in (2.0, 1.0)]
    answers = service.post("/v1/check/batch", pages).json()
    assert [answer["url"] for answer in answers] == [page["url"] for page in pages]
    outcomes = [answer.get("kind") or answer["problem"]["reason"] for answer in answers]
    assert outcomes == ["new", "exact_duplicate", "empty", "exact_duplicate", "new", "exact_duplicate"]
    assert answers[-1]["replaces"]
    assert service.post("/v1/check/batch", []).json() == []


def test_find_explain_and_forget_remember_nothing(service: Service) -> None:
    html = f"<html><body><nav>Home</nav><h1>Seals</h1><p>{story(4)}</p></body></html>"
    service.check("https://g.example/1", html=html)
    for _ in range(2):
        (match,) = service.post("/v1/find", {"text": f"Seals\n{story(4)} Amen."}).json()["matches"]
        assert (match["url"], match["exact"]) == ("https://g.example/1", False)
        explained = service.post("/v1/explain", {"url": "https://g.example/2", "html": html}).json()
        assert (explained["verdict"]["kind"], explained["text"]) == ("exact_duplicate", f"Seals\n{story(4)}")
        assert explained["candidates"][0]["accepted"]
    forgotten = [service.post("/v1/forget", {"url": "https://g.example/1"}).json() for _ in range(2)]
    assert forgotten == [{"forgotten": 1}, {"forgotten": 0}]
    assert service.post("/v1/find", {"text": f"Seals\n{story(4)}"}).json() == {"matches": []}


def test_two_pages_are_compared(service: Service) -> None:
    pages = {"first": {"text": TIDES}, "second": {"html": f"<p>{TIDES.replace('Three', 'Four')}</p>"}}
    told = service.post("/v1/compare", pages).json()
    assert wire.from_plain(Comparison, told) == compare(*(Page(name, **page) for name, page in pages.items()))  # type: ignore[arg-type]


def test_known_paragraphs_are_told(service: Service) -> None:
    ours = f"{story(901)}\n{story(902)}"
    service.check("https://l.example/1", text=ours)
    told = service.check("https://l.example/2", html=f"<article><p>{story(7)}</p><p>{ours}</p></article>")
    assert (told["kind"], told["coverage"]["sources"][0][0]) == ("new", "https://l.example/1")


def test_figures_and_health_are_told(service: Service) -> None:
    service.check("https://h.example/1", text=story(3))
    service.http.get("/no/such/path")
    figures, metrics = service.http.get("/v1/info").json(), service.http.get("/metrics").text
    assert (figures["pages"] >= 1, figures["similarity"]) == (True, 0.9)
    assert service.http.get("/health/ready").json() == {"status": "ready"}
    assert 'crawldedup_requests_total{endpoint="/v1/check",status="200"}' in metrics
    assert 'crawldedup_requests_total{endpoint="other",status="404"}' in metrics
    assert "/no/such/path" not in metrics
    for name in (r'crawldedup_verdicts_total\{kind="new"\}', "crawldedup_index_pages"):
        assert float(re.findall(rf"^{name} (\S+)", metrics, re.MULTILINE)[0]) >= 1


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
        for results in (await first, await checker.check_many(groups[2])):
            assert {getattr(result, "kind", result) for result in results} == {Kind.NEW}
        await checker.close()

    asyncio.run(work())


def test_pages_of_html_are_asked_about_in_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    # On a busy machine the reader takes longer for each.
    monkeypatch.setattr(endpoints, "_GATHERING_SECONDS", 5.0)
    groups: list[int] = []

    async def work() -> None:
        checker = Checker(ServiceSettings())
        await checker.check(Page("https://e.com/", html=story(1)))
        checker.dedup.on_batch = lambda pages, seconds: groups.append(pages)
        pages = (Page(f"https://e.com/{number}", html=story(number) * 9) for number in range(2, 34))
        await asyncio.gather(*map(checker.check, pages))
        await checker.close()

    asyncio.run(work())
    assert (sum(groups), len(groups) <= 3) == (32, True), groups


def test_without_its_store_it_refuses_every_page_and_names_no_store() -> None:
    with RedisServer() as server:
        server.stop()
        with service_here(store=server.url) as service:
            page = {"url": "https://a.example/", "text": story(1)}
            for refused in (service.post("/v1/check", page), service.post("/v1/check/batch", [page] * 2)):
                assert (refused.status_code, refused.headers["retry-after"].isdecimal()) == (503, True)
            ready = service.http.get("/health/ready")
            assert (ready.status_code, server.url in ready.text) == (503, False)


def test_a_page_that_ends_its_reader_is_refused_alone() -> None:
    with service_here(extractor="tests.scrapy_plugin.deadly_extractor.obedient") as service:
        words = ("one", "crash", "leave", "two")
        pages = [{"url": word, "html": f"<p>{word} {story(number)}"} for number, word in enumerate(words)]
        answers = service.post("/v1/check/batch", pages).json()
        outcomes = [answer.get("kind") or answer["problem"]["type"].rpartition(":")[2] for answer in answers]
        assert outcomes == ["new", "busy", "internal", "new"]
        alone = service.post("/v1/check", pages[2])
        assert (alone.status_code, "SystemExit" in alone.text) == (500, False)
