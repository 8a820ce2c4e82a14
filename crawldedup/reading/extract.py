"""Read HTML pages: the text that is fingerprinted, which decides what counts as a duplicate.

With too much of the template, an article on another site is missed; with too little of the page, what tells two pages
apart. So three rules hold with extractors that guess at the main text:

1. Below `NAMED_WORDS`, the main text begins with the page's name (og:title or title), in which products of one
   description differ. In an article, a rewritten headline must not count.
2. Below `FALLBACK_WORDS`, the extractor has missed the content (a listing, a product, a form). Then all text counts
   except navigation, page header, footer and the like.
3. Below `min_words`, a page is compared by `PageText.whole`, for exact copies alone, and without its name.

Of 1,122 pairs of different pages of one site, trafilatura's bare main text makes 11 similar (a Jaccard similarity of
at least .86), all visible text as the fallback 6, these rules 3.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from crawldedup.errors import PageError
from crawldedup.reading.area import cut_to
from crawldedup.reading.blocks import BOILERPLATE, BOILERPLATE_ROLES, HOLD_CONTENT, NUMBER, blocks_of
from crawldedup.reading.extractors import Extractor, visible_text
from crawldedup.reading.html import HtmlPage, tidy
from crawldedup.reading.tokenize import count_words

if TYPE_CHECKING:
    from crawldedup.reading.area import Area

FALLBACK_WORDS: Final = 50
"""A shorter text of an extractor is taken for a mistake."""
NAMED_WORDS: Final = 100
"""A shorter main text begins with the page's name; in a longer one, a short name would change nothing."""
TEXT_PROFILE: Final = "text7"
"""Names the rules of this package. Change it with them: texts of different rules must not meet in one index."""

_HEADER: Final = NUMBER["header"]
_IDENTIFYING_META: Final = frozenset(["description", "og:title", "og:description", "og:image"])
_IDENTIFYING: Final = "meta, script, img, frame, iframe, video, source, embed, object"


@dataclass(frozen=True, slots=True)
class PageText:
    """The text of a page, which can be encoded as UTF-8 whatever the page was.

    `main` is fingerprinted. `whole` is all that exact copies of a page share; it is None if `main` has as many words
    as were asked for. `used_fallback` says that the extractor's text was too short. `source` is the page. It is
    `unselected` if the area that was to be compared is not on it.
    """

    main: str
    whole: str | None
    used_fallback: bool
    source: HtmlPage = field(repr=False, compare=False)
    unselected: bool = False


def extract_page(
    body: bytes | str,
    encoding: str | None,
    extractor: Extractor,
    *,
    min_words: int = FALLBACK_WORDS,
    area: Area | None = None,
) -> PageText:
    """Decode a page and extract the text to compare.

    `encoding` is what the server declared, if anything. A page of `min_words` words is fingerprinted. What `area` says
    is to be compared is compared as it is.
    Raises PageError: `empty`, `too_large`, `too_deep`, `binary`, `out_of_memory`, or `broken` if the extractor failed.
    """
    try:
        page, is_sure = HtmlPage.read(body, encoding), False
        if area is not None:
            page, is_sure = cut_to(area, page)
        unselected = area is not None and bool(area.compare) and not is_sure
        return _page_text(page, _AS_IT_IS if is_sure else extractor, min_words, unselected=unselected)
    except PageError:
        raise
    # Other people's code on hostile input may raise anything, RecursionError and MemoryError included.
    except Exception as error:
        raise PageError.after(error, f"reading with {extractor.name!r}") from error


def _page_text(page: HtmlPage, extractor: Extractor, min_words: int, *, unselected: bool) -> PageText:
    main = tidy(extractor.extract(page))
    words = count_words(main)
    used_fallback = False
    if extractor.is_heuristic and words < FALLBACK_WORDS:
        content = tidy(content_text(page))
        if (content_words := count_words(content)) > words:
            main, words, used_fallback = content, content_words, True
    whole = None
    if words < min_words:
        whole = tidy(_identity_text(page))
        if not whole:
            raise PageError("empty", "there is nothing to see on the page")
    elif extractor.is_heuristic and words < NAMED_WORDS:
        main = f"{tidy(page.name)}\n{main}".strip()
    return PageText(main, whole, used_fallback, page, unselected)


def _all_lines(page: HtmlPage) -> str:
    return "\n".join([text for text, _, _ in blocks_of(page.tree).lines])


_AS_IT_IS: Final = Extractor("", _all_lines, is_heuristic=False)


def content_text(page: HtmlPage) -> str:
    """Return the visible text without navigation, page header and footer, sidebars and controls.

    All pages of a site share those, so short pages would look alike.
    """
    blocks = blocks_of(page.tree)
    kept, in_content = [True], [False]
    for node, parent, kind in list(zip(blocks.nodes, blocks.parents, blocks.kinds, strict=True))[1:]:
        in_content.append(in_content[parent] or kind in HOLD_CONTENT)
        if kind == _HEADER:
            is_around = not in_content[parent]
        else:
            is_around = kind in BOILERPLATE or node.attributes.get("role") in BOILERPLATE_ROLES
        kept.append(kept[parent] and (not is_around or node.mem_id in page.holders))
    return "\n".join([text for text, _, block in blocks.lines if kept[block]])


def _identity_text(page: HtmlPage) -> str:
    """Return all that tells a page with little text from another: text, description, media addresses, scripts.

    The pages of a photo gallery, or of a shop that fills its pages by script, differ in nothing else.
    """
    parts = [visible_text(page)]
    for element in page.tree.css(_IDENTIFYING):
        attributes = element.attributes
        if element.tag == "meta":
            if (attributes.get("property") or attributes.get("name") or "").lower() in _IDENTIFYING_META:
                parts.append(attributes.get("content") or "")
        elif element.tag == "script":
            parts.append(element.text())
        else:
            addresses = (attributes.get(name) or "" for name in ("src", "data-src", "data"))
            parts.extend(address for address in addresses if not address.startswith("data:"))
    return "\n".join(filter(None, map(str.strip, parts)))
