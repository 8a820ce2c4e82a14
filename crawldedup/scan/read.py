"""Collect the pages of many sources: worker processes read them into columns, and a folder keeps what was read."""

import asyncio
import contextlib
import fcntl
import os
import shutil
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO, Final, NamedTuple, Self

import msgspec
import numpy as np
from numpy.typing import NDArray

from crawldedup.advice.copies import names_a_view
from crawldedup.errors import ConfigurationError, NoWorkerError, PageError, UnexpectedReadError, WorkerError
from crawldedup.options import Options
from crawldedup.page import Page, PageContent, PageReader
from crawldedup.printable import printable
from crawldedup.reading.keys import Key
from crawldedup.scan.columns import LAYOUT, Columns
from crawldedup.scan.decision import Goal
from crawldedup.search.query import QueryBuilder, salted
from crawldedup.workers.pool import WorkerPool
from crawldedup.workers.reading import plain_page

OnError = Callable[[Exception], None]
OnSkipped = Callable[[Page, str], None]

FORMAT: Final = 2
_STATE: Final = "scan.json"
_URLS: Final = "urls"
_URL_ENDS: Final = "url_ends"
_TYPES: Final[dict[str, tuple[Any, tuple[int, ...]]]] = {**LAYOUT, _URL_ENDS: (np.uint64, ())}
_STEP_SECONDS: Final = 2.0

_PAGES_A_CHUNK: Final = 64
_CHARACTERS_A_CHUNK: Final = 1 << 22
_CHUNKS_A_WORKER: Final = 4  # so many wait to be read, or to be taken in their order
# A process that takes longer than both together over a chunk is given up.
_SECONDS: Final = 30.0
_SECONDS_A_PAGE: Final = 0.5

_answers: Final = msgspec.msgpack.Decoder(tuple[dict[str, bytes], dict[int, str]])


@dataclass(frozen=True, slots=True)
class ReadPages:
    """Pages that were read, and the places of those that were not, with the reasons."""

    columns: Columns
    skipped: dict[int, str]

    def plain(self) -> tuple[dict[str, bytes], dict[int, str]]:
        """Return it as a worker answers it."""
        return {name: column.tobytes() for name, column in self.columns.by_name().items()}, self.skipped

    @classmethod
    def of_answer(cls, answer: bytes, pages: int) -> Self:
        """Return what a worker read of so many pages. Raises LookupError, ValueError and MsgspecError for nonsense."""
        packed, skipped = _answers.decode(answer)
        columns = {name: np.frombuffer(packed[name], kind).reshape(-1, *row) for name, (kind, row) in LAYOUT.items()}
        if {len(column) + len(skipped) for column in columns.values()} != {pages} or not skipped.keys() <= {
            *range(pages)
        }:
            raise ValueError("it tells of other pages")
        return cls(Columns(**columns), skipped)


class BatchReader:
    """Reads pages as the options say, with the key of an index. With `ranks`, poor copies have a higher rank."""

    def __init__(self, options: Options, key: Key, *, ranks: bool) -> None:
        self._reader = PageReader(options)
        self._queries = QueryBuilder(options)
        self._key = key
        self._ranks = ranks
        self._threshold = Goal(options.similarity, options.recall).threshold

    def read(self, pages: Sequence[Page]) -> ReadPages:
        contents: list[tuple[Page, PageContent]] = []
        skipped: dict[int, str] = {}
        for place, page in enumerate(pages):
            try:
                contents.append((page, self._reader.content(page)))
            except PageError as error:
                skipped[place] = error.reason
        fingerprints = self._reader.fingerprints([content for _, content in contents], self._key)
        rows = []
        for (page, _), fingerprint in zip(contents, fingerprints, strict=True):
            filed = salted(fingerprint, self._queries.scope_of(page), self._key)
            rows.append((filed, int(self._ranks and names_a_view(page.url))))
        return ReadPages(Columns.of(rows, self._threshold), skipped)


def reader(setup: dict[str, Any]) -> Callable[[list[dict[str, Any]]], object]:
    """Return the handler of a worker process that reads pages into columns."""
    batch = BatchReader(Options.from_values(setup["options"]), Key(setup["key"]), ranks=setup["ranks"])
    return lambda pages: batch.read([Page(**values) for values in pages]).plain()


class Step(NamedTuple):
    """How far a scan has come: `items` of the source with the number `source` are read, and all of those before it.

    `pages` are in the folder, whose URLs take `url_bytes`. `skipped` counts pages by the reasons, `errors` what could
    not be read of the sources before.
    """

    source: int = 0
    items: int = 0
    pages: int = 0
    url_bytes: int = 0
    errors: int = 0
    skipped: Mapping[str, int] = {}


