"""Read the pages of many sources into a folder, with worker processes.

Each chunk is written to its own file, so an interrupted scan continues after the last complete one.
"""

import asyncio
import fcntl
import hashlib
import shutil
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from itertools import chain, count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, BinaryIO, Final, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from crawldedup.advice.views import names_a_view
from crawldedup.commands.command import Output
from crawldedup.commands.items import Item, OnError, Unread, complaints
from crawldedup.errors import (
    ConfigurationError,
    NoWorkerError,
    PageError,
    UnexpectedReadError,
    WorkerError,
)
from crawldedup.index.queries import QueryBuilder, marks_of, salted
from crawldedup.key import NO_KEY
from crawldedup.marks.quiet import ignored_at
from crawldedup.options import Options
from crawldedup.page import Page
from crawldedup.reading.area import area_of
from crawldedup.reading.reader import PageContent, PageReader
from crawldedup.recent import put_last
from crawldedup.scan.engine import LAYOUT, Columns, Goal, Lists, PageRow, shingle_set
from crawldedup.text import printable
from crawldedup.workers.pool import WorkerPool
from crawldedup.workers.reading import content_digest, plain_page

FORMAT: Final = 5
_DIGEST_BYTES: Final = 16

Packed = dict[str, bytes]  # the columns of some pages, by their names in KINDS
KINDS: Final = {
    **LAYOUT,
    **dict.fromkeys(("shingle_sizes", "shingles", "url_sizes", "mark_sizes"), np.dtype(np.uint32)),
    **dict.fromkeys(("urls", "marks"), np.dtype(np.uint8)),
}
"""The type of the items in each column.

Each page has one item, except for shingles and the bytes of URLs and marks.
"""

Place = tuple[int, int, int]
"""A place where a scan can continue.

It has the number of a source, the items of it that were read, and the errors in all sources before.
"""


class Step(NamedTuple):
    """How far a scan has come: its place, the pages read, and those `skipped`, by reason."""

    place: Place = (0, 0, 0)
    pages: int = 0
    skipped: Mapping[str, int] = {}


@contextmanager
def opened_folder(path: Path, task: Mapping[str, Any]) -> Iterator["ScanFolder"]:
    """Open the work folder of a scan, which is created if necessary. Raises OSError.

    `task` describes the scan in plain values, which have to be the same when it continues. Raises
    ConfigurationError for a folder of a different scan, or of one that is running.
    """
    shown = printable(str(path))
    file = path / "scan.json"
    lock_file = path / "lock"
    if path.exists() and not path.is_dir():
        raise ConfigurationError(f"{shown} is not a folder; name one to work in")
    path.mkdir(parents=True, exist_ok=True)
    if not file.exists() and {each.name for each in path.iterdir()} - {lock_file.name}:
        raise ConfigurationError(
            f"the folder {shown} contains something other than a scan; name an empty one"
        )
    wanted = msgspec.json.encode({"format": FORMAT, **task})
    with lock_file.open("wb") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if not file.exists():
                file.write_bytes(wanted)
            begun = msgspec.json.decode(file.read_bytes(), type=dict[str, Any])
        except BlockingIOError as error:
            raise ConfigurationError(f"another scan is running in {shown}") from error
        except msgspec.DecodeError as error:
            raise ConfigurationError(
                f"the scan in {shown} is damaged; remove the folder to start over"
            ) from error
        for name, value in msgspec.json.decode(wanted).items():
            if begun.get(name) != value:
                message = (
                    f"the scan in {shown} was started with different {name}; remove the folder "
                    "to start over"
                )
                raise ConfigurationError(message)
        yield ScanFolder(path)


