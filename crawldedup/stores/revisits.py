"""Decide whether a page that comes again has new text. `redis/lua/lib/costs.lua` does the same.

Text that counts as unchanged leaves the remembered text as it is: the one that was delivered last. If it took its
place, a page that changes a little at each visit would never be delivered again. An abandoned text was not delivered.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from crawldedup.stores.base import Query


def has_new_text(query: Query, signature: bytes, digest: int, *, abandoned: bool = False) -> bool:
    """Return whether a revisit has other text than this one, given what the index remembers of the earlier visit."""
    if digest == query.entry.digest:
        return False
    rule = query.revisit_rule
    return rule is None or abandoned or rule.cost(query.entry.signature, signature) > rule.limit
