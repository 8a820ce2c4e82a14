"""What clients do wrong is answered with a problem that says what to change."""

from __future__ import annotations

import base64
import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from crawldedup import Deduplicator, wire
from crawldedup.cli import main
from tests.service.serving import Service, story

FINGERPRINT = wire.plain(Deduplicator(key=0).fingerprint(text=story(1)))
NAN = base64.b64encode(b"\xff" * 256).decode()
JSON = "application/json"


@pytest.mark.parametrize(
    ("page", "status", "said"),
    [
        ({}, 400, "it has no url"),
        ({"url": "u"}, 400, "one of html, text and fingerprint"),
        ({"url": "u", "text": "a", "simlarity": 1}, 400, "did you mean 'similarity'"),
        ({"url": "u", "text": "a", "rank": 256}, 400, "from 0 to 255"),
        ({"url": "u", "text": 5}, 400, "at `$.text`"),
        ({"url": "u" * 8193, "text": "a"}, 400, "8192"),
        ({"url": "\ud800", "text": "a"}, 400, "surrogate"),
        ({"url": "u", "text": "a", "similarity": 10**400}, 400, "out of range"),
        ({"url": "u", "html": "a", "html_base64": "YQ=="}, 400, "either html or html_base64"),
        ({"url": "u", "fingerprint": {}}, 400, "make it again"),
        ({"url": "u", "fingerprint": {**FINGERPRINT, "verify": "AAAA"}}, 400, "make it again"),
        ({"url": "u", "fingerprint": {**FINGERPRINT, "search_weights": NAN}}, 400, "make it again"),
        ({"url": "u", "text": ""}, 422, "is empty"),
        ({"url": "u", "html": "<p>" * 300_000}, 422, "tags"),
        ({"url": "u", "text": "a" * 7_000_000}, 422, "bytes"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_a_wrong_page_is_refused_with_what_to_change(service: Service, page: Any, status: int, said: str) -> None:
    body = json.dumps(page).encode()
    for path in ("/v1/check", "/v1/explain"):
        answer = service.http.post(path, content=body, headers={"content-type": JSON})
        problem = answer.json()
        assert (answer.status_code, problem["status"]) == (status, status), problem
        assert answer.headers["content-type"] == "application/problem+json"
        assert said in problem["detail"]
    if status == 400:
        # One wrong page of an array, and none is checked.
        answer = service.http.post("/v1/check/batch", content=b"[" + body + b"]", headers={"content-type": JSON})
        detail = answer.json()["detail"]
        assert (answer.status_code, detail.startswith("page 0") or "`$[0]" in detail) == (400, True), detail


@pytest.mark.parametrize(
    ("path", "kind", "body", "status", "said"),
    [
        ("/v1/compare", JSON, b'{"first": {"text": "a", "rnk": 1}, "second": {}}', 400, "did you mean 'rank'"),
        ("/v1/compare", JSON, b'{"first": {"text": "a"}, "second": {}}', 400, "second: "),
        ("/v1/check", JSON, b"[" * 100_000, 400, "is not JSON"),
        ("/v1/check", JSON, b'{"url": ' + b"9" * 5000 + b"}", 400, "is not JSON"),
        ("/v1/check", JSON, b'{"url": "u", "\\ud800": 1}', 400, "surrogates"),
        ("/v1/check", "text/csv", b"a,b", 415, "application/json or text/html or text/plain"),
        ("/v1/check", "text/html", b"<p>a", 400, "it has no url"),
        ("/v1/check?url=a&rank=1", "text/html", b"<p>a", 400, "unknown field `rank`"),
        ("/v1/check?url=a", "text/plain", b"\xff", 400, "charset"),
        ("/v1/check/batch", JSON, b"[" + b"1," * 1000 + b"1]", 400, "length <= 1000"),
        ("/v1/forget", JSON, b"{}", 400, "one of url and fingerprint"),
        ("/v1/forget", JSON, b'{"url": "\\ud800"}', 400, "surrogate"),
        ("/v1/nothing", JSON, b"{}", 404, "/openapi.json"),
        ("/v1/check/", JSON, b"{}", 404, "/openapi.json"),
        ("/v1/info", JSON, b"{}", 405, "another method"),
    ],
)
def test_a_wrong_request_is_refused(
    service: Service, path: str, kind: str, body: bytes, status: int, said: str
) -> None:
    answer = service.http.post(path, content=body, headers={"content-type": kind})
    assert (answer.status_code, answer.json()["status"]) == (status, status)
    assert said in answer.json()["detail"]


def test_a_compressed_body_is_refused_as_such(service: Service) -> None:
    headers = {"content-type": JSON, "content-encoding": "gzip"}
    answer = service.http.post("/v1/check", content=gzip.compress(b"{}"), headers=headers)
    assert (answer.status_code, "gzip" in answer.json()["detail"]) == (415, True)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--host", "0.0.0.0"], "CRAWLDEDUP_TOKEN"),
        (["--workers", "2", "--store", "memory://"], "--workers"),
        (["--token-file", "empty"], "holds no token"),
        (["--token-file", "short"], "16 or more"),
        (["--host", "192.0.2.1", "--token-file", "long"], "cannot listen on 192.0.2.1"),
    ],
)
def test_a_service_that_cannot_be_says_why_and_does_not_start(
    arguments: list[str], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("CRAWLDEDUP_TOKEN", raising=False)
    for name, token in (("empty", ""), ("long", "x" * 16), ("short", "x" * 15)):
        Path(name).write_text(token)
    assert main(["serve", *arguments]) == 2
    assert said in capsys.readouterr().err
