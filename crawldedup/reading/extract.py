"""Extract the text of a page that is fingerprinted, by the extractor that was chosen.

With too much of the template, an article on another site is missed; with too little of the page,
what tells two pages apart. So three rules hold with extractors that guess at the main text:

1. Below `NAMED_WORDS`, the main text begins with the page's name (og:title or title), in which
   products of one description differ. In an article, a rewritten headline must not count.
2. Below `FALLBACK_WORDS`, the extractor has missed the content (a listing, a product, a form). Then
   all text counts except navigation, page header, footer and the like.
3. Below `min_words`, a page is compared by `PageText.whole`, for exact copies alone, and without
   its name.
"""

import importlib
import importlib.metadata
import inspect
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Final

from selectolax.lexbor import LexborNode

from crawldedup.checks import did_you_mean, refused
from crawldedup.errors import ConfigurationError, PageError
from crawldedup.fingerprinting.tokenize import count_words
from crawldedup.reading.area import Area, cut_to
from crawldedup.reading.blocks import (
    BOILERPLATE,
    BOILERPLATE_ROLES,
    BOILERPLATE_TAGS,
    HOLD_CONTENT,
    blocks_of,
    kind_of,
    own_text,
)
from crawldedup.reading.html import HtmlPage, tidy
from crawldedup.reading.main_text import main_text
from crawldedup.reading.shells import is_shell, refusal
from crawldedup.reading.volatile import without_visit

FALLBACK_WORDS: Final = 50  # a shorter text of an extractor is taken for a mistake
# A shorter main text begins with the page's name, which would change nothing in a longer one.
NAMED_WORDS: Final = 100
# Names the rules of this package. Change it with them: texts of different rules must not meet in
# one index.
TEXT_PROFILE: Final = "text8"

_HEADER: Final = kind_of("header")
_IDENTIFYING_META: Final = frozenset(["description", "og:title", "og:description", "og:image"])
_IDENTIFYING: Final = "meta, script, img, frame, iframe, video, source, embed, object"


@dataclass(frozen=True)
class Extractor:
    """What takes the text to compare out of a page. If it raises, the page is counted as broken.

    `extract` is given a checked and decoded page, and gives the same text for the same page.
    `version` is as much of another package's version as may change its texts, and "" for rules of
    one's own. `is_heuristic` says whether it guesses which part of a page is the main text, and so
    may miss it. `get_extractor` makes it again by its `name`.
    """

    name: str
    extract: Callable[[HtmlPage], str]
    version: str = ""
    is_heuristic: bool = True


@dataclass(frozen=True, slots=True)
class PageText:
    """The text of a page, which can be encoded as UTF-8 whatever the page was.

    `main` is fingerprinted. `whole` is all that exact copies of a page share, and `core` what two
    visits share while nothing of it changes. Both are None if `main` has as many words as were
    asked for. `source` is the page. It is `unselected` if the area that was to be compared is not
    on it.
    """

    main: str
    whole: str | None
    source: HtmlPage = field(repr=False, compare=False)
    unselected: bool = False
    core: str | None = None


def extract_page(
    body: bytes | str,
    encoding: str | None,
    extractor: Extractor,
    *,
    min_words: int,
    area: Area | None = None,
) -> PageText:
    """Decode a page and extract the text to compare.

    `encoding` is what the server declared, if anything. A page of `min_words` words is
    fingerprinted. What `area` says is to be compared is compared as it is. Raises PageError:
    `empty`, `shell`, `too_large`, `too_deep`, `binary`, `out_of_memory`, or `broken` if the
    extractor failed.
    """
    try:
        page, is_sure = HtmlPage.read(body, encoding), False
        if area is not None:
            page, is_sure = cut_to(area, page)
        extractor = _AS_IT_IS if is_sure else extractor
        main = tidy(extractor.extract(page))
        words = count_words(main)
        if extractor.is_heuristic and words < FALLBACK_WORDS:
            main = max(main, tidy(content_text(page)), key=count_words)
            words = count_words(main)
        whole = core = None
        if words < min_words:
            whole, core = tidy(_identity_text(page)), tidy(_identity_text(page, main))
            if not whole and is_shell(page):
                raise refusal()
            if not whole:
                raise PageError("empty", "there is nothing to see on the page")
        elif extractor.is_heuristic and words < NAMED_WORDS:
            main = f"{tidy(page.name)}\n{main}".strip()
        return PageText(
            main, whole, page, area is not None and bool(area.compare) and not is_sure, core
        )
    except PageError:
        raise
    # Other people's code on hostile input may raise anything, RecursionError and MemoryError
    # included.
    except Exception as error:
        raise PageError.after(error, f"reading with {extractor.name!r}") from error


_AS_IT_IS: Final = Extractor(
    "",
    lambda page: "\n".join([text for text, _, _ in blocks_of(page.tree).lines]),
    is_heuristic=False,
)


def content_text(page: HtmlPage) -> str:
    """Return the visible text without navigation, page header and footer, sidebars and controls.

    All pages of a site share those, so short pages would look alike.
    """
    blocks = blocks_of(page.tree)
    kept, in_content = [True], [False]
    for node, parent, kind in list(zip(blocks.nodes, blocks.parents, blocks.kinds, strict=True))[
        1:
    ]:
        in_content.append(in_content[parent] or kind in HOLD_CONTENT)
        is_named = kind in BOILERPLATE or node.attributes.get("role") in BOILERPLATE_ROLES
        is_around = not in_content[parent] if kind == _HEADER else is_named
        kept.append(kept[parent] and (not is_around or node.mem_id in page.holders))
    return "\n".join([text for text, _, block in blocks.lines if kept[block]])


