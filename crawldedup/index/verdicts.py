"""Turn a store's answer about a page into the verdict that the user gets."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from crawldedup.fingerprinting.bits import Fingerprint
from crawldedup.key import Key
from crawldedup.marks.relation import Conflict
from crawldedup.marks.values import ShownMarks
from crawldedup.marks.visits import changes_between, new_values, shows_new_comments
from crawldedup.reading.difference import difference, unpacked_text
from crawldedup.search import decision
from crawldedup.stores.contract import DIGEST_MASK, Answer, PageName, Query, Record
from crawldedup.verdict import Kind, Match, Verdict

TextOf = Callable[[PageName], bytes]
"""Returns the compressed text of a remembered page, or b"" if the index doesn't keep texts."""


def verdict_of(url: str, page: Fingerprint, query: Query, answer: Answer) -> Verdict:
    """Make the verdict on a page from the store's answer.

    Args:
        url: The URL of the page, as it was given.
        page: The fingerprint that was made of the page.
        query: The query that the store answered.
        answer: The answer.
    """
    if answer.record is None:
        return _verdict_of_new_page(url, page, query, answer)
    return _verdict_beside(answer.record, url, page, query, answer)


def verdict_of_shell(url: str) -> Verdict:
    """Return the verdict on a page whose content a script has yet to load.

    There is nothing to compare, so the page isn't a copy and isn't remembered.
    """
    return Verdict(kind=Kind.THIN, url=url)


def _verdict_of_new_page(url: str, page: Fingerprint, query: Query, answer: Answer) -> Verdict:
    """Make the verdict on a page that nothing in the index matches.

    If a remembered page came near enough, the verdict names it, and says what kept it apart.
    """
    verdict = Verdict(
        kind=Kind.THIN if page.thin else Kind.NEW,
        url=url,
        words=page.words,
        probes=len(query.plan),
        candidates=answer.candidates,
    )
    rejected = answer.rejected
    if rejected is None:
        return verdict
    if answer.conflict is not Conflict.NONE:
        similarity = match_of(page, query, rejected).similarity
        reason = answer.conflict.name.lower()
    else:
        cost = query.rule.cost(query.record.signature, rejected.signature)
        similarity = round(query.rule.bounds.similarity(cost), 4)
        reason = "crowd" if cost <= query.rule.limit else "similarity"
    return replace(
        verdict,
        rejected=rejected.url or None,
        rejected_similarity=similarity,
        rejected_by=reason,
    )


def _verdict_beside(
    record: Record, url: str, page: Fingerprint, query: Query, answer: Answer
) -> Verdict:
    """Make the verdict on a page that matches a remembered page, its original or its earlier visit.

    Args:
        record: The remembered page.
        url: The URL of the page, as it was given.
        page: The fingerprint that was made of the page.
        query: The query about the page.
        answer: The store's answer.
    """
    is_other = record.digest != query.record.digest
    if page.thin and is_other and record.signature != query.record.signature:
        # The bits of thin pages come from digests, so the similarity of different texts means
        # nothing.
        similarity = hamming = None
    else:
        match = match_of(page, query, record)
        similarity = match.similarity
        hamming = match.hamming
    changed = answer.changed and not _is_same_with_all_numbers(page, query, record)
    return Verdict(
        kind=answer.kind,
        url=url,
        original=record.url or None,
        similarity=similarity,
        hamming=hamming,
        words=page.words,
        copies=record.copies,
        changed=changed,
        changed_by=_changes(query, record) if changed else (),
        abandoned=answer.abandoned,
        replaces=answer.replaces,
        by_view=answer.kind is Kind.NEAR_DUPLICATE and _needs_view(query, record),
        probes=len(query.plan),
        candidates=answer.candidates,
        difference=_difference(record, query),
    )


def _needs_view(query: Query, record: Record) -> bool:
    """Return whether two pages are copies only because they are views of one page."""
    cost = query.rule.cost(query.record.signature, record.signature)
    return cost > query.rule.limit and query.has_certain_view(record.marks)


