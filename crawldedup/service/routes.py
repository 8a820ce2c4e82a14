"""Routes, which connect a path of the service with the function that answers it, and answers."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final, NamedTuple

from crawldedup.aio import AsyncDeduplicator

Scope = Mapping[str, Any]  # a request as ASGI describes it

GET: Final = ("GET", "HEAD")
JSON: Final = "application/json"


class Answer(NamedTuple):
    """The response that a client gets."""

    body: bytes
    status: int = 200
    headers: Mapping[str, str] = {"content-type": JSON}


class Route(NamedTuple):
    """A path of the service, and the function that answers it.

    Clients need a token, unless the route `is_open`.
    """

    path: str
    respond: Callable[[AsyncDeduplicator, Scope, bytes], Awaitable[Answer]]
    methods: tuple[str, ...] = GET
    is_open: bool = False
    is_page: bool = False  # True for a page for people; links from anywhere may lead to it
    writes: bool = False  # True if a token that only reads isn't enough
