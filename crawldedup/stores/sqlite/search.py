"""Find the pages to compare with each page of a batch, as they are when it is that page's turn.

The file is searched once for all queries that need it. `Changes` knows what earlier pages of the
batch have changed since then. If that isn't enough to know which pages a query is compared with,
the changes are written and the file is searched again for this query.
"""

from collections.abc import Sequence

from crawldedup.marks.exact_keys import MOST_PER_KEY
from crawldedup.stores.contract import Query
from crawldedup.stores.sqlite.candidates import (
    Candidate,
    Candidates,
    ExactHits,
    batch_candidates,
    compared,
    single_candidates,
)
from crawldedup.stores.sqlite.changes import Changes
from crawldedup.stores.sqlite.index import SqliteIndex


class BatchSearch:
    """Finds the remembered pages to compare with each page of a batch."""

    def __init__(self, index: SqliteIndex, queries: Sequence[Query], changes: Changes) -> None:
        self._index = index
        self._queries = queries
        self._changes = changes
        # Keyed by the places of the queries that the file was searched for.
        self._found: dict[int, Candidates] = {}

    def look_ahead(self, places: Sequence[int]) -> None:
        """Search for several queries at once, given by their places in the batch.

        This also loads the pages that the queries may accept.
        """
        if not places:
            return
        self._found = batch_candidates(self._index, self._queries, places)
        numbers = []
        for place, found in self._found.items():
            limit = self._queries[place].rule.limit
            for candidate in (*found.pages, *found.others.values()):
                if candidate.cost <= limit:
                    numbers.append(candidate.number)
        self._changes.load(numbers)

    def candidates(self, place: int) -> list[Candidate]:
        """Return the pages to compare a query with, as they are now."""
        found = self._found.get(place)
        if found is not None:
            in_ranges = self._in_ranges(found)
            filed = self._filed(found)
            if in_ranges is not None and filed is not None:
                filed.difference_update([candidate.number for candidate in in_ranges])
                return in_ranges + self._compared(place, filed) if filed else in_ranges
        if len(self._queries) > 1:
            self._changes.write()
        return single_candidates(self._index, self._queries[place])

    def _in_ranges(self, found: Candidates) -> list[Candidate] | None:
        """Return the candidates that search keys lead to: in the file, and earlier in the batch.

        Pages in the file that the batch has changed in the meantime are left out. The result is
        None if the earlier pages of the batch add more keys than the query may still read
        (`found.room`).
        """
        candidates = [
            candidate
            for candidate in found.pages
            if not self._changes.is_outdated(candidate.number)
        ]
        keys = 0
        for earlier in found.earlier:
            page = self._changes.page_with_text(earlier.place)
            if page is not None:
                keys += earlier.keys
                candidates.append(Candidate.of(page, earlier.cost))
        return candidates if keys <= found.room else None

    def _filed(self, found: Candidates) -> set[int] | None:
        """Return the numbers of the pages found by exact keys, or None if some are unknown."""
        filed: set[int] = set()
        for hits in found.exact_hits:
            newest = self._newest(hits)
            if newest is None:
                return None
            filed.update(newest)
        return filed

    def _newest(self, hits: ExactHits) -> list[int] | None:
        """Return the pages that were last added under an exact key, or None if that isn't known."""
        refiled = self._changes.refiled_under(hits.table, hits.key)
        if not hits.numbers and not refiled:
            return []
        unchanged = [number for number in hits.numbers if not self._changes.is_refiled(number)]
        newest = sorted((*unchanged, *refiled))[-MOST_PER_KEY:]
        if len(hits.numbers) < MOST_PER_KEY:
            return newest
        # The file has earlier pages under the key that weren't read. Some may count by now.
        least = hits.numbers[0]
        are_later = len(newest) == MOST_PER_KEY and newest[0] >= least
        return newest if are_later else None

    def _compared(self, place: int, numbers: set[int]) -> list[Candidate]:
        """Turn pages found by exact keys into candidates. Changed ones are compared again."""
        others = self._found[place].others
        candidates = []
        changed = []
        for number in numbers:
            if number in others and not self._changes.is_outdated(number):
                candidates.append(others[number])
            else:
                changed.append(self._changes.page(number))
        return candidates + compared(self._queries[place], changed)
