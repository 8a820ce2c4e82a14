"""Collect the pages of many sources: worker processes read them into columns, and a folder keeps what was read."""

import asyncio
import fcntl
import os
import shutil
import time
from collections import Counter, deque
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO, Final, NamedTuple, Self

import msgspec
import numpy as np
from numpy.typing import NDArray

from crawldedup.advice.copies import names_a_view
from crawldedup.errors import ConfigurationError, NoWorkerError, PageError, UnexpectedReadError, WorkerError
from crawldedup.fingerprinting.fingerprint import Fingerprint
from crawldedup.options import Options
from crawldedup.page import Page, PageReader
from crawldedup.printable import printable
from crawldedup.reading.keys import Key
from crawldedup.scan.columns import LAYOUT, Columns
from crawldedup.scan.decision import Goal
from crawldedup.search.query import QueryBuilder, salted
from crawldedup.workers.pool import WorkerPool
from crawldedup.workers.reading import plain_page

OnError = Callable[[Exception], None]

FORMAT: Final = 2
_STATE: Final = "scan.json"
_URLS: Final = "urls"
_URL_ENDS: Final = "url_ends"
_FILES: Final = {**LAYOUT, _URL_ENDS: np.dtype(np.uint64)}
_STEP_SECONDS: Final = 2.0

_PAGES_A_CHUNK: Final = 64
_CHARACTERS_A_CHUNK: Final = 1 << 22
_CHUNKS_A_WORKER: Final = 4  # so many wait to be read, or to be taken in their order
# A process that takes longer than both together over a chunk is given up.
_SECONDS: Final = 30.0
_SECONDS_A_PAGE: Final = 0.5

_answers: Final = msgspec.msgpack.Decoder(tuple[dict[str, bytes], dict[int, str]])


# --- In a worker process


class ReadPages(NamedTuple):
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
        columns = {name: np.frombuffer(packed[name], kind) for name, kind in LAYOUT.items()}
        lengths = {len(column) + len(skipped) for column in columns.values()}
        if lengths != {pages} or not skipped.keys() <= {*range(pages)}:
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
        contents = [self._reader.try_content(page) for page in pages]
        reads = self._reader.try_fingerprints(pages, contents, self._key)
        rows: list[tuple[Fingerprint, int]] = []
        skipped: dict[int, str] = {}
        for place, (page, read) in enumerate(zip(pages, reads, strict=True)):
            if isinstance(read, PageError):
                skipped[place] = read.reason
            elif isinstance(read, Fingerprint):
                filed = salted(read, self._queries.scope_of(page), self._key)
                rows.append((filed, int(self._ranks and names_a_view(page.url))))
        return ReadPages(Columns.of(rows, self._threshold), skipped)


def reader(setup: dict[str, Any]) -> Callable[[list[dict[str, Any]]], object]:
    """Return the handler of a worker process that reads pages into columns."""
    batch = BatchReader(Options.from_values(setup["options"]), Key(setup["key"]), ranks=setup["ranks"])
    return lambda pages: batch.read([Page(**values) for values in pages]).plain()


