"""The connections of clients: read simple requests quickly, and close connections gracefully.

uvicorn runs the application, and makes a `Connection` for each client. Most requests have the same
form: a head that arrives in one piece, and a body of known length. `Connection` only reads these.
At the first request of any other form, h11 takes over for the rest of the connection. It supports
all of HTTP, but takes ten times as long.

When the service ends, it keeps connections open for a few more seconds, so each client gets an
answer with `Connection: close`. If connections were closed at once, requests that clients send at
that moment would fail.
"""

import asyncio
import logging
import re
from http import HTTPStatus
from typing import Any, Final, cast
from urllib.parse import unquote

import h11
from uvicorn.config import Config
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.server import ServerState

Header = tuple[bytes, bytes]

LAST_SECONDS: Final = 3.0
"""How long an ending service keeps a connection open for one more request."""

_LINGER_SECONDS: Final = 2.0  # how long to receive the rest of a body before closing a connection

_CLOSE: Final = (b"connection", b"close")
_HIGH_WATER: Final = 1 << 16  # bytes of a body that wait to be taken
_MOST_CHUNKS: Final = 4096  # the most chunks of a body: even one of a single byte takes its time
_END_OF_HEAD: Final = b"\r\n\r\n"
# Each part ends where none of its characters can occur, so nothing is tried twice.
_HEAD: Final = re.compile(
    rb"([A-Z]{1,20}) (/[!-~]*+) HTTP/1\.1"
    rb"((?:\r\n[!#$%&'*+.^_`|~0-9A-Za-z-]++:[^\x00-\x08\x0a-\x1f\x7f]*+)*+)"
)
_LENGTH: Final = re.compile(rb"[0-9]{1,15}")
# Requests with these headers need h11.
_UNUSUAL: Final = frozenset((b"transfer-encoding", b"upgrade", b"expect", b"trailer"))
_SINGLE: Final = (b"host", b"content-length", b"connection")
_STATUS_LINES: Final = {
    status.value: f"HTTP/1.1 {status.value} {status.phrase}".encode() for status in HTTPStatus
}
_ASGI: Final = {"version": "3.0", "spec_version": "2.3"}
_log: Final = logging.getLogger(__name__)


def announce_end(server_state: ServerState) -> None:
    """Make every answer of this process say from now on that its connection is about to close."""
    if _CLOSE not in server_state.default_headers:
        server_state.default_headers = [*server_state.default_headers, _CLOSE]


class _Parser(h11.Connection):
    """Parses requests with h11, and rejects bodies with too many chunks."""

    def __init__(self, most_head: int) -> None:
        super().__init__(h11.SERVER, most_head)
        self._chunks = 0

    def next_event(self) -> Any:
        """Return the next event, but refuse a body with too many chunks. Overrides h11's method."""
        event = super().next_event()
        if isinstance(event, h11.Request):
            self._chunks = 0
        elif isinstance(event, h11.Data) and event.chunk_end:
            self._chunks += 1
            if self._chunks > _MOST_CHUNKS:
                raise h11.RemoteProtocolError(f"a body of more than {_MOST_CHUNKS} chunks")
        return event


class _H11Connection(H11Protocol):
    """Reads unusual requests with h11, and closes connections gracefully."""

    def __init__(self, config: Config, *args: Any, **named: Any) -> None:
        super().__init__(config, *args, **named)
        self.conn = _Parser(config.h11_max_incomplete_event_size or _HIGH_WATER)

    def handle_events(self) -> None:
        """Handle bytes that have arrived. Overrides uvicorn's method."""
        try:
            super().handle_events()
        except h11.LocalProtocolError:
            # The body turns out to be invalid after its answer was sent, so there can't be another
            # one.
            self.transport.close()

    def shutdown(self) -> None:
        """Close the connection gracefully, because the server ends. Called by uvicorn."""
        announce_end(self.server_state)
        if self.cycle is None or self.cycle.response_complete:
            self.loop.call_later(LAST_SECONDS, self._end_if_idle)
        else:
            self.cycle.default_headers = self.server_state.default_headers
            self.cycle.keep_alive = False

    def _end_if_idle(self) -> None:
        if self.transport.is_closing():
            return
        if self.cycle is None or self.cycle.response_complete:
            self.transport.close()
        else:
            self.cycle.keep_alive = False


class _Request:
    """The head of a request, as the client sent it, without the body."""

    __slots__ = ("closes", "headers", "length", "method", "target")

    def __init__(self, method: bytes, target: bytes, headers: list[Header]) -> None:
        named = dict(headers)
        self.method = method.decode("ascii")
        self.target = target
        self.headers = headers
        self.length = int(named.get(b"content-length", b"0"))
        self.closes = named.get(b"connection", b"").lower() == b"close"


