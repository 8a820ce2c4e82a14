"""Recognize shells: pages that a script has yet to fill.

Before its scripts run, every page of such a site is the same: an empty element, and perhaps a
splash screen. Its words say nothing about its content. So a shell is neither a copy of another page
nor the original of one, and reading it raises PageError("shell").

The evidence is the structure of a page, not the name of a framework:

1. It has a *mount point*, which a script fills: an empty `<div>`, `<main>` or custom element, one
   that holds a splash screen, or the body itself if nothing at all is in it.
2. It has a script in a file or a module, or one that names the mount point. Scripts for
   advertisements and statistics don't count.
3. Everything else that it shows belongs to the shell: a splash screen, "Loading…", a request to
   enable scripts, the name of the site, and the elements around the content of each page, such as a
   header, a navigation, a footer or a cookie banner. A single other line is content, and so is a
   heading, a form, a picture, a film, three links, or a text in `<noscript>` about anything but
   scripts. If there is a header or the like, the mount point must have an id or another name, and
   must not be meant for a map, comments or advertisements, because other pages also have those.
4. Nothing tells it apart from the other pages of its site. If it declares data, they do, and it is
   compared like any other page. A title alone doesn't, because most shells have one title for the
   whole site. A page with a title is compared if it also names its own address, or if the title
   repeats a part of the address. Even then, only a view of the page can be its copy.

A page that is wrongly taken for a shell is delivered without a verdict, so at most, a copy is kept.
In doubt, a page isn't a shell, and is checked like any other page.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final
from urllib.parse import unquote, urljoin, urlsplit

from crawldedup.errors import PageError
from crawldedup.fingerprinting.tokenize import count_words
from crawldedup.marks.address import Address
from crawldedup.marks.values import AVAILABILITY, MOST_DATA, ShownMarks
from crawldedup.reading import shell_words
from crawldedup.reading.blocks import HEADINGS, Blocks, blocks_of, kind_of
from crawldedup.reading.html import HtmlPage
from crawldedup.reading.mark_words import words_of
from crawldedup.reading.nodes import own_text
from crawldedup.reading.shell_elements import Elements, elements_of, is_called
from crawldedup.scope import site_of

SHELL: Final = "shell"
"""The `reason` of the PageError that reading a shell raises."""

# Apart from its scripts and the elements around it, a shell is small. A page that exceeds one of
# these limits isn't a shell.
_MOST_WORDS: Final = 80
_MOST_LETTERS: Final = 1_000
_MOST_LINES: Final = 12
_MOST_WORDS_IN_ALL: Final = 400
_MOST_LETTERS_IN_ALL: Final = 5_000
_MOST_LINES_IN_ALL: Final = 200
_MOST_LINES_READ: Final = 60
"""The maximum number of lines, without navigation and footers, unless these are most of the page.
"""
_MOST_NOSCRIPT: Final = 100
"""The maximum number of words in a `<noscript>` that asks for scripts."""

_LONGEST_LOADING: Final = 60
"""The maximum number of letters in a line such as "Loading, please wait…"."""

_MOST_OF_NAME: Final = 6
"""The maximum number of words in the name of a site."""

# Limits, because a page may have 100,000 of each, and an attribute may have megabytes.
_MOST_PARTS: Final = 40
_MOST_NOTES: Final = 10
_LONGEST_PROGRAMS: Final = 200_000
_LONGEST_NOSCRIPT: Final = 5_000
_LONGEST_ATTRIBUTE: Final = 2_000

# What a line of text is.
_CONTENT, _OF_SHELL, _NUMBER, _SITE, _TITLE, _AROUND, _IN_MOUNT = range(7)

_DIGIT: Final = re.compile(r"\d")
_FIRST_HEADING: Final = kind_of("h1")
_BETWEEN_NAMES: Final = re.compile(r"\s+[-–—:~/]\s+|\s*[|·•»«]\s*")
_UNFINISHED: Final = ("…", "...")
_LETTER: Final = re.compile(r"[^\W\d_]")
_TELLING: Final = re.compile(r"\d{2,}|(?=.*[^\W\d_])\w{4,}|[^\x00-\x7f]+")
"""Matches the words of an address that are unlikely in a title that all pages of a site have."""
_QUOTED: Final = re.compile(r"[\"'`]#?([\w:.-]{1,100})[\"'`]")
_INNER_PROGRAM: Final = re.compile(
    r"<(style|script)\b.*?</\1\s*>|<!--.*?-->", re.DOTALL | re.IGNORECASE
)
_TAG: Final = re.compile(r"<[^<>]*>")
_SITE_NAMES: Final = (
    "meta[property='og:site_name'], meta[name='application-name'], "
    "meta[name='apple-mobile-web-app-title']"
)
_OWN_ADDRESS: Final = "head link[rel~='canonical' i][href], head meta[property='og:url'][content]"
_SCRIPT_FILES: Final = "script[src], script[type='module'], link[rel='modulepreload']"
_PROGRAM: Final = "script:not([src])"
_ANY_PROGRAM: Final = "script, link[rel='modulepreload']"
_REDIRECT: Final = "head meta[http-equiv='refresh' i]"


@dataclass(frozen=True, slots=True)
class Shell:
    """What is known about a page that may be a shell, because it shows nothing of its own.

    Attributes:
        called: The names that the page gives its site and itself, in words.
        address: Its address without views; None for a page that doesn't say where it is.
    """

    called: tuple[str, ...]
    address: str | None

    def told_apart(self, marks: ShownMarks | None) -> ShownMarks:
        """Return the marks by which the page is compared after all.

        The address counts as data if nothing else tells the page apart.

        Raises:
            PageError: "shell", if nothing tells the page apart from the others on its site.
        """
        if marks is not None and (marks.players or any(map(self._is_particular, marks.data))):
            return marks
        if marks is None or self.address is None:
            raise refusal()
        data = (("address that a script fills", self.address), *marks.data)
        return replace(marks, data=data[:MOST_DATA])

    def _is_particular(self, named_value: tuple[str, str]) -> bool:
        name, value = named_value
        is_word = any(char.isalnum() for char in value) and name != AVAILABILITY
        return is_word and not (
            _is_name(value, self.called) or shell_words.TRACKER_ID.fullmatch(value)
        )


def refusal() -> PageError:
    """Make the error for a page that is a shell."""
    return PageError(
        SHELL,
        "the page is the shell of an application: a script has yet to bring its content, and "
        "nothing in it tells it from the other pages of its site; check it as a browser shows it",
    )


def shell_of(page: HtmlPage, text: str, url: str) -> Shell | None:
    """Recognize a page that consists of a mount point and scripts. Return None for other pages.

    Args:
        page: The page.
        text: The text that was read as its main text.
        url: Its URL, or "".
    """
    if len(text) > _MOST_LETTERS_IN_ALL or page.tree.body is None:
        return None
    words = count_words(text)
    # For most pages, this stops here, at lines that were read before.
    if words > _MOST_WORDS_IN_ALL or len(page.blocks.lines) > _MOST_LINES_READ:
        return None
    if page.tree.css_first(_ANY_PROGRAM) is None:
        return None
    # For others, it stops here, at their third link or their first picture.
    elements = elements_of(page)
    if elements is None:
        return None
    blocks = blocks_of(page.tree, with_controls=True)
    if len(blocks.lines) > _MOST_LINES_IN_ALL:
        return None
    shown = "\n".join([page.title, page.name, *[line for line, _, _ in blocks.lines]])
    # An extractor of the user's own may have found more than the page shows.
    if words > count_words(shown):
        return None
    if page.tree.css_first(_REDIRECT) is not None or not _asks_for_scripts(page):
        return None
    site_words = tuple(_site_words(page, url))
    if not _holds_mount(page, blocks, elements, site_words):
        return None
    if not _has_program(page, elements.ids):
        return None
    title = words_of(page.title[:_LONGEST_ATTRIBUTE])
    return Shell((*site_words, title), _own_address(page, url))


def is_shell(page: HtmlPage) -> bool:
    """Return whether a page without any visible text consists of a mount point and scripts."""
    return shell_of(page, "", "") is not None


# The body


def _holds_mount(
    page: HtmlPage, blocks: Blocks, elements: Elements, site_words: Sequence[str]
) -> bool:
    """Return whether a page has a mount point, and no content besides it."""
    names = _Names(site_words, _names_in_title(page, site_words))
    parts = [_part_of(line, blocks, block, elements, names) for line, _, block in blocks.lines]
    inner = [
        line for (line, _, _), part in zip(blocks.lines, parts, strict=True) if part != _AROUND
    ]
    if _CONTENT in parts or len(inner) > _MOST_LINES or not _is_little("\n".join(inner)):
        return False
    return _has_mount(elements, parts, is_bare=_is_bare(page, blocks))


def _has_mount(elements: Elements, parts: Sequence[int], *, is_bare: bool) -> bool:
    """Return whether there is a place for a script to put the content.

    If more is shown than an empty page needs, there has to be an element for it.
    """
    if _IN_MOUNT in parts:
        return True
    is_made_for_it = bool(elements.mounts) and _NUMBER not in parts
    if elements.has_controls or _AROUND in parts or _TITLE in parts:
        return is_made_for_it
    return elements.is_empty or is_bare or (_SITE in parts and is_made_for_it)


def _is_bare(page: HtmlPage, blocks: Blocks) -> bool:
    """Return whether the body of a page shows nothing at all.

    Then it may be a shell without an empty element, because some programs make that themselves.
    """
    return not blocks.lines and page.tree.css_first("body svg") is None


def _is_little(text: str) -> bool:
    return len(text) <= _MOST_LETTERS and count_words(text) <= _MOST_WORDS


# The lines


@dataclass(frozen=True, slots=True)
class _Names:
    """The names by which a page calls its site, in words, and those by which its title may."""

    of_site: Sequence[str]
    in_title: Sequence[str]


def _part_of(line: str, blocks: Blocks, block: int, elements: Elements, names: _Names) -> int:
    """Return what a line is: content, a part of the shell, or a sign of where the mount is."""
    if _is_about_loading(line, names.of_site):
        return _IN_MOUNT
    if _is_name(line, names.of_site):
        return _SITE
    if _is_request(line):
        return _OF_SHELL
    node = blocks.nodes[block]
    heading = _heading_of(blocks, block)
    if _LETTER.search(line) and not heading and is_called(node, shell_words.SPLASH):
        return _IN_MOUNT
    if elements.is_around(node, line) and (
        not heading or (heading != _FIRST_HEADING and elements.may_have_headings(node))
    ):
        return _AROUND
    if not _LETTER.search(line):
        return _NUMBER if _DIGIT.search(line) else _OF_SHELL
    if _is_name(line, names.in_title):
        return _TITLE
    is_excuse = not heading and is_called(node, shell_words.EXCUSE)
    return _OF_SHELL if is_excuse else _CONTENT


def _heading_of(blocks: Blocks, block: int) -> int:
    """Return the tag of the heading around a block, or 0 if it is in none."""
    kinds = blocks.kinds[block], blocks.kinds[max(blocks.parents[block], 0)]
    return next((kind for kind in kinds if kind in HEADINGS), 0)


def _is_about_loading(line: str, site_words: Sequence[str]) -> bool:
    """Return whether a line is a notice such as "Loading…".

    "Please wait while the page is loading." also counts.
    """
    if len(line) > _LONGEST_LOADING:
        return False
    if shell_words.WAIT.search(line):
        return True
    rest, loads = shell_words.LOADING.subn(" ", line)
    if not loads or line.endswith(_UNFINISHED):
        return bool(loads)
    return shell_words.WHAT_LOADS.issuperset(words_of(rest).split()) or _is_name(rest, site_words)


def _is_request(line: str) -> bool:
    """Return whether a line asks to enable scripts, or says who owns the site."""
    if shell_words.RIGHTS.match(line):
        return count_words(line) <= 2 * _MOST_OF_NAME
    is_about_scripts = (
        shell_words.SCRIPTS.search(line) is not None and shell_words.ENABLE.search(line) is not None
    )
    return is_about_scripts and count_words(line) <= _MOST_WORDS


def _is_name(text: str, site_words: Sequence[str]) -> bool:
    """Return whether a text is the name of the site, or a part of it."""
    words = words_of(text[:_LONGEST_ATTRIBUTE])
    return words.count(" ") < _MOST_OF_NAME and any(
        f" {words} " in f" {of_site} " for of_site in site_words
    )


def _asks_for_scripts(page: HtmlPage) -> bool:
    """Return whether all that a page has in <noscript>, if anything, is a request for scripts."""
    notes = page.tree.css("noscript")
    if len(notes) > _MOST_NOTES:
        return False
    for node in notes:
        markup = own_text(node)[: _LONGEST_NOSCRIPT + 1]
        text = _TAG.sub(" ", _INNER_PROGRAM.sub(" ", markup))
        if not _LETTER.search(text):
            continue
        is_long = len(markup) > _LONGEST_NOSCRIPT or count_words(text) > _MOST_NOSCRIPT
        if is_long or not shell_words.SCRIPTS.search(text):
            return False
    return True


# The head and the scripts


def _has_program(page: HtmlPage, ids: set[str]) -> bool:
    """Return whether a page has a script that may fill it, or one that names one of these IDs."""
    for node in page.tree.css(_SCRIPT_FILES)[:_MOST_PARTS]:
        attributes = node.attributes
        source = attributes.get("src") or attributes.get("href") or ""
        is_module = attributes.get("type") == "module" and not source
        if is_module or (source and not shell_words.OF_OTHERS.search(source[:_LONGEST_ATTRIBUTE])):
            return True
    programs = [own_text(node) for node in page.tree.css(_PROGRAM)[:_MOST_PARTS]]
    return not ids.isdisjoint(_QUOTED.findall("\n".join(programs)[:_LONGEST_PROGRAMS]))


def _site_words(page: HtmlPage, url: str) -> Iterator[str]:
    """Yield the words of the site's names: the first part of its domain, and declared names."""
    names = [site_of(url).partition(".")[0]]
    for meta in page.tree.css(_SITE_NAMES)[:_MOST_PARTS]:
        names.append((meta.attributes.get("content") or "")[:_LONGEST_ATTRIBUTE])
    for name in names:
        words = words_of(name)
        if words:
            yield words


