"""What the endpoints answer, and that the OpenAPI document tells of it."""

from __future__ import annotations

import base64
import json
import re
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields
from typing import Any

import pytest
import requests
from hypothesis import HealthCheck, given, settings
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]

from crawldedup import Page, Verdict, wire
from crawldedup.service import app, console
from crawldedup.service.endpoints import ENDPOINTS
from crawldedup.service.messages import LONGEST_NAME, MOST_PAGES
from crawldedup.service.openapi import description
from crawldedup.service.problems import ProblemError
from tests.servers import RedisServer, wait_until
from tests.service.serving import TIDES, Service, service_here, story


def test_a_copy_is_found_however_its_page_is_sent(service: Service) -> None:
    text = f"{TIDES} Кафе."
    first = service.check("https://a.example/tides", text=text)
    assert (first["kind"], wire.plain(wire.from_plain(Verdict, first))) == ("new", first)
    encoded = f"<p>{text}</p>".encode("koi8-r")
    for page in (
        {"html": f"<p>{text}</p>"},
        {"html_base64": base64.b64encode(encoded).decode(), "encoding": "koi8-r"},
    ):
        verdict = service.check("https://b.example/", **page, identity=str(page))
        assert (verdict["kind"], verdict["original"]) == (
            "exact_duplicate",
            "https://a.example/tides",
        )
    for kind, content in (
        ("text/html; charset=KOI8-R", encoded),
        ("text/plain", text.encode()),
        ('text/plain; charset="koi8-r"', text.encode("koi8-r")),
    ):
        names = {"url": "https://b.example/", "identity": kind}
        answer = service.http.post(
            "/v1/check", params=names, content=content, headers={"content-type": kind}
        )
        assert answer.json()["kind"] == "exact_duplicate"
    assert service.check("https://a.example/tides", text=text)["kind"] == "revisit"


def test_the_text_of_a_page_comes_with_its_verdict_if_it_is_asked_for(service: Service) -> None:
    html = f"<title>A Ferry | News</title><h1>A Ferry</h1><p>{story(900)}</p>"
    without = service.post("/v1/check", {"url": "https://text.example/1", "html": html}).json()
    assert {"text", "name"}.isdisjoint(without)
    shown = service.post("/v1/check?with=text", {"url": "https://text.example/2", "html": html})
    raw = service.http.post(
        "/v1/check",
        params={"url": "https://text.example/3", "with": "text"},
        content=html.encode(),
        headers={"content-type": "text/html"},
    )
    for answer in (shown.json(), raw.json()):
        assert (answer["kind"], answer["name"]) == ("exact_duplicate", "A Ferry")
        assert answer["text"] == f"A Ferry\n{story(900)}"
    refused = service.post("/v1/check?with=links", {"url": "u", "html": html})
    assert refused.status_code == 400
    assert "with is 'links'; it must be text" in refused.text


def test_a_batch_is_decided_in_order_and_tells_what_it_could_not_read(service: Service) -> None:
    forms = [{"text": story(101)}, {"html": story(101)}, {"html": ""}, {"html": f"<b>{story(101)}"}]
    pages = [{"url": f"https://e.example/{number}", **page} for number, page in enumerate(forms)]
    pages += [
        {"url": f"https://n.example/{rank}", "text": story(9), "rank": rank} for rank in (2.0, 1.0)
    ]
    answers = service.post("/v1/check/batch", pages).json()
    assert [answer["url"] for answer in answers] == [page["url"] for page in pages]
    outcomes = [answer.get("kind") or answer["problem"]["reason"] for answer in answers]
    assert outcomes == [
        "new",
        "exact_duplicate",
        "empty",
        "exact_duplicate",
        "new",
        "exact_duplicate",
    ]
    assert answers[-1]["replaces"]
    assert service.post("/v1/check/batch", []).json() == []


def test_figures_and_health_are_told(service: Service) -> None:
    service.check("https://h.example/1", text=story(3))
    service.http.get("/no/such/path")
    figures, metrics = service.http.get("/v1/info").json(), service.http.get("/metrics").text
    assert (figures["pages"] >= 1, figures["namespace"]) == (True, "default")
    assert service.http.get("/health/ready").json() == {"status": "ready"}
    assert "/no/such/path" not in metrics
    assert (service.http.head("/").content, service.http.put("/").headers["allow"]) == (
        b"",
        "GET, HEAD, POST",
    )
    shown = {
        name: float(value)
        for name, value in re.findall(r"^crawldedup_(\S+) (\S+)$", metrics, re.MULTILINE)
    }
    for name in (
        'verdicts_total{kind="new"}',
        "index_pages",
        'requests_total{endpoint="other",status="404"}',
    ):
        assert shown[name] >= 1
    total, count = (
        shown[f'request_seconds_{end}{{endpoint="/v1/check"}}'] for end in ("sum", "count")
    )
    assert dict(console.summary())["Seconds from the first bytes of a request to its answer"][
        "/v1/check"
    ] == pytest.approx(total / count)


def test_more_pages_than_may_wait_are_refused_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(app, "_MOST_WAITING", 32)
    monkeypatch.setattr(app, "_MOST_HELD", 150_000)  # less than three of the bodies
    first, second = (
        [{"url": f"{group}/{at}", "html": story(64 * int(group) + at)} for at in range(64)]
        for group in "12"
    )
    with service_here() as service, ThreadPoolExecutor() as clients:
        asking = clients.submit(service.post, "/v1/check/batch", first)
        wait_until(lambda: service.post("/v1/check", {"url": "u", "text": ""}).status_code == 503)
        refused = service.post("/v1/check/batch", second)
        assert (refused.status_code, refused.headers["retry-after"]) == (503, "1")
        assert "too many pages" in refused.json()["detail"]
        for answer in (
            asking.result(),
            *(service.post("/v1/check/batch", second) for _ in range(2)),
        ):
            assert {page["kind"] for page in answer.json()} <= {"new", "revisit"}


