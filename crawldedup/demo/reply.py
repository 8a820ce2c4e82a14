"""What a site answers, and what a site is: shared by those that make sites and the server that shows them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True)
class Reply:
    """What the server answers. `headers` come beside Content-Type and Content-Length."""

    body: bytes
    content_type: str | None = "text/html; charset=utf-8"
    status: int = 200
    headers: Mapping[str, str] | None = None


NOT_FOUND = Reply(b"<html><body><h1>Not found</h1></body></html>", status=404)


def path_of(target: str) -> str:
    """A request target without its query. Never raises, as `urlsplit` does for some of what clients send."""
    return target.partition("#")[0].partition("?")[0]


def target_of(url: str) -> str:
    """What a client sends to the server of this URL: the path and the query."""
    return "/" + url.partition("#")[0].partition("://")[2].partition("/")[2] if "://" in url else url


class Site(Protocol):
    """A site that can be served and crawled."""

    @property
    def name(self) -> str:
        """What to call it in a report."""

    @property
    def start_paths(self) -> list[str]:
        """Where a crawl has to start to see all of it."""

    def reply(self, target: str) -> Reply:
        """Answer a request target: a path, with the query if there is one. Must not raise for any target."""
