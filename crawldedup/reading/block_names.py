"""Guess from its attributes what an element is: an article, noise, comments, a sidebar.

Class, role, item property and id are only evidence: see `blocks.blocks_without_noise`.
"""

import re
from collections.abc import Collection, Mapping
from functools import lru_cache
from typing import Final

from selectolax.lexbor import LexborNode


class Label:
    """What the attributes of an element say that it is.

    These are plain numbers, because looking up members of an enumeration takes three times as long.
    """

    NOTHING, NOISE, ARTICLE, BOTH, SIDEBAR, HIDDEN, COMMENTS, REPLY = range(8)


# Names are searched in lower case: patterns that ignore the case take several times as long.


def _word(words: str) -> re.Pattern[str]:
    """Make a pattern that finds a word in a class name, but not in names about the layout.

    "has-sidebar" is such a name.
    """
    about_layout = r"(?<!\bhas[_-])(?<!\bwith[_-])(?<!\bno[_-])(?<!\bwithout[_-])"
    return re.compile(rf"(?<![^\s_-]){about_layout}(?:{words})(?:$|[\s_-])")


def _part_of_id(words: str) -> re.Pattern[str]:
    """Make a pattern that finds a word between the separators of an id."""
    return re.compile(rf"(?:^|[_-])(?:{words})(?:$|[_-])")


# Classes that say where an element is or how it looks, not what it is: "col-6", "md:w-1". The
# names of parts, such as "tab-pane" and "faq-item", have longer beginnings.
_LAYOUT: Final = re.compile(
    r"col(?:umn)?s?|row|container|wrap(?:per)?|clearfix|grid|block|widget|box|module|section|region|"
    r"area|inner|outer|cell|panel|card|item|group|flex|span|layout|content|left|right|center|top|"
    r"bottom|large|small|medium|wide|fluid|full|first|last|odd|even|active|visible|"
    r"(?:col|span|grid|row)\d+|[a-z]{1,2}[_-].*|[a-z]{1,4}:.*|"
    r"(?:bg|col|css|flex|gap|grid|has|max|min|row|span|text|with)[_-].*"
)

