"""The command `restore`, which brings back items that a crawl has dropped and set aside."""

from argparse import Namespace
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Final, Self
from urllib.parse import urlsplit

from crawldedup.apart import Pair, lines_of, read_pairs
from crawldedup.aside import Aside, items_in
from crawldedup.commands.command import (
    PROFILE_OPTIONS,
    STANDARD,
    Output,
    check_target,
    flag_of,
    make_deduplicator,
    target_file,
)
from crawldedup.commands.feeds import Fields, page_of
from crawldedup.commands.moments import moment_of
from crawldedup.commands.sources import readable_sources
from crawldedup.errors import ConfigurationError, PageError
from crawldedup.options import check_similarity, options_of
from crawldedup.page import Page
from crawldedup.patterns import check_patterns, matches
from crawldedup.scope import site_of
from crawldedup.text import pluralize, printable
from crawldedup.verdict import Kind

_COMPARING: Final = tuple(name for name in PROFILE_OPTIONS if name != "apart")
_MOST_SITES: Final = 10
_OTHER_FORMATS: Final = {".csv", ".tsv", ".xml", ".parquet", ".xlsx", ".html"}


def restore(given: Namespace, output: Output) -> None:
    """Write the dropped items that meet the conditions on the command line.

    Raises:
        ConfigurationError: A condition or the output is not allowed.
        OSError: A file cannot be read or written.
    """
    wanted = _Wanted(given)
    paths = [Path(name) for name in given.files]
    target = Path(given.output)
    _check_files(paths)
    # Feeds may also be folders or patterns of names.
    read_files = [*paths, *filter(Path.exists, map(Path, given.kept or ()))]
    if given.output != STANDARD:
        _check_name(target)
        check_target(target, read_files, force=given.force)
    if given.apart:
        _check_apart(Path(given.apart), read_files, target)
    if _decides_again(given):
        _check_fields(paths, given)
    told_apart = _ToldApart(given.apart) if given.apart else None
    read = 0
    restored = 0
    unreadable = 0
    with ExitStack() as stack:
        judge = stack.enter_context(_Judge(given, output)) if _decides_again(given) else None
        out = stack.enter_context(target_file(target, force=given.force))
        for aside in _items_of(paths):
            if aside is None:
                unreadable += 1
                continue
            read += 1
            if wanted.holds_for(aside) and (judge is None or judge.keeps(aside)):
                restored += 1
                out.write(aside.line())
                if told_apart is not None:
                    told_apart.add(aside)
    if told_apart is not None:
        told_apart.write(output)
    words = f"{restored:,} of {pluralize(read, 'item')} restored"
    if given.output == STANDARD:
        output.error(words)
    else:
        values = {"output": given.output, "restored": restored, "set_aside": read}
        output.show(values, f"{words} to {printable(given.output)}")
    _tell_missing(wanted, unreadable, output)


def _tell_missing(wanted: "_Wanted", unreadable: int, output: Output) -> None:
    """Tell the user if no item is from the wanted site, and if parts of the files can't be read."""
    if missing := wanted.missing_site():
        output.error(missing)
    if unreadable:
        output.left_out(unreadable, "part")


def _check_files(paths: list[Path]) -> None:
    """Raise ConfigurationError for a file that isn't one of items that were set aside.

    Empty files are allowed. Raises OSError if a file cannot be read.
    """
    for path in paths:
        if path.is_dir() or (path.stat().st_size and not any(items_in(path))):
            raise ConfigurationError(
                f"{printable(str(path))} has no items that were set aside; give the file that "
                "CRAWLDEDUP_SET_ASIDE names, without unpacking it"
            )


def _check_name(target: Path) -> None:
    """Raise ConfigurationError if the name of the output file is one of another format."""
    suffixes = {suffix.lower() for suffix in target.suffixes[-2:]}
    if wrong := sorted(suffixes & _OTHER_FORMATS):
        raise ConfigurationError(
            f"--output is {printable(str(target))!r}, but items are written as JSON lines, not as "
            f"{wrong[0]}; use a name such as restored.jl"
        )


