"""The commands that ask an index: check, find, explain, compare, forget, clear and info.

They raise ConfigurationError, StoreError and the errors of sources.
"""

from argparse import Namespace
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, nullcontext
from dataclasses import asdict, replace
from typing import Any, Final

from rich.console import RenderableType
from rich.text import Text

from crawldedup import wire
from crawldedup.commands.command import (
    Output,
    flag_of,
    make_deduplicator,
    require_existing,
    safe_message,
)
from crawldedup.commands.feeds import Fields
from crawldedup.commands.sources import readable_sources, require_sources, single_source, under_url
from crawldedup.deduplicator import Deduplicator
from crawldedup.errors import ConfigurationError, PageError
from crawldedup.index import explain as explaining
from crawldedup.index.explain import INDEXES, Candidate, Comparison, Explanation
from crawldedup.index.queries import expected_recall
from crawldedup.marks.address import Address
from crawldedup.marks.reasons import kind_in_words
from crawldedup.page import Page
from crawldedup.passwords import shown_url
from crawldedup.reading.extract import BUILT_IN_EXTRACTORS
from crawldedup.reading.omissions import in_words
from crawldedup.scope import TOLD_APART, site_of
from crawldedup.stores.profiles import ProfileParts
from crawldedup.text import pluralize, printable
from crawldedup.verdict import Match, Verdict, describe

_SHOWN_TEXT: Final = 200
_SHOWN_CHANGES: Final = 20
_LONGEST_SIDE: Final = 300
_GREYED: Final = "dim"
_LEAST_OF_VIEWS: Final = 0.5  # the exact similarity below which not even views are copies


def _given_pages(given: Namespace, output: Output) -> Iterator[Page]:
    require_sources(given.pages)
    pages = readable_sources(
        given.pages,
        output.unreadable,
        Fields.of(given),
        on_skip=output.skip,
        on_note=output.error,
    )
    return under_url(pages, given.url)


def _in_words(verdict: Verdict) -> str:
    return f"{printable(verdict.url)}: {describe(verdict)}"


def _paragraphs_in_words(verdict: Verdict) -> Iterator[str]:
    coverage = verdict.coverage
    for each in coverage.paragraphs if coverage is not None and coverage.known_words else ():
        some = f", {each.known_words:,} of them known" if 0 < each.known_words < each.words else ""
        source = f", on {printable(each.url)}" if each.url else ""
        yield f"    {each.kind:11} {each.words:5,} words{some}{source}: {printable(each.excerpt)}"


def check(dedup: Deduplicator, given: Namespace, output: Output) -> None:
    """Decide about pages and remember them. Many pages are sent to the store in one call.

    If no page can be compared, the exit status is 1.
    """
    inputs = output.counted(_given_pages(given, output))
    is_any = False
    for verdict in dedup.check_many(
        inputs, on_unreadable=lambda page, error: output.skip(page.url, error)
    ):
        is_any = True
        output.show(wire.plain(verdict), _in_words(verdict), *_paragraphs_in_words(verdict))
    if not is_any:
        # If none of the pages that a user names can be compared, it's probably a mistake.
        output.status = 1


@contextmanager
def _fitting(dedup: Deduplicator, given: Namespace, output: Output) -> Iterator[Deduplicator]:
    """Open an existing index with the options that it was made with, as far as they are known.

    Other options that the index was made with, such as the areas that were compared, are reported,
    and so is an option that the user gave with a different value.
    """
    profile = require_existing(dedup)
    parts = ProfileParts.of(profile)
    changes: dict[str, Any] = {}
    if parts is not None:
        extractor = parts.extractor.partition("-")[0]
        # Any other extractor is somebody's own program, which a store must not choose.
        if extractor in BUILT_IN_EXTRACTORS:
            changes["extractor"] = extractor
        changes["distinguish"] = parts.distinguish
    for name, value in changes.items():
        if getattr(given, name, value) != value:
            _tell_overridden(name, getattr(given, name), repr(value), output)
    with closing(make_deduplicator(given, **changes)) as fitting:
        for change in fitting.accept_profile().values():
            output.error(f"{change}: the similarities are based on what is compared now")
        yield fitting