# Names of what asks for consent to cookies, but not of recipes: "view-cookies", "cookie-recipe".
_COOKIES: Final = (
    r"(?<![\w-])cookies?(?=$|\s)|cookies?[_-]?(?:alert|banner|bar|box|compliance|consent|container|"
    r"dialog|disclaimer|info|law|layer|message|modal|notice|notification|overlay|policy|popup|"
    r"preferences|settings|wall|warning)s?|cookie(?:bot|first|hub|pro|yes)\w*"
)
_NOISE: Final = _word(
    r"shar(?:e|es|ing)|social|related|recommend\w*|newsletter\w*|subscri\w+|promo\w*|breadcrumbs?|"
    rf"{_COOKIES}|consent|banner|adverts?|advertisement\w*|sponsor\w*|outbrain|taboola|popup|modal|trending|most-?read|"
    r"most-?popular|read-?more|more-?on|also-?read|tags|tag-?list|tag-?cloud|footer|nav|navigation|navbar|menu|byline|"
    r"author-?bio|bio|copyright|toolbar|sr-only|screen-?reader\w*|visually-?hidden"
)
# Words for what visitors wrote, such as "comment-body" or "commentlist".
_COMMENTS: Final = _word(
    r"comments?(?:-?(?:area|body|box|content|list|section|text|thread|tree|wrap(?:per)?))?|disqus|"
    r"(?:kommentare?|commentaires?|comentarios?|commenti|comentários|reacties|комментарии|отзывы|"
    r"responses|bewertungen|opiniones|opinie|recensioni|avis-?clients?)"
    r"(?:[_-]?(?:area|list|liste?|section|bereich|box|content|wrap(?:per)?))?|"
    r"(?:buyer|customer|guest|product)[_-]?reviews"
)
_REPLY: Final = _word(
    r"(?:answer|message|reply|review)(?:-?(?:block|body|box|card|content|entry|item|row|text|view))?|"
    r"(?:accepted|suggested)answer"
)
_SIDEBAR: Final = _word("side-?bar")
# Words for elements with terms and policies.
_FOOT: Final = _word(rf"footer|{_COOKIES}|consent|modal|popup|copyright")
_CONSENT: Final = _word(rf"{_COOKIES}|consent")
_TERMS: Final = _word(rf"dialog|modal|popup|{_COOKIES}|consent|terms|privacy|polic(?:y|ies)")
_NOISE_ID: Final = _part_of_id("sidebar|footer|nav|navigation|menu|related|share|social|newsletter")
_COMMENTS_ID: Final = _part_of_id("comments|disqus_thread")
_PLAIN_ID: Final = re.compile(r"[\w-]+")
# Ids that number posts of a discussion: "p12", "post_12", "js-post-12", "elComment_12", "t1_ab12".
_REPLY_ID: Final = re.compile(
    r"(?:^|[_-]|^el)(?:p|posts?|comment|answer|reply|msg|message|review)[_-]?\d+$|^t1_\w"
)
_ARTICLE: Final = re.compile(
    r"article[-_]*(?:body|content|text|copy|main|detail|story)|entry[-_]*(?:content|body|text)|"
    r"post[-_]*(?:content|body|text|entry|article)|story[-_]*(?:content|body|text)|"
    r"(?:body|main|rich|content|page|single|blog|news|text|full)[-_]*(?:content|copy|article|text|body)|"
    r"content[-_]*(?:body|main|article|text)"
)
# A word of a class that calls an element an article: "node-article", "hentry", "type-post".
_ARTICLE_WORD: Final = re.compile(
    r"(?:^|\s)(?:(?:blog|content|h|news|node|single|type)[-_]?)?(?:article|entry|post|story)(?=\s|$)"
)
_NOT_SHOWN: Final = re.compile(r"display\s*:\s*none", re.IGNORECASE)
# Words for elements that open with a click, such as the description of a product.
_PANEL: Final = _word(
    r"accordion\w*|collapsed?|collapsible|expander|faq|toggle|tab-?pan(?:el|e)|tab-?content"
)
# React sends these elements later than the rest, and a script shows them when they arrive.
_STREAMED_ID: Final = re.compile(r"S:[0-9a-f]{1,8}$")
_BESIDE_CLASSES: Final = frozenset(["hidden", "itemprop", "role", "style"])
_SEPARATOR_IN_ID: Final = re.compile("[_-]+")
_MOST_WORDS_OF_NAME: Final = 3  # longer ids are made from the heading of a section
_READ: Final = 150  # characters of a class: a page may have megabytes of them
_SEPARATORS: Final = " \t\r\n_-"


def label_of(node: LexborNode) -> int:
    """Return the `Label` that the attributes of an element give it, such as NOISE or HIDDEN.

    An element that only a script shows is hidden, but not one that opens with a click.
    """
    attributes = node.attributes
    if not attributes:
        return Label.NOTHING
    get = attributes.get
    names = get("class") or ""
    if not _BESIDE_CLASSES.isdisjoint(attributes):
        if _is_hidden(attributes):
            return Label.HIDDEN
        names = " ".join(
            [names, *(get(name) or "" for name in ("role", "itemprop") if name in attributes)]
        )
    label = _of_names(names[:_READ])
    # Ids differ from page to page, so they are not cached.
    if "id" in attributes and label in (Label.NOTHING, Label.ARTICLE, Label.REPLY):
        return _with_id(label, _searched(get("id")))
    return label


def _searched(value: str | None) -> str:
    """Return the part of an attribute that is searched for words, in lower case."""
    return (value or "")[:_READ].lower()


def _is_hidden(attributes: Mapping[str, str | None]) -> bool:
    """Return whether an element is hidden, and nothing is known to show it later.

    A click on a tab or a heading may show it, or a script of React.
    """
    get = attributes.get
    is_hidden = "hidden" in attributes and not _STREAMED_ID.match(get("id") or "")
    if not is_hidden and not _NOT_SHOWN.search((get("style") or "")[:_READ]):
        return False
    # Without another role, an element that is labeled by a button or a heading opens with it.
    if get("role") == "region" or ("aria-labelledby" in attributes and "role" not in attributes):
        return False
    names = " ".join([_searched(get(name)) for name in ("class", "id", "role")])
    return _PANEL.search(names) is None