def _check_apart(path: Path, read_files: list[Path], target: Path) -> None:
    """Raise ConfigurationError if the file of --apart can't be written, or is used otherwise."""
    check_target(path, read_files, force=True)
    if path.resolve() == target.resolve():
        raise ConfigurationError("--output and --apart name the same file: name two files")


def _check_fields(paths: list[Path], given: Namespace) -> None:
    """Raise ConfigurationError if items have HTML and text, and it's unclear which to compare."""
    if given.html_field or given.text_field:
        return
    for aside in _items_of(paths):
        if aside is not None and all(aside.item.get(name) for name in ("html", "text")):
            raise ConfigurationError(
                'both fields "html" and "text" of the items have content; choose one with '
                "--html-field or --text-field, for example --html-field html"
            )


def _decides_again(given: Namespace) -> bool:
    """Return whether to compare the items again, rather than restore all of them.

    Raises ConfigurationError if --again, --kept, and the options for them don't come together.
    """
    if given.again is None and given.kept is None:
        defaults = {option.name: option.default for option in options_of()}
        for name in ("recall", *_COMPARING):
            if getattr(given, name) != defaults[name]:
                raise ConfigurationError(
                    f"{flag_of(name)} says how items are compared again, so it needs --again and "
                    "--kept"
                )
        return False
    if given.again is None or given.kept is None:
        raise ConfigurationError(
            "--again and --kept go together: the items are compared with those that were delivered"
        )
    return True


