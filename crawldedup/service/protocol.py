"""HTTP/1.1 as uvicorn speaks it, with bounds for what comes beside bodies, before anybody has shown a token."""

from __future__ import annotations

import json
from functools import cache
from http import HTTPStatus
from typing import TYPE_CHECKING, Final

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from crawldedup.service.problems import ProblemError
from crawldedup.service.settings import ServiceSettings

if TYPE_CHECKING:
    import asyncio


_MOST_BESIDE: Final = 512 << 10
"""Bytes of a head. Those that frame the parts of a body, and follow it, may be some times the body more."""
_MOST_PIPELINED: Final = 1_000


class PatientProtocol(HttpToolsProtocol):
    """Closes a connection whose next request does not have a whole head in time, or too large a one.

    The parser itself gathers a head, or what follows a body, without a bound.
    """

    _deadline: asyncio.TimerHandle | None = None
    _received = 0
    _of_bodies = 0

    def data_received(self, data: bytes) -> None:
        """See `asyncio.Protocol`."""
        super().data_received(data)
        self._received += len(data)
        if self._received > _MOST_BESIDE + 16 * self._of_bodies and not self.transport.is_closing():
            self._refuse(431, f"a request may have {_MOST_BESIDE:,} bytes beside its body: send a smaller head")

    def on_body(self, body: bytes) -> None:
        """See `httptools.HttpRequestParser`."""
        self._of_bodies += len(body)
        super().on_body(body)

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """See `asyncio.Protocol`."""
        super().connection_made(transport)
        self._expect_head()

    def on_message_begin(self) -> None:
        """See `httptools.HttpRequestParser`."""
        super().on_message_begin()
        self._received = self._of_bodies = 0
        if len(self.pipeline) >= _MOST_PIPELINED:
            raise ValueError("requests come faster than their answers are taken")
        self._expect_head()

    def on_headers_complete(self) -> None:
        """See `httptools.HttpRequestParser`."""
        self._forget_deadline()
        super().on_headers_complete()

    def send_400_response(self, msg: str) -> None:
        """Answer what is no HTTP."""
        self._refuse(400, msg)

    def connection_lost(self, exc: Exception | None) -> None:
        """See `asyncio.Protocol`."""
        self._forget_deadline()
        super().connection_lost(exc)

    def _refuse(self, status: int, detail: str) -> None:
        """Answer with a problem and close, or just close in the middle of another answer."""
        if self.cycle is not None and not self.cycle.response_complete:
            self.transport.abort()
            return
        problem = ProblemError("invalid" if status == 400 else "too-large", status, detail)
        body = json.dumps(problem.as_dict()).encode()
        head = f"HTTP/1.1 {status} {HTTPStatus(status).phrase}\r\ncontent-type: application/problem+json\r\n"
        self.transport.write(f"{head}connection: close\r\ncontent-length: {len(body)}\r\n\r\n".encode() + body)
        self.transport.close()

    def _expect_head(self) -> None:
        self._forget_deadline()
        self._deadline = self.loop.call_later(_client_seconds(), self.transport.close)

    def _forget_deadline(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None


@cache
def _client_seconds() -> float:
    return ServiceSettings.handed_on().client_seconds
