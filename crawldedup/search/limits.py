"""Bounds of a search: they keep the work for one page small, however large the index."""

from typing import Final

STORED_BITS: Final = 34
"""Leading bits of a key that every store keeps."""

PROBE_BUDGET: Final = 224
"""Ranges read for one page, at most. With more, a check on Redis in an index of ten million pages would take more than
1.3 times as long as with 64 ranges of twice the width (`docs/benchmarks/redis.md`)."""

MAX_CANDIDATES: Final = 128
"""Records compared with one page, at most."""

MAX_KEYS: Final = 512
"""Keys read for one page, at most, best ranges first. Where they belong to more than MAX_CANDIDATES pages, as in a
crowd of pages of one template, the pages with the most likely keys are compared."""
