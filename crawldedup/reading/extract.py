"""Extract the text of a page that gets compared, with the extractor that the user has chosen.

With too much of the template, copies of an article on other sites are missed. With too little of
the page, what tells two pages apart is missed. So four rules apply to extractors that guess the
main text:

1. Below `NAMED_WORDS`, the main text begins with the page's name (og:title or title), because
   products with the same description differ in their names. In an article, a rewritten headline
   must not count.
2. Below `FALLBACK_WORDS`, the extractor missed the content (a listing, a product, a form). Then all
   text counts except navigation, page header, footer and the like.
3. Below `LITTLE_WORDS`, text that is only shown if something else fails (`last_resorts`) counts as
   well, if it has more words than the rest. Next to a longer text, it only counts if it has several
   times as many words, as on forums that scripts fill in. Templates always need that many.
4. Below `min_words`, a page is compared by `PageText.whole` without its name, and only exact copies
   are found.
"""

import importlib
import importlib.metadata
import inspect
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Final

from crawldedup.checks import did_you_mean, refused
from crawldedup.errors import ConfigurationError, PageError
from crawldedup.fingerprinting.tokenize import count_words
from crawldedup.reading.area import Area, cut_to
from crawldedup.reading.block_names import Label, label_of
from crawldedup.reading.blocks import (
    BOILERPLATE,
    BOILERPLATE_ROLES,
    HOLD_CONTENT,
    blocks_of,
    kind_of,
)
from crawldedup.reading.comments import NO_COMMENTS, PageComments, comments_beside
from crawldedup.reading.html import HtmlPage, tidy
from crawldedup.reading.last_resorts import LastResorts, last_resorts, may_outweigh
from crawldedup.reading.main_text import main_text
from crawldedup.reading.shells import is_shell, refusal
from crawldedup.reading.thin import ThinTexts, thin_texts, visible_text

FALLBACK_WORDS: Final = 50  # a shorter text counts as a mistake of the extractor
# To a shorter main text, text that is only shown if something else fails is added, if that has more
# words.
LITTLE_WORDS: Final = 200
_MOST_OF_RESORT: Final = 2
_SEVERAL_TIMES: Final = 3
# A shorter main text begins with the page's name, which would change nothing in a longer one.
NAMED_WORDS: Final = 100
# The version of this package's rules. Change it with the rules, because texts made with different
# rules must not be compared in one index.
TEXT_PROFILE: Final = "text11"

_HEADER: Final = kind_of("header")


@dataclass(frozen=True)
class Extractor:
    """A function that takes the text to compare from a page, and what is known about it.

    If it raises an error, the page counts as broken.

    `extract` gets a checked and decoded page, and must return the same text for the same page.
    `version` is the part of another package's version that may change its texts, or "" for this
    package's own rules. `is_heuristic` says whether it guesses which part of a page is the main
    text, so it may miss it. `get_extractor` makes the same extractor from its `name`.
    """

    name: str
    extract: Callable[[HtmlPage], str]
    version: str = ""
    is_heuristic: bool = True


@dataclass(frozen=True, slots=True)
class PageText:
    """The text of a page as it is compared, and the texts that stand in for it on short pages.

    All of them can be encoded as UTF-8.

    `main` is fingerprinted, followed by the `comments` if they are most of the page. `whole` is
    everything that exact copies of a page have in common, and `core` what two visits have in common
    if the page doesn't change. Both are None if `main` has at least `min_words` words. `source` is
    the page. `unselected` is True if the area to compare isn't on it. `name_line` is the name of
    the page if a short `main` begins with it. `is_guess` is True if the text was chosen by rules of
    thumb, which may leave out a part of the content.
    """

    main: str
    whole: str | None
    source: HtmlPage = field(repr=False, compare=False)
    unselected: bool = False
    core: str | None = None
    comments: PageComments = NO_COMMENTS
    name_line: str = ""
    is_guess: bool = False

    @property
    def compared(self) -> str:
        """The text that the fingerprint is made of."""
        if not self.comments.are_content:
            return self.main
        return "\n".join(filter(None, (self.main, *self.comments.lines)))


