"""Find the duplicates among the pages of a DataFrame, with the steps of `crawldedup.scan`.

`frames` is the part that runs in the driver, and `tasks` the part that runs in the executors.
"""

from crawldedup.spark.frames import deduplicate

__all__ = ["deduplicate"]