class _Judge:
    """Decides again whether an item is a copy, of a delivered item or of one already restored.

    Args:
        given: The similarity, the feeds, their fields and the options.
        output: Takes the errors of the feeds.

    Raises:
        ConfigurationError: One of the arguments is not allowed, or a feed cannot be read.
    """

    def __init__(self, given: Namespace, output: Output) -> None:
        check_similarity("--again", given.again)
        self._dedup = make_deduplicator(
            given, store="memory://", similarity=given.again, apart=None, key=0
        )
        self._fields = Fields.of(given)._replace(needs_url=False)
        kept = 0
        for page in readable_sources(given.kept, output.unreadable, self._fields):
            self._is_new(page)
            kept += 1
        if not kept:
            self._dedup.close()
            raise ConfigurationError(
                "--kept has no item that can be compared, so every dropped item would come back: "
                "name the field to compare with --html-field or --text-field"
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._dedup.close()

    def keeps(self, aside: Aside) -> bool:
        """Return whether to restore an item, because it is not a copy or cannot be compared."""
        page = page_of(aside.item, self._fields, aside.url)
        return not isinstance(page, Page) or self._is_new(page)

    def _is_new(self, page: Page) -> bool:
        content = {name: getattr(page, name) for name in ("html", "text", "title")}
        try:
            verdict = self._dedup.check(page.url, **content)
        except PageError:
            return True
        return verdict.kind is Kind.NEW or verdict.kind is Kind.THIN or verdict.changed


class _ToldApart:
    """The file of pages that later crawls must keep apart. Restored pages are added to it.

    Raises:
        ConfigurationError: The file exists and holds something else.
    """

    def __init__(self, path: str) -> None:
        self._path = Path(path)
        self._pairs = read_pairs(self._path) if self._path.exists() else []
        self._without_url = 0

    def add(self, aside: Aside) -> None:
        """Add the page of an item, unless it was dropped because it had not changed."""
        if aside.evidence == "unchanged":
            return
        if aside.url:
            self._pairs.append(Pair(aside.url, aside.cluster))
        else:
            self._without_url += 1

    def write(self, output: Output) -> None:
        """Replace the file in one step, so it is never incomplete. Raises OSError."""
        with target_file(self._path, force=True) as file:
            for line in lines_of(self._pairs):
                file.write(line.encode("ascii"))
        if self._without_url:
            output.error(
                f"{pluralize(self._without_url, 'item')} without a URL cannot be added to the "
                "--apart file"
            )


def _items_of(paths: list[Path]) -> Iterator[Aside | None]:
    for path in paths:
        yield from items_in(path)


def _site_named(name: str) -> str:
    """Return the site that --site names, with its port if it has one. Raises ConfigurationError."""
    site = site_of(f"//{name}")
    if not site:
        raise ConfigurationError(f"--site is {name!r}; it must be a site, such as example.com")
    port = _port_of(f"//{name}")
    return site if port is None else f"{site}:{port}"


def _port_of(url: str) -> int | None:
    """Return the port in a URL, which may be the default of its scheme, or None."""
    try:
        parts = urlsplit(url)
        return parts.port or {"http": 80, "https": 443}.get(parts.scheme)
    except ValueError:
        return None


class _Wanted:
    """The conditions that an item must meet in order to be restored.

    Raises:
        ConfigurationError: One of the conditions is not allowed.
    """

    def __init__(self, given: Namespace) -> None:
        self._evidence = given.evidence
        self._cluster = given.cluster
        self._similarity = given.similarity
        self._since = None if given.since is None else moment_of("--since", given.since)
        self._site = None if given.site is None else _site_named(given.site)
        self._has_port = given.site is not None and _port_of(f"//{given.site}") is not None
        if self._similarity and not all(0 <= number <= 1 for number in self._similarity):
            raise ConfigurationError(
                "--similarity takes two numbers from 0 to 1, such as 0.9 0.95, not "
                f"{self._similarity[0]:g} {self._similarity[1]:g}"
            )
        if self._similarity and self._similarity[0] > self._similarity[1]:
            raise ConfigurationError("--similarity takes the lower number first")
        self._patterns = check_patterns("--pattern", given.pattern) if given.pattern else ()
        self._has_site = False
        # The sites of the items, at most one more than are named.
        self._sites: dict[str, None] = {}

    def holds_for(self, aside: Aside) -> bool:
        """Return whether an item meets all conditions."""
        site = self._site_of(aside.url)
        self._note_site(site)
        if self._evidence is not None and aside.evidence != self._evidence:
            return False
        if self._cluster is not None and aside.cluster != self._cluster:
            return False
        if self._site is not None and site != self._site:
            return False
        # Restoring one item too many is better than losing one.
        is_found = all(matches(each, aside.url, otherwise=True) for each in self._patterns)
        return is_found and self._is_in_range(aside.similarity) and self._is_recent(aside.time)

    def _is_recent(self, moment: object) -> bool:
        if self._since is None or not isinstance(moment, int | float):
            return True
        return moment >= self._since

    def _site_of(self, url: str) -> str:
        """Return the site of a URL, with its port if the wanted site has one.

        If no site is wanted, it is "".
        """
        if self._site is None:
            return ""
        site = site_of(url)
        return f"{site}:{_port_of(url)}" if site and self._has_port else site

    def _note_site(self, site: str | None) -> None:
        if site == self._site:
            self._has_site = True
        elif site and len(self._sites) <= _MOST_SITES:
            self._sites[site] = None

    def missing_site(self) -> str:
        """Return a sentence about the sites of the items if none is the wanted one, or else ""."""
        if self._site is None or self._has_site or not self._sites:
            return ""
        named = [printable(site, 100) for site in self._sites][:_MOST_SITES]
        more = ", and more" if len(self._sites) > _MOST_SITES else ""
        return f"no item is of the site {self._site}; there are items of {', '.join(named)}{more}"

    def _is_in_range(self, similarity: float | None) -> bool:
        if not self._similarity:
            return True
        least, most = self._similarity
        return isinstance(similarity, int | float) and least <= similarity <= most
