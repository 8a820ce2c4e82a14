"""Make the query for the store from a page's fingerprint, and the verdict from the store's answer."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Final

from crawldedup.errors import KeyMismatchError
from crawldedup.options import LOWEST_SIMILARITY, check_similarity
from crawldedup.scope import page_key, salt_of, site_of, xored
from crawldedup.search.decision import identity_rule, likelihood_rule
from crawldedup.search.hot_prefixes import HotPrefixes
from crawldedup.search.limits import HOT_EFFORT
from crawldedup.search.method import Search, SearchContext
from crawldedup.search.plan import single_plan
from crawldedup.search.routing import home_of, partitions_to_ask
from crawldedup.stores.base import DIGEST_MASK, UNKNOWN_SHARD, Answer, Entry, Query, Retention, Status
from crawldedup.stores.revisits import has_new_text
from crawldedup.text.difference import difference
from crawldedup.text.kept import unpacked_text
from crawldedup.text.keys import NO_KEY
from crawldedup.verdict import Kind, Match, Verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from crawldedup.fingerprinting.fingerprint import Fingerprint
    from crawldedup.options import Options
    from crawldedup.page import PageRef
    from crawldedup.search.decision import WeightedThreshold
    from crawldedup.search.method import Method
    from crawldedup.stores.base import Record
    from crawldedup.text.keys import Key

CANONICAL_MARGIN: Final = 0.1
"""A page that names another one as its original is its duplicate from this much below the wanted similarity on."""

ROUTED_PAST: Final = 0.01
"""So many of the pages at the wanted similarity may be in partitions that are not asked; far fewer of nearer ones."""

_KINDS: Final = {
    Status.NEW: Kind.NEW,
    Status.NEAR: Kind.NEAR_DUPLICATE,
    Status.EXACT: Kind.EXACT_DUPLICATE,
    Status.REVISIT: Kind.REVISIT,
}


@dataclass(frozen=True, slots=True)
class Question:
    """The query about one page. In the bits of `page`, those of its scope and product attributes are XORed in."""

    url: str
    page: Fingerprint
    query: Query
    method: Method

    def match(self, record: Record) -> Match:
        """Return a record that the query found as a match."""
        exact = record.digest == self.query.entry.digest
        return Match(
            url=record.url,
            similarity=1.0 if exact else round(self.method.estimate(self.page, record.signature), 4),
            hamming=(self.page.search ^ record.search).bit_count(),
            exact=exact,
            seen_at=record.seen_at,
            copies=record.copies,
        )

    def verdict(self, answer: Answer) -> Verdict:
        """Return what the store's answer means for the page."""
        record = answer.record
        # Of a text that is too short, the bits are those of its digest.
        is_unlike = answer.changed and self.page.thin
        match = None if record is None or is_unlike else self.match(record)
        is_thin = self.page.thin and answer.status is Status.NEW
        return Verdict(
            kind=Kind.THIN if is_thin else _KINDS[answer.status],
            url=self.url,
            original=record.url or None if record else None,
            similarity=match.similarity if match else None,
            hamming=match.hamming if match else None,
            words=self.page.words,
            copies=record.copies if record else 0,
            changed=answer.changed,
            abandoned=answer.abandoned,
            replaces=answer.replaces,
            difference=self._difference(record)
            if record and (answer.changed or answer.status is Status.NEAR)
            else None,
            probes=len(self.query.plan),
            candidates=answer.candidates,
        )

    def _difference(self, earlier: Record) -> str | None:
        texts = unpacked_text(earlier.packed_text), unpacked_text(self.query.entry.packed_text)
        return None if texts[0] is None or texts[1] is None else difference(texts[0], texts[1])

    def preview(self, records: Sequence[Record], text_of: Callable[[int], bytes]) -> Verdict:
        """Return the verdict that the page would get, from the records that the query accepts, nearest first.

        `text_of` returns the packed text that is kept of the page with a URL key.
        """
        own = [record for record in records if record.url_key == self.query.entry.url_key]
        record = next(iter([*own, *records]), None)
        if record is None:
            return self.verdict(Answer(Status.NEW, None, changed=False, pages=0, candidates=0))
        is_exact = record.digest == self.query.entry.digest
        status = Status.REVISIT if own else Status.EXACT if is_exact else Status.NEAR
        counted = record if own else replace(record, copies=record.copies + 1)
        changed = bool(own) and has_new_text(self.query, record.signature, record.digest)
        if (changed or status is Status.NEAR) and self.query.entry.packed_text:
            counted = replace(counted, packed_text=text_of(record.url_key))
        return self.verdict(Answer(status, counted, changed, pages=0, candidates=len(records)))