def test_without_its_store_it_refuses_every_page_and_names_no_store() -> None:
    with RedisServer() as server:
        server.stop()
        with service_here(store=server.url) as service:
            page = {"url": "https://a.example/", "text": story(1)}
            for refused in (
                service.post("/v1/check", page),
                service.post("/v1/check/batch", [page] * 2),
            ):
                assert (refused.status_code, refused.headers["retry-after"].isdecimal()) == (
                    503,
                    True,
                )
            ready = service.http.get("/health/ready")
            assert (ready.status_code, server.url in ready.text) == (503, False)


def test_a_page_that_ends_its_reader_is_refused_alone() -> None:
    with service_here(extractor="tests.scrapy_plugin.deadly_extractor.obedient") as service:
        words = ("one", "crash", "leave", "two")
        pages = [
            {"url": word, "html": f"<p>{word} {story(number)}"} for number, word in enumerate(words)
        ]
        answers = service.post("/v1/check/batch", pages).json()
        outcomes = [
            answer.get("kind") or answer["problem"]["type"].rpartition(":")[2] for answer in answers
        ]
        assert outcomes == ["new", "busy", "internal", "new"]
        alone = service.post("/v1/check", pages[2])
        assert (alone.status_code, "SystemExit" in alone.text) == (500, False)


DOCUMENT: Any = description()
OPERATIONS = [
    (path, method, each)
    for path, methods in DOCUMENT["paths"].items()
    for method, each in methods.items()
]


def validate(value: Any, schema: dict[str, Any]) -> None:
    Draft202012Validator({**schema, "components": DOCUMENT["components"]}).validate(value)


def test_it_has_every_field_with_its_bounds() -> None:
    schemas = DOCUMENT["components"]["schemas"]
    of_pages = {each.name for each in fields(Page)} - {"delivered"} | {"html_base64"}
    assert (
        schemas["CheckedPage"]["properties"].keys()
        == schemas["SentPage"]["properties"].keys()
        == of_pages
    )
    assert schemas["CheckedPage"]["properties"]["url"]["maxLength"] == LONGEST_NAME
    batch = DOCUMENT["paths"]["/v1/check/batch"]["post"]["requestBody"]["content"][
        "application/json"
    ]
    assert batch["schema"]["maxItems"] == MOST_PAGES
    answers = DOCUMENT["paths"]["/v1/check/batch"]["post"]["responses"]["200"]["content"][
        "application/json"
    ]
    assert answers["schema"]["items"]["oneOf"][0] == {"$ref": "#/components/schemas/Verdict"}
    undescribed = [
        f"{name}.{field}"
        for name, schema in schemas.items()
        for field, value in schema.get("properties", {}).items()
        if name != "Pair" and not value.get("description")
    ]
    assert undescribed == []
    problem = json.loads(ProblemError("store", 503, "no", retry_after=2, reason="x").answer().body)
    validate(problem, {"$ref": "#/components/schemas/Problem"})


@pytest.mark.parametrize(
    ("path", "method", "operation"), OPERATIONS, ids=lambda value: str(value)[:30]
)
def test_its_examples_are_answered_as_it_says(
    service: Service, path: str, method: str, operation: dict[str, Any]
) -> None:
    bodies = operation.get("requestBody", {}).get("content", {None: {"example": ""}})
    ((kind, answer),) = operation["responses"]["200"]["content"].items()
    validate(answer["example"], answer["schema"])
    for sent, shown in bodies.items():
        body, query = shown["example"], {"url": "https://example.com/a"}
        if sent == "application/json":
            validate(body, shown["schema"])
            body, query = json.dumps(body), {}
        headers = {"content-type": sent} if sent else {}
        answered = service.http.request(method, path, content=body, params=query, headers=headers)
        assert (answered.status_code, answered.headers["content-type"]) == (200, kind), (
            answered.text
        )
        validate(answered.json(), answer["schema"])
        assert (
            isinstance(answered.json(), list) or answered.json().keys() == answer["example"].keys()
        )


@pytest.mark.timeout(1200)
@pytest.mark.parametrize("examples", [2, pytest.param(300, marks=pytest.mark.nightly)])
def test_requests_made_from_it_are_answered_as_it_says(service: Service, examples: int) -> None:
    schemathesis: Any = pytest.importorskip(
        "schemathesis", reason="the extra `openapi` is not installed"
    )
    of_document: Any = pytest.importorskip("schemathesis.specs.openapi.checks")
    names = ("content_type_conformance", "response_schema_conformance", "status_code_conformance")
    checks = [
        schemathesis.checks.not_a_server_error,
        *(getattr(of_document, name) for name in names),
    ]
    many = settings(max_examples=examples, deadline=None, database=None, derandomize=True)
    document = schemathesis.openapi.from_url(f"{service.url}/openapi.json")
    operations = [found.ok() for found in document.get_all_operations()]
    assert len(operations) == len(ENDPOINTS) == len(OPERATIONS)
    for operation in operations:
        wrong = operation.as_strategy(generation_mode=schemathesis.GenerationMode.NEGATIVE)

        @settings(many, suppress_health_check=list(HealthCheck))
        @given(case=operation.as_strategy() | wrong)
        def try_one(case: Any) -> None:
            named = case.as_transport_kwargs(base_url=service.url)
            url = (
                requests.Request("GET", named["url"], params=named.get("params")).prepare().url
                or ""
            )
            # The server itself refuses heads from 64 KB on, in plain text.
            if len(url) + len(str(named["headers"])) < 60_000:
                case.call_and_validate(checks=checks)

        try_one()
