"""Decide what happens to a page, given its verdict and the options of the crawl."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from crawldedup.crawling.options import CrawlOptions
from crawldedup.page import Page
from crawldedup.scope import page_key, site_of
from crawldedup.verdict import Kind, Verdict


class Fate(StrEnum):
    """What a crawl does with a page or item once it was checked."""

    DELIVERED = "delivered"
    MARKED = "marked"
    ITEMS_DROPPED = "items_dropped"
    DROPPED = "dropped"


_DONE: Final = {
    Fate.DROPPED: "dropped",
    Fate.ITEMS_DROPPED: "drops the items of",
    Fate.MARKED: "marks",
}


@dataclass(frozen=True, slots=True)
class Outcome:
    """The decision about a page: whether it passes, and how it is marked, logged and counted.

    A page is `refused` if it is an unwanted copy, has too few new words, or is `unchanged`. `flags`
    are added to `response.flags`.
    """

    fate: Fate
    refused: bool = False
    unchanged: bool = False
    flags: tuple[str, ...] = ()

    @property
    def done(self) -> str:
        """What was done with the page, in the words of the log."""
        return _DONE.get(self.fate, "delivers") if self.refused else "delivers"


def decide(
    verdict: Verdict, policy: CrawlOptions, *, seen: bool = False, is_repeat: bool = False
) -> Outcome:
    """Decide what happens to a page with this verdict.

    Args:
        verdict: The verdict.
        policy: The options for the page.
        seen: Whether the page has passed in this crawl before.
        is_repeat: Whether this crawl already delivered the page, and it wasn't requested again on
            purpose.
    """
    # Pages that a crawler remembered before it died may not have been delivered.
    is_news = verdict.changed or verdict.abandoned
    is_known = is_repeat or (policy.revisit == "drop" and not seen)
    unchanged = verdict.kind is Kind.REVISIT and is_known and not is_news
    refused = unchanged or _is_surplus(verdict, policy)
    fate = Fate.DELIVERED
    if policy.action == "mark":
        fate = Fate.MARKED if verdict.is_duplicate or unchanged else Fate.DELIVERED
    elif refused:
        # The links of a start page may depend on what happened in between, such as a login.
        is_dropped = policy.action == "drop" and not (is_repeat and unchanged)
        fate = Fate.DROPPED if is_dropped else Fate.ITEMS_DROPPED
    flags = []
    is_stranger = verdict.is_across_sites and policy.trusted_sites is not None and not refused
    if fate is Fate.MARKED or verdict.replaces or is_stranger:
        flags.append(f"crawldedup:{_mark_of(verdict, unchanged=unchanged)}")
    if verdict.coverage is not None and verdict.coverage.known_words:
        flags.append(f"crawldedup:new={verdict.coverage.share_new:.2f}")
    return Outcome(fate, refused, unchanged, tuple(flags))


def _mark_of(verdict: Verdict, *, unchanged: bool) -> str:
    if unchanged:
        return "unchanged"
    return "replaces" if verdict.replaces else str(verdict.kind)


def _is_surplus(verdict: Verdict, policy: CrawlOptions) -> bool:
    """Return whether a page is an unwanted copy, or has too few new words.

    A copy is unwanted if it exceeds `keep_per_cluster` and its original may own the text.
    """
    if verdict.is_duplicate:
        is_wanted = verdict.replaces or verdict.copies < policy.keep_per_cluster
        return not is_wanted and _may_own(verdict.original or "", verdict, policy)
    coverage = verdict.coverage
    if coverage is None or not isinstance(policy.paragraphs, float):
        return False
    words = coverage.new_words + coverage.known_words
    known = sum(words for url, words in coverage.sources if _may_own(url, verdict, policy))
    return words - known < policy.paragraphs * words


def _may_own(original: str, verdict: Verdict, policy: CrawlOptions) -> bool:
    site = site_of(original)
    # Items without a URL are not on any site.
    return policy.trusted_sites is None or (
        bool(site) and site in {*policy.trusted_sites, site_of(verdict.url)}
    )


def key_of(page: Page) -> int:
    """Return a hash by which a crawl remembers that a page has passed."""
    return page_key(page.scope_key or "", page.url, page.identity)
