"""Read the page of a job: its fingerprint, and what the page says of itself. The same bytes are read once."""

from __future__ import annotations

import contextlib
import hashlib
import os
import time
from collections import OrderedDict
from typing import TYPE_CHECKING, Final, NamedTuple

from crawldedup.errors import PageError
from crawldedup.extraction.area import area_of
from crawldedup.reader import PageReader
from crawldedup.scrapy_plugin.reading.fields import fingerprint_fields
from crawldedup.scrapy_plugin.reading.messages import NO_CLAIM
from crawldedup.text.canonical import NO_LINKS, HeadLinks, head_links

if TYPE_CHECKING:
    from crawldedup.fingerprinting.fingerprint import Fingerprint
    from crawldedup.options import Options
    from crawldedup.scrapy_plugin.reading.messages import Claim, Job
    from crawldedup.text.keys import Key

_CACHED_PAGES: Final = 250
_WARM_UP: Final = b"<html><body><p>The first page pays for the imports of the extractor.</p></body></html>"


class Read(NamedTuple):
    """A job, what came of reading its page, what the page says of itself, and for how many seconds it was read.

    It is `unselected` as in `PageContent`.
    """

    job: Job
    fingerprint: Fingerprint | BaseException
    claim: Claim = NO_CLAIM
    seconds: float = 0.0
    unselected: bool = False

    def is_plain(self) -> bool:
        """Return True if the page can be asked about together with others."""
        return not isinstance(self.fingerprint, BaseException) and self.job.remember and self.original is None

    @property
    def original(self) -> str | None:
        """The original that the page names, if that makes its comparison more lenient."""
        return self.claim.original if self.job.is_lenient else None


class JobReader:
    """Reads pages as the options say, and remembers the last ones by their bytes."""

    def __init__(self, options: Options) -> None:
        self._areas = options.content
        self._pages = PageReader(options)
        self._last: OrderedDict[tuple[object, ...], tuple[Fingerprint, HeadLinks, bool]] = OrderedDict()
        self._secret = os.urandom(16)
        with contextlib.suppress(BaseException):
            self._pages.read(_WARM_UP)

    def read(self, job: Job, key: Key) -> Read:
        """Return what came of reading a page, maybe an error. `key` is that of the index."""
        begun = time.perf_counter()
        try:
            digest = hashlib.blake2b(job.body, key=self._secret).digest()
            known_by = (digest, job.encoding, job.form, area_of(self._areas, job.url), key.id)
            if (known := self._last.get(known_by)) is not None:
                self._last.move_to_end(known_by)
                return Read(job, known[0], job.claim(known[1]), unselected=known[2])
            fingerprint, links, unselected = self._last[known_by] = self._read(job, key)
            if len(self._last) > _CACHED_PAGES:
                self._last.popitem(last=False)
            claim = job.claim(links)
        except MemoryError as error:
            return Read(job, PageError.after(error, "reading"))
        # Whatever a library raises, even to end the program, or in Rust to panic, is one page's trouble.
        except BaseException as error:
            return Read(job, error)
        return Read(job, fingerprint, claim, time.perf_counter() - begun, unselected)

    def _read(self, job: Job, key: Key) -> tuple[Fingerprint, HeadLinks, bool]:
        if job.form == "fields":
            return fingerprint_fields(self._pages, job.body.decode(), key), NO_LINKS, False
        content = self._pages.content(job.html(), job.text(), job.encoding, job.url)
        links = NO_LINKS if content.source is None else head_links(content.source.tree)
        return self._pages.fingerprint(content, key), links, content.unselected
