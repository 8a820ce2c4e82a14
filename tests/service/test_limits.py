"""Who may ask, how much, and for how long."""

from __future__ import annotations

import contextlib
import json
import socket
import threading
from typing import TYPE_CHECKING

import pytest

from crawldedup.service.edge import RateLimit
from tests.service.serving import ServiceProcess, story

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
        assert b"431 Request Header Fields Too Large" in answer_of(client)


def test_what_follows_a_body_is_bounded(limited: ServiceProcess) -> None:
    with connected(limited) as client:
        sent = head() + b"2\r\n[]\r\n0\r\n" + b"X: y\r\n" * 1_000_000
        assert not send_what_is_taken(client, sent)


def test_requests_whose_answers_nobody_takes_are_given_up(limited: ServiceProcess) -> None:
    with connected(limited) as client:
        assert not send_what_is_taken(client, b"GET /v1/info HTTP/1.1\r\nHost: localhost\r\n\r\n" * 500_000)


def test_a_large_body_is_refused_before_it_is_read(allowed: ServiceProcess) -> None:
    with connected(allowed) as client:
        client.sendall(head(20_001))
        assert b"413" in answer_of(client)
    chunks = iter([b"x" * 10_000] * 5)
    answer = allowed.http.post("/v1/check", content=chunks, headers={"content-type": "application/json"})
    assert (answer.status_code, "20,000 bytes" in answer.json()["detail"]) == (413, True)
    answers = allowed.stream(json.dumps({"url": "a", "text": story(2)}).encode() + b"\n" + b"x" * 20_001)
    assert [each.get("kind") for each in answers] == ["new", None]
    assert answers[1]["problem"]["status"] == 413


def test_a_client_that_takes_its_time_is_given_up(allowed: ServiceProcess) -> None:
    with connected(allowed) as silent, connected(allowed) as slow, connected(allowed) as late:
        slow.sendall(b"POST /v1/check HTTP/1.1\r\nHost: x\r\nX-Long: ")
        late.sendall(head(100) + b"{")
        assert answer_of(silent) == b""
        assert answer_of(slow) == b""
        assert b" 408 " in answer_of(late)
    with connected(allowed) as stream:
        stream.sendall(head(path="/v1/check/stream", kind="application/x-ndjson") + b"2\r\n\r\n\r\n")
        assert b'"status": 408' in answer_of(stream)
    assert allowed.check("https://a.example/1", text=story(3))["kind"] == "new"


def test_a_stream_whose_answers_nobody_takes_is_given_up(allowed: ServiceProcess) -> None:
    line = json.dumps({"url": "u" * 4000, "text": "few words"}).encode() + b"\n"
    sent = 0
    with connected(allowed) as client:
        client.settimeout(5)
        client.sendall(head(path="/v1/check/stream", kind="application/x-ndjson"))
        try:
            while sent < 200_000_000:
                client.sendall(b"%x\r\n%s\r\n" % (len(line), line))
                sent += len(line)
        except OSError:
            pass
    # Neither has it all been read, nor is the service stuck.
    assert sent < 100_000_000
    assert "too long to read" in allowed.log()
    assert allowed.http.get("/health/live").status_code == 200


def test_a_rate_holds_in_the_long_run() -> None:
    now = 1000.0
    limit = RateLimit(10, lambda: now)
    one, other = {"client": ("1.2.3.4", 5)}, {"client": ("1.2.3.5", 5)}
    taken = 0
    for _ in range(1000):
        now += 0.01
        taken += limit.seconds_to_wait(one, 1) == 0
    assert 100 <= taken <= 111
    assert limit.seconds_to_wait(other, 500) == 0
    assert 48 < limit.seconds_to_wait(other, 1) <= 50
    assert RateLimit(0).seconds_to_wait(one, 10**9) == 0


def test_a_client_over_its_rate_is_told_when_to_come_back() -> None:
    arguments = ("--store", "memory://", "--rate", "5", "--trust-proxy", "127.0.0.1")
    with ServiceProcess(*arguments) as service:
        pages = [{"url": f"https://a.example/{number}", "text": story(number)} for number in range(15)]
        assert service.post("/v1/check/batch", pages).status_code == 200
        refused = service.post("/v1/check", pages[0])
        assert refused.status_code == 429
        assert 1 <= int(refused.headers["retry-after"]) <= 3
        other = service.post("/v1/check", pages[0], headers={"x-forwarded-for": "192.0.2.7"})
        assert other.json()["kind"] == "revisit"
        assert '"client": "192.0.2.7"' in service.log()
        # A stream waits instead.
        answers: list[dict[str, object]] = []
        waiting = threading.Thread(
            target=lambda: answers.extend(service.stream(json.dumps({"url": "u", "text": story(50)}).encode()))
        )
        waiting.start()
        waiting.join()
        assert answers[0]["kind"] == "new"
