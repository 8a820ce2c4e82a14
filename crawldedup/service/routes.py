"""Connects a path with the function that answers it."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final, NamedTuple

from crawldedup.aio import AsyncDeduplicator

Scope = Mapping[str, Any]  # a request as ASGI describes it

GET: Final = ("GET", "HEAD")
JSON: Final = "application/json"


class Answer(NamedTuple):
    """The response to a client."""

    body: bytes
    status: int = 200
    headers: Mapping[str, str] = {"content-type": JSON}


class Route(NamedTuple):
    """A path and the function that answers it, for clients with a token unless the route
    `is_open`.
    """

    path: str
    respond: Callable[[AsyncDeduplicator, Scope, bytes], Awaitable[Answer]]
    methods: tuple[str, ...] = GET
    is_open: bool = False
    is_page: bool = False  # for people; links from anywhere may lead to it
    writes: bool = False  # not for clients with a token that only reads
