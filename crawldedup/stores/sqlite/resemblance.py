"""Sort the candidates of a page into those that it resembles, its siblings, and the rest.

Among pages that share a template, a page has hundreds of candidates, and nearly all of them are
siblings. So the marks of a candidate are only compared if it matters whether it is a sibling.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from crawldedup.marks.exact_keys import text_key
from crawldedup.marks.learning import is_former_text
from crawldedup.marks.packing import unpacked
from crawldedup.marks.relation import Conflict
from crawldedup.stores.contract import FEW, Query
from crawldedup.stores.sqlite.candidates import Candidate

MarksOf = Callable[[Candidate], bytes]
"""Returns the current marks of a candidate."""


class Rejected(NamedTuple):
    """The nearest page that a query doesn't accept. If it's a sibling, also what tells it apart."""

    number: int | None
    conflict: Conflict = Conflict.NONE


class Resemblance:
    """The candidates of a query, sorted into accepted pages and siblings, by number.

    Attributes:
        accepted: The pages that the query accepts, nearest first.
        siblings: The siblings that it would accept if they weren't siblings, nearest first.
    """

    def __init__(self, query: Query, candidates: Sequence[Candidate], marks_of: MarksOf) -> None:
        self._query = query
        self._marks_of = marks_of
        self._bounds = query.rule.bounds
        farthest = self._bounds.far if len(candidates) <= FEW else self._bounds.reach
        if query.exact_only:
            farthest = 0
        compared = self._with_known_copies(candidates)
        near = [candidate for candidate in compared if candidate.cost <= farthest]
        near.sort(key=_nearness)
        self._near = near
        self._siblings: list[Candidate] = []
        self._copies: list[Candidate] = []
        self._others: list[Candidate] = []
        for candidate in near:
            if candidate.cost > query.rule.limit:
                self._others.append(candidate)
            elif self._conflict_with(candidate) is Conflict.NONE:
                self._copies.append(candidate)
            else:
                self._siblings.append(candidate)
        self.accepted: list[int] = []
        if self._copies:
            limit = self._bounds.bar(self._crowd()).limit
            self.accepted = [copy.number for copy in self._copies if copy.cost <= limit]
        self.siblings = [sibling.number for sibling in self._siblings]

    @property
    def found(self) -> list[int]:
        """The accepted pages and the siblings together, nearest first."""
        numbers = {*self.accepted, *self.siblings}
        return [candidate.number for candidate in self._near if candidate.number in numbers]

    def rejected(self) -> Rejected:
        """Return the nearest sibling or, without any, the nearest page that isn't accepted.

        If there is neither, its number is None.
        """
        if self._siblings:
            nearest = self._siblings[0]
            return Rejected(nearest.number, self._conflict_with(nearest))
        for candidate in (*self._copies[len(self.accepted) :], *self._others):
            if self._conflict_with(candidate) is Conflict.NONE:
                return Rejected(candidate.number)
        return Rejected(None)

    def _with_known_copies(self, candidates: Sequence[Candidate]) -> Sequence[Candidate]:
        """Set the cost to 0 for candidates that are copies no matter how much their texts differ.

        These are views that are certain to be the same page, and pages that have replaced a page
        with the same text.
        """
        record = self._query.record
        own = unpacked(record.marks)
        if own is None or own.address is None:
            return candidates
        path = own.address.path.to_bytes(5, "big")
        text = text_key(record.search, record.digest).to_bytes(5, "big")
        return [
            candidate._replace(cost=0)
            # Most candidates have other paths and texts, which a look at the bytes rules out.
            if (path in candidate.marks and self._is_certain_view(candidate))
            or (text in candidate.marks and self._has_former_text(candidate))
            else candidate
            for candidate in candidates
        ]

    def _is_certain_view(self, candidate: Candidate) -> bool:
        if candidate.cost > self._bounds.of_views:
            return False
        return self._query.has_certain_view(self._marks_of(candidate))

    def _has_former_text(self, candidate: Candidate) -> bool:
        record = self._query.record
        text = text_key(record.search, record.digest)
        return is_former_text(record.marks, self._marks_of(candidate), text)

    def _crowd(self) -> list[int]:
        """Return the costs of the candidates about as near as the nearest one.

        They decide about the limit.
        """
        costs = [copy.cost for copy in self._copies]
        most = costs[0] * self._bounds.reach
        costs += [
            other.cost
            for other in self._others
            if other.cost * self._bounds.limits[0] <= most
            and other.cost <= self._bounds.reach
            and self._conflict_with(other) is Conflict.NONE
        ]
        return costs

    def _conflict_with(self, candidate: Candidate) -> Conflict:
        """Return what tells a candidate apart from the page.

        Candidates beyond `reach` aren't compared, so they have no conflict.
        """
        if not self._query.record.marks or candidate.cost > self._bounds.reach:
            return Conflict.NONE
        return self._query.conflict_with(self._marks_of(candidate))


def _nearness(candidate: Candidate) -> tuple[int, int]:
    """Return the sort key that puts the nearest candidates first, and earlier ones among equals."""
    return candidate.cost, candidate.number
