"""HTTP/1.1 as uvicorn speaks it, with a time limit for the head of a request: one byte a minute held a connection."""

from __future__ import annotations

import json
from functools import cache
from typing import TYPE_CHECKING

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from crawldedup.service.problems import ProblemError
from crawldedup.service.settings import ServiceSettings

if TYPE_CHECKING:
    import asyncio


class PatientProtocol(HttpToolsProtocol):
    """Closes a connection whose next request does not have a whole head in time."""

    _deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """See `asyncio.Protocol`."""
        super().connection_made(transport)
        self._expect_head()

    def on_message_begin(self) -> None:
        """See `httptools.HttpRequestParser`."""
        super().on_message_begin()
        self._expect_head()

    def on_headers_complete(self) -> None:
        """See `httptools.HttpRequestParser`."""
        self._forget_deadline()
        super().on_headers_complete()

    def send_400_response(self, msg: str) -> None:
        """Answer what is no HTTP."""
        body = json.dumps(ProblemError("invalid", 400, msg).as_dict()).encode()
        head = b"HTTP/1.1 400 Bad Request\r\ncontent-type: application/problem+json\r\nconnection: close\r\n"
        self.transport.write(b"%scontent-length: %d\r\n\r\n%s" % (head, len(body), body))
        self.transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        """See `asyncio.Protocol`."""
        self._forget_deadline()
        super().connection_lost(exc)

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
