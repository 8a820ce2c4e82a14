"""The part of an index on a cluster whose pages are compared with those of all partitions.

Records and URLs are spread by the hash of the URL: a page has a home. The permuted tables are spread by the leading
four bits of the keys, so that what one page asks of them concerns few partitions. `check` tells how a page is
checked, and what is promised.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from crawldedup.errors import StoreFullError
from crawldedup.stores.cluster.nodes import script_call
from crawldedup.stores.cluster.protocol import (
    PARTITIONS,
    accepted_pages,
    best_pages,
    by_home,
    entries,
    packed_id,
    page_id,
    page_ids,
    prefixes,
)
from crawldedup.stores.redis.errors import UnexpectedReplyError
from crawldedup.stores.redis.protocol import bytes8, loaded, unpacked
from crawldedup.stores.redis.replies import ForeignPartError, LostPartError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from crawldedup.stores.base import Layout, Query, Record
    from crawldedup.stores.cluster.nodes import Argument, Call, Nodes
    from crawldedup.stores.cluster.protocol import SplitQuestion


FULL: Final = "a partition of the cluster has used up its page numbers: clear the index, or take another namespace"
LEFT_SECONDS: Final = 60
"""What is not filed after so long was left by a crawler that died."""


def sound(answer: Any) -> Any:
    """The answer of a script. Raises LostPartError, ForeignPartError or UnexpectedReplyError."""
    if not isinstance(answer, list) or not answer:
        raise UnexpectedReplyError.to("a script", answer)
    if answer[0] == b"lost":
        raise LostPartError
    if answer[0] == b"profile":
        raise ForeignPartError(answer[1])
    return answer


@dataclass(slots=True)
class Compared:
    """What homes say of some pages: how many they compared, which are accepted, nearest first, gone or expired."""

    count: int = 0
    accepted: list[tuple[int, int, int]] = field(default_factory=list)
    gone: list[int] = field(default_factory=list)
    expired: list[int] = field(default_factory=list)
    records: dict[int, bytes] = field(default_factory=dict)


class Spread:
    """What homes and tables do together. Raises the client's errors and those of `sound`.

    `homes` and `tables` are the prefixes of the keys of each of them.
    """

    def __init__(self, nodes: Nodes, layout: Layout) -> None:
        self.layout = layout
        self.homes = tuple(prefix + "h:" for prefix in prefixes(layout.namespace))
        self.tables = tuple(prefix + "s:" for prefix in prefixes(layout.namespace))
        self._nodes = nodes
        self._home_of_prefix = {prefix: home for home, prefix in enumerate(self.homes)}
        self._pages = [0] * PARTITIONS

    def pages(self) -> int:
        """About how many pages there are: as many as every home had when it was last asked."""
        return sum(self._pages)

    def note_pages(self, home: int, pages: int) -> None:
        """A home has so many pages."""
        self._pages[home] = pages

    def home_of_url(self, url_key: int) -> int:
        """The partition that a page's record belongs to."""
        return url_key % PARTITIONS

    def to_home(self, home: int, script: str, *arguments: Argument, last_again: Argument | None = None) -> Call:
        """A call of a script of a home; `last_again` as in `Call`."""
        return script_call(script, self.homes[home], self.layout.profile, *arguments, last_again=last_again)

    def to_tables(self, partition: int, script: str, *arguments: Argument) -> Call:
        """A call of a script of a partition of the tables."""
        return script_call(script, self.tables[partition], self.layout.profile, *arguments)

    def run(self, *calls: Call) -> list[Any]:
        """The answers of scripts that are called at once."""
        answers = [sound(answer) for answer in self._nodes.run(calls)]
        for call, answer in zip(calls, answers, strict=True):
            home = self._home_of_prefix.get(call.key)
            if home is not None and answer[0] != b"compared":
                self.note_pages(home, answer[1])
        return answers

    def find(self, query: Query, question: SplitQuestion) -> list[Record]:
        """Records that the query accepts, nearest first."""
        looks = self.run(
            *(self.to_tables(partition, "spread_look", *question.to_tables(partition)) for partition in question.parts)
        )
        found = {partition: look[2] for partition, look in zip(question.parts, looks, strict=True) if look[2]}
        compared = self.compare(question, best_pages(query, found, question), with_records=True)
        return [unpacked(compared.records[page], self.layout) for _, _, page in compared.accepted]

    def compare(self, question: SplitQuestion, pages: Iterable[int], *, with_records: bool = False) -> Compared:
        """Compare pages at their homes."""
        numbers = by_home(pages)
        answers = self.run(
            *(
                self.to_home(home, "home_compare", *question.to_home(), packed, int(with_records))
                for home, packed in numbers.items()
            )
        )
        compared = Compared()
        for home, (_, count, accepted, gone, expired, *records) in zip(numbers, answers, strict=True):
            nearest = accepted_pages(home, accepted)
            compared.count += count
            compared.accepted += nearest
            compared.gone += page_ids(home, gone)
            compared.expired += page_ids(home, expired)
            if with_records:
                compared.records.update(zip([page for _, _, page in nearest], records, strict=True))
        compared.accepted.sort()
        return compared

    def heal(self, question: SplitQuestion, gone: dict[int, set[int]]) -> None:
        """Take pages that are gone out of the ranges of a question in which they were found, by partition."""
        self.run(
            *(
                self.to_tables(
                    partition,
                    "spread_heal",
                    *question.to_tables(partition),
                    b"".join(map(packed_id, pages)),
                )
                for partition, pages in gone.items()
                if pages
            )
        )

    def confirm(self, pages: Iterable[int], token: bytes) -> None:
        """Note that pages are filed everywhere of which none was met; without a token, whoever began it."""
        numbers = by_home(pages)
        self.run(*(self.to_home(home, "home_confirm", packed, token, b"") for home, packed in numbers.items()))

    def free(self, question: SplitQuestion, pages: Iterable[int]) -> None:
        """Free pages that have expired."""
        numbers = by_home(pages)
        calls = (self.to_home(home, "home_free", *question.to_home(), packed) for home, packed in numbers.items())
        self.unfile_removed({home: freed[2:] for home, freed in zip(numbers, self.run(*calls), strict=True)})

    def unfile_removed(self, removed: dict[int, Sequence[bytes]]) -> None:
        """Take the keys of pages out that homes have removed, given by home as number and record."""
        self.unfile(self._with_keys(home, told) for home, each in removed.items() for told in each)

    def _with_keys(self, home: int, told: bytes) -> tuple[int, tuple[int, ...]]:
        record = unpacked(told[4:], self.layout)
        return page_id(home, told[:4]), self.layout.keys(record.search, record.signature)

    def file(self, pages: Iterable[tuple[int, Sequence[int]]]) -> None:
        """File pages under their keys."""
        tables = len(self.layout.tables)
        self.run(*(self.to_tables(partition, "spread_add", tables, part) for partition, part in entries(pages).items()))

    def unfile(self, pages: Iterable[tuple[int, Sequence[int]]]) -> None:
        """Take the keys of pages out."""
        self.run(*(self.to_tables(partition, "spread_unfile", part) for partition, part in entries(pages).items()))

    def undecided(self, pages: Iterable[int]) -> list[int]:
        """Those of some pages that are not decided yet."""
        numbers = by_home(pages)
        answers = self.run(*(self.to_home(home, "home_others", packed) for home, packed in numbers.items()))
        return [page_id(home, number) for home, told in zip(numbers, answers, strict=True) for number in told[2:]]

    def forget(self, url_key: int) -> bool:
        """Remove the page with this URL key; False if there was none."""
        home = self.home_of_url(url_key)
        (forgotten,) = self.run(self.to_home(home, "home_forget", bytes8(url_key)))
        self.unfile_removed({home: forgotten[2:]})
        return len(forgotten) > 2

    def finish(self) -> None:
        """File what crawlers that died have left unfiled."""
        answers = self.run(*(self.to_home(home, "home_pending", LEFT_SECONDS) for home in range(PARTITIONS)))
        left = [self._with_keys(home, told) for home, (_, _, *each) in enumerate(answers) for told in each]
        if left:
            self.file(left)
            self.confirm([page for page, _ in left], b"")

    def prune(self, home: int, *arguments: Argument) -> tuple[int, int, int, int]:
        """A step of pruning: pages freed, number of the next to be added, of the first that may be left, and pages."""
        ((_, pages, following, oldest, *removed),) = self.run(self.to_home(home, "home_prune", *arguments))
        self.unfile_removed({home: removed})
        return len(removed), following, oldest, pages

    def load(self, records: Sequence[Record]) -> int:
        """Add pages as they are, unless their URL is known; how many were added."""
        token = secrets.token_bytes(8)
        parts: dict[int, list[Record]] = {}
        for record in records:
            parts.setdefault(self.home_of_url(record.url_key), []).append(record)
        answers = self.run(*(self.to_home(home, "home_load", token, loaded(part)) for home, part in parts.items()))
        pages = []
        for (home, part), (kind, _, *answer) in zip(parts.items(), answers, strict=True):
            if kind == b"full":
                raise StoreFullError(FULL)
            pages += [
                (page_id(home, number), self.layout.keys(record.search, record.signature))
                for record, number in zip(part, answer[1:], strict=True)
                if number
            ]
        self.file(pages)
        self.confirm([page for page, _ in pages], token)
        return sum(answer[2] for answer in answers)