def simple_request(head: bytes) -> _Request | None:
    """Parse the head of a request, or return None if it isn't of the simple form.

    A head isn't of that form if there is any doubt about where the request ends.
    """
    parts = _HEAD.fullmatch(head)
    if parts is None:
        return None
    method, target, lines = parts.groups()
    headers: list[Header] = []
    for line in lines.split(b"\r\n")[1:]:
        name, _, value = line.partition(b":")
        headers.append((name.lower(), value.strip(b" \t")))
    names = [name for name, _ in headers]
    if not _UNUSUAL.isdisjoint(names) or any(names.count(name) > 1 for name in _SINGLE):
        return None
    named = dict(headers)
    if b"host" not in named or not _LENGTH.fullmatch(named.get(b"content-length", b"0")):
        return None
    if named.get(b"connection", b"close").lower() not in (b"close", b"keep-alive"):
        return None
    return _Request(method, target, headers)


class Connection(asyncio.Protocol):
    """The connection of one client: reads its simple requests in turn, and sends the answers."""

    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        self._config = config
        self._server_state = server_state
        self._app_state = app_state
        self._loop = _loop or asyncio.get_event_loop()
        self._transport: asyncio.Transport
        self._exchange: _Exchange | None = None
        self._body_left = 0  # bytes of the request's body that have not arrived
        # the bytes that arrived before the answer to an earlier request was complete
        self._early = b""
        self._is_over = False  # The last answer was sent.
        self._is_full = False  # The client does not take its answers.
        self._idle_since = 0.0
        self._timer: asyncio.TimerHandle | None = None
        self._last_chance: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Start serving a client that has connected. Called by asyncio."""
        # The transport of uvloop isn't a subclass.
        self._transport = cast("asyncio.Transport", transport)
        self._server_state.connections.add(self)  # type: ignore[arg-type]

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002
        """Tell the request in progress that the client has gone. Called by asyncio."""
        self._forget()
        if self._exchange is not None:
            self._exchange.disconnect()

    def shutdown(self) -> None:
        """Close the connection gracefully, because the server ends. Called by uvicorn."""
        announce_end(self._server_state)
        self._last_chance = self._loop.call_later(LAST_SECONDS, self._end_if_idle)

    def pause_writing(self) -> None:
        """Begin no more requests, because the client isn't taking its answers.

        Called by asyncio.
        """
        self._is_full = True

    def resume_writing(self) -> None:
        """Begin requests again, because the client has taken its answers. Called by asyncio."""
        self._is_full = False
        self._go_on()

    def data_received(self, data: bytes) -> None:
        """Pass on bytes of a body, and begin a request or keep its bytes for later.

        Called by asyncio. A connection answers one request at a time.
        """
        if self._body_left:
            body = data[: self._body_left]
            self._body_left -= len(body)
            data = data[len(body) :]
            if self._exchange is not None:
                self._exchange.take(body, is_last=not self._body_left)
                if self._exchange.waiting_bytes > _HIGH_WATER:
                    self._transport.pause_reading()
            elif self._is_over and not self._body_left:
                self._transport.close()
        if not data or self._is_over:
            return
        if self._exchange is not None or self._is_full:
            self._early += data
            self._transport.pause_reading()
        else:
            self._begin(data)

    def resume_reading(self) -> None:
        """Receive bytes again, unless some of the next request are already waiting."""
        if not self._early:
            self._transport.resume_reading()

    def send(self, request: _Request, status: int, headers: list[Header], body: bytes) -> None:
        """Send the answer to a request, which is then complete.

        Raises ValueError if a header of the answer contains a line break.
        """
        headers = [*self._server_state.default_headers, *headers]
        closes = request.closes or _CLOSE in headers
        if closes and _CLOSE not in headers:
            headers.append(_CLOSE)
        lines = [_STATUS_LINES[status]]
        lines += [b"%b: %b" % header for header in headers]
        head = b"\r\n".join(lines)
        if head.count(b"\n") >= len(lines) or head.count(b"\r") >= len(lines):
            raise ValueError("a header of the answer has several lines")
        self._transport.write(head + _END_OF_HEAD + (b"" if request.method == "HEAD" else body))
        self._exchange = None
        self._server_state.total_requests += 1
        self._idle_since = self._loop.time()
        if closes:
            self._close_after_body()
            return
        if self._timer is None:
            self._timer = self._loop.call_later(
                self._config.timeout_keep_alive, self._end_after_silence
            )
        # What is left of the body is taken from the client, and dropped.
        self._transport.resume_reading()
        self._go_on()

    def _close_after_body(self) -> None:
        """Close the connection once the client has sent its request.

        If it were closed earlier, the client would get an error instead of the answer.
        """
        self._is_over = True
        if not self._body_left:
            self._transport.close()
            return
        self._transport.resume_reading()
        self._loop.call_later(_LINGER_SECONDS, self._end)

    def close(self) -> None:
        """Close the connection at once, in the middle of a request or an answer."""
        self._transport.close()

    def _begin(self, data: bytes) -> None:
        """Read a request, and start answering it."""
        end = data.find(_END_OF_HEAD)
        limit = self._config.h11_max_incomplete_event_size or _HIGH_WATER
        request = simple_request(data[:end]) if 0 <= end < limit else None
        if request is None:
            self._hand_over(data)
            return
        rest = data[end + len(_END_OF_HEAD) :]
        exchange = _Exchange(self, request, self._scope(request))
        self._exchange = exchange
        self._body_left = request.length
        if not request.length:
            exchange.take(b"", is_last=True)
        if rest:
            self.data_received(rest)
        task = self._loop.create_task(exchange.run(self._config.loaded_app))
        task.add_done_callback(self._server_state.tasks.discard)
        self._server_state.tasks.add(task)

    def _scope(self, request: _Request) -> dict[str, Any]:
        """Describe a request to the application, as ASGI defines."""
        raw_path, _, query = request.target.partition(b"?")
        path = raw_path.decode("ascii")
        return {
            "type": "http",
            "asgi": _ASGI,
            "http_version": "1.1",
            "server": self._address("sockname"),
            "client": self._address("peername"),
            "scheme": "http",
            "method": request.method,
            "root_path": "",
            "path": unquote(path) if "%" in path else path,
            "raw_path": raw_path,
            "query_string": query,
            "headers": request.headers,
            "state": self._app_state.copy(),
        }

    def _address(self, name: str) -> tuple[str, int] | None:
        address = self._transport.get_extra_info(name)
        return (str(address[0]), int(address[1])) if isinstance(address, tuple) else None

    def _go_on(self) -> None:
        """Continue with the next request, if it has arrived and may be answered."""
        if self._early and self._exchange is None and not self._is_full:
            data = self._early
            self._early = b""
            self._transport.resume_reading()
            self.data_received(data)

    def _hand_over(self, data: bytes) -> None:
        """Let h11 read this request and all later ones on the connection."""
        self._forget()
        successor = _H11Connection(
            config=self._config,
            server_state=self._server_state,
            app_state=self._app_state,
            _loop=self._loop,
        )
        successor.connection_made(self._transport)
        self._transport.set_protocol(successor)
        if _CLOSE in self._server_state.default_headers:
            successor.shutdown()
        successor.data_received(data)

    def _forget(self) -> None:
        self._server_state.connections.discard(self)
        for timer in (self._timer, self._last_chance):
            if timer is not None:
                timer.cancel()

    def _end_if_idle(self) -> None:
        if self._exchange is None:
            self._end()

    def _end(self) -> None:
        if self._is_full:
            # Closing it would take until the client has received everything.
            self._transport.abort()
        else:
            self._transport.close()

    def _end_after_silence(self) -> None:
        """Close the connection if its client has been silent for long, or check again later."""
        silence = self._loop.time() - self._idle_since
        left = self._config.timeout_keep_alive - silence
        if self._exchange is not None:
            left = self._config.timeout_keep_alive
        if left <= 0:
            self._end()
        else:
            self._timer = self._loop.call_later(left, self._end_after_silence)


class _Exchange:
    """A request and its answer, between the connection and the ASGI application."""

    __slots__ = (
        "_body",
        "_connection",
        "_event",
        "_has_more",
        "_is_connected",
        "_request",
        "_scope",
        "_start",
    )

    def __init__(self, connection: Connection, request: _Request, scope: dict[str, Any]) -> None:
        self._connection = connection
        self._request = request
        self._scope = scope
        self._body = b""
        self._has_more = True
        self._is_connected = True
        self._event: asyncio.Event | None = None
        self._start: dict[str, Any] | None = None

    @property
    def waiting_bytes(self) -> int:
        """How many bytes of the body have arrived but weren't taken by the application yet."""
        return len(self._body)

    def take(self, body: bytes, *, is_last: bool) -> None:
        """Receive a part of the body from the connection."""
        self._body += body
        self._has_more = not is_last
        if self._event is not None:
            self._event.set()

    def disconnect(self) -> None:
        """Tell the application that the client has left."""
        self._is_connected = False
        if self._event is not None:
            self._event.set()

    async def run(self, app: Any) -> None:
        """Let the application answer the request."""
        try:
            await app(self._scope, self._receive, self._send)
        except Exception:
            # The application answers its own errors, so this one is unexpected.
            _log.exception("a request ended without an answer")
            self._connection.close()

    async def _receive(self) -> dict[str, Any]:
        if self._has_more and not self._body and self._is_connected:
            self._connection.resume_reading()
            self._event = asyncio.Event()
            await self._event.wait()
            self._event = None
        if not self._is_connected:
            return {"type": "http.disconnect"}
        body = self._body
        self._body = b""
        return {"type": "http.request", "body": body, "more_body": self._has_more}

    async def _send(self, message: dict[str, Any]) -> None:
        """Send the answer, which is in one part, once it's complete."""
        if message["type"] == "http.response.start":
            self._start = message
        elif self._start is not None and self._is_connected:
            self._connection.send(
                self._request, self._start["status"], self._start["headers"], message["body"]
            )