def _tell_overridden(name: str, value: object, index_value: str, output: Output) -> None:
    output.error(
        f"{flag_of(name)} is {value!r}, but the index was made with {index_value}, which is used"
    )


def find(dedup: Deduplicator, given: Namespace, output: Output) -> None:
    """Show the remembered pages that resemble a page."""
    page = single_source(given.page)
    if given.url:
        page = replace(page, url=given.url)
    require_existing(dedup)
    with _fitting(dedup, given, output) as index:
        scope = getattr(given, "scope", None)
        if scope is not None and index.scopes.scopes and scope not in index.scopes.scopes:
            index_scopes = " and ".join(repr(name) for name in sorted(index.scopes.scopes))
            _tell_overridden("scope", scope, index_scopes, output)
        matches = _matches_in_scopes(index, page, scope, output)
    lines = [] if matches else ["no remembered page resembles it"]
    for match in matches:
        kind = "exact" if match.exact else f"{match.similarity:.3f}"
        copies = "copy" if match.copies == 1 else "copies"
        sibling = f", a sibling: {kind_in_words(match.sibling)}" if match.sibling else ""
        lines.append(
            f"{kind}: {printable(match.url) or '(a page without URL)'} ({match.copies:,} {copies} "
            f"seen){sibling}"
        )
    output.show([wire.plain(match) for match in matches], *lines)


def _matches_in_scopes(
    index: Deduplicator, page: Page, scope: str | None, output: Output
) -> list[Match]:
    """Return the remembered pages that resemble a page, nearest first.

    They are in one scope if the index has it, or else in any scope of the index.

    Raises ConfigurationError if there are none, but the index has pages of sites, and the page has
    no site.
    """
    scopes = index.scopes.of_page(page.url, scope)
    matches: list[Match] = []
    for scope_key in scopes.keys:
        matches += index.find(
            html=page.html,
            text=page.text,
            title=page.title,
            encoding=page.encoding,
            url=page.url,
            scope_key=scope_key,
        )
    if scopes.needs_url:
        by_site = (
            "the index compares the pages of each site with each other (scope 'site'), and the "
            "page has no site: add --url with its address"
        )
        if not matches:
            raise ConfigurationError(by_site)
        output.error(f"{by_site} to find those of its site as well")
    return sorted(matches, key=lambda match: -match.similarity)


def explain_given(dedup: Deduplicator, given: Namespace, output: Output) -> None:
    """Explain the verdicts that the pages on the command line would get now."""
    explain(dedup, _given_pages(given, output), output, detail=given.detail)


def explain(
    dedup: Deduplicator, pages: Iterable[Page], output: Output, *, detail: bool = False, **meta: Any
) -> None:
    """Show the verdict that a crawl would give now for each page, and why.

    `meta` has arguments for each `Page`. If no page can be compared, the exit status is 1.
    """
    require_existing(dedup)
    options = dedup.options
    is_any = False
    for page in output.counted(pages):
        try:
            told = dedup.explain(
                page.url,
                html=page.html,
                text=page.text,
                title=page.title,
                encoding=page.encoding,
                **meta,
            )
        except PageError as error:
            output.skip(page.url, error)
            continue
        is_any = True
        plain = wire.plain(told)
        value = {
            **plain.pop("verdict"),
            "wanted_similarity": plain.pop("similarity"),
            "wanted_recall": options.recall,
            "compared": plain.pop("candidates"),
            **plain,
            "text": (told.text or "")[:_SHOWN_TEXT],
            "store": shown_url(options.store),
            "namespace": options.namespace,
            "scope": options.scope,
            "scope_key": meta.get("scope_key")
            or (site_of(page.url) if options.scope == "site" else ""),
        }
        output.show(value, *_explanation_in_words(value, told, detail))
    if not is_any:
        output.status = 1


