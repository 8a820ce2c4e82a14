"""A web site to be crawled: real pages from memory, or generated ones, served by a process of its own.

The server does as little as a server can, so that the crawl has the machine: requests are lines to be looked up, and
an answer is ready to be sent. It says how much processor time it took, for that is taken from the crawl's where there
are few cores.
"""

from __future__ import annotations

import asyncio
import contextlib
import subprocess
import tempfile
import time
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Protocol
from urllib.request import urlopen

from benchmarks.shared.serving import START_SECONDS, serving_apart
from crawldedup.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from multiprocessing.connection import Connection

PACKAGES = (
    "apache2-doc",
    "debian-handbook",
    "gimp-help-en",
    "gimp-help-ja",
    "git-doc",
    "gnucash-docs",
    "installation-guide-amd64",
)
"""Debian documentation with 8,000 pages, in many languages."""

CPU_PATH = "/processor-seconds"

_VOCABULARY_WORDS = 20_000
_GENERATED_WORDS = 300
_WORDS_A_PARAGRAPH = 60


def documentation(folder: Path) -> Path:
    """The folder, with the pages of PACKAGES; downloads and unpacks those that are not there yet.

    Raises ConfigurationError where that does not work.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for package in PACKAGES:
        if (folder / package).is_dir():
            continue
        # apt's own user may not write to a folder of ours; that is no reason for a page of warnings.
        quietly = ["-qq", "-o", "APT::Sandbox::User=root"]
        with tempfile.TemporaryDirectory(dir=folder) as scratch:
            try:
                subprocess.run(["apt-get", "download", *quietly, package], cwd=scratch, check=True)
                (archive,) = Path(scratch).glob(f"{package}_*.deb")
                subprocess.run(["dpkg", "-x", archive, Path(scratch, package)], check=True)
            except (OSError, subprocess.CalledProcessError) as error:
                raise ConfigurationError(
                    f"{package} cannot be downloaded ({error}). On a machine without apt give a folder of HTML files: "
                    "--html FOLDER."
                ) from error
            Path(scratch, package).rename(folder / package)
    return folder


def choose_pages(folder: Path, count: int) -> list[Path]:
    """So many HTML files of a folder, evenly spread over it. Raises ConfigurationError if there are fewer."""
    files = sorted(path for path in folder.rglob("*.htm*") if path.is_file() and path.stat().st_size)
    if len(files) < count:
        raise ConfigurationError(
            f"{folder} holds {len(files):,} HTML files, {count:,} are wanted; give a smaller --pages or another --html."
        )
    return [files[number * len(files) // count] for number in range(count)]


class Site(Protocol):
    """What a server can answer. It is sent to the server's process."""

    def paths(self) -> Sequence[str]:
        """Of all pages, in the order in which they are asked for."""

    def body(self, path: str) -> bytes | None:
        """The page at a path; None if there is none."""


class Folder:
    """HTML files, read before the first request."""

    def __init__(self, files: Sequence[Path]) -> None:
        self._files = {f"/{number}.html": file for number, file in enumerate(files)}
        self._bodies: dict[str, bytes] = {}

    def paths(self) -> Sequence[str]:
        return list(self._files)

    def bodies(self) -> dict[str, bytes]:
        """All pages, by path."""
        if not self._bodies:
            self._bodies = {path: file.read_bytes() for path, file in self._files.items()}
        return self._bodies

    def body(self, path: str) -> bytes | None:
        return self.bodies().get(path)


class Generated:
    """As many unrelated pages of random words as wanted, each made when it is asked for."""

    def __init__(self, count: int) -> None:
        self._count = count
        syllables = [consonant + vowel for consonant in "bdfgklmnprst" for vowel in "aeiou"]
        random = Random(1)
        self._vocabulary = ["".join(random.choices(syllables, k=3)) for _ in range(_VOCABULARY_WORDS)]

    def paths(self) -> Sequence[str]:
        return [f"/{number}.html" for number in range(self._count)]

    def body(self, path: str) -> bytes | None:
        words = Random(path).choices(self._vocabulary, k=_GENERATED_WORDS)
        paragraphs = [
            f"<p>{' '.join(words[start : start + _WORDS_A_PARAGRAPH])}.</p>"
            for start in range(0, _GENERATED_WORDS, _WORDS_A_PARAGRAPH)
        ]
        title = " ".join(words[:3])
        return (
            f"<!DOCTYPE html><html><head><meta charset=utf-8><title>{title}</title></head>"
            f"<body><h1>{title}</h1>{''.join(paragraphs)}</body></html>"
        ).encode()


class Server:
    """A site that is being served."""

    def __init__(self, port: int, site: Site) -> None:
        self.base = f"http://127.0.0.1:{port}"
        self.site = site
        self.paths = site.paths()

    def cpu_seconds(self) -> float:
        """Processor time that the server has taken."""
        with urlopen(self.base + CPU_PATH, timeout=START_SECONDS) as answer:
            return float(answer.read())


@contextlib.contextmanager
def serving(site: Site) -> Iterator[Server]:
    """Serve the site from another process."""
    with serving_apart(_serve, site) as port:
        yield Server(port, site)


def _serve(site: Site, port_wanted: Connection) -> None:
    asyncio.run(_serve_for_ever(site, port_wanted))


async def _serve_for_ever(site: Site, port_wanted: Connection) -> None:
    site.body(site.paths()[0])
    server = await asyncio.get_running_loop().create_server(lambda: _Connection(site), "127.0.0.1", 0)
    port_wanted.send(server.sockets[0].getsockname()[1])
    await server.serve_forever()


class _Connection(asyncio.Protocol):
    """GET requests without a body, one after the other."""

    def __init__(self, site: Site) -> None:
        self._site = site
        self._received = bytearray()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._received += data
        *requests, rest = self._received.split(b"\r\n\r\n")
        self._received = rest
        for request in requests:
            self._transport.writelines(_answer(self._site, request.split(b" ", 2)[1].decode("latin-1")))


def _answer(site: Site, path: str) -> list[bytes]:
    body = str(time.process_time()).encode() if path == CPU_PATH else site.body(path)
    status = b"200 OK" if body is not None else b"404 Not Found"
    body = body or b""
    head = b"HTTP/1.1 %b\r\nContent-Type: text/html\r\nContent-Length: %d\r\n\r\n" % (status, len(body))
    return [head, body]
