"""Warn about hosts in ``CRAWLDEDUP_IGNORE_MARKS`` that may be misspelled.

No page of the crawl came from them.
"""

from collections.abc import Sequence
from typing import Final

from crawldedup.checks import did_you_mean
from crawldedup.marks.quiet import IgnoredMarks, host_of, hosts_at
from crawldedup.scope import EVERY_HOST
from crawldedup.text import printable

_SETTING: Final = "CRAWLDEDUP_IGNORE_MARKS"
_MOST_MET: Final = 100
"""The number of crawled hosts to remember, so the right spelling can be suggested."""

_MOST_NAMED: Final = 20


class UnmetHosts:
    """Keeps track of the hosts in the setting from which no page has come yet.

    Args:
        ignored: The setting: kinds of marks by host.
    """

    def __init__(self, ignored: IgnoredMarks | None) -> None:
        self._unmet: IgnoredMarks = {
            host: kinds for host, kinds in (ignored or {}).items() if host != EVERY_HOST
        }
        self._met: dict[str, None] = {}

    def note(self, url: str) -> None:
        """Note that the page at a URL was checked, so its host was met."""
        if not self._unmet:
            return
        if len(self._met) < _MOST_MET:
            self._met[host_of(url)] = None
        for host in hosts_at(self._unmet, url):
            self._unmet = {name: self._unmet[name] for name in self._unmet if name != host}

    def complaints(self) -> Sequence[str]:
        """Return a sentence for each of the first hosts that weren't met.

        For a crawl without pages, there are none.
        """
        if not self._met:
            return []
        met = [printable(host) for host in self._met]
        return [
            f"{_SETTING} names {host!r}, but no page of this host was checked, so nothing was "
            f"ignored there{did_you_mean(host, met)}"
            for host in list(self._unmet)[:_MOST_NAMED]
        ]
