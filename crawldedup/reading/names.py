"""Read what the attributes of an element say of it: that it is the article, or that it is none of it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from selectolax.lexbor import LexborNode


class Says:
    """What an element is by its attributes, as numbers: members of an enumeration take three times as long to get."""

    NOTHING: Final = 0
    NOISE: Final = 1
    ARTICLE: Final = 2
    BOTH: Final = 3
    SIDEBAR: Final = 4
    HIDDEN: Final = 5


def _word(words: str) -> re.Pattern[str]:
    """Return a pattern of a word of a class, but not of one that tells about the layout, such as "has-sidebar"."""
    before = r"(?:^|\s|(?<!\bhas)(?<!\bwith)(?<!\bno)(?<!\bwithout)[_-])"
    return re.compile(rf"{before}(?:{words})(?:$|[\s_-])", re.IGNORECASE)


_NOISE: Final = _word(
    r"shar(?:e|es|ing)|social|related|recommend\w*|newsletter\w*|subscri\w+|promo\w*|breadcrumbs?|comments?|disqus|"
    r"cookie\w*|consent|banner|adverts?|advertisement\w*|sponsor\w*|outbrain|taboola|popup|modal|trending|most-?read|"
    r"most-?popular|read-?more|more-?on|also-?read|tags|tag-?list|tag-?cloud|footer|nav|navigation|navbar|menu|byline|"
    r"author-?bio|bio|copyright|toolbar|sr-only|screen-?reader\w*|visually-?hidden"
)
_SIDEBAR: Final = _word("side-?bar")
_NOISE_ID: Final = re.compile(
    r"^(?:[\w-]*[_-])?(?:sidebar|footer|nav|navigation|menu|comments|disqus_thread|related|share|social|newsletter)"
    r"(?:[_-][\w-]*)?$",
    re.IGNORECASE,
)
_ARTICLE: Final = re.compile(
    r"article[-_]*(?:body|content|text|copy|main|detail|story)|entry[-_]*(?:content|body|text)|"
    r"post[-_]*(?:content|body|text|entry|article)|story[-_]*(?:content|body|text)|"
    r"(?:body|main|rich|content|page|single|blog|news|text|full)[-_]*(?:content|copy|article|text|body)|"
    r"content[-_]*(?:body|main|article|text)",
    re.IGNORECASE,
)
_HIDDEN: Final = re.compile(r"display\s*:\s*none", re.IGNORECASE)
_BESIDE_CLASSES: Final = frozenset(["hidden", "itemprop", "role", "style"])
# Characters of a class that are read: a page may have megabytes of them.
_READ: Final = 150
# The pages of a site have few names, again and again. A dict takes a third of the time of `lru_cache`.
_REMEMBERED: Final = 20_000
_said: Final[dict[str, int]] = {}


def says(node: LexborNode) -> int:
    """Return what class, role, item property and id say of an element, and whether it is hidden without a script."""
    attributes = node.attributes
    if not attributes:
        return Says.NOTHING
    get = attributes.get
    names = get("class") or ""
    if not _BESIDE_CLASSES.isdisjoint(attributes):
        if "hidden" in attributes or _HIDDEN.search((get("style") or "")[:_READ]):
            return Says.HIDDEN
        names = " ".join([names, *(get(name) or "" for name in ("role", "itemprop") if name in attributes)])
    names = names[:_READ]
    said = _said.get(names)
    if said is None:
        if len(_said) >= _REMEMBERED:
            _said.clear()
        said = _said[names] = _of_names(names)
    # Each page has ids of its own, so these are not remembered.
    if "id" in attributes and said in (Says.NOTHING, Says.ARTICLE):
        identity = (get("id") or "")[:_READ]
        if _NOISE_ID.search(identity):
            return Says.NOISE if said == Says.NOTHING else Says.BOTH
        if _ARTICLE.search(identity):
            return Says.ARTICLE
    return said


def _of_names(names: str) -> int:
    is_noise = bool(_NOISE.search(names))
    if not is_noise and _SIDEBAR.search(names):
        return Says.SIDEBAR
    return (Says.NOISE if is_noise else 0) + (Says.ARTICLE if _ARTICLE.search(names) else 0)
