"""Find the duplicates in a Spark DataFrame, in the same way as `crawldedup.scan`.

`frames` is the part that runs in the driver, and `tasks` the part that runs in the executors.
"""

from crawldedup.errors import MissingDependencyError

try:
    from crawldedup.spark.frames import deduplicate
except ImportError as error:
    raise MissingDependencyError.of_extra("spark", f"{error}; crawldedup.spark needs") from error

__all__ = ["deduplicate"]
