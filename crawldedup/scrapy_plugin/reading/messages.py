"""What a crawl and its worker processes say to each other, in the frames of `workers.framing`."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Final, NamedTuple, get_type_hints

from crawldedup.errors import CrawlDedupError
from crawldedup.stores.base import CrawlSession
from crawldedup.text.canonical import NO_LINKS, claimed_url, is_same_page
from crawldedup.text.urls import canonical_url
from crawldedup.verdict import Kind, Verdict
from crawldedup.workers.framing import error_from, request

if TYPE_CHECKING:
    from crawldedup.text.canonical import HeadLinks

Name = tuple[str, str | None, str | None]


class Claim(NamedTuple):
    """What a page says of itself: the other page that it names as its original, and its rank, odd if that is one."""

    original: str | None
    rank: int


NO_CLAIM: Final = Claim(None, 0)


@dataclass(frozen=True, slots=True)
class Job:
    """One page to check: its bytes, and the rules for it.

    `form` is "html", "text", or "fields" for the texts of an item's fields. `encoding` is what the server declared.
    `links` are the Link headers where the page's canonical URL counts, else None: for its rank, and with `is_lenient`
    for its similarity. `rank` is that of the URL, None where no copy is preferred. The rest is as in
    `Deduplicator.check_fingerprint`. A page that `asks_itself` has that rank only if it names itself as its original.

    `names` are url, identity and scope key of earlier pages that were delivered since.
    """

    url: str
    body: bytes
    encoding: str | None = None
    form: str = "html"
    identity: str | None = None
    scope_key: str | None = None
    similarity: float | None = None
    revisit_similarity: float | None = None
    links: tuple[str, ...] | None = None
    is_lenient: bool = False
    rank: int | None = None
    asks_itself: bool = False
    remember: bool = True
    delivered: bool = True
    names: tuple[Name, ...] = ()

    def html(self) -> bytes | None:
        """Return the body of a page of HTML."""
        return self.body if self.form == "html" else None

    def text(self) -> str | None:
        """Return the body of a page of plain text."""
        return self.body.decode(self.encoding or "utf-8", "replace") if self.form == "text" else None

    def claim(self, links: HeadLinks = NO_LINKS) -> Claim:
        """Return what the page says of itself by the links in its head, where that counts."""
        rank = self.rank or 0
        may_be_poor = self.rank is not None and self.rank % 2 == 0
        if self.links is None or not (self.is_lenient or may_be_poor):
            return Claim(None, rank + (may_be_poor and self.asks_itself))
        claimed = claimed_url(self.url, links, self.links)
        if claimed is None or canonical_url(claimed) == canonical_url(self.url):
            return Claim(None, rank + (may_be_poor and claimed is None and self.asks_itself))
        is_poor = self.asks_itself or not is_same_page(self.url, claimed)
        return Claim(claimed, rank + (may_be_poor and is_poor))

    def request(self) -> bytes:
        """Return the message that asks for a verdict."""
        header = {name: value for name in _HEADER if (value := getattr(self, name)) is not None}
        return request({"do": "check", **header}, self.body)


_HEADER: Final = tuple(each.name for each in fields(Job) if each.name != "body")


class Ready(NamedTuple):
    """The first answer of a worker. An `error` says why it cannot check anything."""

    error: CrawlDedupError | None = None


class Judged(NamedTuple):
    """A verdict, and for how many seconds a worker read the page and asked the store about it.

    `digest` is that of the text, `pages` are about those in the index. `kept_apart` tells that only product attributes
    make the page new. Known pages of one `face` have one text now. The crawl adds how long it `waited`, and whether the
    page `is_repeated`, because a worker died after it may have remembered it. `unselected` is as in `PageContent`.
    """

    verdict: Verdict
    reading: float = 0.0
    store: float = 0.0
    digest: int = 0
    pages: int = 0
    kept_apart: bool = False
    face: int = 0
    unselected: bool = False
    waited: float = 0.0
    is_repeated: bool = False


class Done(NamedTuple):
    """The answer to a request that asks for no verdict. `pages` are those in the index, `note` what was asked for.

    `warnings` are what the store has warned of since the last such answer.
    """

    pages: int
    note: str = ""
    warnings: tuple[str, ...] = ()


class Retired(NamedTuple):
    """The last answer of a worker that has grown too large. It has done nothing of what it has not answered."""


Answer = Ready | CrawlSession | Judged | CrawlDedupError | Done | Retired


def answer_from(body: bytes) -> Answer:
    """Return what a worker answered. Raises ValueError for what no worker answers."""
    try:
        answer = json.loads(body)
    except (ValueError, RecursionError):
        answer = None
    match answer:
        case {"ready": (dict() | None) as plain}:
            return Ready(None if plain is None else error_from(plain))
        case {"session": [int(number), str(process)]}:
            return CrawlSession(number, process)
        case {
            "verdict": dict(values),
            "seconds": [reading, store],
            "digest": int(digest),
            "pages": int(pages),
            "kept_apart": bool(kept_apart),
            "unselected": bool(unselected),
            "face": int(face),
        } if values.get("kind") in tuple(Kind):
            verdict = _verdict_from({**values, "kind": Kind(values["kind"])})
            seconds = _seconds_from(reading), _seconds_from(store)
            return Judged(verdict, *seconds, digest, pages, kept_apart, face, unselected)
        case {"done": int(pages), "note": str(note), "warnings": list(warnings)}:
            return Done(pages, note, tuple(map(str, warnings)))
        case {"retired": True}:
            return Retired()
        case {"error": str()} as plain:
            return error_from(plain)
    raise ValueError("it answered nonsense")


def _verdict_from(values: dict[str, Any]) -> Verdict:
    if any(each.name not in values or not isinstance(values[each.name], _TYPES[each.name]) for each in fields(Verdict)):
        raise ValueError("it answered with a broken verdict")
    try:
        return Verdict.from_dict(values)
    except (LookupError, TypeError, ValueError) as error:
        raise ValueError("it answered with a broken coverage") from error


def _seconds_from(value: object) -> float:
    if not isinstance(value, int | float) or not 0 <= value < math.inf:
        raise ValueError("it answered with times that are none")
    return value


_TYPES: Final = {**get_type_hints(Verdict), "similarity": float | int | None, "coverage": dict | None}