def _with_id(label: int, identity: str) -> int:
    """Return the label of an element, given the label from its other attributes and its id."""
    if len(_SEPARATOR_IN_ID.findall(identity)) >= _MOST_WORDS_OF_NAME:
        return label
    is_noise = _NOISE_ID.search(identity) is not None
    is_comments = not is_noise and _COMMENTS_ID.search(identity) is not None
    if (is_noise or is_comments) and _PLAIN_ID.fullmatch(identity):
        if label == Label.ARTICLE:
            return Label.BOTH
        return Label.NOISE if is_noise else Label.COMMENTS
    if _ARTICLE.search(identity):
        return Label.ARTICLE
    if label == Label.NOTHING and is_number_of_reply(identity):
        return Label.REPLY
    return label


def is_number_of_reply(identity: str) -> bool:
    """Return whether an id numbers a post of a discussion: "p12", "post_12", "js-post-12"."""
    return _REPLY_ID.search(identity.lower()) is not None


def noise_word(node: LexborNode) -> str:
    """Return the word in an element's attributes that marks it as noise, comments or a sidebar.

    The word is searched for in class, role and item property. If none of them has one, the
    beginning of the id is returned.
    """
    attributes = node.attributes
    values = (attributes.get(name) or "" for name in ("class", "role", "itemprop"))
    names = " ".join(values)[:_READ]
    searched = names.lower()
    found = _NOISE.search(searched) or _COMMENTS.search(searched) or _SIDEBAR.search(searched)
    if found is None:
        return (attributes.get("id") or "")[:_READ]
    return names[found.start() : found.end()].strip(_SEPARATORS)


# The pages of a site use the same few names again and again.
@lru_cache(maxsize=20_000)
def _of_names(names: str) -> int:
    names = names.lower()
    is_noise = bool(_NOISE.search(names))
    is_comments = not is_noise and bool(_COMMENTS.search(names))
    if not is_noise and not is_comments and _SIDEBAR.search(names):
        return Label.SIDEBAR
    if _ARTICLE.search(names):
        return Label.BOTH if is_noise or is_comments else Label.ARTICLE
    if is_noise or is_comments:
        return Label.NOISE if is_noise else Label.COMMENTS
    return Label.REPLY if _REPLY.search(names) else Label.NOTHING


def class_of_noise(node: LexborNode) -> str:
    """Return the word in the class that marks an element as noise or comments, or the whole class.

    Comments differ in the rest of their classes, such as their depth or their author.
    """
    return _noise_in((node.attributes.get("class") or "")[:_READ])


@lru_cache(maxsize=20_000)
def _noise_in(names: str) -> str:
    searched = names.lower()
    found = _NOISE.search(searched) or _COMMENTS.search(searched)
    return found[0].strip(_SEPARATORS) if found else names


def is_called_article(node: LexborNode) -> bool:
    """Return whether a class says that an element is an article, no matter what the others say.

    "node node-article node-promoted" is an article on the front page of its site.
    """
    return _ARTICLE_WORD.search(_searched(node.attributes.get("class"))) is not None


def classes_of(node: LexborNode) -> frozenset[str]:
    """Return the set of an element's classes, in lower case."""
    return frozenset(_searched(node.attributes.get("class")).split())


def say_what_it_is(classes: Collection[str]) -> bool:
    """Return whether any class says what an element is, rather than where it is or how it looks."""
    return any(not _LAYOUT.fullmatch(name) for name in classes)


def is_called_foot(node: LexborNode) -> bool:
    """Return whether class or id say that an element is a footer or a dialog.

    Both may contain terms and policies.
    """
    return _calls(_FOOT, node)


def is_called_consent(node: LexborNode) -> bool:
    """Return whether class or id say that an element asks for consent to cookies."""
    return _calls(_CONSENT, node)


def is_called_terms(node: LexborNode) -> bool:
    """Return whether class or id say that an element contains terms, or is a dialog."""
    return _calls(_TERMS, node)


def _calls(words: re.Pattern[str], node: LexborNode) -> bool:
    get = node.attributes.get
    names = [_searched(get(name)) for name in ("class", "id")]
    return words.search(" ".join(names)) is not None