class ScanFolder:
    """The folder in which a scan saves the pages that it has read, so it can continue later.

    Each part of the folder has some pages. `step` says how far the last part got, and
    `pages_of_sources` counts the pages of each source. Pages in parts that were damaged by a kill
    or a power failure are read again.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.step = Step()
        self.pages_of_sources = Counter[int]()
        self._count = 0
        for step, _ in self._whole_parts():
            self._take(step)
        for torn in sorted(path.glob("*.part"))[self._count :]:
            torn.unlink()
        for left in path.glob("*-*"):
            shutil.rmtree(left)

    def add(self, place: Place, columns: list[Packed], skipped: Iterable[str]) -> None:
        """Save the pages that were read up to a place, and why others can't be read."""
        pages = self.step.pages + sum(len(packed["thin"]) for packed in columns)
        step = Step(place, pages, Counter(self.step.skipped) + Counter(skipped))
        if step != self.step:
            content = msgspec.msgpack.encode((step, columns))
            self._part(self._count).write_bytes(_digest_of(content) + content)
            self._take(step)

    def _take(self, step: Step) -> None:
        # The place of a step is where the scan continues, in the source that it was reading.
        self.pages_of_sources[step.place[0]] += step.pages - self.step.pages
        self._count += 1
        self.step = step

    def pages(self) -> tuple[Columns, Lists]:
        """Return the compared values of all pages, and their URLs, which stay on disk.

        Raises ConfigurationError for a part that a different version wrote.
        """
        # A mapped file stays readable after its name is removed.
        with TemporaryDirectory(dir=self.path, prefix="columns-") as name, ExitStack() as stack:
            files = {
                column: stack.enter_context(Path(name, column).open("wb+")) for column in KINDS
            }
            for _, columns in self._whole_parts():
                for packed in columns:
                    for column, file in files.items():
                        file.write(packed[column])
            arrays = {column: _mapped(file, KINDS[column]) for column, file in files.items()}
        shingles, marks, urls = (
            Lists(arrays.pop(f"{name}s"), arrays.pop(f"{name}_sizes"))
            for name in ("shingle", "mark", "url")
        )
        return Columns(**arrays, shingles=shingles, marks=marks), urls

    def _whole_parts(self) -> Iterator[tuple[Step, list[Packed]]]:
        """Yield the parts up to the first one that is missing or wasn't written completely.

        Raises ConfigurationError for a part that a different version wrote.
        """
        pages = 0
        for number in count():
            part = self._part(number).read_bytes() if self._part(number).exists() else b""
            digest = part[:_DIGEST_BYTES]
            content = part[_DIGEST_BYTES:]
            if not content or _digest_of(content) != digest:
                return
            try:
                step, columns = msgspec.msgpack.decode(content, type=tuple[Step, list[Packed]])
                pages += sum([_pages_in(packed) for packed in columns])
                if step.pages != pages or not all(map(str.isprintable, step.skipped)):
                    raise ValueError("its figures do not fit")
            except (msgspec.MsgspecError, ValueError, LookupError, RecursionError) as error:
                raise ConfigurationError(
                    f"{printable(str(self._part(number)))} was not written by a scan of this "
                    "version: remove it, and all parts with higher numbers"
                ) from error
            yield step, columns

    def _part(self, number: int) -> Path:
        return self.path / f"{number:06}.part"


def _pages_in(packed: Packed) -> int:
    """Return the number of pages in these columns.

    Raises:
        ValueError: The columns don't have the same length.
        LookupError: One is missing.
    """
    pages = len(packed["thin"])
    sizes = {name: pages * kind.itemsize for name, kind in LAYOUT.items()}
    for name in ("shingle", "mark", "url"):
        counts = np.frombuffer(packed[f"{name}_sizes"], KINDS[f"{name}_sizes"])
        sizes[f"{name}_sizes"] = pages * counts.itemsize
        sizes[f"{name}s"] = int(counts.sum(dtype=np.uint64)) * KINDS[f"{name}s"].itemsize
    if any(len(packed[name]) != size for name, size in sizes.items()):
        raise ValueError("its columns have other lengths")
    return pages


def _digest_of(content: bytes) -> bytes:
    """Return the digest with which a part begins.

    If it's wrong, the part wasn't written completely.
    """
    return hashlib.blake2b(content, digest_size=_DIGEST_BYTES).digest()


def _mapped(file: BinaryIO, kind: np.dtype[Any]) -> NDArray[Any]:
    size = file.tell() // kind.itemsize
    return np.memmap(file, kind, "r", shape=(size,)) if size else np.zeros(0, kind)


