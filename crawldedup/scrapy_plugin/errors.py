"""Errors of a crawl: what errbacks and pipelines receive for a duplicate, and wrong rules of one request."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy.exceptions import DropItem, IgnoreRequest

from crawldedup.errors import CrawlDedupError

if TYPE_CHECKING:
    from crawldedup.advice.rules import Rule
    from crawldedup.verdict import Verdict


class DuplicatePageError(IgnoreRequest):
    """Raised for a page that is dropped, as a duplicate or as an unchanged revisit.

    The errback of the request receives it.

    Attributes:
        verdict: The verdict on the page, which names the original.
    """

    def __init__(self, reason: str, verdict: Verdict) -> None:
        self.verdict = verdict
        super().__init__(reason)


class PredictedDuplicateError(IgnoreRequest):
    """Raised for a request that is not made, because a rule takes it for a copy.

    The errback of the request receives it. If the rule proves wrong, the request is made after all, and its callback
    is called.

    Attributes:
        target: The URL that the request is taken for a copy of.
        rules: The rules that lead from one URL to the other.
    """

    def __init__(self, target: str, rules: tuple[Rule, ...]) -> None:
        self.target = target
        self.rules = rules
        super().__init__(f"predicted to be a copy of {target}")


class DuplicateItemError(DropItem):
    """Raised for an item that is dropped as a duplicate.

    Attributes:
        verdict: The verdict on the item, which names the original.
    """

    def __init__(self, reason: str, verdict: Verdict) -> None:
        self.verdict = verdict
        super().__init__(reason, log_level="DEBUG")


class OverrideError(CrawlDedupError):
    """Raised for a request whose ``meta["crawldedup"]`` is not allowed. Its page passes."""

    counter = "meta"