# --- In a folder


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
        # As it is read again.
        self._task = msgspec.json.decode(msgspec.json.encode({"format": FORMAT, **task}))
        self._files: dict[str, BinaryIO] = {}
        self._state = path / _STATE
        shown = printable(str(path))
        if path.exists() and not path.is_dir():
            raise ConfigurationError(f"{shown} is no folder; name one to work in")
        path.mkdir(parents=True, exist_ok=True)
        if not self._state.exists() and {*path.iterdir()} - {path / "lock"}:
            raise ConfigurationError(f"the folder {shown} holds something else than a scan; name an empty one")
        self._lock = (path / "lock").open("wb")
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if self._state.exists():
                self._go_on(shown)
            self._files |= {name: self._path(name).open("ab") for name in (*_FILES, _URLS)}
            self._write_state()
        except BaseException as error:
            self.close()
            if isinstance(error, BlockingIOError):
                raise ConfigurationError(f"another scan is at work in {shown}") from error
            raise

    def _path(self, name: str) -> Path:
        return self.path / f"{name}.bin"

    def _go_on(self, shown: str) -> None:
        """Take over the last step, and drop what was written behind it, which may be torn."""
        try:
            task, self.step = msgspec.json.decode(self._state.read_bytes(), type=tuple[dict[str, Any], Step])
            changed = [name for name, value in self._task.items() if task.get(name) != value]
            sizes = {name: self.step.pages * kind.itemsize for name, kind in _FILES.items()}
            for name, size in () if changed else (*sizes.items(), (_URLS, self.step.url_bytes)):
                if self._path(name).stat().st_size < size:
                    raise ValueError(name)
                os.truncate(self._path(name), size)
        except (FileNotFoundError, ValueError, msgspec.MsgspecError) as error:
            raise ConfigurationError(f"the scan in {shown} is damaged; remove the folder to begin again") from error
        if changed:
            raise ConfigurationError(
                f"the scan in {shown} was begun with other {changed[0]}; remove the folder to begin again"
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the files; another scan may go on."""
        for file in (*self._files.values(), self._lock):
            # What could not be written cannot be flushed; it belongs to no step.
            with suppress(OSError):
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
            _sync(file)
        pages = self._files[_URL_ENDS].tell() // _FILES[_URL_ENDS].itemsize
        self.step = Step(source, items, pages, self._files[_URLS].tell(), errors, dict(skipped))
        self._write_state()

    def _write_state(self) -> None:
        part = self.path / f"{_STATE}.part"
        with part.open("wb") as file:
            file.write(msgspec.json.encode((self._task, self.step)))
            _sync(file)
        part.replace(self._state)

    def columns(self) -> Columns:
        """Return the columns of all pages, which stay on disk."""
        return Columns(**{name: self._column(name) for name in LAYOUT})

    def _column(self, name: str) -> NDArray[Any]:
        if not self.step.pages:
            return np.zeros(0, _FILES[name])
        return np.memmap(self._path(name), _FILES[name], "r", shape=(self.step.pages,))

    def urls(self) -> Callable[[int], str]:
        """Return what gives the URL of a page by its row."""
        ends = self._column(_URL_ENDS)
        text = np.memmap(self._path(_URLS), np.uint8, "r") if self.step.url_bytes else np.zeros(0, np.uint8)

        def url(row: int) -> str:
            start = int(ends[row - 1]) if row else 0
            return text[start : int(ends[row])].tobytes().decode("utf-8", "surrogatepass")

        return url


def _sync(file: BinaryIO) -> None:
    """Bring a file to the disk: after a power cut, a step must not count what the disk does not have."""
    file.flush()
    os.fdatasync(file.fileno())


# --- From the sources into the folder

Place = tuple[int, int, int]
"""How far the reading has come: the first figures of a `Step`, and its errors."""
Chunk = tuple[Place, list[Page]]
_Parts = list[tuple[Sequence[Page], ReadPages]]


def chunks_of(
    names: Sequence[str], begun: Step, open_source: Callable[[str, OnError], Iterator[Page]], on_error: OnError
) -> Iterator[Chunk]:
    """Yield the pages of sources that are not read yet, behind where they end; the last chunk is an empty one.

    `open_source` returns the pages of a source, always in the same order, and hands on what is wrong with items.
    """
    errors = begun.errors

    def note(error: Exception) -> None:
        nonlocal errors
        errors += 1
        on_error(error)

    for source in range(begun.source, len(names)):
        before = errors
        items = begun.items if source == begun.source else 0
        pages = islice(open_source(names[source], note), items, None)
        while chunk := _first_pages(pages):
            items += len(chunk)
            yield (source, items, before), chunk
    yield (len(names), 0, errors), []


def _first_pages(pages: Iterator[Page]) -> list[Page]:
    chunk: list[Page] = []
    size = 0
    for page in pages:
        chunk.append(page)
        size += len(page.html or page.text or "")
        if len(chunk) == _PAGES_A_CHUNK or size > _CHARACTERS_A_CHUNK:
            break
    return chunk


def collect(
    folder: ScanFolder,
    chunks: Iterable[Chunk],
    setup: dict[str, Any],
    *,
    workers: int,
    on_skipped: Callable[[str, str], None],
    progress: Callable[[int], None],
) -> None:
    """Read chunks of pages into a folder, in processes that have the `setup` of `reader`.

    `on_skipped` takes the URLs of pages that cannot be read, and the reasons. Raises NoWorkerError if no process can be
    started.
    """
    skipped = Counter(folder.step.skipped)
    last_step = float("-inf")
    with closing(_read_chunks(chunks, setup, workers)) as reads:
        for place, parts in reads:
            for pages, read in parts:
                folder.add(read, [page.url for at, page in enumerate(pages) if at not in read.skipped])
                for at, reason in read.skipped.items():
                    on_skipped(pages[at].url, reason)
                skipped.update(read.skipped.values())
            if not parts or time.monotonic() > last_step + _STEP_SECONDS:
                folder.finish_step(*place, skipped)
                last_step = time.monotonic()
            progress(folder.step.pages)


def _read_chunks(
    chunks: Iterable[Chunk], setup: dict[str, Any], workers: int
) -> Generator[tuple[Place, _Parts], None, None]:
    """Yield chunks in their order, read by worker processes, which work ahead."""
    # An event loop that asyncio.run makes would keep Ctrl-C from a source that waits for input.
    loop = asyncio.new_event_loop()
    pool = WorkerPool("crawldedup.scan.read:reader", setup, workers=workers, page_seconds=_SECONDS)
    waiting: deque[tuple[Place, asyncio.Task[_Parts]]] = deque()
    try:
        for place, pages in chunks:
            waiting.append((place, loop.create_task(_read(pool, pages))))
            loop.run_until_complete(asyncio.sleep(0))
            while waiting and (len(waiting) >= workers * _CHUNKS_A_WORKER or waiting[0][1].done()):
                first, reading = waiting.popleft()
                yield first, loop.run_until_complete(reading)
        for place, reading in waiting:
            yield place, loop.run_until_complete(reading)
    finally:
        pool.close()
        loop.run_until_complete(_end_tasks())
        loop.close()


async def _end_tasks() -> None:
    """End the other tasks of this loop: that takes its next turns, in which transports close, too."""
    tasks = asyncio.all_tasks() - {asyncio.current_task()}
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def _read(pool: WorkerPool, pages: Sequence[Page]) -> _Parts:
    """Read pages in a worker. One that ends its process is skipped as "crashed", a slow one as "too_slow"."""
    if not pages:
        return []
    # What ends a process with many pages is found by halves; one alone has a second try.
    tries, seconds = 1 if len(pages) > 1 else 2, _SECONDS + _SECONDS_A_PAGE * len(pages)
    try:
        message = list(map(plain_page, pages))
        read = await pool.call(message, lambda answer: ReadPages.of_answer(answer, len(pages)), seconds, tries)
        return [(pages, read)]
    except NoWorkerError:
        raise
    except (PageError, WorkerError, UnexpectedReadError) as error:
        reason = error.reason if isinstance(error, PageError) else "crashed"
    if len(pages) == 1:
        return [(pages, ReadPages(Columns.of([], 1.0), {0: reason}))]
    middle = len(pages) // 2
    first, second = await asyncio.gather(_read(pool, pages[:middle]), _read(pool, pages[middle:]))
    return [*first, *second]