def _explanation_in_words(
    value: dict[str, Any], told: Explanation, detail: bool
) -> Iterator[RenderableType]:
    """Yield the lines that explain a verdict. Costs and distant candidates need `detail`."""
    verdict = told.verdict
    scope_key = printable(value["scope_key"])
    yield _in_words(verdict)
    yield from _paragraphs_in_words(verdict)
    yield (
        f"  text       {verdict.words:,} words: "
        f"{printable(' '.join((told.text or '').split()), _SHOWN_TEXT)}"
    )
    for line in told.left_out:
        yield (
            f"  volatile   {printable(line, _SHOWN_TEXT)}: not compared, its numbers change with "
            "every load"
        )
    for line in in_words(told.omissions):
        yield Text(f"  left out   {printable(line, _SHOWN_TEXT)}", _GREYED)
    for mark in told.marks:
        yield f"  mark       {printable(mark, _SHOWN_TEXT)}"
    yield (
        f"  index      {printable(value['store'])}, namespace {value['namespace']}, "
        f"{pluralize(told.pages, 'page')}"
    )
    yield f"  scope      {value['scope']}{scope_key and f': {scope_key}'}"
    if told.threshold is None:
        yield "  copies     only exact copies, because the page is thin"
    else:
        crowd = f", because {told.crowd} pages resemble it equally" if told.crowd > 1 else ""
        yield f"  copies     at an estimated similarity of {told.threshold:.3f} or more{crowd}"
    if detail:
        compared = (
            f"{pluralize(verdict.probes, 'probe')}, {pluralize(verdict.candidates, 'page')} "
            "compared"
        )
        yield f"  search     {compared}, accepted up to a cost of {told.limit}"
    near = [each for each in told.candidates if detail or each.match.similarity >= 0.5][:10]
    for candidate in near:
        yield from _candidate_in_words(candidate, detail)
    if more := len(told.candidates) - len(near):
        yield f"             and {more} more{'' if detail else ', which are less similar'}"


def _candidate_in_words(candidate: Candidate, detail: bool) -> Iterator[str]:
    """Yield two lines about a candidate: what became of it, and how similar it is."""
    match = candidate.match
    outcome = "accepted" if candidate.accepted else "refused"
    if match.exact:
        outcome = "same text"
    apart = ""
    if candidate.sibling is not None:
        outcome = "sibling"
        apart = f", {kind_in_words(candidate.sibling)}"
    elif candidate.is_view and not match.exact:
        outcome = "view"
        apart = ", the same address except for a view that its site has proved"
    elif candidate.has_former_text and not match.exact:
        outcome = "same text"
        apart = ", which a copy had before this page replaced it"
    yield f"  {outcome:9}  {printable(match.url) or 'a page without URL'}{apart}"
    probe = "known by its URL" if candidate.probe is None else f"found by probe {candidate.probe}"
    numbers = f", cost {candidate.cost}, {probe}" if detail else ""
    yield f"             similarity {_estimate(candidate)}{numbers}"


def _estimate(candidate: Candidate) -> str:
    return f"{candidate.match.similarity:.3f}" + (
        f" ± {candidate.deviation:.3f}" if candidate.deviation else ""
    )


def compare(dedup: Deduplicator, given: Namespace, output: Output) -> None:
    """Show how similar two pages are, and what an index that knows the first one would decide.

    With --store, that is the index in the store. Without it, ten indexes are tried.
    """
    pages = [single_source(name) for name in given.pages]
    if given.urls is not None:
        pages = [replace(page, url=url) for page, url in zip(pages, given.urls, strict=True)]
    first, second = pages
    with (
        closing(make_deduplicator(given))
        if given.store is not None
        else nullcontext(dedup) as index
    ):
        if index is not dedup:
            require_existing(index)
        index_name = f"{shown_url(index.options.store)}, namespace {index.options.namespace}"
        where = "" if index is dedup else f", for {index_name}"
        values = {
            **index.options.index_values(),
            "key": index.key.secret or 0,
            "hosts": index.hosts,
        }
        told = explaining.compare(first, second, **values)
    output.show(wire.plain(told), *_comparison_in_words(told, first, where, given.detail))