class ScanFolder:
    """Columns in files, one each, and the last step that was written whole. Raises OSError.

    `task` is what the folder is for: plain values, which must be the same when a scan goes on. Raises
    ConfigurationError for a folder of another scan, or of one at work.
    """

    def __init__(self, path: Path, task: Mapping[str, Any]) -> None:
        self.path = path
        self.step = Step()
        self._task = {"format": FORMAT, **task}
        self._files: dict[str, BinaryIO] = {}
        shown = printable(str(path))
        if path.exists() and not path.is_dir():
            raise ConfigurationError(f"{shown} is no folder; name one to work in")
        path.mkdir(parents=True, exist_ok=True)
        if not (path / _STATE).exists() and {*path.iterdir()} - {path / "lock"}:
            raise ConfigurationError(f"the folder {shown} holds something else than a scan; name an empty one")
        self._lock = (path / "lock").open("wb")
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if (path / _STATE).exists():
                self._go_on(shown)
            for name in (*_TYPES, _URLS):
                self._files[name] = (path / f"{name}.bin").open("ab")
            self._write_state()
        except BaseException as error:
            self.close()
            if isinstance(error, BlockingIOError):
                raise ConfigurationError(f"another scan is at work in {shown}") from error
            raise

    def _go_on(self, shown: str) -> None:
        """Take over the last step, and drop what was written behind it, which may be torn."""
        try:
            task, step = msgspec.json.decode((self.path / _STATE).read_bytes(), type=tuple[dict[str, Any], Step])
            wanted = msgspec.json.decode(msgspec.json.encode(self._task))
            if changed := [name for name, value in wanted.items() if task.get(name) != value]:
                raise ConfigurationError(
                    f"the scan in {shown} was begun with other {changed[0]}; remove the folder to begin again"
                )
            sizes = {name: step.pages * _row_bytes(name) for name in _TYPES} | {_URLS: step.url_bytes}
            for name, size in sizes.items():
                file = self.path / f"{name}.bin"
                if file.stat().st_size < size:
                    raise ValueError(name)
                os.truncate(file, size)
        except (FileNotFoundError, ValueError) as error:
            if isinstance(error, ConfigurationError):
                raise
            raise ConfigurationError(f"the scan in {shown} is damaged; remove the folder to begin again") from error
        self.step = step

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the files; another scan may go on."""
        for file in (*self._files.values(), self._lock):
            # What could not be written cannot be flushed; it belongs to no step.
            with contextlib.suppress(OSError):
                file.close()

    def remove(self) -> None:
        """Close the files and remove the folder."""
        self.close()
        shutil.rmtree(self.path)

    def add(self, read: ReadPages, urls: Sequence[str]) -> None:
        """Add pages that were read; they count from the next step on."""
        encoded = [url.encode("utf-8", "surrogatepass") for url in urls]
        ends = self._files[_URLS].tell() + np.cumsum([len(url) for url in encoded], dtype=np.uint64)
        for name, array in (*read.columns.by_name().items(), (_URL_ENDS, ends)):
            self._files[name].write(array.tobytes())
        self._files[_URLS].write(b"".join(encoded))

    def finish_step(self, source: int, items: int, errors: int, skipped: Mapping[str, int]) -> None:
        """Note that everything up to here is written."""
        for file in self._files.values():
            file.flush()
            # After a power cut, a step must not count what the disk does not have.
            os.fdatasync(file.fileno())
        pages = self._files["search"].tell() // _row_bytes("search")
        self.step = Step(source, items, pages, self._files[_URLS].tell(), errors, dict(skipped))
        self._write_state()

    def _write_state(self) -> None:
        part = self.path / f"{_STATE}.part"
        with part.open("wb") as file:
            file.write(msgspec.json.encode((self._task, self.step)))
            file.flush()
            os.fdatasync(file.fileno())
        part.replace(self.path / _STATE)

    def columns(self) -> Columns:
        """Return the columns of all pages, which stay on disk."""
        return Columns(**{name: self.column(name) for name in LAYOUT})

    def column(self, name: str) -> NDArray[Any]:
        """Return one column of all pages, which stays on disk."""
        kind, shape = _TYPES[name]
        if not self.step.pages:
            return np.zeros((0, *shape), kind)
        return np.memmap(self.path / f"{name}.bin", kind, "r", shape=(self.step.pages, *shape))

    def urls(self) -> Callable[[int], str]:
        """Return what gives the URL of a page by its row."""
        ends = self.column(_URL_ENDS)
        text = np.memmap(self.path / f"{_URLS}.bin", np.uint8, "r") if self.step.url_bytes else np.zeros(0, np.uint8)

        def url(row: int) -> str:
            start = int(ends[row - 1]) if row else 0
            return text[start : int(ends[row])].tobytes().decode("utf-8", "surrogatepass")

        return url


def _row_bytes(name: str) -> int:
    kind, shape = _TYPES[name]
    return int(np.dtype(kind).itemsize * np.prod(shape, dtype=int))


@dataclass
class Collector:
    """Reads sources into a folder, from where an earlier run of the same scan ended.

    `open_source` returns the pages of a source, always in the same order, and hands what is wrong with items to
    `on_error`. With `ranks`, poor copies have a higher rank.
    """

    folder: ScanFolder
    open_source: Callable[[str, OnError], Iterator[Page]]
    options: Options
    key: Key
    ranks: bool
    workers: int
    on_error: OnError
    on_skipped: OnSkipped
    progress: Callable[[int], None] = lambda _pages: None

    def collect(self, names: Sequence[str]) -> None:
        """Read the sources of these names. Raises NoWorkerError if no process can be started."""
        self._errors = self.folder.step.errors
        # An event loop that asyncio.run makes would keep Ctrl-C from a source that waits for input.
        loop = asyncio.new_event_loop()
        collecting = loop.create_task(self._collect(names))
        try:
            loop.run_until_complete(collecting)
        finally:
            if collecting.cancel():
                with contextlib.suppress(asyncio.CancelledError):
                    loop.run_until_complete(collecting)
            loop.close()

    async def _collect(self, names: Sequence[str]) -> None:
        skipped = Counter(self.folder.step.skipped)
        last_step = float("-inf")
        setup = {"options": self.options.index_values(), "key": self.key.secret, "ranks": self.ranks}
        pool = WorkerPool("crawldedup.scan.read:reader", setup, workers=self.workers, page_seconds=_SECONDS)
        waiting: deque[tuple[tuple[int, int, int], asyncio.Task[list[tuple[Sequence[Page], ReadPages]]]]] = deque()

        async def take() -> None:
            nonlocal last_step
            place, reading = waiting.popleft()
            for pages, read in await reading:
                self.folder.add(read, [page.url for at, page in enumerate(pages) if at not in read.skipped])
                for at, reason in read.skipped.items():
                    self.on_skipped(pages[at], reason)
                skipped.update(read.skipped.values())
            if time.monotonic() > last_step + _STEP_SECONDS:
                self.folder.finish_step(*place, skipped)
                last_step = time.monotonic()
            self.progress(self.folder.step.pages)

        try:
            for place, pages in self._chunks(names):
                waiting.append((place, asyncio.create_task(_read(pool, pages))))
                await asyncio.sleep(0)
                while waiting and (len(waiting) >= self.workers * _CHUNKS_A_WORKER or waiting[0][1].done()):
                    await take()
            while waiting:
                await take()
        finally:
            pool.close()
            # Transports close, and tasks end, in the next turns of the loop.
            tasks = asyncio.all_tasks() - {asyncio.current_task()}
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        self.folder.finish_step(len(names), 0, self._errors, skipped)

    def _chunks(self, names: Sequence[str]) -> Iterator[tuple[tuple[int, int, int], list[Page]]]:
        """Yield pages that are not read yet, behind their source, its items up to there, and the errors before it."""
        begun = self.folder.step
        for source in range(begun.source, len(names)):
            before = self._errors
            items = begun.items if source == begun.source else 0
            pages = islice(self.open_source(names[source], self._note), items, None)
            while chunk := _first_pages(pages):
                items += len(chunk)
                yield (source, items, before), chunk

    def _note(self, error: Exception) -> None:
        self._errors += 1
        self.on_error(error)


def _first_pages(pages: Iterator[Page]) -> list[Page]:
    chunk: list[Page] = []
    size = 0
    for page in pages:
        chunk.append(page)
        size += len(page.html or page.text or "")
        if len(chunk) == _PAGES_A_CHUNK or size > _CHARACTERS_A_CHUNK:
            break
    return chunk


async def _read(pool: WorkerPool, pages: Sequence[Page]) -> list[tuple[Sequence[Page], ReadPages]]:
    """Read pages in a worker. One that ends its process is skipped as "crashed", a slow one as "too_slow"."""
    # What ends a process with many pages is found by halves; one alone has a second try.
    tries, seconds = 1 if len(pages) > 1 else 2, _SECONDS + _SECONDS_A_PAGE * len(pages)
    try:
        message = list(map(plain_page, pages))
        return [
            (pages, await pool.call(message, lambda answer: ReadPages.of_answer(answer, len(pages)), seconds, tries))
        ]
    except NoWorkerError:
        raise
    except (PageError, WorkerError, UnexpectedReadError) as error:
        reason = error.reason if isinstance(error, PageError) else "crashed"
    if len(pages) == 1:
        return [(pages, ReadPages(Columns.of([], 1.0), {0: reason}))]
    middle = len(pages) // 2
    first, second = await asyncio.gather(_read(pool, pages[:middle]), _read(pool, pages[middle:]))
    return [*first, *second]
