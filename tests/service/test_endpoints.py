"""What the endpoints answer, over a real store."""

from __future__ import annotations

import base64
import json
import re
from typing import Any

import pytest

from crawldedup import Deduplicator, Fingerprint, Kind, Page, Verdict, compare, wire
from crawldedup.explain import Comparison
from tests.service.serving import BREAD, TIDES, Service, story

FINGERPRINT = wire.plain(Deduplicator(key=0).fingerprint(text=story(1)))


def test_a_copy_is_found_in_text_html_and_bytes(service: Service) -> None:
    first = service.check("https://a.example/tides", text=TIDES)
    assert first["kind"] == "new"
    assert wire.plain(wire.from_plain(Verdict, first)) == first
    latin = f"<p>{TIDES} Café.</p>".encode("latin-1")
    pages = (
        {"text": TIDES},
        {"html": f"<html><body><p>{TIDES}</p></body></html>"},
        {"html_base64": base64.b64encode(latin).decode(), "encoding": "latin-1"},
    )
    for number, page in enumerate(pages):
        verdict = service.check(f"https://b.example/{number}", **page)
        assert (verdict["is_duplicate"], verdict["original"]) == (True, "https://a.example/tides")
    assert service.check("https://a.example/tides", text=TIDES)["kind"] == "revisit"


def test_pages_may_be_sent_as_they_are(service: Service) -> None:
    def sent(url: str, kind: str, content: bytes) -> dict[str, Any]:
        headers = {"content-type": kind}
        answer = service.http.post("/v1/check", params={"url": url}, content=content, headers=headers)
        verdict: dict[str, Any] = answer.json()
        return verdict

    text = f"{story(1)} Zürich"
    assert sent("https://c.example/1", "text/plain", text.encode())["kind"] == "new"
    same = sent("https://c.example/2", "text/html; charset=ISO-8859-1", f"<p>{text}</p>".encode("latin-1"))
    assert (same["kind"], same["original"]) == ("exact_duplicate", "https://c.example/1")


def test_a_fingerprint_that_was_made_elsewhere(service: Service) -> None:
    service.check("https://d.example/1", text=story(2))
    store = service.http.get("/v1/info").json()["store"]
    with Deduplicator(store) as dedup:
        made = dedup.fingerprint(text=story(2))
    assert service.check("https://d.example/2", fingerprint=wire.plain(made))["original"] == "https://d.example/1"
    foreign = Deduplicator(key=7).fingerprint(text=story(2))
    refused = service.post("/v1/check", {"url": "https://d.example/3", "fingerprint": wire.plain(foreign)})
    assert (refused.status_code, refused.json()["type"]) == (409, "urn:crawldedup:other-key")
    assert "make it again" in refused.json()["detail"]