_PAGES_A_CHUNK: Final = 256
_CHARACTERS_A_CHUNK: Final = 1 << 22
_REMEMBERED: Final = 1000  # the pages that a worker remembers, at some 30 KB each
_CHUNKS_A_WORKER: Final = 4  # the most chunks that wait to be read, or to be taken in order
# A process that takes longer than both together to read a chunk is killed.
_SECONDS: Final = 30.0
_SECONDS_A_PAGE: Final = 0.5

Skipped = dict[int, str]  # the reasons why pages cannot be read, by the places of the pages
# The columns of pages, without URLs, and those pages that cannot be read.
_Answer = tuple[Packed, Skipped]


class Chunk(NamedTuple):
    """Some pages of a source that are read together, and where a scan continues after them.

    The pages come with the numbers of their items. The `unread` ones are between them, and can't be
    compared.
    """

    place: Place
    numbers: list[int]
    pages: list[Page]
    unread: Sequence[Unread] = ()


def reader(setup: dict[str, Any]) -> Callable[[list[dict[str, Any]]], _Answer]:
    """Make the function with which a worker process reads pages, given the options.

    It returns the columns of the pages, and the reasons why others can't be read.
    """
    options = Options.from_values(setup)
    page_reader = PageReader(options)
    queries = QueryBuilder(options)
    threshold = Goal(options.similarity, options.recall).threshold
    last: dict[bytes, PageContent] = {}

    def content_of(page: Page) -> PageContent:
        # Half of an archive may consist of repeated bytes.
        same = content_digest(
            *(page.html, page.text, page.title, page.encoding),
            *(area_of(options.content, page.url), ignored_at(options.ignore_marks, page.url)),
        )
        content = last.get(same)
        if content is None:
            content = page_reader.content(page)
            if not content.by_url:
                put_last(last, same, content, _REMEMBERED)
        return content

    def read(message: list[dict[str, Any]]) -> _Answer:
        pages = list[Page]()
        contents = list[PageContent]()
        skipped = dict[int, str]()
        for place, page in enumerate(Page(**values) for values in message):
            try:
                contents.append(content_of(page))
                pages.append(page)
            except PageError as error:
                skipped[place] = error.reason
        rows = list[PageRow]()
        shingles = list[NDArray[np.uint32]]()
        for page, content, made in zip(
            pages, contents, page_reader.fingerprints(contents), strict=True
        ):
            filed = salted(made, queries.scope_of(page), NO_KEY)
            rank = int(names_a_view(page.url))
            rows.append(PageRow(filed, rank, marks_of(page, filed, NO_KEY)))
            shingles.append(shingle_set("" if made.thin else content.text))
        columns = Columns.of(rows, threshold)
        packed = {
            **{name: getattr(columns, name) for name in LAYOUT},
            "shingle_sizes": np.array(list(map(len, shingles)), np.uint32),
            "shingles": np.concatenate([np.zeros(0, np.uint32), *shingles]),
            "mark_sizes": np.array([len(row.marks) for row in rows], np.uint32),
            "marks": np.frombuffer(b"".join(row.marks for row in rows), np.uint8),
        }
        return {name: column.tobytes() for name, column in packed.items()}, skipped

    return read


def chunks_of(
    names: Sequence[str],
    begun: Place,
    open_source: Callable[[str, OnError], Iterator[Item]],
    on_error: OnError,
) -> Iterator[Chunk]:
    """Yield the pages of all sources in chunks, starting after the ones that were read before.

    The last chunk is empty. Items have to come in the same order again.
    """
    first, behind, errors = begun

    def note(error: Exception) -> None:
        nonlocal errors
        errors += 1
        on_error(error)

    for source in range(first, len(names)):
        before = errors
        for chunk in chunked(open_source(names[source], note), behind):
            yield chunk._replace(place=(source, chunk.place[1], before))
        behind = 0
    yield Chunk((len(names), 0, errors), [], [])