def _comparison_in_words(
    comparison: Comparison, first: Page, where: str, detail: bool
) -> Iterator[RenderableType]:
    """Yield the lines that describe a comparison, for one index (`where`) or for ten."""
    if comparison.apart is not None:
        yield f"kept apart: {printable(comparison.apart, _LONGEST_SIDE)}"
    similarity = ""
    if comparison.similarity is not None:
        similarity = f"{comparison.similarity:.3f} similar to"
    if where:
        yield f"{_in_words(comparison.verdict)}{where}"
        yield f"  similarity  {similarity} {printable(first.url)} (exact, by runs of three words)"
    else:
        drops = {0: "none", INDEXES: "all"}.get(comparison.drops, str(comparison.drops))
        url = printable(comparison.verdict.url)
        yield f"{url}: {similarity or 'compared with'} {printable(first.url)}"
        yield f"  verdict     of {INDEXES} indexes that know that page, {drops} would drop this one"
    yield f"  why         {_reason_of(comparison, where)}"
    if not where and _may_be_view(comparison, first):
        yield (
            "  note        their addresses look like views of one page: a crawl that has proved "
            "such a view needs only half of the text; name its --store"
        )
    candidate = comparison.candidate
    if detail and not comparison.thin:
        yield (
            f"  estimate    {_estimate(candidate)}, cost {candidate.cost} of at most "
            f"{comparison.limit}"
        )
        probe = f"probe {candidate.probe}" if candidate.probe else "no probe"
        yield (
            f"  search      {candidate.match.hamming} of 64 search bits differ, {probe} finds "
            "the first page"
        )
    yield f"  words       {comparison.words[0]:,} and {comparison.words[1]:,}"
    for place, text, omissions in zip(
        ("first", "second"), comparison.texts, comparison.omissions, strict=True
    ):
        yield f"  {place:10}  {printable(' '.join(text.split()), _SHOWN_TEXT)}"
        for line in in_words(omissions):
            yield Text(f"  left out    {printable(line, _SHOWN_TEXT)}", _GREYED)
    yield from _differences_in_words(comparison)


def _may_be_view(comparison: Comparison, first: Page) -> bool:
    """Return whether the decision about two pages could change once their views are proved.

    Views are parts of their addresses, and each index has to prove them.
    """
    if comparison.drops == INDEXES or comparison.apart is not None:
        return False
    if comparison.similarity is None or comparison.similarity < _LEAST_OF_VIEWS:
        return False
    address = Address.of(first.url)
    its = Address.of(comparison.verdict.url)
    if address is None or its is None or address.views == its.views:
        return False
    return replace(address, views=()) == replace(its, views=())


def _reason_of(comparison: Comparison, where: str) -> str:
    """Say why a crawl would drop the second page or keep it."""
    candidate = comparison.candidate
    if comparison.apart == TOLD_APART:
        return TOLD_APART
    if comparison.apart is not None and (candidate.accepted or candidate.match.exact):
        return "they read alike, but their marks say that their content is different"
    if candidate.match.exact:
        return "they have the same text"
    if comparison.thin:
        return "at least one page is too thin to be compared, and their texts differ"
    if where and candidate.accepted and candidate.probe is None:
        return (
            "similar enough, but the search does not find the first page, which happens to a few "
            "in a hundred"
        )
    if candidate.is_view:
        return (
            "their addresses differ only in a view that the site has proved, so half of the text "
            f"is enough; this one is {_estimate(candidate)}"
        )
    estimate = f"this one is {_estimate(candidate)}" if where else "each index has its own"
    limit = f"copies count at an estimate of about {comparison.threshold:.3f} or more"
    if comparison.names_first:
        limit = f"the second page names the first one as its canonical page, so {limit}"
    return f"{limit}; {estimate}"


