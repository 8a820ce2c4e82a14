"""Nobody uses the service through the browser of somebody who may."""

from __future__ import annotations

import base64
from contextlib import nullcontext
from typing import TYPE_CHECKING

import pytest

from crawldedup.service.edge import require_own_host, require_own_page
from crawldedup.service.problems import ProblemError
from tests.service.serving import TIDES, Service, service_here

if TYPE_CHECKING:
    from collections.abc import Iterator

TOKEN = "a-token-of-16-characters"


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    file = tmp_path_factory.mktemp("tokens") / "tokens"
    file.write_text(TOKEN)
    with service_here(token_file=str(file)) as started:
        yield started


@pytest.mark.parametrize(
    ("host", "is_own"),
    [
        ("localhost:8300", True),
        ("LOCALHOST", True),
        ("127.0.0.1:8300", True),
        ("127.9.9.9", True),
        ("[::1]:8300", True),
        ("crawler.lan:8300", True),
        ("", True),
        ("evil.example:8300", False),
        ("127.0.0.1.evil.example", False),
        ("localhost.evil.example", False),
        ("evil.example@localhost:x@evil.example", False),
        ("10.0.0.1", False),
        ("[::1", False),
    ],
)
def test_names_that_anyone_can_have_are_refused(host: str, is_own: bool) -> None:
    expected = nullcontext() if is_own else pytest.raises(ProblemError, match="Host")
    with expected:
        require_own_host([b"localhost", host.encode()], "crawler.lan")


@pytest.mark.parametrize(
    ("headers", "is_own"),
    [
        ({}, True),
        ({b"sec-fetch-site": b"same-origin", b"origin": b"null"}, True),
        ({b"sec-fetch-site": b"none"}, True),
        ({b"origin": b"http://localhost:8300"}, True),
        ({b"origin": b"https://localhost:8300"}, True),
        ({b"sec-fetch-site": b"cross-site"}, False),
        ({b"sec-fetch-site": b"same-site", b"origin": b"http://localhost:8300"}, False),
        ({b"origin": b"http://localhost:9000"}, False),
        ({b"origin": b"https://evil.example"}, False),
        ({b"origin": b"null"}, False),
    ],
)
def test_requests_of_other_sites_are_refused(headers: dict[bytes, bytes], is_own: bool) -> None:
    expected = nullcontext() if is_own else pytest.raises(ProblemError, match="another site")
    with expected:
        require_own_page({b"host": b"localhost:8300", **headers})


def test_every_endpoint_is_guarded(guarded: Service) -> None:
    allowed = {"authorization": f"Bearer {TOKEN}"}
    # Whoever has the token was not led here.
    assert guarded.http.get("/v1/info", headers={"host": "dedup.example", **allowed}).status_code == 200
    for path in ("/", "/search", "/index", "/v1/check", "/v1/forget", "/v1/check/batch"):
        sent = {"content-type": "text/plain", "origin": "https://evil.example", **allowed}
        answer = guarded.http.post(path, content=TIDES, headers=sent)
        assert (answer.status_code, answer.json()["type"]) == (403, "urn:crawldedup:cross-site")
    # A link may lead to a page, but nothing else is another site's to ask for.
    foreign = {"sec-fetch-site": "cross-site", **allowed}
    assert guarded.http.get("/", headers=foreign).status_code == 200
    assert guarded.http.get("/v1/info", headers=foreign).status_code == 403


def test_a_browser_gives_the_token_as_a_password(guarded: Service) -> None:
    asked = guarded.http.get("/")
    assert (asked.status_code, asked.headers["www-authenticate"]) == (401, 'Basic realm="crawldedup"')
    for password, status in ((TOKEN, 200), (TOKEN[:-1], 401), (f"x:{TOKEN}", 401), ("", 401)):
        given = base64.b64encode(f"anyone:{password}".encode()).decode()
        for path in ("/", "/v1/info"):
            assert guarded.http.get(path, headers={"authorization": f"Basic {given}"}).status_code == status
