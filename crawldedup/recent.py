"""Dictionaries that keep only the most recent values."""

from typing import TypeVar

K = TypeVar("K")
V = TypeVar("V")


def put_last(values: dict[K, V], key: K, value: V, most: int) -> None:
    """Put a value at the end of a dictionary, and remove the first one if there are too many.

    Args:
        values: The dictionary, oldest value first.
        key: The key of the value. A value that it already has is replaced.
        value: The value.
        most: The most values that the dictionary may have.
    """
    values.pop(key, None)
    values[key] = value
    if len(values) > most:
        oldest = next(iter(values))
        del values[oldest]
