"""Find the duplicates among the pages of a DataFrame, on Apache Spark: `deduplicate`.

The steps are those of `crawldedup.scan`, and so are the verdicts: `tasks` has what is done on Arrow batches, `verdicts`
the joins between them.
"""

from crawldedup.spark.deduplication import deduplicate

__all__ = ["deduplicate"]
