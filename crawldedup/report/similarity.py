"""How alike near duplicates were, and what another similarity would change."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from crawldedup.fingerprinting.fingerprint import VERIFY_BITS
from crawldedup.report.clusters import MEMBER, member_of
from crawldedup.report.model import Bin, Similarity, WhatIf
from crawldedup.search.model import MAX_SIMILARITY, estimate_deviation

if TYPE_CHECKING:
    from crawldedup.report.database import Database
    from crawldedup.report.model import Crawl

_BIN: Final = 0.01
_LOWEST: Final = 0.5
_TRIED: Final = (0.8, 0.85, 0.9, 0.95)
_LEAST_ALIKE: Final = 20


def similarity_of(database: Database, crawl: Crawl) -> Similarity:
    """Return the near duplicates by estimated similarity."""
    wanted, limit = _number(crawl.settings.get("similarity")), _number(crawl.settings.get("threshold"))
    near = "outcome = 'near' AND similarity IS NOT NULL"
    rows = database.rows(
        f"""SELECT floor(greatest({_LOWEST}, least(similarity, 0.9999)) / {_BIN} + 1e-9)::INTEGER AS slot, count(*)
        FROM pages WHERE {near} GROUP BY slot"""
    )
    pages: dict[int, int] = dict(rows)
    # One bin below the limit, so that the limit does not look like the axis.
    first = min([*pages, math.floor((limit or 1) / _BIN) - 1]) if pages else 0
    least = database.rows(f"SELECT {MEMBER} FROM pages WHERE {near} ORDER BY similarity, number LIMIT {_LEAST_ALIKE}")
    return Similarity(
        wanted=wanted,
        limit=limit,
        bins=tuple(
            Bin(round(number * _BIN, 2), round((number + 1) * _BIN, 2), pages.get(number, 0))
            for number in range(first, round(1 / _BIN))
        )
        if pages
        else (),
        what_if=_what_if(database, wanted, limit),
        least=tuple(map(member_of, least)),
    )


def _what_if(database: Database, wanted: float | None, limit: float | None) -> tuple[WhatIf, ...]:
    """Return what stricter similarities would keep. What looser ones would drop was not recorded."""
    if wanted is None or limit is None:
        return ()
    tried = []
    for similarity in _TRIED:
        accepted = limit_at(similarity, wanted=wanted, limit=limit)
        (kept,) = database.row(
            "SELECT count(*) FROM pages WHERE outcome = 'near' AND similarity < $accepted", accepted=accepted
        )
        tried.append(WhatIf(similarity, accepted, kept if similarity >= wanted else None))
    return tuple(tried)


def limit_at(similarity: float, *, wanted: float, limit: float) -> float:
    """Return the limit of the estimate at another similarity than the wanted one, whose limit is given.

    The recall is the same, so that the limit lies as many standard deviations below: see `accept_threshold`.
    """
    margin = (wanted - limit) / estimate_deviation(min(wanted, MAX_SIMILARITY), VERIFY_BITS)
    return similarity - margin * estimate_deviation(similarity, VERIFY_BITS)


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) and 0 < value <= 1 else None