def extract_page(
    body: bytes | str,
    encoding: str | None,
    extractor: Extractor,
    *,
    min_words: int,
    area: Area | None = None,
) -> PageText:
    """Decode a page, and extract the text by which it is compared.

    `encoding` is the one that the server declared, if any. A page with at least `min_words` words
    is fingerprinted. If `area` selects a part of the page, no extractor is used for that part.

    Raises PageError: `empty`, `shell`, `too_large`, `too_deep`, `binary`, `out_of_memory`, or
    `broken` if the extractor or anything else failed.
    """
    try:
        page = HtmlPage.read(body, encoding)
        is_sure = False
        if area is not None:
            page, is_sure = cut_to(area, page)
        extractor = _AS_IT_IS if is_sure else extractor
        unselected = area is not None and bool(area.compare) and not is_sure
        return _text_of(page, extractor, min_words=min_words, unselected=unselected)
    except PageError:
        raise
    # Other people's code may raise anything on hostile input, including RecursionError and
    # MemoryError.
    except Exception as error:
        raise PageError.after(error, f"reading with {extractor.name!r}") from error


def _text_of(page: HtmlPage, extractor: Extractor, *, min_words: int, unselected: bool) -> PageText:
    """Extract the text of a page by the rules above.

    Raises PageError if there is nothing to see, if the page is a shell, or if its text is too long.
    """
    main = tidy(extractor.extract(page))
    words = count_words(main)
    comments = NO_COMMENTS
    of_comments = 0
    if extractor.is_heuristic:
        if words < FALLBACK_WORDS:
            main = max(main, _short_text(page), key=count_words)
        comments = comments_beside(page, main)
        if comments.are_content:
            of_comments = count_words("\n".join(comments.lines))
        words = count_words(main) + of_comments
    resorts = None
    is_little = words < max(min_words, LITTLE_WORDS)
    if is_little or (extractor.is_heuristic and may_outweigh(page, _SEVERAL_TIMES * len(main))):
        resorts = last_resorts(page)
    if extractor.is_heuristic and resorts is not None:
        least = count_words(main) + 1 if is_little else _SEVERAL_TIMES * words
        main = _with_resorts(main, resorts, extractor, least)
        words = count_words(main) + of_comments
    whole = core = None
    name_line = ""
    if words < min_words:
        whole, core = _thin_texts(page, main, resorts)
    elif extractor.is_heuristic and words < NAMED_WORDS:
        name_line = tidy(page.name)
        main = f"{name_line}\n{main}".strip()
    is_guess = extractor.is_heuristic and whole is None
    return PageText(
        main=main,
        whole=whole,
        source=page,
        unselected=unselected,
        core=core,
        comments=comments,
        name_line=name_line,
        is_guess=is_guess,
    )


_AS_IT_IS: Final = Extractor(
    "",
    lambda page: "\n".join([text for text, _, _ in blocks_of(page.tree).lines]),
    is_heuristic=False,
)


def _thin_texts(page: HtmlPage, main: str, resorts: LastResorts | None) -> ThinTexts:
    """Return the texts by which a page with too few words is compared.

    Raises:
        PageError: There is nothing to see.
    """
    texts = thin_texts(page, main, resorts)
    whole = tidy(texts.whole)
    if whole:
        return ThinTexts(whole, tidy(texts.core))
    if is_shell(page):
        raise refusal()
    raise PageError("empty", "there is nothing to see on the page")


def _with_resorts(main: str, resorts: LastResorts, extractor: Extractor, least: int) -> str:
    """Return a main text with last resorts, such as the content of <noscript>, if they are long.

    Those that browsers show need `least` words. Templates for scripts need several times as many
    words as all other text.
    """
    shown = tidy("\n".join([_text_of_resort(page, extractor) for page in resorts.pages]))
    if count_words(shown) >= least:
        main = f"{main}\n{shown}".strip()
    if resorts.templates is not None:
        filled = tidy(_text_of_resort(resorts.templates, extractor))
        if count_words(filled) >= max(_SEVERAL_TIMES * count_words(main), 1):
            main = f"{main}\n{filled}".strip()
    return main


