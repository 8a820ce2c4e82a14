"""Read the pages of many sources: worker processes make columns of them, in the order of the sources."""

import asyncio
import os
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing
from hashlib import blake2b
from typing import Any, Final, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from crawldedup.advice.copies import names_a_view
from crawldedup.commands.archives import Item
from crawldedup.commands.output import Output
from crawldedup.commands.sources import OnError, complaints
from crawldedup.errors import ConfigurationError, NoWorkerError, PageError, UnexpectedReadError, WorkerError
from crawldedup.fingerprinting.fingerprint import Fingerprint
from crawldedup.options import Options
from crawldedup.page import Page, PageContent, PageReader
from crawldedup.reading.area import area_of
from crawldedup.reading.keys import NO_KEY
from crawldedup.reading.volatile import put_last
from crawldedup.scan.columns import LAYOUT, Columns, shingle_set
from crawldedup.scan.engine import Goal
from crawldedup.scan.folder import KINDS, Packed, Place, ScanFolder
from crawldedup.search.query import QueryBuilder, salted
from crawldedup.workers.pool import WorkerPool
from crawldedup.workers.reading import plain_page

_PAGES_A_CHUNK: Final = 256
_CHARACTERS_A_CHUNK: Final = 1 << 22
_REMEMBERED: Final = 1000  # pages of a worker, some 30 KB each
_CHUNKS_A_WORKER: Final = 4  # so many wait to be read, or to be taken in their order
# A process that takes longer than both together over a chunk is given up.
_SECONDS: Final = 30.0
_SECONDS_A_PAGE: Final = 0.5

Skipped = dict[int, str]
"""The reasons why pages cannot be read, by the places of the pages."""
_Answer = tuple[Packed, Skipped]
"""The columns of pages, without URLs, and which of them cannot be read."""
_answers: Final = msgspec.msgpack.Decoder(_Answer)


class Chunk(NamedTuple):
    """Pages, the numbers of their items in the source, and where a scan goes on behind them."""

    place: Place
    numbers: list[int]
    pages: list[Page]


def reader(setup: dict[str, Any]) -> Callable[[list[dict[str, Any]]], _Answer]:
    """Return the handler of a worker process, which reads pages as these options say."""
    options = Options.from_values(setup)
    page_reader, queries = PageReader(options), QueryBuilder(options)
    threshold = Goal(options.similarity, options.recall).threshold
    last: dict[bytes, PageContent] = {}
    secret = os.urandom(16)

    def content_of(page: Page) -> PageContent:
        if page.html is None:
            return page_reader.content(page)
        # Half of an archive may be the same bytes again. Nobody who knows no secret can make two pages of one digest.
        body = msgspec.msgpack.encode([page.html, page.encoding, area_of(options.content, page.url)])
        digest = blake2b(body, key=secret).digest()
        if digest not in last:
            put_last(last, digest, page_reader.content(page), _REMEMBERED)
        return last[digest]

    def read(message: list[dict[str, Any]]) -> _Answer:
        pages, contents, skipped = list[Page](), list[PageContent](), dict[int, str]()
        for place, page in enumerate(Page(**values) for values in message):
            try:
                contents.append(content_of(page))
                pages.append(page)
            except PageError as error:
                skipped[place] = error.reason
        rows, shingles = list[tuple[Fingerprint, int]](), list[NDArray[np.uint32]]()
        for page, content, made in zip(pages, contents, page_reader.fingerprints(contents), strict=True):
            rows.append((salted(made, queries.scope_of(page), NO_KEY), int(names_a_view(page.url))))
            shingles.append(shingle_set("" if made.thin else content.text))
        columns = {
            **Columns.of(rows, threshold).by_name(),
            "shingle_sizes": np.array(list(map(len, shingles)), np.uint32),
            "shingles": np.concatenate([np.zeros(0, np.uint32), *shingles]),
        }
        return {name: column.tobytes() for name, column in columns.items()}, skipped

    return read


def read_answer(answer: bytes, pages: int) -> _Answer:
    """Return what a worker read of so many pages. Raises LookupError, ValueError and MsgspecError for nonsense."""
    columns, skipped = _answers.decode(answer)
    wanted = {name: (pages - len(skipped)) * KINDS[name].itemsize for name in (*LAYOUT, "shingle_sizes")}
    wanted["shingles"] = 4 * np.frombuffer(columns["shingle_sizes"], np.uint32).sum()
    if {name: len(column) for name, column in columns.items()} != wanted or not skipped.keys() <= {*range(pages)}:
        raise ValueError("it tells of other pages")
    return columns, skipped


