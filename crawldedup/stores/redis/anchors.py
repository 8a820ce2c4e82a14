"""Anchors of paragraphs in Redis: the methods of `AnchorStore`, for one server and for a cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from crawldedup.stores.anchors import MOST_HOLDERS, PAGE_BITS, AnchorLimits, Holders, page_of
from crawldedup.stores.redis.errors import replies_read

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from contextlib import AbstractContextManager

    from crawldedup.stores.anchors import AnchorQuery
    from crawldedup.stores.layout import Layout

_PAGE_BYTES: Final = PAGE_BITS // 8
_PRUNED_AT_ONCE: Final = 100


class SharedAnchors:
    """The methods of `AnchorStore`.

    Of several parts, each page is kept in one: in that of its place, or where its URL key says. Pages that have places
    are compared with those of one part, others with those of all.
    """

    _prefixes: Sequence[str]

    @property
    def layout(self) -> Layout:
        """See `Store`."""
        raise NotImplementedError

    def _ask_each(self, prefixes: Sequence[str], script: str, *arguments: Any) -> list[Any]:
        raise NotImplementedError

    def _begun_again(self, call: Callable[[], Any]) -> Any:
        raise NotImplementedError

    def _errors(self) -> AbstractContextManager[None]:
        raise NotImplementedError

    def _now(self) -> int:
        raise NotImplementedError

    def anchors(self, query: AnchorQuery, *, add: bool = True) -> Holders:
        """See `AnchorStore`. One round trip."""
        with self._errors():
            packed = b"".join(anchor.to_bytes(8, "big") for anchor in query.anchors)
            page = query.page.to_bytes(_PAGE_BYTES, "big")
            url = query.url.encode("utf-8", "replace")

            def ask() -> list[Any]:
                place = query.url_key if query.shard_key is None else query.shard_key
                home = self._prefixes[place % len(self._prefixes)]
                asked = self._prefixes if query.shard_key is None else (home,)
                own = (self.layout.profile_of(query), home if add else "")
                limits = self._limits(query.limits)
                return self._ask_each(asked, "anchors", *own, *limits, page, url, packed)

            return _holders(self._begun_again(ask), len(query.anchors))

    def forget_anchors(self, url_key: int) -> bool:
        """See `AnchorStore`."""
        with self._errors():
            page = page_of(url_key).to_bytes(_PAGE_BYTES, "big")
            return any(self._ask_each(self._prefixes, "forget_anchors", page))

    def prune_anchors(self, limits: AnchorLimits) -> None:
        """See `AnchorStore`."""
        parts = self._prefixes
        while parts:
            with self._errors():
                gone = self._ask_each(parts, "prune_anchors", *self._limits(limits), _PRUNED_AT_ONCE)
            parts = [part for part, count in zip(parts, gone, strict=True) if count == _PRUNED_AT_ONCE]

    def _limits(self, limits: AnchorLimits) -> tuple[int | str, ...]:
        """Return now, the time to live, and the share of the most anchors that is one part's."""
        return (self._now() or "", limits.ttl_seconds or 0, -(-limits.most // len(self._prefixes)))


@replies_read()
def _holders(replies: Sequence[Any], anchors: int) -> Holders:
    """Return what the parts have answered together. In the part that has the page, what came later is left out."""
    held: list[list[int]] = [[] for _ in range(anchors)]
    urls: dict[int, str] = {}
    added = max(own for _, own, *_ in replies)
    for _, own, lists, named in replies:
        for mine, packed in zip(held, lists, strict=True):
            mine += _numbers(packed)
        for page, when, url in zip(named[::3], named[1::3], named[2::3], strict=True):
            if own == added or when < added:
                urls[_numbers(page)[0]] = url.decode("utf-8", "replace")
    of = tuple(None if len(mine) >= MOST_HOLDERS else tuple(mine) for mine in held)
    return Holders(of, urls, added >= 0)


def _numbers(packed: bytes) -> list[int]:
    return [int.from_bytes(packed[at : at + _PAGE_BYTES], "big") for at in range(0, len(packed), _PAGE_BYTES)]
