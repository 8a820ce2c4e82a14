"""Let code that loops with `async for` take ordinary iterables as well."""

from collections.abc import AsyncIterable, AsyncIterator, Iterable
from typing import TypeVar

T = TypeVar("T")


def asynchronous(values: Iterable[T] | AsyncIterable[T]) -> AsyncIterable[T]:
    """Return values from an ordinary or asynchronous iterable as an asynchronous iterable."""
    return values if isinstance(values, AsyncIterable) else _one_by_one(values)


async def _one_by_one(values: Iterable[T]) -> AsyncIterator[T]:
    for value in values:
        yield value
