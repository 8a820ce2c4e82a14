"""Keep what is used more than once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark import StorageLevel

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def kept(found: DataFrame) -> DataFrame:
    """Work a DataFrame out, and return it without its plan: plans that hold each other grow beyond all bounds.

    It is written to the checkpoint directory if the session has one, else to the disks of the executors.
    """
    if found.sparkSession.sparkContext.getCheckpointDir() is not None:
        return found.checkpoint()
    return found.localCheckpoint(storageLevel=StorageLevel.DISK_ONLY)