def chunked(items: Iterable[Item], first: int = 0) -> Iterator[Chunk]:
    """Yield the pages of one source in chunks, starting with the item number `first`."""
    numbers: list[int] = []
    pages: list[Page] = []
    unread: list[Unread] = []
    size = 0
    following = first
    for number, item in enumerate(items):
        page = item.page
        if number < first or not isinstance(page, Page | Unread):
            continue
        following = number + 1
        if isinstance(page, Unread):
            unread.append(page)
        else:
            numbers.append(number)
            pages.append(page)
            size += len(page.html or page.text or "")
        if len(pages) + len(unread) == _PAGES_A_CHUNK or size > _CHARACTERS_A_CHUNK:
            yield Chunk((0, following, 0), numbers, pages, unread)
            numbers = []
            pages = []
            unread = []
            size = 0
    if pages or unread:
        yield Chunk((0, following, 0), numbers, pages, unread)


def read_into(
    folder: ScanFolder,
    chunks: Iterable[Chunk],
    options: Options,
    workers: int,
    output: Output,
    fate: str,
) -> Iterator[list[int]]:
    """Read the pages of chunks and save them in a folder.

    Yield the numbers of those that were read.

    They come chunk by chunk, while worker processes read ahead. Pages that can't be read are
    reported, together with their `fate`.

    Raises:
        NoWorkerError: No process can be started.
        OSError: The folder cannot be written.
    """
    waiting: deque[tuple[Chunk, asyncio.Task[tuple[list[Packed], Skipped]]]] = deque()
    # Its own `run` would block Ctrl-C for a source that waits for input.
    with complaints(output.error, "pages", "page", fate) as tell, asyncio.Runner() as runner:
        loop = runner.get_loop()
        pool = WorkerPool(
            "crawldedup.scan.read:reader",
            options.index_values(),
            workers=workers,
            page_seconds=_SECONDS,
        )
        with closing(pool):
            for chunk in chain(chunks, [None]):
                if chunk is not None:
                    waiting.append((chunk, loop.create_task(_read(pool, chunk.pages))))
                    loop.run_until_complete(asyncio.sleep(0))
                most = 1 if chunk is None else workers * _CHUNKS_A_WORKER
                while waiting and (len(waiting) >= most or waiting[0][1].done()):
                    done, reading = waiting.popleft()
                    columns, skipped = loop.run_until_complete(reading)
                    reasons = [page.error.reason for page in done.unread]
                    folder.add(done.place, columns, [*skipped.values(), *reasons])
                    for page in done.unread:
                        tell(ConfigurationError(f"{page.url}: {fate}: {page.error}"))
                    for at, reason in skipped.items():
                        tell(ConfigurationError(f"{done.pages[at].url}: {fate} ({reason})"))
                    yield [number for at, number in enumerate(done.numbers) if at not in skipped]


async def _read(pool: WorkerPool, pages: Sequence[Page]) -> tuple[list[Packed], Skipped]:
    """Let a worker read pages.

    A page that kills its process is skipped as "crashed", and a slow one as "too_slow".
    """
    if not pages:
        return [], {}
    message = list(map(plain_page, pages))
    seconds = _SECONDS + _SECONDS_A_PAGE * len(pages)
    # If one of many pages kills a process, each page is read alone, and gets a second try.
    tries = 1 if len(pages) > 1 else 2
    try:
        columns, skipped = await pool.call(
            message, msgspec.msgpack.Decoder(_Answer).decode, seconds, tries
        )
    except NoWorkerError:
        raise
    except (PageError, WorkerError, UnexpectedReadError) as error:
        if len(pages) == 1:
            return [], {0: error.reason if isinstance(error, PageError) else "crashed"}
        reads = await asyncio.gather(*(_read(pool, [page]) for page in pages))
        parts = [part for columns, _ in reads for part in columns]
        return parts, {place: skipped[0] for place, (_, skipped) in enumerate(reads) if skipped}
    urls = [
        page.url.encode("utf-8", "surrogatepass")
        for place, page in enumerate(pages)
        if place not in skipped
    ]
    columns |= {
        "urls": b"".join(urls),
        "url_sizes": np.array(list(map(len, urls)), np.uint32).tobytes(),
    }
    return [columns] if urls else [], skipped
