"""The demo site: some hundred pages with the near duplicates of the real web, and who is whose copy.

Everything is built in memory from the texts of this package, the same on every run.
"""

from __future__ import annotations

import datetime
import json
import re
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from crawldedup.demo.content import LAST_YEAR, Content, of_month
from crawldedup.demo.pages import SitePage, all_pages
from crawldedup.demo.reply import NOT_FOUND, Reply, path_of, target_of
from crawldedup.demo.templates import magazine

if TYPE_CHECKING:
    from collections.abc import Mapping

MANIFEST_PATH = "/manifest.json"
_MONTH = re.compile(r"/calendar/(\d{4})-(\d\d)/")


@dataclass(frozen=True, slots=True)
class Entry:
    """A line of the manifest.

    Pages of one `cluster` say the same; `kind` names how the page came to be. Pages with `judged` False have
    so few words, or so broken an encoding, that both keeping and dropping them is right.
    """

    path: str
    kind: str
    cluster: str
    judged: bool


class DemoSite:
    """Answers requests for the demo site, and knows the truth about its pages."""

    name = "the demo site"

    def __init__(self) -> None:
        self._pages: Mapping[str, SitePage] = all_pages()

    @property
    def start_paths(self) -> list[str]:
        """The front page: everything else can be reached from it."""
        return ["/"]

    @property
    def pages(self) -> Mapping[str, SitePage]:
        """All pages by path and query, without the endless calendar."""
        return self._pages

    def reply(self, target: str) -> Reply:
        """Answer a path, with or without a query."""
        if target == MANIFEST_PATH:
            return Reply(self.manifest_json().encode(), "application/json")
        page = self._pages.get(target) or self._pages.get(path_of(target))
        if page is not None:
            return page.reply
        month = _month_of(target)
        return Reply(magazine(month).encode()) if month is not None else NOT_FOUND

    def manifest(self) -> dict[str, Entry]:
        """The truth about every page that can be judged, by path and query, without the endless calendar."""
        return {
            path: Entry(path, page.kind, page.cluster, page.judged)
            for path, page in self._pages.items()
            if page.cluster
        }

    def entry(self, url: str) -> Entry | None:
        """The truth about a URL of this site, whatever its host; None for what is not a page."""
        target = target_of(url)
        page = self._pages.get(target) or self._pages.get(path_of(target))
        if page is not None:
            return Entry(target, page.kind, page.cluster, page.judged) if page.cluster else None
        if _month_of(target) is not None:
            return Entry(target, "calendar", target, judged=False)
        return None

    def manifest_json(self) -> str:
        """The manifest as the server gives it."""
        return json.dumps([asdict(entry) for entry in self.manifest().values()], indent=1)


def _month_of(target: str) -> Content | None:
    match = _MONTH.fullmatch(path_of(target))
    if match is None:
        return None
    year, month = int(match[1]), int(match[2])
    return of_month(datetime.date(year, month, 1)) if 1 < year <= LAST_YEAR and 1 <= month <= 12 else None
