"""A stream: lines of JSON in, lines of JSON out, in order. No more than one group of lines is held at a time.

A client that does not take its answers is not read from either.
"""

from __future__ import annotations

import asyncio
import json
import logging
from typing import TYPE_CHECKING, Any, Final

from starlette.requests import ClientDisconnect
from starlette.responses import Response

from crawldedup.service.checking import GROUP
from crawldedup.service.edge import too_slow
from crawldedup.service.problems import ProblemError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

    from starlette.requests import Request
    from starlette.types import Receive, Scope, Send

    from crawldedup.service.edge import Bodies

    Answered = Callable[[list[bytes], int], Awaitable[list[dict[str, Any]]]]

_log: Final = logging.getLogger(__name__)


class Stream(Response):
    """Answers lines while they come. `answered` takes lines, and the number of the first of them."""

    media_type = "application/x-ndjson"

    def __init__(self, request: Request, answered: Answered, bodies: Bodies, stopping: asyncio.Future[None]) -> None:
        # There may be more to come that nobody will read.
        super().__init__(headers={"connection": "close"})
        del self.headers["content-length"]
        self._request = request
        self._answered = answered
        self._bodies = bodies
        self._stopping = stopping

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG002
        """See ASGI."""
        await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
        try:
            async for values in self._answers():
                body = "".join(f"{json.dumps(value)}\n" for value in values).encode()
                async with asyncio.timeout(self._bodies.seconds):
                    await send({"type": "http.response.body", "body": body, "more_body": True})
            await send({"type": "http.response.body", "body": b""})
        except TimeoutError:
            _log.warning("a client took too long to read its answers")
        except ClientDisconnect:
            _log.info("a client left its stream")

    async def _answers(self) -> AsyncIterator[list[dict[str, Any]]]:
        number = 1
        try:
            async for lines in self._groups():
                yield await self._answered(lines, number)
                number += len(lines)
        except ProblemError as problem:
            # Its lines have been answered, but for those that are still to be read.
            yield [{"url": None, "problem": problem.as_dict()}]

    async def _groups(self) -> AsyncIterator[list[bytes]]:
        rest: list[bytes] = []
        held = 0
        async for part in self._parts():
            first, *others = part.split(b"\n")
            rest.append(first)
            held += len(first)
            if others:
                lines = [b"".join(rest), *others[:-1]]
                rest, held = [others[-1]], len(others[-1])
                lines = [line for line in lines if line.strip()]
                for start in range(0, len(lines), GROUP):
                    yield lines[start : start + GROUP]
            if held > self._bodies.most:
                raise self._bodies.too_large()
        if (last := b"".join(rest)).strip():
            yield [last]

    async def _parts(self) -> AsyncIterator[bytes]:
        stream = self._request.stream()
        while True:
            receiving = asyncio.ensure_future(anext(stream, None))
            both: set[asyncio.Future[Any]] = {receiving, self._stopping}
            await asyncio.wait(both, timeout=self._bodies.seconds, return_when=asyncio.FIRST_COMPLETED)
            if self._stopping.done():
                receiving.cancel()
                raise ProblemError("stopping", 503, "the service stops: send the rest again", retry_after=1)
            if not receiving.done():
                receiving.cancel()
                raise too_slow(self._bodies.seconds)
            if (part := receiving.result()) is None:
                return
            yield part
