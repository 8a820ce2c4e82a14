"""Who may ask, how much, and for how long; and what is wrong is answered with a problem that says
what to change.
"""

from __future__ import annotations

import base64
import contextlib
import http.client
import json
import resource
import socket
import threading
import time
import tracemalloc
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any, Final

import httpx
import pytest

from crawldedup import Deduplicator, wire
from crawldedup.cli import main
from crawldedup.errors import ConfigurationError
from crawldedup.options import options_of
from crawldedup.service import app
from crawldedup.service.access import require_own_host, require_own_page
from crawldedup.service.command import ServiceSettings
from crawldedup.service.messages import CheckedPage, CheckedPages, KnownPage, SentPage, sent_in
from crawldedup.service.problems import ProblemError
from tests.servers import wait_until
from tests.service.serving import Service, ServiceProcess, service_here, story

TOKEN = "a-token-of-today-x"
ALLOWED = {"authorization": f"Bearer {TOKEN}"}
PAGE = {"url": "https://a.example/", "text": story(1)}


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A service with tokens, small bodies and little patience."""
    file = tmp_path_factory.mktemp("tokens") / "tokens"
    file.write_text(f"a-token-of-yesterday\n{TOKEN}\n")
    with service_here(token_file=str(file), max_body=20_000, client_seconds=0.5) as started:
        yield started


def answer_to(service: Service, sent: bytes) -> bytes:
    """Everything that the service says to these bytes until it closes the connection."""
    answer = b""
    with socket.create_connection(("127.0.0.1", service.port), timeout=30) as client:

        def send() -> None:
            with contextlib.suppress(OSError):
                client.sendall(sent)

        threading.Thread(target=send).start()
        with contextlib.suppress(ConnectionResetError):
            while part := client.recv(65536):
                answer += part
    return answer


def basic(password: str) -> str:
    return "Basic " + base64.b64encode(f"anyone:{password}".encode()).decode()


@pytest.mark.parametrize(
    ("authorization", "is_enough"),
    [
        (ALLOWED["authorization"], True),
        ("bearer a-token-of-yesterday", True),
        (basic(TOKEN), True),
        (None, False),
        (f"Basic {TOKEN}", False),
        (f"Bearer {TOKEN[:-1]}", False),
    ],
)
def test_a_token_is_wanted(guarded: Service, authorization: str | None, is_enough: bool) -> None:
    headers = {} if authorization is None else {"authorization": authorization}
    for path in ("/v1/info", "/metrics", "/"):
        answer = guarded.http.get(path, headers=headers)
        # A browser asks for it as a password.
        kind = None if is_enough else 'Basic realm="crawldedup"' if path == "/" else "Bearer"
        assert (answer.status_code == 200, answer.headers.get("www-authenticate")) == (
            is_enough,
            kind,
        )
    assert (guarded.post("/v1/check", PAGE, headers=headers).status_code == 401) is not is_enough


OWN = ("localhost:8300", "LOCALHOST", "127.9.9.9", "[::1]:8300", "crawler.lan:8300", "")
FOREIGN = (
    "evil.example:8300",
    "127.0.0.1.evil.example",
    "evil.example@localhost:x@evil.example",
    "10.0.0.1",
    "[::1",
)


@pytest.mark.parametrize("host", OWN + FOREIGN)
def test_names_that_anyone_can_have_are_refused(host: str) -> None:
    with nullcontext() if host in OWN else pytest.raises(ProblemError, match="Host"):
        require_own_host(host.encode(), "crawler.lan")


@pytest.mark.parametrize(
    ("site", "origin", "is_own"),
    [
        ("", "", True),
        ("same-origin", "null", True),
        ("none", "", True),
        ("", "https://localhost:8300", True),
        ("cross-site", "", False),
        ("same-site", "http://localhost:8300", False),
        ("", "http://localhost:9000", False),
        ("", "null", False),
    ],
)
def test_requests_of_other_sites_are_refused(site: str, origin: str, is_own: bool) -> None:
    with nullcontext() if is_own else pytest.raises(ProblemError, match="another site"):
        require_own_page(
            {
                b"host": b"localhost:8300",
                b"sec-fetch-site": site.encode(),
                b"origin": origin.encode(),
            }
        )


def test_every_endpoint_is_guarded(guarded: Service, service: Service) -> None:
    evil: dict[str, str] = {"host": "evil.example"}
    for path in ("/", "/search", "/docs", "/v1/info", "/metrics", "/page.css"):
        assert service.http.get(path, headers=evil).status_code == 421
    for path in ("/health/live", "/health/ready", "/openapi.json"):
        assert guarded.http.get(path, headers=evil).status_code == 200
    # Whoever has the token was not led here.
    assert guarded.http.get("/v1/info", headers=evil | ALLOWED).status_code == 200
    for path in ("/", "/search", "/index", "/v1/check", "/v1/forget", "/v1/check/batch"):
        answer = guarded.post(path, PAGE, headers={"origin": "https://evil.example", **ALLOWED})
        assert (answer.status_code, answer.json()["type"]) == (403, "urn:crawldedup:cross-site")
    # A link may lead to a page, but nothing else is another site's to ask for.
    for path, status in (("/", 200), ("/v1/info", 403)):
        assert (
            guarded.http.get(path, headers={"sec-fetch-site": "cross-site", **ALLOWED}).status_code
            == status
        )


READ_TOKEN = "a-token-to-read-with"


@pytest.fixture
def watched(monkeypatch: pytest.MonkeyPatch) -> Iterator[Service]:
    """A service with a token for everything and one that only reads, from the environment."""
    monkeypatch.setenv("CRAWLDEDUP_TOKEN", TOKEN)
    monkeypatch.setenv("CRAWLDEDUP_READ_TOKEN", READ_TOKEN)
    with service_here() as started:
        yield started


def test_a_read_only_token_cannot_change_the_index(watched: Service) -> None:
    reading = {"authorization": f"Bearer {READ_TOKEN}"}
    watched.http.headers.update(ALLOWED)
    watched.check(**PAGE)
    other = {"url": "https://a.example/other", "text": story(2)}
    for path, sent in (
        ("/v1/check", other),
        ("/v1/check", {**other, "remember": False}),
        ("/v1/check?with=text", other),
        ("/v1/check/batch", [other]),
        ("/v1/forget", {"url": PAGE["url"]}),
    ):
        answer = watched.post(path, sent, headers=reading)
        assert (answer.status_code, answer.json()["type"]) == (403, "urn:crawldedup:read-only")
    assert watched.post("/v1/find", PAGE, headers=reading).json()["matches"][0]["exact"]
    explained = watched.post("/v1/explain", other, headers=reading).json()
    assert explained["verdict"]["kind"] == "new"
    pair = {"first": {"text": story(1)}, "second": {"text": story(1)}}
    assert watched.post("/v1/compare", pair, headers=reading).status_code == 200
    for path in ("/", "/search", "/index", "/docs", "/metrics"):
        assert watched.http.get(path, headers=reading).status_code == 200
    form = {"page": story(1), "url": PAGE["url"]}
    assert watched.http.post("/search", data=form, headers=reading).status_code == 200
    assert watched.http.get("/", headers={"authorization": basic(READ_TOKEN)}).status_code == 200
    assert watched.http.get("/v1/info", headers=reading).json()["pages"] == 1
    assert watched.http.get("/v1/info", headers={"authorization": "Bearer x"}).status_code == 401


def test_every_endpoint_that_writes_is_known() -> None:
    """A new endpoint has to be sorted: into those that write, or into those below."""
    reading = {"/v1/find", "/v1/explain", "/v1/compare", "/v1/info", "/health/live"}
    reading |= {"/health/ready", "/openapi.json", "/docs", "/metrics"}
    reading |= {"/", "/search", "/index", "/page.css", "/favicon.ico"}
    assert {route.path for route in app.routes() if not route.writes} == reading


def test_a_service_with_a_token_that_only_reads_serves_nobody_else(tmp_path: Path) -> None:
    file = tmp_path / "tokens"
    file.write_text(f"{READ_TOKEN}\n")
    with service_here(read_token_file=str(file)) as started:
        assert started.http.get("/v1/info").status_code == 401
        assert started.post("/v1/check", PAGE).status_code == 401
        reading = {"authorization": f"Bearer {READ_TOKEN}"}
        assert started.http.get("/v1/info", headers=reading).status_code == 200
        assert started.post("/v1/check", PAGE, headers=reading).status_code == 403


def test_large_and_slow_bodies_are_given_up(guarded: Service) -> None:
    head = f"POST /v1/check HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {TOKEN}\r\nContent-Length: ".encode()
    assert b" 413 " in answer_to(guarded, head + b"20001\r\n\r\n")
    assert b" 408 " in answer_to(guarded, head + b"100\r\n\r\n{")
    chunks = iter([b"x" * 10_000] * 5)
    answer = guarded.http.post(
        "/v1/check", content=chunks, headers={"content-type": "application/json", **ALLOWED}
    )
    assert (answer.status_code, "20,000 bytes" in answer.json()["detail"]) == (413, True)
    assert guarded.post("/v1/check", PAGE, headers=ALLOWED).status_code == 200


def test_a_client_that_sends_all_of_a_large_body_gets_its_answer(guarded: Service) -> None:
    # Where it closes the connection meanwhile, the client gets an error in place of the answer.
    connection = http.client.HTTPConnection("127.0.0.1", guarded.port, timeout=30)
    headers = {"Content-Type": "text/html", "Authorization": f"Bearer {TOKEN}"}
    for _ in range(3):
        connection.request("POST", "/v1/check?url=u", b"x" * (8 << 20), headers)
        answer = connection.getresponse()
        assert (answer.status, b"--max-body" in answer.read()) == (413, True)
    connection.close()


def test_a_long_content_type_takes_no_time(service: Service) -> None:
    begun = time.monotonic()
    for kind, status in (
        (f"text/html; charset*{'1' * 5000}*=utf-8", 200),
        (f"text/html{';a=b' * 15_000}", 200),
        ("a" * 60_000, 415),
    ):
        answer = service.http.post(
            "/v1/explain?url=b", content=f"<p>{story(4)}", headers={"content-type": kind}
        )
        assert answer.status_code == status
    assert time.monotonic() - begun < 5


def test_what_the_server_takes_and_logs() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (256, hard))
    try:
        service = ServiceProcess("--store", "memory://", "--trust-proxy", "127.0.0.1")
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, min(1000, hard)), hard))
    with service, contextlib.ExitStack() as stack:
        # Large heads are refused before they are whole.
        for sent in (b"X: y\r\n" * 500_000, b"X: " + b"y" * 3_000_000):
            assert answer_to(service, b"GET / HTTP/1.1\r\n" + sent).startswith(
                b"HTTP/1.1 400 Bad Request"
            )
        # Clients that only connect shut nobody out below the limit of the system.
        for _ in range(400 if hard > 2000 else 0):
            client = stack.enter_context(
                socket.create_connection(("127.0.0.1", service.port), timeout=30)
            )
            client.sendall(b"GET / HTTP/1.1\r\n")
        # Clients in Java offer HTTP/2.
        offer = {
            "connection": "Upgrade, HTTP2-Settings",
            "upgrade": "h2c",
            "http2-settings": "AAMAAABk",
        }
        proxied = {"x-forwarded-for": "192.0.2.7", **offer}
        # From a client that is connected to nothing yet.
        answer = httpx.post(f"{service.url}/v1/check", json=PAGE, headers=proxied, timeout=10)
        assert answer.json()["kind"] == "new"
        # The request is noted once its answer has gone.
        wait_until(lambda: '"client": "192.0.2.7"' in service.log(), 10)


FINGERPRINT = wire.plain(Deduplicator(key=0).fingerprint(text=story(1)))
NAN = base64.b64encode(b"\xff" * 256).decode()
JSON = "application/json"
PROBLEM = "application/problem+json"


@pytest.mark.parametrize(
    ("page", "status", "said"),
    [
        ({}, 400, "required field `url`"),
        ({"url": "u"}, 400, "one of html, text and fingerprint"),
        ({"url": "u", "text": "a", "simlarity": 1}, 400, "did you mean 'similarity'"),
        ({"url": "u" * 8193, "text": "a"}, 400, "8192"),
        ({"url": "\ud800", "text": "a"}, 400, "surrogate"),
        (
            {"url": "u", "fingerprint": {**FINGERPRINT, "search_weights": NAN}},
            400,
            "cannot be a Fingerprint",
        ),
        ({"url": "u", "html": "<p>" * 300_000}, 422, "tags"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_a_wrong_page_is_refused_with_what_to_change(
    service: Service, page: Any, status: int, said: str
) -> None:
    # One wrong page of an array, and none is checked.
    for path, sent in (
        ("/v1/check", page),
        ("/v1/explain", page),
        *[("/v1/check/batch", [page])] * (status == 400),
    ):
        # As httpx would not send it.
        answer = service.http.post(path, content=json.dumps(sent), headers={"content-type": JSON})
        problem = answer.json()
        assert (answer.status_code, problem["status"], answer.headers["content-type"]) == (
            status,
            status,
            PROBLEM,
        )
        assert said in problem["detail"]
        is_decoded = "is not application/json" not in problem["detail"]
        names_page = "page 0" in problem["detail"] or "`$[0]" in problem["detail"]
        assert names_page or not is_decoded or "batch" not in path


@pytest.mark.parametrize(
    ("path", "kind", "body", "status", "said"),
    [
        (
            "/v1/compare",
            JSON,
            b'{"first": {"text": "a", "rnk": 1}, "second": {}}',
            400,
            "did you mean 'rank'",
        ),
        ("/v1/check", JSON, b"[" * 100_000, 400, "Expected `object`, got `array`"),
        ("/v1/check?with=text", JSON, b"[{}]", 400, "send the array to /v1/check/batch"),
        ("/v1/check", JSON, b'{"url":', 400, "is not application/json"),
        ("/v1/check", "text/csv", b"a,b", 415, "application/json or text/html or text/plain"),
        ("/v1/check?url=a", "text/plain", b"\xff", 400, "is not text/plain"),
        ("/v1/check/batch", JSON, json.dumps([PAGE] * 1001).encode(), 400, "length <= 1000"),
        ("/v1/check/batch", JSON, b"[1]", 400, "`$[0]`"),
        ("/v1/check", JSON, b'{"url": "u", "fingerprint": {"verify": [[]]}}', 400, "`str`"),
        ("/v1/forget", JSON, b"{}", 400, "one of url and fingerprint"),
        ("/v1/forget", JSON, b'{"url": "\\ud800"}', 400, "surrogate"),
        (
            "/v1/check",
            JSON,
            b'{"url": "u", "text": "a story \xe9t\xe9"}',
            400,
            "0xe9 at position 30",
        ),
        ("/v1/check", JSON, b'\xef\xbb\xbf{"url": "\xe9"}', 400, "0xe9 at position 12"),
        (
            "/v1/check/batch",
            JSON,
            b'[{"url": "u", "text": "a"}, {"t\xff": 1}]',
            400,
            "position 31 ",
        ),
        ("/v1/check?url=a", "text/plain; charset=euc-kr", b"abc\xff", 400, "0xff at position 3 "),
        ("/v1/nothing", JSON, b"{}", 404, "this path does not exist: /openapi.json"),
        ("/v1/info", JSON, b"{}", 405, "/v1/info takes another method: GET or HEAD"),
        ("/v1/check", JSON, b"{}", 415, "gzip, zstd"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_a_wrong_request_is_refused(
    service: Service, path: str, kind: str, body: bytes, status: int, said: str
) -> None:
    headers = {"content-type": kind} | ({"content-encoding": "br"} if said == "gzip, zstd" else {})
    answer = service.http.post(path, content=body, headers=headers)
    assert (answer.status_code, answer.json()["status"]) == (status, status)
    assert said in answer.json()["detail"]


DEEP: Final = {
    "empty arrays": ("/v1/check", b"[" + b"[]," * 1_000_000 + b"1]"),
    "empty objects": ("/v1/check/batch", b"[" + b"{}," * 1_000_000 + b"{}]"),
    "keys": ("/v1/check", b"{" + b",".join(b'"%d":0' % n for n in range(300_000)) + b"}"),
    "keys of a fingerprint": (
        "/v1/forget",
        b'{"fingerprint":{' + b",".join(b'"%d":0' % n for n in range(300_000)) + b"}}",
    ),
    "values of a fingerprint": (
        "/v1/find",
        b'{"fingerprint":{"links":[' + b"[]," * 1_000_000 + b"1]}}",
    ),
    "a deep fingerprint": ("/v1/find", b'{"fingerprint":{"full":' + b'{"full":' * 300_000),
    "large numbers": ("/v1/check/batch", b"[" + b",".join([b"9" * 4200] * 900) + b"]"),
}


@pytest.mark.parametrize("shape", DEEP)
def test_a_body_is_refused_before_all_of_it_is_decoded(shape: str) -> None:
    """Others wait meanwhile: the values of these bodies would take seconds, and most memory."""
    path, body = DEEP[shape]
    kinds = {"/v1/check": CheckedPage, "/v1/check/batch": CheckedPages, "/v1/find": SentPage}

    def take() -> None:
        sent = sent_in({"headers": [], "query_string": b""}, body, kinds.get(path, KnownPage), {})
        sent.name()

    tracemalloc.start()
    try:
        with pytest.raises(ConfigurationError):
            take()
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 2 * len(body) + 1_000_000


@pytest.mark.parametrize("names", [("Content-Length", "Transfer-Encoding")])
def test_a_body_of_two_lengths_is_refused(service: Service, names: tuple[str, str]) -> None:
    """A proxy that goes by the length would take what follows for the next request."""
    body = b"0\r\n\r\nGET /v1/info HTTP/1.1\r\nHost: localhost\r\n\r\n"
    values = {"Content-Length": str(len(body)), "Transfer-Encoding": "chunked"}
    for order in (names, names[::-1]):
        head = "".join(f"{name}: {values[name]}\r\n" for name in order)
        sent = f"POST /v1/check HTTP/1.1\r\nHost: localhost\r\n{head}\r\n".encode() + body
        answer = answer_to(service, sent)
        assert answer.startswith(b"HTTP/1.1 400 ")
        assert answer.count(b"HTTP/1.1 ") == 1
        assert b"connection: close" in answer.lower()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--host", "0.0.0.0"], "CRAWLDEDUP_TOKEN"),
        (["--workers", "2", "--store", "memory://"], "--workers"),
        (["--token-file", "empty"], "contains no token"),
        (["--token-file", "short"], "16 or more"),
        (["--host", "192.0.2.1", "--token-file", "long"], "cannot listen on 192.0.2.1"),
        (["--token-file", "nowhere"], "the tokens in nowhere cannot be read"),
        (["--read-token-file", "short"], "16 or more"),
        (
            ["--token-file", "long", "--read-token-file", "long"],
            "create a different token for reading",
        ),
        (["--trust-proxy", "nonsense"], "--trust-proxy is 'nonsense'; it must be the IP address"),
        (["--trust-proxy", "127.0.0.1, 10.0.0.1/8"], "'10.0.0.1/8'"),
        (["--trust-proxy", ""], "--trust-proxy is ''"),
    ],
)
def test_a_service_that_cannot_be_says_why_and_does_not_start(
    arguments: list[str],
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("CRAWLDEDUP_TOKEN", raising=False)
    for name, token in (("empty", ""), ("long", "x" * 16), ("short", "x" * 15)):
        Path(name).write_text(token)
    assert main(["serve", *arguments]) == 2
    assert said in capsys.readouterr().err


@pytest.mark.parametrize("proxies", ["*", "127.0.0.1", "10.0.0.0/8, ::1,fd00::/8", None])
def test_proxies_are_addresses_and_networks(proxies: str | None) -> None:
    checked = {each.name: each.check for each in options_of(ServiceSettings)}
    assert checked["trust_proxy"]("--trust-proxy", proxies) == proxies