def _names_in_title(page: HtmlPage, site_words: Sequence[str]) -> Sequence[str]:
    """Return the parts of a title, in words, by which it may name the site.

    If a part is the site's domain, that is all, because the others name the page. There are none if
    the page declares the site's name elsewhere, or shows an error.
    """
    title = page.title[:_LONGEST_ATTRIBUTE]
    if page.tree.css_first(_SITE_NAMES) is not None or shell_words.FAILED.search(title):
        return ()
    parts = [words_of(part) for part in _BETWEEN_NAMES.split(title)]
    # A domain has no spaces between its words.
    known = {words.replace(" ", "") for words in site_words}
    of_site = [part for part in parts if part.replace(" ", "") in known]
    return of_site or [*filter(None, parts), words_of(title)]


def _own_address(page: HtmlPage, url: str) -> str | None:
    """Return the address without views that a page itself says it has, or None.

    The root of a host doesn't count, because a shell may name its site's home page.
    """
    address = Address.of(url)
    if address is None or not ("/" in address.path or address.parameters):
        return None
    if not (_names_address(page, url, address) or _repeats_address(page.title, url)):
        return None
    return _place_of(address)


def _names_address(page: HtmlPage, url: str, address: Address) -> bool:
    """Return whether the head of a page contains the page's own address."""
    for node in page.tree.css(_OWN_ADDRESS)[:_MOST_PARTS]:
        attributes = node.attributes
        target = attributes.get("href") or attributes.get("content") or ""
        try:
            named = Address.of(urljoin(url, target[:_LONGEST_ATTRIBUTE]))
        except ValueError:
            continue
        if named is not None and _place_of(named) == _place_of(address):
            return True
    return False


def _place_of(address: Address) -> str:
    """Return an address without its views, as a text to compare."""
    return f"{address.path}?{'&'.join(address.parameters)}"


def _repeats_address(title: str, url: str) -> bool:
    """Return whether a title repeats a word or a number from the last part of an address."""
    try:
        part = unquote(urlsplit(url).path.rstrip("/").rpartition("/")[2])
    except ValueError:
        return False
    of_site = words_of(site_of(url)).split()
    of_address = set(words_of(part[:_LONGEST_ATTRIBUTE]).split()).difference(of_site)
    telling = {word for word in of_address if _TELLING.fullmatch(word)}
    return not telling.isdisjoint(words_of(title[:_LONGEST_ATTRIBUTE]).split())
