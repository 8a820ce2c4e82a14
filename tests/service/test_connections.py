"""Connections: what is read in the quick way is read as h11 reads it, and they end politely."""

from __future__ import annotations

import contextlib
import json
import random
import signal
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import h11
import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawldedup.service.connections import LAST_SECONDS, simple_request
from tests.servers import wait_until
from tests.service.serving import Service, ServiceProcess, service_here, story
from tests.service.test_processes import ENDED, workers_of

HEAD = b"POST /v1/find HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
BODY = json.dumps({"text": story(1)}).encode()
LENGTH = b"Content-Length: %d\r\n" % len(BODY)


def exchange(service: Service, *parts: bytes, answers: int = 1) -> list[bytes]:
    """The heads of the answers to what is sent on one connection, part by part."""
    received = b""
    with socket.create_connection(("127.0.0.1", service.port), timeout=20) as client:
        for part in parts:
            client.sendall(part)
            time.sleep(0.05)
        while received.count(b"HTTP/1.1 ") < answers and (data := client.recv(65536)):
            received += data
    return [part.split(b"\r\n\r\n")[0] for part in received.split(b"HTTP/1.1 ")[1:]]


WHOLE = HEAD + LENGTH + b"\r\n" + BODY
CHUNKED = (
    HEAD + b"Transfer-Encoding: chunked\r\n\r\n" + b"%x\r\n%b\r\n0\r\n\r\n" % (len(BODY), BODY)
)
OFFER = (
    HEAD + LENGTH + b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\n"
    b"HTTP2-Settings: AAMAAABk\r\n\r\n" + BODY
)
ASKING = HEAD + LENGTH + b"Expect: 100-continue\r\n\r\n"


