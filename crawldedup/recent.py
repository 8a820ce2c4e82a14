"""Keep the most recent values, and no more than so many."""

from typing import Any


def put_last(values: dict[Any, Any], key: object, value: object, most: int) -> None:
    """Append a value, and remove the oldest one if there are more than `most`."""
    values.pop(key, None)
    values[key] = value
    if len(values) > most:
        del values[next(iter(values))]
