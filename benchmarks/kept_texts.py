"""Measure what it costs to keep the texts of pages, and to tell what changed.

    python benchmarks/kept_texts.py CORPUS.pages.jsonl [--limit 2000]

Checks every page three times: it is new, then unchanged, then three of its words are others. The milliseconds are those
of the processor, of this process and the server, for all that a check does once the main text is extracted.
"""

from __future__ import annotations

import random
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.shared.common import count, make_parser, make_table, run
from crawldedup import Deduplicator, Page
from crawldedup.measure import read_corpus
from tests.servers import RedisServer

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


def edited(text: str, chooser: random.Random) -> str:
    words = text.split(" ")
    for _ in range(3):
        words[chooser.randrange(len(words))] = "edited"
    return " ".join(words)


def measure(texts: Sequence[str], store: str, *, keep_texts: bool) -> tuple[float, list[float]]:
    """Bytes a page, and the milliseconds of each visit."""
    chooser = random.Random(1)
    changed = [edited(text, chooser) for text in texts]
    with ExitStack() as stack:
        size: Callable[[], float]
        processor = time.process_time
        if store == "SQLite":
            path = Path(stack.enter_context(tempfile.TemporaryDirectory()), "index.sqlite")
            url, size = f"sqlite:///{path}", lambda: path.stat().st_size if path.exists() else 0
        else:
            server = stack.enter_context(RedisServer())
            url, size = server.url, lambda: float(server.client.info("memory")["used_memory"])

            def processor() -> float:
                used = server.client.info("cpu")
                return time.process_time() + float(used["used_cpu_user"]) + float(used["used_cpu_sys"])

        seconds, grown = [], 0.0
        for visit in (texts, texts, changed):
            before = size()
            with Deduplicator(url, similarity=1.0, keep_texts=keep_texts) as dedup:
                pages = [Page(f"https://example.com/{number}", text=text) for number, text in enumerate(visit)]
                begun = processor()
                for _ in dedup.check_many(pages):
                    pass
                seconds.append(processor() - begun)
                known = dedup.pages
            grown = grown or (size() - before) / known
    return grown, [1000 * each / len(texts) for each in seconds]


def main(given: Sequence[str]) -> None:
    parser = make_parser(__doc__)
    parser.add_argument("corpus", help="what `crawldedup bench` reads")
    parser.add_argument("--limit", type=count, default=2000, help="pages to read")
    arguments = parser.parse_args(given)
    texts = [page.text for page in read_corpus(arguments.corpus, limit=arguments.limit).documents]
    table = make_table(
        f"{len(texts):,} pages of {sum(map(len, texts)) / len(texts):,.0f} characters",
        *("store", "texts", "bytes a page", "ms: new", "unchanged", "changed"),
    )
    for store in ("SQLite", "Redis"):
        for keep_texts in (False, True):
            size, milliseconds = measure(texts, store, keep_texts=keep_texts)
            kept = "kept" if keep_texts else "not kept"
            table.add_row(store, kept, f"{size:,.0f}", *(f"{each:.2f}" for each in milliseconds))
    Console().print(table)


if __name__ == "__main__":
    run(main, "TEXTS --limit 20")