class QueryBuilder:
    """Asks about pages as the options say. Learns from the answers where pages crowd, to search deeper there."""

    def __init__(self, method: Method, options: Options, key: Callable[[], Key] = lambda: NO_KEY) -> None:
        self._method = method
        self._options = options
        self._key = key
        self.retention = Retention(options.ttl_seconds, options.ttl_refresh, options.max_pages)
        self._hot_prefixes = HotPrefixes()

    def key_of(self, url: str, fingerprint: Fingerprint) -> Key:
        """Return the key of the index. Raises KeyMismatchError for a fingerprint that was made with another one."""
        key = self._key()
        if fingerprint.key_id != key.id:
            raise KeyMismatchError(
                f"the fingerprint of {url!r} was made with the key {fingerprint.key_id:016x} and the index has the key "
                f"{key.id:016x} (0: none): make it again with this Deduplicator, or with its `key`"
            )
        return key

    def question(
        self,
        ref: PageRef,
        fingerprint: Fingerprint,
        *,
        pages: int,
        partitions: int = 1,
        similarity: float | None = None,
        revisit_similarity: float | None = None,
    ) -> Question:
        """Return the question about a page for an index of about `pages` pages, in so many partitions.

        Raises KeyMismatchError for a fingerprint that was made with another key.
        """
        key = self.key_of(ref.url, fingerprint)
        scope = self.scope_key_of(ref)
        salt = salt_of(scope, self._method.signature_bytes, key)
        page = salted(fingerprint, scope, key)
        keys = tuple(table.key_of(page.search, page.verify) for table in self._method.tables)
        wanted = self.similarity(similarity)
        extra_bits = self._hot_prefixes.extra_bits(keys)
        size = max(pages, self._options.expected_pages, partitions) // partitions << extra_bits
        found = self._search(page, keys[0], SearchContext(wanted, self._options.recall, size))
        effort = HOT_EFFORT if extra_bits else 1
        is_global = not scope and self._options.scope == "global"
        route = partial(partitions_to_ask, page, similarity=wanted, recall=self._options.recall - ROUTED_PAST, key=key)
        query = Query(
            entry=Entry(
                url=ref.url if self._options.store_urls else "",
                url_key=self.url_key(ref),
                search=page.search,
                signature=page.verify,
                digest=page.digest & DIGEST_MASK,
                keys=keys,
                home=home_of(page, key) if is_global else None,
                packed_text=page.packed_text if self._options.keep_texts else b"",
            ),
            plan=found.plan,
            rule=found.rule,
            retention=self.retention,
            exact_only=page.thin,
            max_candidates=effort * self._method.max_candidates,
            max_keys=effort * self._method.max_keys,
            prefilter=found.prefilter,
            shard_key=None if is_global else salt.number,
            route=route if is_global else None,
            key_id=key.id,
            is_own=None if ref.identity is None else True,
            revisit_rule=_revisit_rule(page, revisit_similarity),
        )
        return Question(ref.url, page, query, self._method)

    def shard_key_of(self, ref: PageRef) -> int | None:
        """Return what pages share that may be compared with a page; None if all may."""
        scope = self.scope_key_of(ref)
        is_global = not scope and self._options.scope == "global"
        return None if is_global else salt_of(scope, self._method.signature_bytes, self._key()).number

    def learn(self, question: Question, answer: Answer) -> None:
        """Note how many candidates the page met."""
        if not question.page.thin and answer.status is not Status.REVISIT:
            query = question.query
            self._hot_prefixes.learn(query.entry.keys, answer.candidates, query.max_candidates)

    def url_key(self, ref: PageRef) -> int:
        """Return the 64 bits by which a page is recognised as itself within its scope."""
        return page_key(self.scope_key_of(ref), ref.url, ref.identity, self._key())

    def scope_key_of(self, ref: PageRef) -> str:
        """Return the key of the pages a page is compared with: as given, or what the scope says of the URL."""
        if ref.scope_key is not None:
            return ref.scope_key
        return site_of(ref.url) if self._options.scope == "site" else ""

    def with_shard_key(self, record: Record) -> Record:
        """Return a record of another index with the shard key that it has in this one."""
        if self._options.scope == "global":
            return record
        site = site_of(record.url) if self._options.scope == "site" else ""
        key = salt_of(site, self._method.signature_bytes, self._key()).number if site else UNKNOWN_SHARD
        return replace(record, shard_key=key)

    def similarity(self, wanted: float | None) -> float:
        """Return the similarity that a call wants, or that of the options. Raises ConfigurationError."""
        return self._options.similarity if wanted is None else check_similarity("similarity", wanted)

    @staticmethod
    def canonical_threshold(similarity: float) -> float:
        """Return the similarity that suffices for a page that names its original."""
        return max(similarity - CANONICAL_MARGIN, min(similarity, LOWEST_SIMILARITY + 0.01))

    def _search(self, page: Fingerprint, key: int, context: SearchContext) -> Search:
        if page.thin:
            return Search(single_plan(key), identity_rule(8 * self._method.signature_bytes))
        return self._method.search(page, context)


def salted(page: Fingerprint, scope: str, key: Key) -> Fingerprint:
    """Return a fingerprint as it is filed: in its bits, those of its scope and its product attributes are XORed."""
    size = len(page.verify)
    salt = salt_of(scope, size, key)
    facts = salt_of(f"facts {page.facts}" if page.facts else "", size, key)
    return replace(
        page,
        search=page.search ^ salt.number ^ facts.number,
        verify=xored(xored(page.verify, salt.signature), facts.signature),
        digest=page.digest ^ salt.number ^ facts.number,
    )


def _revisit_rule(page: Fingerprint, similarity: float | None) -> WeightedThreshold | None:
    """Return what decides whether a page is unchanged; None if texts must be equal.

    They must without weights to estimate by: those of thin pages, and of some methods.
    """
    if similarity is not None:
        check_similarity("revisit_similarity", similarity)
        if page.verify_weights.any():
            return likelihood_rule(page.verify_weights, similarity)
    return None