def _differences_in_words(comparison: Comparison) -> Iterator[RenderableType]:
    """Yield the marks and the passages that differ."""
    before, after = comparison.marks
    for sign, style, marks, others in (("-", "red", before, after), ("+", "green", after, before)):
        for mark in marks:
            if mark not in others:
                yield Text(f"  {sign} mark ").append(printable(mark, _LONGEST_SIDE), style)
    for change in comparison.changes[:_SHOWN_CHANGES]:
        parts = zip(change.marked, ("", "red", "green", ""), strict=True)
        shown = [Text(printable(text, _LONGEST_SIDE), style) for text, style in parts if text]
        yield Text("  ").append_text(Text(" ").join(shown))
    if (more := len(comparison.changes) - _SHOWN_CHANGES) > 0:
        yield f"  and {pluralize(more, 'passage')} more"


def info(dedup: Deduplicator, _: Namespace, output: Output) -> None:
    """Show the figures of an index, no matter which options it was made with."""
    require_existing(dedup)
    dedup.accept_profile()
    figures: dict[str, Any] = asdict(dedup.info())
    for name in ("bytes", "table_bytes"):
        figures[f"{name}_a_page"] = (
            round(figures[name] / figures["pages"], 1) if figures["pages"] else None
        )
    options = dedup.options
    recall = expected_recall(
        similarity=options.similarity, recall=options.recall, pages=figures["pages"]
    )
    figures["expected_recall"] = round(recall, 3)
    figures["scopes"] = list(dedup.scopes.scopes)
    lines = [
        f"{name.replace('_', ' '):20} " + _shown_figure(value)
        for name, value in figures.items()
        if name != "warnings" and value not in (None, [])
    ]
    output.show(
        figures, *lines, *(f"warning: {safe_message(warning)}" for warning in figures["warnings"])
    )


def _shown_figure(value: object) -> str:
    if isinstance(value, int | float):
        return f"{value:,}"
    return printable(", ".join(value) if isinstance(value, list) else str(value))


def forget_given(dedup: Deduplicator, given: Namespace, output: Output) -> None:
    """Remove the pages with the URLs on the command line."""
    forget(dedup, [(url, None, None) for url in given.urls], output)


def forget(
    dedup: Deduplicator, pages: Sequence[tuple[str, str | None, str | None]], output: Output
) -> None:
    """Remove pages from an index, no matter which options it was made with.

    The pages are given by their URLs, identities and scope keys. Without a scope key, a page is
    removed from every scope.
    """
    require_existing(dedup)
    dedup.accept_profile()
    removed = 0
    for url, identity, scope_key in pages:
        scope_keys = dedup.scopes.all_of(url) if scope_key is None else [scope_key]
        was_known = [dedup.forget(url, identity=identity, scope_key=key) for key in scope_keys]
        removed += any(was_known)
    if dedup.scopes.has_more and any(scope_key is None for _, _, scope_key in pages):
        output.error(
            "the index has pages in more scopes than it can name, and was not searched in all of "
            "them: remove the pages by their scope keys in a program (Deduplicator.forget)"
        )
        output.status = 1
    verb = "was" if len(pages) == 1 else "were"
    output.show(
        {"forgotten": removed},
        f"{removed:,} of {pluralize(len(pages), 'page')} {verb} known and forgotten",
    )


def clear(dedup: Deduplicator, given: Namespace, output: Output) -> None:
    """Remove all pages of an existing namespace. Raises ConfigurationError without --yes."""
    namespace = dedup.options.namespace
    if not given.yes:
        raise ConfigurationError(
            f"this removes every page of the namespace {namespace!r}; add --yes if that is what "
            "you want"
        )
    require_existing(dedup)
    dedup.clear()
    output.show({"cleared": namespace}, f"the namespace {namespace} is empty now")
