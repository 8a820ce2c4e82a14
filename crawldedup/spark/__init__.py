"""Find the duplicates among the pages of a DataFrame, on Apache Spark: `deduplicate`.

The steps are those of `crawldedup.scan`, and so are the verdicts. `reading` makes the fingerprints, and `numbering`
gives each page its place in their order. `candidates` pairs the pages that share a key, `resemblance` compares the
pairs, and `ordering` tells which pages are kept. What holds for many rows is done on Arrow batches with numpy; no
Python loop runs over pairs, but for the one that decides in the order of the pages.
"""

from crawldedup.spark.deduplication import deduplicate

__all__ = ["deduplicate"]
