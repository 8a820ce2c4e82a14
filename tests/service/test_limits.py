"""Who may ask, how much, and for how long."""

from __future__ import annotations

import contextlib
import resource
import socket
import threading
import time
from typing import TYPE_CHECKING

import httpx
import pytest

from tests.servers import wait_until
from tests.service.serving import ServiceProcess, service_here, story

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

TOKENS = "a-token-of-yesterday\na-token-of-today-x\n"


@pytest.fixture(scope="module")
def limited(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServiceProcess]:
    """A service with tokens, small bodies and little patience."""
    file: Path = tmp_path_factory.mktemp("tokens") / "tokens"
    file.write_text(TOKENS)
    arguments = ("--store", "memory://", "--token-file", str(file), "--max-body", "20000", "--client-seconds", "0.5")
    with ServiceProcess(*arguments) as started:
        yield started


@pytest.fixture
def allowed(limited: ServiceProcess) -> ServiceProcess:
    limited.http.headers["authorization"] = f"Bearer {TOKENS.split()[1]}"
    return limited


def connected(service: ServiceProcess) -> socket.socket:
    return socket.create_connection(("127.0.0.1", service.port), timeout=30)


def head(length: int | None = None, path: str = "/v1/check", kind: str = "application/json") -> bytes:
    size = "Transfer-Encoding: chunked" if length is None else f"Content-Length: {length}"
    token = TOKENS.split()[0]
    return (
        f"POST {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\nContent-Type: {kind}\r\n{size}\r\n\r\n"
    ).encode()


def send_what_is_taken(client: socket.socket, sent: bytes) -> bool:
    """Return whether all of it was taken."""
    try:
        client.sendall(sent)
    except (ConnectionError, TimeoutError):
        return False
    return True


def answer_of(client: socket.socket) -> bytes:
    """Everything that the service says until it closes the connection."""
    answer = b""
    with contextlib.suppress(ConnectionResetError):
        while part := client.recv(65536):
            answer += part
    return answer


@pytest.mark.parametrize(
    "token", [None, "", "Bearer", "Bearer x", "Basic a-token-of-today-x", "Bearer a-token-of-today"]
)
def test_a_token_is_wanted(limited: ServiceProcess, token: str | None) -> None:
    limited.http.headers.pop("authorization", None)
    headers = {} if token is None else {"authorization": token}
    for path in ("/v1/info", "/metrics", "/v1/nothing"):
        answer = limited.http.get(path, headers=headers)
        assert (answer.status_code, answer.headers["www-authenticate"]) == (401, "Bearer")
        assert "Authorization: Bearer" in answer.json()["detail"]
    assert limited.post("/v1/check", {"url": "u", "text": story(1)}, headers=headers).status_code == 401
    for path in ("/health/live", "/health/ready", "/openapi.json"):
        assert limited.http.get(path).status_code == 200


@pytest.mark.parametrize("token", TOKENS.split())
def test_each_of_the_tokens_is_enough(limited: ServiceProcess, token: str) -> None:
    assert limited.http.get("/v1/info", headers={"authorization": f"bearer {token}"}).status_code == 200


@pytest.mark.parametrize(
    "sent",
    [b"GET / HTTP/1.1\r\n" + b"X: y\r\n" * 500_000, b"GET / HTTP/1.1\r\nX: " + b"y" * 3_000_000],
    ids=["many headers", "a long header"],
)
def test_a_large_head_is_refused_before_it_is_whole(limited: ServiceProcess, sent: bytes) -> None:
    with connected(limited) as client:
        threading.Thread(target=send_what_is_taken, args=(client, sent)).start()
        assert answer_of(client).startswith(b"HTTP/1.1 400 Bad Request")


def test_a_large_body_is_refused_before_it_is_read(allowed: ServiceProcess) -> None:
    with connected(allowed) as client:
        client.sendall(head(20_001))
        assert b"413" in answer_of(client)
    chunks = iter([b"x" * 10_000] * 5)
    answer = allowed.http.post("/v1/check", content=chunks, headers={"content-type": "application/json"})
    assert (answer.status_code, "20,000 bytes" in answer.json()["detail"]) == (413, True)


def test_a_body_that_takes_its_time_is_given_up(allowed: ServiceProcess) -> None:
    with connected(allowed) as late:
        late.sendall(head(100) + b"{")
        assert b" 408 " in answer_of(late)
    assert allowed.check("https://a.example/1", text=story(3))["kind"] == "new"


@pytest.mark.parametrize(
    ("kind", "status"),
    [
        ("text/html" + ";a=b" * 15_000, 200),
        ("text/html; charset*" + "1" * 5000 + "*=utf-8", 200),
        ("text/html; charset=" + "x" * 50_000, 200),
        ("a" * 60_000, 415),
    ],
)
def test_a_long_content_type_takes_no_time(kind: str, status: int) -> None:
    with service_here() as service:
        service.check("https://a.example/", html=f"<p>{story(3)}")
        begun = time.monotonic()
        for path in ("/v1/check?url=a", "/v1/explain?url=b"):
            answer = service.http.post(path, content=f"<p>{story(4)}", headers={"content-type": kind})
            assert answer.status_code == status, answer.text
        assert time.monotonic() - begun < 5


def test_clients_that_only_connect_shut_nobody_out_below_the_limit_of_the_system() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard < 2000:
        pytest.skip("the system allows too few open files")
    with contextlib.ExitStack() as stack:
        resource.setrlimit(resource.RLIMIT_NOFILE, (256, hard))
        try:
            service = stack.enter_context(ServiceProcess("--store", "memory://"))
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, 1000), hard))
        for _ in range(400):
            stack.enter_context(connected(service)).sendall(b"GET / HTTP/1.1\r\n")
        # A client of its own, which is connected to nothing yet.
        page = {"url": "https://a.example/1", "text": story(3)}
        assert httpx.post(f"{service.url}/v1/check", json=page, timeout=10).json()["kind"] == "new"


def test_the_address_of_a_client_is_that_which_the_proxy_names() -> None:
    with ServiceProcess("--store", "memory://", "--trust-proxy", "127.0.0.1") as service:
        page = {"url": "https://a.example/", "text": story(1)}
        assert service.post("/v1/check", page, headers={"x-forwarded-for": "192.0.2.7"}).status_code == 200
        # The request is noted once its answer has gone.
        wait_until(lambda: '"client": "192.0.2.7"' in service.log(), 10)