def _identity_text(page: HtmlPage, main: str | None = None) -> str:
    """Return all that tells a page with little text from another: text, description, media
    addresses, scripts.

    The pages of a photo gallery, or of a shop that fills its pages by script, differ in nothing
    else. Return of the page's `main` text what stays while nothing changes: it, where media and the
    links of the content lead, and data. Programs and what surrounds the text often change with
    every load.
    """
    parts = [_visible_text(page) if main is None else f"{page.title}\n{main}"]
    known: dict[int, bool] = {}
    for element in page.tree.css(_IDENTIFYING if main is None else f"{_IDENTIFYING}, a, area"):
        if element.tag == "a" and _is_around_content(element, page, known):
            continue
        attributes = element.attributes
        if element.tag == "meta":
            if (
                attributes.get("property") or attributes.get("name") or ""
            ).lower() in _IDENTIFYING_META:
                parts.append(attributes.get("content") or "")
        elif element.tag == "script":
            if main is None or "json" in (attributes.get("type") or ""):
                parts.append(own_text(element))
        else:
            addresses = [attributes.get(name) or "" for name in ("href", "src", "data-src", "data")]
            addresses = [address for address in addresses if not address.startswith("data:")]
            parts += addresses if main is None else map(without_visit, addresses)
    return "\n".join(filter(None, map(str.strip, parts)))


def _is_around_content(element: LexborNode, page: HtmlPage, known: dict[int, bool]) -> bool:
    """Return whether an element stands in the navigation, header, footer or sidebar of a page.

    Args:
        element: The element.
        page: The page.
        known: What is known of the elements above others, by their `mem_id`. It is added to, so
            that none is looked at twice.
    """
    path = []
    outer = element.parent
    while outer is not None and outer.mem_id not in known:
        path.append(outer)
        outer = outer.parent
    is_around = outer is not None and known[outer.mem_id]
    for node in reversed(path):
        is_around = is_around or (
            node.mem_id not in page.holders
            and (node.tag in BOILERPLATE_TAGS or node.attributes.get("role") in BOILERPLATE_ROLES)
        )
        known[node.mem_id] = is_around
    return is_around


def _visible_text(page: HtmlPage) -> str:
    """Return all text that a visitor without scripts sees, title first, one block of the page a
    line.
    """
    lines = [text for text, _, _ in blocks_of(page.tree, with_controls=True).lines]
    return "\n".join(filter(None, (page.title, *lines)))


def _trafilatura() -> Extractor:
    def extract(page: HtmlPage) -> str:
        # A process that reads no page does without its tens of thousands of objects.
        from crawldedup.reading import by_trafilatura

        return by_trafilatura.main_text(page)

    release = ".".join(importlib.metadata.version("trafilatura").split(".")[:2])
    return Extractor("trafilatura", extract, release)


_BUILT_IN: Final[dict[str, Callable[[], Extractor]]] = {
    "blocks": lambda: Extractor("blocks", main_text),
    "trafilatura": _trafilatura,
    "text": lambda: Extractor("text", _visible_text, is_heuristic=False),
}


@cache
def get_extractor(name: str) -> Extractor:
    """Make a built-in extractor by its name, or a custom one by its dotted path.

    ``myproject.extract.main_text`` is a function of the HTML, or an object or class with a method
    `extract`; a class is called without arguments first. Raises ConfigurationError.
    """
    if name in _BUILT_IN:
        return _BUILT_IN[name]()
    if "." in name:
        return custom_extractor(name, _imported(name))
    hint = did_you_mean(name, _BUILT_IN)
    raise ConfigurationError(
        f"there is no extractor {name!r}{f'{hint} It' if hint else '; it'} is one of "
        f"{', '.join(_BUILT_IN)}, or the dotted path of your own (myproject.pages.main_text)"
    )


def check_extractor(name: str, value: object) -> str:
    """Return the name of an extractor that can be made.

    Raises ConfigurationError, which begins with `name`.
    """
    if not isinstance(value, str):
        raise refused(name, value, "the name of an extractor")
    try:
        get_extractor(value)
    except ConfigurationError as error:
        raise type(error)(f"{name} is {value!r}: {error}") from error
    return value


def custom_extractor(name: str, extract: Callable[[str], str | None]) -> Extractor:
    """Return a user's callable as an extractor.

    Its result is used unchanged; None counts as no text.
    """

    def text_of(page: HtmlPage) -> str:
        text = extract(page.html)
        if not isinstance(text, str | None):
            raise TypeError(f"{name} returned {type(text).__name__}, not str")
        return text or ""

    return Extractor(name, text_of, is_heuristic=False)


def _imported(path: str) -> Callable[[str], str | None]:
    module_name, _, attribute = path.rpartition(".")
    doing = f"importing {module_name!r}"
    # The module is the user's, so it may raise anything.
    try:
        extractor: Any = getattr(importlib.import_module(module_name), attribute)
        doing = f"{path}()"
        if inspect.isclass(extractor):
            extractor = extractor()
    except Exception as error:
        hint = did_you_mean(error.name, dir(error.obj)) if isinstance(error, AttributeError) else ""
        cause = f"{doing} failed with {type(error).__name__}: {error}{hint}"
        raise ConfigurationError(f"the extractor {path!r} cannot be used: {cause}") from error
    method: Callable[[str], str | None] = getattr(extractor, "extract", extractor)
    if not callable(method):
        allowed = "a function of the HTML, or an object or class with a method extract(html)"
        raise ConfigurationError(
            f"the extractor {path!r} is a {type(extractor).__name__}; it must be {allowed}"
        )
    return method
