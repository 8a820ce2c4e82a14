"""Bounds of a search: they keep the work for one page small, however large the index."""

from typing import Final

STORED_BITS: Final = 34
"""Leading bits of a key that every store keeps."""

PROBE_BUDGET: Final = 224
"""Ranges read for one page, at most. In an index of ten million pages on Redis, a check with at most 192, 224 or 256
takes 1.26, 1.30 or 1.34 times the server's time of one with 64 ranges of twice the width, measured in turns."""

MAX_CANDIDATES: Final = 128
"""Records compared with one page, at most."""

MAX_KEYS: Final = 512
"""Keys read for one page, at most, best ranges first. Where they belong to more than MAX_CANDIDATES pages, as in a
crowd of pages of one template, the pages with the most likely keys are compared."""

HOT_EFFORT: Final = 4
"""So many times as many keys are read, and records compared, under a hot prefix. Of 60,000 pages of seven templates
(`benchmarks/templated_site.py`), this finds 97 instead of 91 % of the near duplicates with J .9 to .95."""
