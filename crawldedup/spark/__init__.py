"""Find the duplicates in a Spark DataFrame, in the same way as `crawldedup.scan`.

`frames` is the part that runs in the driver, and `tasks` the part that runs in the executors.
"""

from crawldedup.spark.frames import deduplicate

__all__ = ["deduplicate"]