@pytest.mark.parametrize(
    ("parts", "statuses"),
    [
        ([WHOLE], [200]),
        ([WHOLE[:20], WHOLE[20:]], [200]),
        ([WHOLE[:-5], WHOLE[-5:]], [200]),
        ([WHOLE * 3], [200] * 3),
        ([WHOLE + CHUNKED + WHOLE], [200] * 3),
        ([CHUNKED, WHOLE], [200] * 2),
        ([OFFER, WHOLE], [200] * 2),
        ([WHOLE, ASKING, BODY], [200, 100, 200]),
        ([HEAD.replace(b"1.1", b"1.0") + LENGTH + b"\r\n" + BODY], [200]),
        ([b"HEAD / HTTP/1.1\r\nHost: localhost\r\n\r\n" + WHOLE], [200] * 2),
        # A body that nobody reads belongs to its request, and is not the next one.
        ([WHOLE.replace(b"POST /v1/find", b"GET /v1/info") + WHOLE], [200] * 2),
        ([WHOLE.replace(b"POST /v1/find", b"POST /v1/nothing") + WHOLE], [404, 200]),
        ([HEAD + b"Content-Length: 1\r\nContent-Length: 2\r\n\r\nxx"], [400]),
        ([HEAD + b"Content-Length: -1\r\n\r\n"], [400]),
        ([HEAD + b"Content-Length : 1\r\n\r\nx"], [400]),
        ([HEAD + b"X: \x00\r\n\r\n"], [400]),
        ([b"GET / HTTP/1.1\r\n\r\n"], [400]),
        ([b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n"], [400]),
    ],
)
def test_requests_of_every_form_are_answered_in_their_order(
    service: Service, parts: list[bytes], statuses: list[int]
) -> None:
    answers = exchange(service, *parts, answers=len(statuses))
    assert [int(answer[:3]) for answer in answers] == statuses
    # What is no HTTP ends the connection.
    assert all(b"\r\nconnection: close" in head.lower() for head in answers if head[:3] == b"400")


@pytest.mark.parametrize("part", [b"1\r\n \r\n", b"1;name=value\r\n \r\n"])
def test_a_body_in_tiny_chunks_does_not_keep_others_waiting(service: Service, part: bytes) -> None:
    head = HEAD + b"Transfer-Encoding: chunked\r\n\r\n"
    # Other clients would wait for seconds for each megabyte.
    (answer,) = exchange(service, head + part * 5_000)
    assert answer.startswith(b"400 ")
    few = [b"%x\r\n%b\r\n" % (1, BODY[place : place + 1]) for place in range(len(BODY))]
    (answer,) = exchange(service, head + b"".join(few) + b"0\r\n\r\n")
    assert answer.startswith(b"200 ")


def test_a_body_that_goes_wrong_behind_its_answer_ends_the_connection(tmp_path: Path) -> None:
    tokens = tmp_path / "token"
    tokens.write_text("0123456789abcdef")
    head = HEAD + b"Transfer-Encoding: chunked\r\n\r\n"
    with ServiceProcess("--token-file", str(tokens)) as service:
        for rest in (b"no chunk\r\n", b"1\r\n \r\n" * 5_000):
            answers = exchange(service, head + b"1\r\n \r\n", rest, answers=2)
            assert [answer[:4] for answer in answers] == [b"401 "]
        assert "Traceback" not in service.log()


def test_the_answer_to_a_last_request_says_so(service: Service) -> None:
    (answer,) = exchange(service, WHOLE.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n"))
    assert b"connection: close" in answer
    (answer,) = exchange(service, WHOLE)
    assert b"connection" not in answer.lower()


@pytest.mark.parametrize("size", [10, 3_000_000])
def test_a_client_that_sends_its_body_late_gets_the_refusal(tmp_path: Path, size: int) -> None:
    """Closed at once, the connection would break under the client before it reads the answer."""
    file = tmp_path / "tokens"
    file.write_text("a-token-of-today-x")
    with service_here(token_file=str(file)) as guarded:
        for _ in range(3):
            with socket.create_connection(("127.0.0.1", guarded.port), timeout=20) as client:
                # The second form of it is read by h11.
                for form in (
                    b"Content-Length: %d\r\n\r\n",
                    b"Trailer: x\r\nContent-Length: %d\r\n\r\n",
                ):
                    client.sendall(HEAD + form % size)
                    time.sleep(0.1)
                    client.sendall(b"x" * size)
                    time.sleep(0.05)
                    received = b""
                    while b'"status"' not in received:
                        received += client.recv(65536)
                    assert received.startswith(b"HTTP/1.1 401 ")
                client.sendall(HEAD + b"Connection: close\r\nContent-Length: 5\r\n\r\n")
                time.sleep(0.1)
                client.sendall(b"12345")
                assert client.recv(65536).startswith(b"HTTP/1.1 401 ")


def test_a_client_that_takes_no_answers_costs_no_memory(service: Service) -> None:
    with socket.create_connection(("127.0.0.1", service.port), timeout=1) as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        with contextlib.suppress(TimeoutError):
            for _ in range(20_000):
                client.sendall(b"GET /openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n" * 10)
            pytest.fail("it takes requests without an end")
    assert service.http.get("/health/live").status_code == 200


def read_by_h11(sent: bytes) -> h11.Request | None:
    """The request with this head, if it is valid."""
    connection = h11.Connection(h11.SERVER, 1 << 16)
    connection.receive_data(sent)
    try:
        event = connection.next_event()
    except h11.RemoteProtocolError:
        return None
    return event if isinstance(event, h11.Request) else None


LINES = st.sampled_from(
    [
        *(
            b"Host: a",
            b"Host:a",
            b"host:\ta \t",
            b"Host: ",
            b"X-Y: \xe4 b",
            b"X: a\tb",
            b"X:",
            b": x",
        ),
        *(b"Content-Length: 12", b"content-length: 012", b"Content-Length: 1, 1", b"X : y"),
        *(b"Content-Length: +1", b"Transfer-Encoding: chunked", b" folded", b"X: \x7f", b"X: \x01"),
        *(b"Connection: close", b"Connection: Keep-Alive", b"Connection: x, close", b"X: a\rb"),
        *(b"X: a\nb: c", b"Expect: 100-continue", b"Upgrade: h2c", b"x(y: 1", b"TE: trailers"),
    ]
)
FIRST = st.sampled_from(
    [
        b"GET /",
        b"POST /a?b=c",
        b"get /",
        b"GET  /",
        b"GET *",
        b"GET http://a/",
        b"GET /\xe4",
        b"/ x",
    ]
)


@given(st.builds(lambda first, lines: (first, lines), FIRST, st.lists(LINES, max_size=5)))
def test_what_is_read_here_is_read_by_h11_in_the_same_way(head: tuple[bytes, list[bytes]]) -> None:
    first, lines = head
    sent = b"\r\n".join([first + b" HTTP/1.1", *lines])
    request = simple_request(sent)
    if request is None:
        return
    expected = read_by_h11(sent + b"\r\n\r\n")
    assert expected is not None
    assert request.method.encode() == expected.method
    assert request.target == expected.target
    assert request.headers == [(name, value) for name, value in expected.headers]
    named = dict(request.headers)
    assert not {b"transfer-encoding", b"upgrade", b"expect"} & named.keys()
    assert request.length == int(named.get(b"content-length", 0))


def test_usual_requests_are_read_here() -> None:
    heads = []

    def keep(request: httpx.Request) -> httpx.Response:
        lines = [b"%b: %b" % header for header in request.headers.raw]
        heads.append(b"\r\n".join([b"POST / HTTP/1.1", *lines]))
        return httpx.Response(200)

    with httpx.Client(transport=httpx.MockTransport(keep)) as http:
        http.post("http://localhost:8300/", json={})
    curl = b"POST / HTTP/1.1\r\nHost: localhost\r\nUser-Agent: curl/8\r\nAccept: */*\r\n"
    for head in (*heads, curl + b"Content-Length: 5"):
        assert simple_request(head) is not None


@pytest.mark.parametrize(
    "part", [b"\r\nX: " + b" \t" * 30_000 + b"\x00", b"\r\nA:" * 20_000 + b"\0"]
)
def test_a_hostile_head_takes_no_time(part: bytes) -> None:
    begun = time.process_time()
    assert simple_request(b"GET / HTTP/1.1" + part) is None
    assert time.process_time() - begun < 0.5


class Clients:
    """Clients that keep their connections, and ask until they are to stop."""

    def __init__(self, url: str) -> None:
        self._url = url
        self.is_over = False
        self.answers = 0
        self.last_answers = 0  # those that said that the connection ends
        self.failures: list[str] = []
        self._lock = threading.Lock()

    def ask(self, number: int) -> None:
        """Ask by one connection at a time, with pauses of up to half of the time that is left."""
        rng = random.Random(number)
        # A try more would hide a request that failed.
        transport = httpx.HTTPTransport(retries=0)
        with httpx.Client(base_url=self._url, transport=transport, timeout=30) as http:
            while not self.is_over:
                self._ask_once(http, number)
                time.sleep(rng.choice((0, 0, 0.01, 0.1, rng.random() * LAST_SECONDS / 2)))

    def _ask_once(self, http: httpx.Client, number: int) -> None:
        try:
            page = {"url": f"https://{number}.example/{self.answers}", "text": story(number)}
            answer = http.post("/v1/check", json=page)
            problem = "" if answer.status_code == 200 else answer.text
        except httpx.TransportError as error:
            answer, problem = None, repr(error)
        with self._lock:
            self.answers += 1
            self.last_answers += answer is not None and "close" in answer.headers.get(
                "connection", ""
            )
            if problem:
                self.failures.append(problem)


@pytest.mark.timeout(600)
@pytest.mark.parametrize("times", [1, pytest.param(10, marks=pytest.mark.nightly)])
def test_no_request_fails_while_the_processes_are_restarted_one_by_one(
    tmp_path: Path, times: int
) -> None:
    store = f"sqlite:///{tmp_path / 'index.sqlite'}"
    with ServiceProcess("--store", store, "--workers", "2") as service:
        clients = Clients(service.url)
        with ThreadPoolExecutor() as threads:
            asking = [threads.submit(clients.ask, number) for number in range(8)]
            try:
                wait_until(lambda: clients.answers > 50)
                for _ in range(times):
                    before = workers_of(service)
                    service.process.send_signal(signal.SIGHUP)
                    wait_until(
                        lambda before=before: (
                            len(workers_of(service)) == 2
                            and set(workers_of(service)).isdisjoint(before)
                        ),
                        90,
                    )
                    seen = clients.answers
                    wait_until(lambda seen=seen: clients.answers > seen + 50)
            finally:
                clients.is_over = True
            assert [each.result() for each in asking] == [None] * 8
        assert clients.failures == []
        assert clients.last_answers >= 4
        assert service.stop() in ENDED


def test_a_service_that_ends_answers_once_more_on_each_connection(tmp_path: Path) -> None:
    with ServiceProcess("--store", f"sqlite:///{tmp_path / 'index.sqlite'}") as service:
        page = {"url": "https://a.example/", "text": story(1)}
        chunks = {"content-type": "application/json", "transfer-encoding": "chunked"}
        with httpx.Client(base_url=service.url) as simple, httpx.Client() as chunked:
            address = f"{service.url}/v1/check"

            def ask_in_chunks() -> httpx.Response:
                return chunked.post(
                    address, content=iter([json.dumps(page).encode()]), headers=chunks
                )

            assert "connection" not in simple.post("/v1/check", json=page).headers
            assert "connection" not in ask_in_chunks().headers
            service.process.send_signal(signal.SIGTERM)
            time.sleep(0.5)
            for answer in (simple.post("/v1/check", json=page), ask_in_chunks()):
                assert (answer.status_code, answer.headers["connection"]) == (200, "close")
            for ask in (lambda: simple.get("/health/live"), ask_in_chunks):
                with pytest.raises(httpx.ConnectError):
                    ask()
        begun = time.monotonic()
        assert service.stop() in ENDED
        assert time.monotonic() - begun < LAST_SECONDS + 2


def test_a_silent_connection_does_not_keep_a_service_that_ends(tmp_path: Path) -> None:
    with (
        ServiceProcess("--store", f"sqlite:///{tmp_path / 'index.sqlite'}") as service,
        socket.create_connection(("127.0.0.1", service.port)),
        socket.create_connection(("127.0.0.1", service.port)) as half,
    ):
        half.sendall(b"GET / HTTP/1.1\r\nHost:")
        time.sleep(0.2)
        begun = time.monotonic()
        assert service.stop() in ENDED
        assert time.monotonic() - begun < LAST_SECONDS + 5