def _text_of_resort(page: HtmlPage, extractor: Extractor) -> str:
    text = content_text(page)
    # A whole page may be inside of a <map> that was never closed.
    article = extractor.extract(page)
    is_page = _MOST_OF_RESORT * count_words(article) >= count_words(text)
    return article if is_page else text


def _short_text(page: HtmlPage) -> str:
    """Return the text of a page on which no long main text was found.

    If it's short, boxes that are named as noise are left out, such as one for a newsletter. With
    them, it would have enough words to be compared like a longer one, but it has to be exact.
    """
    text = tidy(content_text(page))
    if count_words(text) < FALLBACK_WORDS:
        return tidy(content_text(page, with_noise=False))
    return text


def content_text(page: HtmlPage, *, with_noise: bool = True) -> str:
    """Return all visible text except for navigation, page header and footer, sidebars and controls.

    All pages of a site have these in common, so short pages would look alike.
    """
    blocks = blocks_of(page.tree)
    content = page.content
    kept = [True]
    in_content = [False]
    for node, parent, kind in list(zip(blocks.nodes, blocks.parents, blocks.kinds, strict=True))[
        1:
    ]:
        in_content.append(in_content[parent] or kind in HOLD_CONTENT)
        is_named = kind in BOILERPLATE or node.attributes.get("role") in BOILERPLATE_ROLES
        is_around = not in_content[parent] if kind == _HEADER else is_named
        is_left_out = is_around or (not with_noise and label_of(node) == Label.NOISE)
        kept.append(kept[parent] and (not is_left_out or node.mem_id in content))
    return "\n".join([text for text, _, block in blocks.lines if kept[block]])


def _trafilatura() -> Extractor:
    def extract(page: HtmlPage) -> str:
        # Imported here so a process that reads no page doesn't hold its thousands of objects.
        from crawldedup.reading import by_trafilatura

        return by_trafilatura.main_text(page)

    release = ".".join(importlib.metadata.version("trafilatura").split(".")[:2])
    return Extractor("trafilatura", extract, release)


_BUILT_IN: Final[dict[str, Callable[[], Extractor]]] = {
    "blocks": lambda: Extractor("blocks", main_text),
    "trafilatura": _trafilatura,
    "text": lambda: Extractor("text", visible_text, is_heuristic=False),
}
BUILT_IN_EXTRACTORS: Final = frozenset(_BUILT_IN)


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
    """Check that an extractor of this name can be made, and return the name.

    Raises ConfigurationError with a message that begins with `name`.
    """
    if not isinstance(value, str):
        raise refused(name, value, "the name of an extractor")
    try:
        get_extractor(value)
    except ConfigurationError as error:
        raise type(error)(f"{name} is {value!r}: {error}") from error
    return value


def custom_extractor(name: str, extract: Callable[[str], str | None]) -> Extractor:
    """Make an extractor from a user's function of the HTML, which returns the text to compare.

    No rules of thumb are applied to the text. None counts as no text, and a page for which the
    function returns anything else counts as broken.
    """

    def text_of(page: HtmlPage) -> str:
        text = extract(page.html)
        if not isinstance(text, str | None):
            raise TypeError(f"{name} returned {type(text).__name__}, not str")
        return text or ""

    return Extractor(name, text_of, is_heuristic=False)


def _imported(path: str) -> Callable[[str], str | None]:
    """Import a user's extractor, and return the function to call.

    Raises ConfigurationError if importing it fails, or if it can't be called.
    """
    module_name, _, attribute = path.rpartition(".")
    doing = f"importing {module_name!r}"
    # The module belongs to the user, so it may raise anything.
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