def chunks_of(
    names: Sequence[str], begun: Place, open_source: Callable[[str, OnError], Iterator[Item]], on_error: OnError
) -> Iterator[Chunk]:
    """Yield the pages of sources that are not read yet, behind where they end; the last chunk is an empty one.

    `open_source` returns the items of a source, always in the same order, and hands on what is wrong.
    """
    first, behind, errors = begun

    def note(error: Exception) -> None:
        nonlocal errors
        errors += 1
        on_error(error)

    for source in range(first, len(names)):
        before = errors
        for chunk in chunked(open_source(names[source], note), behind):
            yield chunk._replace(place=(source, chunk.numbers[-1] + 1, before))
        behind = 0
    yield Chunk((len(names), 0, errors), [], [])


def chunked(items: Iterable[Item], first: int = 0) -> Iterator[Chunk]:
    """Yield the pages of the items of one source in chunks, from the item with the number `first` on."""
    numbers, pages, size = list[int](), list[Page](), 0
    for number, item in enumerate(items):
        if not isinstance(page := item.page, Page) or number < first:
            continue
        numbers.append(number)
        pages.append(page)
        size += len(page.html or page.text or "")
        if len(pages) == _PAGES_A_CHUNK or size > _CHARACTERS_A_CHUNK:
            yield Chunk((0, number + 1, 0), numbers, pages)
            numbers, pages, size = [], [], 0
    if pages:
        yield Chunk((0, numbers[-1] + 1, 0), numbers, pages)


def read_into(
    folder: ScanFolder, chunks: Iterable[Chunk], options: Options, workers: int, output: Output, fate: str
) -> Iterator[list[int]]:
    """Add the pages of chunks to a folder; yield the numbers of those that could be read, chunk by chunk.

    It is said what becomes of the others. Raises NoWorkerError if no process can be started, and OSError.
    """
    with (
        complaints(output.error, "pages", "page", fate) as tell,
        closing(_reads(chunks, options, workers)) as reads,
    ):
        for chunk, (columns, skipped) in reads:
            folder.add(chunk.place, columns, skipped.values())
            for at, reason in skipped.items():
                tell(ConfigurationError(f"{chunk.pages[at].url}: {fate} ({reason})"))
            yield [number for at, number in enumerate(chunk.numbers) if at not in skipped]


def _reads(
    chunks: Iterable[Chunk], options: Options, workers: int
) -> Generator[tuple[Chunk, tuple[list[Packed], Skipped]], None, None]:
    """Yield the columns of each chunk, in parts, as worker processes read them, which work ahead."""
    waiting: deque[tuple[Chunk, asyncio.Task[tuple[list[Packed], Skipped]]]] = deque()
    # Its own `run` would keep Ctrl-C from a source that waits for input.
    with asyncio.Runner() as runner:
        loop = runner.get_loop()
        pool = WorkerPool("crawldedup.scan.read:reader", options.index_values(), workers=workers, page_seconds=_SECONDS)
        try:
            for chunk in chunks:
                waiting.append((chunk, loop.create_task(_read(pool, chunk.pages))))
                loop.run_until_complete(asyncio.sleep(0))
                while waiting and (len(waiting) >= workers * _CHUNKS_A_WORKER or waiting[0][1].done()):
                    first, reading = waiting.popleft()
                    yield first, loop.run_until_complete(reading)
            for chunk, reading in waiting:
                yield chunk, loop.run_until_complete(reading)
        finally:
            pool.close()


async def _read(pool: WorkerPool, pages: Sequence[Page]) -> tuple[list[Packed], Skipped]:
    """Read pages in a worker. One that ends its process is skipped as "crashed", a slow one as "too_slow"."""
    if not pages:
        return [], {}
    message, seconds = list(map(plain_page, pages)), _SECONDS + _SECONDS_A_PAGE * len(pages)
    # Where one of many ends a process, each is read alone, and has a second try.
    tries = 1 if len(pages) > 1 else 2
    try:
        columns, skipped = await pool.call(message, lambda answer: read_answer(answer, len(pages)), seconds, tries)
    except NoWorkerError:
        raise
    except (PageError, WorkerError, UnexpectedReadError) as error:
        if len(pages) == 1:
            return [], {0: error.reason if isinstance(error, PageError) else "crashed"}
        reads = await asyncio.gather(*(_read(pool, [page]) for page in pages))
        parts = [part for columns, _ in reads for part in columns]
        return parts, {place: skipped[0] for place, (_, skipped) in enumerate(reads) if skipped}
    urls = [page.url.encode("utf-8", "surrogatepass") for place, page in enumerate(pages) if place not in skipped]
    columns |= {"urls": b"".join(urls), "url_sizes": np.array(list(map(len, urls)), np.uint32).tobytes()}
    return [columns] if urls else [], skipped
