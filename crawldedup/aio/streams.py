"""Turn iterables into asynchronous iterables."""

from collections.abc import AsyncIterable, AsyncIterator, Iterable
from typing import TypeVar

T = TypeVar("T")


def asynchronous(values: Iterable[T] | AsyncIterable[T]) -> AsyncIterable[T]:
    """Return an asynchronous iterable of values, which may come from an ordinary iterable."""
    return values if isinstance(values, AsyncIterable) else _one_by_one(values)


async def _one_by_one(values: Iterable[T]) -> AsyncIterator[T]:
    for value in values:
        yield value