def with_new_values(
    verdict: Verdict, query: Query, record: Record, shown: ShownMarks | None, key: Key
) -> Verdict:
    """Add the new values of changed marks, such as a new price, to the verdict on a changed page.

    If there are none, the verdict is returned as it is.

    Args:
        verdict: The verdict.
        query: The query about the page.
        record: The record of the earlier visit.
        shown: The marks of the page as it shows them, if they are known.
        key: The key of the index.
    """
    if shown is None:
        return verdict
    values = new_values(query.record.marks, record.marks, shown, key)
    if not values:
        return verdict
    difference = ", ".join(values)
    if verdict.difference:
        difference += f"; {verdict.difference}"
    return replace(verdict, difference=difference)


def _changes(query: Query, record: Record) -> tuple[str, ...]:
    """Return what has changed on a page since its last visit, as in `Verdict.changed_by`."""
    changes = changes_between(query.record.marks, record.marks)
    if record.digest != query.record.digest:
        changes += ("text",)
    return changes


def _is_same_with_all_numbers(page: Fingerprint, query: Query, record: Record) -> bool:
    """Return whether a page is the same as a remembered one, volatile lines and comments included.

    The earlier page may have been remembered before its volatile lines were known.
    """
    if page.full is None or query.shows_other_marks(record.marks):
        return False
    if shows_new_comments(query.record.marks, record.marks):
        return False
    # The query has the digest as it is filed: XORed with the page's scope, and cut to 32 bits.
    full_digest = query.record.digest ^ ((page.digest ^ page.full.digest) & DIGEST_MASK)
    return record.digest == full_digest


def _difference(record: Record, query: Query) -> str | None:
    """Show how a page's text differs from the earlier one, or return None if one is missing."""
    earlier = unpacked_text(record.packed_text)
    if earlier is None:
        return None
    text = unpacked_text(query.record.packed_text)
    if text is None:
        return None
    return difference(earlier, text)


def match_of(page: Fingerprint, query: Query, record: Record) -> Match:
    """Make the match that a user gets for a remembered page that a search has found.

    Args:
        page: The fingerprint that was made of the page.
        query: The query about the page.
        record: A record that the query found.
    """
    asked = query.record
    is_exact = record.digest == asked.digest
    similarity = 1.0
    if not is_exact:
        similarity = decision.estimate_similarity(
            page.verify_weights, asked.signature, record.signature
        )
    return Match(
        url=record.url,
        similarity=round(similarity, 4),
        # The bits of thin pages come from digests, so their distance means nothing.
        hamming=0 if page.thin else (asked.search ^ record.search).bit_count(),
        exact=is_exact,
        seen_at=record.seen_at,
        added_at=record.added_at,
        copies=record.copies,
    )


def preview(query: Query, records: Sequence[Record], text_of: TextOf) -> Answer:
    """Predict the answer that a store would give to a query, without remembering the page.

    Args:
        query: The query about a page.
        records: The records that the query accepts and those of similar siblings, nearest first.
        text_of: Returns the compressed text of a remembered page.
    """
    sibling: Record | None = None
    for record in records:
        if record.url_key == query.record.url_key:
            return _preview_of_revisit(query, record, len(records), text_of)
    for record in records:
        if not query.conflict_with(record.marks):
            return _preview_of_duplicate(query, record, len(records), text_of)
        sibling = sibling or record
    return Answer(
        kind=Kind.NEW,
        record=None,
        changed=False,
        pages=0,
        candidates=len(records),
        rejected=sibling,
        conflict=query.conflict_with(sibling.marks) if sibling else Conflict.NONE,
    )


def _preview_of_revisit(query: Query, record: Record, candidates: int, text_of: TextOf) -> Answer:
    changed = query.has_new_text(record)
    if changed:
        record = _with_text(record, query, text_of)
    return Answer(Kind.REVISIT, record, changed=changed, pages=0, candidates=candidates)


def _preview_of_duplicate(query: Query, record: Record, candidates: int, text_of: TextOf) -> Answer:
    kind = Kind.EXACT_DUPLICATE
    counted = replace(record, copies=record.copies + 1)
    if record.digest != query.record.digest:
        kind = Kind.NEAR_DUPLICATE
        counted = _with_text(counted, query, text_of)
    return Answer(kind, counted, changed=False, pages=0, candidates=candidates)


def _with_text(record: Record, query: Query, text_of: TextOf) -> Record:
    """Look up the text of the earlier page, if the query has a text to compare it with."""
    if not query.record.packed_text:
        return record
    return replace(record, packed_text=text_of(PageName(record.url_key, query.shard_key)))
