"""Looking a page up without remembering it, with everything that led to the verdict."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from crawldedup.explain import Candidate as Candidate
from crawldedup.scrapy_plugin.middleware import deduplicator_for

if TYPE_CHECKING:
    from crawldedup.explain import Explanation
    from crawldedup.fingerprinting.fingerprint import Fingerprint
    from crawldedup.scrapy_plugin.settings import DedupSettings


class LookOnly:
    """An index that is asked as a crawl asks it, and not changed."""

    def __init__(self, settings: DedupSettings) -> None:
        """Raises ConfigurationError."""
        self._dedup = deduplicator_for(settings)
        self.reader = self._dedup.reader

    def __enter__(self) -> Self:
        self._dedup.look()
        return self

    def __exit__(self, *_: object) -> None:
        self._dedup.close()

    def look(self, url: str, page: Fingerprint, *, scope_key: str, canonical: str | None = None) -> Explanation:
        """See `Deduplicator.explain`."""
        return self._dedup.explain(url, fingerprint=page, scope_key=scope_key, canonical=canonical)
