"""Find the duplicates among the pages of a DataFrame, on Apache Spark, by the steps of `crawldedup.scan`."""

from crawldedup.spark.deduplication import deduplicate

__all__ = ["deduplicate"]
