"""Read pages in processes beside the event loop: HTML is hostile, and slow. One page at a time in each process."""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
import subprocess
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from crawldedup.errors import ConfigurationError, PageError
from crawldedup.explanation.comparison import Comparison
from crawldedup.fingerprinting.fingerprint import Fingerprint
from crawldedup.workers.framing import ANSWER, LARGEST_ANSWER, WorkerError, error_from, request
from crawldedup.workers.starting import command_of

if TYPE_CHECKING:
    from crawldedup.options import Options
    from crawldedup.page import Page
    from crawldedup.text.keys import Key

_START_SECONDS: Final = 60.0


class ReadPage(NamedTuple):
    """A page that was read: its fingerprint, and the text and the facts that are compared where these are asked for."""

    fingerprint: Fingerprint
    text: str | None = None
    facts: tuple[str, ...] = ()


class ReaderPool:
    """Up to `readers` processes, each started with its first page and replaced when it dies. For one event loop."""

    def __init__(self, options: Options, *, readers: int, page_seconds: int) -> None:
        # No reader needs the store, of which the URL may hold a password.
        values = options.index_values() | {"key": None, "store": "memory://"}
        setup = request({"options": values, "page_seconds": page_seconds})
        self._readers = [_Reader(setup, page_seconds) for _ in range(readers)]
        self._idle: asyncio.LifoQueue[_Reader] = asyncio.LifoQueue()
        for reader in self._readers:
            self._idle.put_nowait(reader)

    async def read(self, page: Page, key: Key) -> Fingerprint:
        """Return the fingerprint of a page. Raises PageError, and WorkerError if no process can be started."""
        return (await self._read("read", page, key)).fingerprint

    async def show(self, page: Page, key: Key) -> ReadPage:
        """Return all that is compared of a page. Raises as `read` does."""
        return await self._read("show", page, key)

    async def compare(self, first: Page, second: Page) -> Comparison:
        """Return how two pages compare. Raises as `read` does."""
        return Comparison.from_dict((await self._ask("compare", first, second))["comparison"])

    async def _read(self, do: str, page: Page, key: Key) -> ReadPage:
        answer = await self._ask(do, page, key=key.secret.hex())
        fingerprint = Fingerprint.from_dict(answer["fingerprint"])
        return ReadPage(fingerprint, answer.get("text"), tuple(answer.get("facts", ())))

    async def _ask(self, do: str, *pages: Page, key: str = "") -> dict[str, Any]:
        headers, bodies = zip(*map(_packed, pages), strict=True)
        message = request({"do": do, "pages": headers, "key": key}, b"".join(bodies))
        reader = await self._idle.get()
        try:
            answer = await reader.ask(message)
        finally:
            self._idle.put_nowait(reader)
        if "error" in answer:
            raise error_from(answer)
        return answer

    def close(self) -> None:
        """End the processes at once."""
        for reader in self._readers:
            reader.end()


class _Reader:
    """One process, which is started when it is asked."""

    def __init__(self, setup: bytes, page_seconds: int) -> None:
        self._setup = setup
        self._page_seconds = page_seconds
        self._process: subprocess.Popen[bytes] | None = None
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def ask(self, message: bytes) -> dict[str, Any]:
        """Return what the process answers. Raises PageError if it dies of the page, or takes too long."""
        try:
            if self._streams is None:
                await self._start()
            async with asyncio.timeout(self._page_seconds):
                answer = await self._exchange(message)
        except TimeoutError:
            self.end()
            raise PageError("too_slow", f"reading the page took more than {self._page_seconds} s") from None
        except (EOFError, ConnectionError, ValueError):
            self.end()
            raise PageError("broken", "the process that read the page died") from None
        except BaseException:
            # Nobody waits for the answer that is still to come.
            self.end()
            raise
        if answer.get("ends"):
            self.end()
        return answer

    def end(self) -> None:
        """End the process at once."""
        process, streams, self._process, self._streams = self._process, self._streams, None, None
        if streams is not None:
            streams[1].transport.abort()
        if process is not None:
            process.kill()
            # The system ends what does not end now.
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(timeout=1)

    async def _start(self) -> None:
        own_end, its_end = socket.socketpair()
        try:
            with its_end:
                self._process = subprocess.Popen(
                    command_of("crawldedup.service.reader_program"),
                    stdin=its_end.fileno(),
                    process_group=0,  # out of reach of the terminal's Ctrl-C
                )
            async with asyncio.timeout(_START_SECONDS):
                self._streams = await asyncio.open_connection(sock=own_end)
                if await self._exchange(self._setup) != {"ready": True}:
                    raise ValueError("it answered nonsense")
        except (OSError, TimeoutError, EOFError, ValueError) as error:
            own_end.close()
            self.end()
            raise WorkerError(f"no process to read pages can be started: {error}") from error

    async def _exchange(self, message: bytes) -> dict[str, Any]:
        assert self._streams is not None
        source, sink = self._streams
        sink.write(message)
        await sink.drain()
        (length,) = ANSWER.unpack(await source.readexactly(ANSWER.size))
        if length > LARGEST_ANSWER:
            raise ValueError(f"it answered with {length:,} bytes")
        answer: dict[str, Any] = json.loads(await source.readexactly(length))
        return answer


def _packed(page: Page) -> tuple[dict[str, Any], bytes]:
    """Return a page as it is sent: a header, and a body."""
    content = page.text if page.html is None else page.html
    if content is None:
        raise ConfigurationError("a fingerprint alone cannot be read: give html or text")
    body = content if isinstance(content, bytes) else content.encode("utf-8", "replace")
    header = {
        "form": "text" if page.html is None else "html",
        "is_bytes": isinstance(content, bytes),
        "length": len(body),
        "url": page.url,
        "encoding": page.encoding,
        "similarity": page.similarity,
    }
    return header, body