def test_a_batch_is_decided_in_order_and_tells_what_it_could_not_read(service: Service) -> None:
    pages = [{"url": f"https://e.example/{number}", "text": story(100 + number // 2)} for number in range(80)]
    pages[10] = {"url": "https://e.example/10", "html": ""}
    answers = service.post("/v1/check/batch", pages).json()
    assert [each["url"] for each in answers] == [page["url"] for page in pages]
    assert answers[10]["problem"]["reason"] == "empty"
    kinds = ["new", "exact_duplicate"] * 40
    kinds[10:12] = [None, "new"]  # type: ignore[list-item]
    assert [each.get("kind") for each in answers] == kinds
    assert service.post("/v1/check/batch", []).json() == []


def test_find_explain_and_forget_remember_nothing(service: Service) -> None:
    service.check("https://g.example/bread", text=BREAD)
    for _ in range(2):
        (match,) = service.post("/v1/find", {"text": BREAD + " Amen."}).json()["matches"]
        assert (match["url"], match["exact"]) == ("https://g.example/bread", False)
        explained = service.post("/v1/explain", {"url": "https://g.example/2", "html": f"<p>{BREAD}</p>"}).json()
        assert explained["verdict"]["kind"] == "exact_duplicate"
        assert explained["candidates"][0]["accepted"] is True
    assert service.post("/v1/forget", {"url": "https://g.example/bread"}).json() == {"forgotten": 1}
    assert service.post("/v1/forget", {"url": "https://g.example/bread"}).json() == {"forgotten": 0}
    assert service.post("/v1/find", {"text": BREAD}).json() == {"matches": []}


def test_a_page_of_html_is_explained_with_what_is_compared(service: Service) -> None:
    """It is read in another process than the store is asked from."""
    page = f"<html><body><nav>Home</nav><h1>Seals</h1><p>{TIDES}</p></body></html>"
    service.check("https://k.example/1", html=page)
    told = service.post("/v1/explain", {"url": "https://k.example/2", "html": page}).json()
    assert told["text"] == f"Seals\n{TIDES}"
    assert (told["facts"], told["thin"]) == ([], False)
    assert told["candidates"][0]["probe"] >= 1
    product = '{"@context": "https://schema.org", "@type": "Product", "name": "Rope", "sku": "R-7"}'
    shop = f'<script type="application/ld+json">{product}</script>'
    facts = service.post(
        "/v1/explain", {"url": "https://k.example/3", "html": shop + page.replace("Seals", "Rope")}
    ).json()
    assert facts["facts"] == ["declared r-7", "name rope"]


def test_two_pages_are_compared(service: Service) -> None:
    pages = {"first": {"text": TIDES}, "second": {"html": f"<p>{TIDES.replace('Three', 'Four')}</p>"}}
    told = service.post("/v1/compare", pages).json()
    assert wire.from_plain(Comparison, told) == compare(
        Page("first", **pages["first"]), Page("second", **pages["second"])
    )
    assert (told["changes"][0]["removed"], told["changes"][0]["added"]) == ("Three", "Four")
    assert told["verdict"]["kind"] == "near_duplicate"
    for wrong, why in (
        ({"first": {"text": TIDES}}, "second"),
        ({"first": {"text": TIDES}, "second": {"text": TIDES, "html": "x"}}, "one of html, text"),
        ({"first": {"text": TIDES}, "second": {"fingerprint": FINGERPRINT}}, "one of html, text"),
        ([], "Expected `object`, got `array`"),
    ):
        refused = service.post("/v1/compare", wrong)
        assert (refused.status_code, why in refused.json()["detail"]) == (400, True), refused.text


def test_known_paragraphs_are_told(service: Service) -> None:
    ours = f"{story(901)}\n{story(902)}"
    assert service.check("https://l.example/1", text=ours)["coverage"]["share_new"] == 1
    told = service.check("https://l.example/2", html=f"<article><p>{story(7)}</p><p>{ours}</p></article>")
    assert (told["kind"], told["coverage"]["sources"][0][0]) == ("new", "https://l.example/1")


def test_a_rank_may_be_written_as_json_writes_numbers(service: Service) -> None:
    pages = [{"url": f"https://n.example/{rank}", "text": story(9), "rank": rank} for rank in (2.0, 1.0)]
    answers = service.post("/v1/check/batch", pages).json()
    assert [(each.get("kind"), each.get("replaces")) for each in answers] == [("new", False), ("exact_duplicate", True)]


def test_figures_and_health(service: Service) -> None:
    service.check("https://h.example/1", text=story(3))
    figures = service.http.get("/v1/info").json()
    assert figures["pages"] >= 1
    assert figures["similarity"] == 0.9
    assert service.http.get("/health/ready").json() == {"status": "ready"}
    service.http.get("/no/such/path")
    metrics = service.http.get("/metrics").text
    assert 'crawldedup_requests_total{endpoint="/v1/check",status="200"}' in metrics
    assert 'crawldedup_requests_total{endpoint="other",status="404"}' in metrics
    assert "/no/such/path" not in metrics
    # Of every worker, whichever answers.
    assert float(re.findall(r'crawldedup_verdicts_total\{kind="new"\} (\S+)', metrics)[0]) >= 1
    assert float(re.findall(r"^crawldedup_index_pages (\S+)", metrics, re.MULTILINE)[0]) >= 1


@pytest.mark.parametrize("page", [{"text": story(4)}, {"text": "few words"}])
def test_a_fingerprint_survives_json(page: dict[str, str]) -> None:
    made = Deduplicator(key=0, paragraphs="mark").fingerprint(**page)
    again = wire.from_plain(Fingerprint, json.loads(json.dumps(wire.plain(made))))
    assert wire.plain(again) == wire.plain(made)
    assert again.paragraphs == made.paragraphs
    assert (again.verify_weights == made.verify_weights).all()
    dedup = Deduplicator(key=0)
    dedup.check("https://i.example/1", **page)  # type: ignore[arg-type]
    assert dedup.check("https://i.example/2", fingerprint=again).kind is Kind.EXACT_DUPLICATE
