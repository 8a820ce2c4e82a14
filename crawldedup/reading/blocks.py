"""Parse a page once, and walk its tree once: its block elements, and the lines of text in them.

Lexbor parses as the HTML standard says and as browsers do. Its elements are dear to look at from
Python, so whoever reads a page goes by the numbers of the blocks and by the lines, and looks at the
few elements that matter.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Set
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from itertools import accumulate, islice
from typing import Final, NamedTuple

from selectolax.lexbor import LexborDocumentOptions, LexborHTMLParser, LexborNode


def tags(names: str) -> frozenset[str]:
    """Split a text into a set of tags."""
    return frozenset(names.split())


BLOCKS: Final = tags("""
    address article aside blockquote body br button caption center dd details dialog dir div dl dt
    fieldset figcaption figure footer form frame h1 h2 h3 h4 h5 h6 head header hgroup hr html legend
    li main menu nav noscript ol optgroup option p pre search section select summary table tbody td
    textarea tfoot th thead title tr ul
""")  # Their edges separate words, even without white space.
INVISIBLE: Final = tags("audio canvas iframe map object script style svg template video")
BOILERPLATE_TAGS: Final = tags("aside button dialog footer menu nav search select")
BOILERPLATE_ROLES: Final = tags(
    "alertdialog banner contentinfo dialog menu menubar navigation search"
)

# By default Lexbor copies the chosen option into <selectedcontent>, for each such element.
_OPTIONS: Final = LexborDocumentOptions.WO_EVENTS.value


def parse(html: str) -> LexborHTMLParser:
    """Parse a page into a tree, in which the content of <noscript> stays text.

    Elements that are left open take quadratic time: see `html.bounded`.
    """
    return LexborHTMLParser(html, options=_OPTIONS, scripting=True)


@cache
def kind_of(name: str) -> int:
    """Return Lexbor's number for a tag of HTML.

    A site's own tags have another number in each page.
    """
    return parse("").create_node(name).tag_id


def kinds_of(names: Iterable[str]) -> frozenset[int]:
    """Return Lexbor's numbers for tags of HTML."""
    return frozenset(map(kind_of, names))


BOILERPLATE: Final = kinds_of(BOILERPLATE_TAGS)
HEADINGS: Final = kinds_of(tags("h1 h2 h3 h4 h5 h6"))
HOLD_CONTENT: Final = kinds_of(["article", "main"])
TEXT: Final = parse("x").body.first_child.tag_id  # type: ignore[union-attr]
COMMENT: Final = parse("<body><!-- -->").body.first_child.tag_id  # type: ignore[union-attr]


class Label:
    """What the attributes of an element say, as numbers: members of an enumeration take three times
    as long to get.
    """

    NOTHING, NOISE, ARTICLE, BOTH, SIDEBAR, HIDDEN = range(6)


def _word(words: str) -> re.Pattern[str]:
    """Return a pattern for a word in a class name, but not in names about the layout, such as
    "has-sidebar".
    """
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
_NOT_SHOWN: Final = re.compile(r"display\s*:\s*none", re.IGNORECASE)
_BESIDE_CLASSES: Final = frozenset(["hidden", "itemprop", "role", "style"])
_READ: Final = 150  # characters of a class: a page may have megabytes of them


def label_of(node: LexborNode) -> int:
    """Return what class, role, item property and id say of an element, and whether it is hidden
    without a script.
    """
    attributes = node.attributes
    if not attributes:
        return Label.NOTHING
    get = attributes.get
    names = get("class") or ""
    if not _BESIDE_CLASSES.isdisjoint(attributes):
        if "hidden" in attributes or _NOT_SHOWN.search((get("style") or "")[:_READ]):
            return Label.HIDDEN
        names = " ".join(
            [names, *(get(name) or "" for name in ("role", "itemprop") if name in attributes)]
        )
    label = _of_names(names[:_READ])
    # Each page has ids of its own, so these are not remembered.
    if "id" in attributes and label in (Label.NOTHING, Label.ARTICLE):
        identity = (get("id") or "")[:_READ]
        if _NOISE_ID.search(identity):
            return Label.NOISE if label == Label.NOTHING else Label.BOTH
        if _ARTICLE.search(identity):
            return Label.ARTICLE
    return label


# The pages of a site have few names, again and again.
@lru_cache(maxsize=20_000)
def _of_names(names: str) -> int:
    is_noise = bool(_NOISE.search(names))
    if not is_noise and _SIDEBAR.search(names):
        return Label.SIDEBAR
    return (Label.NOISE if is_noise else 0) + (Label.ARTICLE if _ARTICLE.search(names) else 0)


_ANCHORS: Final = "a:not([href]):not([onclick]):not([role]):not([tabindex])"
_TEXT, _INLINE, _LINK, _BREAK, _BLOCK, _BOILERPLATE, _SKIPPED, _MEDIA = range(8)
# Elements that show something without text.
_SHOWS: Final = tags("img iframe video audio embed object")
_HIDDEN: Final = INVISIBLE | tags("head input noscript title")
# A button is a block, for one that was never closed holds the page.
_CONTROLS: Final = tags("datalist option select textarea")


def _roles(hidden: Iterable[str]) -> list[int]:
    """Return what the walk does at each tag. An unknown tag is a part of its line."""
    roles = dict.fromkeys(kinds_of(BLOCKS), _BLOCK) | dict.fromkeys(BOILERPLATE, _BOILERPLATE)
    roles |= {
        kind_of("br"): _BREAK,
        kind_of("hr"): _BREAK,
        kind_of("a"): _LINK,
        COMMENT: _SKIPPED,
        TEXT: _TEXT,
    }
    roles |= dict.fromkeys(kinds_of(hidden), _SKIPPED) | dict.fromkeys(kinds_of(_SHOWS), _MEDIA)
    return [roles.get(kind, _INLINE) for kind in range(max(roles) + 1)]


_WITH_CONTROLS: Final = _roles(_HIDDEN)
_WITHOUT_CONTROLS: Final = _roles(_HIDDEN | _CONTROLS)
# Blocks whose names are read: a page may have 100,000, each with a name of its own.
_NAMED: Final = 5_000
# Letters up to which noise is looked at all the same: a price may be named "promo".
_SHORT_NOISE: Final = 100
# Times that what is called noise may be longer than the rest of the page, links left out.
_BELIEVED: Final = 1.5
_BELIEVED_IF_HIDDEN: Final = 4.0
_LEAST_TITLE: Final = 25  # letters of a link
_LEAST_CONTENT: Final = 500  # letters: a page of a table may have all its prose in a footer
# Letters from which on a page has a text of its own. Terms and policies, which stand in footers and
# dialogs, are then believed to be such even if they are longer.
_ENOUGH: Final = 1_000
_FEET: Final = tags("footer dialog")
_IS_FOOT: Final = _word(r"footer|cookie\w*|consent|modal|popup|copyright")
_MOST_LEFT_OUT: Final = 2_000  # elements that are weighed

TextLine = tuple[
    str, int, int
]  # a text between two edges of blocks, the letters of its links, and its block


@dataclass(frozen=True, slots=True)
class Blocks:
    """The block elements of a body, in document order, each with the number of the one around it.

    -1 for the body.

    What a block holds are the numbers from its own to before its end. `names` are what its
    attributes say of it. `links` are the links, and `media` the pictures, frames and players.
    `content` has the `mem_id` of elements that hold most of the page, whatever they are called.
    """

    nodes: list[LexborNode]
    parents: list[int]
    ends: list[int]
    kinds: list[int]
    names: list[int]
    lines: list[TextLine]
    links: list[LexborNode]
    media: list[LexborNode]
    content: frozenset[int] = frozenset()

    def children(self, block: int) -> Iterator[int]:
        """Yield the direct children of a block."""
        inner = block + 1
        while inner < self.ends[block]:
            yield inner
            inner = self.ends[inner]

    def way_to(self, block: int) -> Iterator[int]:
        """Yield a block and its ancestors, inner ones first; nothing for -1."""
        while block >= 0:
            yield block
            block = self.parents[block]


def totals(own: list[int], ends: list[int]) -> list[int]:
    """Sum the values of each block and of the blocks within it, by differences of running sums."""
    before = [0, *accumulate(own)]
    return [before[end] - before[block] for block, end in enumerate(ends)]


def holders_of_content(tree: LexborHTMLParser, content: str = "h1, article, main") -> set[int]:
    """Return the `mem_id` of each element around a first heading, an article or <main>.

    A navigation that holds the article was never closed, so it is none.
    """
    marked: set[int] = set()
    for node in tree.css(content):
        outer = node.parent
        while outer is not None and outer.mem_id not in marked:
            marked.add(outer.mem_id)
            outer = outer.parent
    return marked


def blocks_of(tree: LexborHTMLParser, *, with_controls: bool = False) -> Blocks:
    """Walk a tree. Controls, such as buttons and choices, are left out unless asked for."""
    return _walk(tree, _WITH_CONTROLS if with_controls else _WITHOUT_CONTROLS)[0]


def blocks_without_noise(tree: LexborHTMLParser, holders: set[int]) -> Blocks:
    """Walk a tree, but not into navigation, footers and what is named as noise or hidden.

    Names and tags are evidence, no verdicts: an element that holds most of what the page says is
    content, whatever it is called.
    """
    blocks, left_out = _walk(tree, _WITHOUT_CONTROLS, holders)
    rest = sum([_weight(text, linked) for text, linked, _ in blocks.lines])
    content = _content_among(left_out, rest)
    if content:
        blocks, _ = _walk(tree, _WITHOUT_CONTROLS, holders | content)
        blocks = replace(blocks, content=content)
    return blocks


def _weight(text: str, linked: int) -> int:
    """Return how many letters of a line say something: a long link is a title, a short one leads
    to a part of the site.
    """
    return len(text) if linked >= _LEAST_TITLE else len(text) - linked


class _LeftOut(NamedTuple):
    """An element that was left out for its name or its tag."""

    node: LexborNode
    letters: int
    is_hidden: bool


def _content_among(left_out: list[_LeftOut], rest: int) -> frozenset[int]:
    """Return the `mem_id` of the elements that hold several times what the rest of the page says.

    Elements of one tag and class count together, such as the replies to a question.

    Args:
        left_out: The elements that were left out.
        rest: The letters of the rest, without short links.
    """
    groups: dict[tuple[str, str, bool], list[_LeftOut]] = defaultdict(list)
    for each in left_out:
        name = (each.node.attributes.get("class") or "")[:_READ]
        groups[each.node.tag or "", name, each.is_hidden].append(each)
    content: set[int] = set()
    for (tag, name, is_hidden), group in groups.items():
        is_foot = tag in _FEET or _IS_FOOT.search(name) is not None
        if is_hidden or (is_foot and rest >= _ENOUGH):
            most = max(rest * _BELIEVED_IF_HIDDEN, _LEAST_CONTENT)
        else:
            most = max(rest * _BELIEVED, _LEAST_CONTENT)
        letters = sum([each.letters for each in group])
        if letters > most and letters - sum([_linked(each.node) for each in group]) > most:
            content.update([each.node.mem_id for each in group])
    return frozenset(content)


def _linked(node: LexborNode) -> int:
    """Return how many letters of an element are those of links."""
    return sum([len(link.text()) for link in node.css("a[href]")])


# One loop over plain lists, with few looks at each node: a call for each would take as long again.
def _walk(  # noqa: C901, PLR0915
    tree: LexborHTMLParser,
    does: list[int],
    holders: Set[int] | None = None,
) -> tuple[Blocks, list[_LeftOut]]:
    """Return the blocks of a tree, and the elements that were left out for their names or tags.

    With `holders`, the names of blocks are read, and what is noise is left out.
    """
    body = tree.body
    if body is None:
        return Blocks([], [], [], [], [], [], [], []), []
    nodes, parents, ends, kinds, names = [body], [-1], [0], [body.tag_id], [Label.NOTHING]
    lines: list[TextLine] = []
    links_met: list[LexborNode] = []
    media: list[LexborNode] = []
    pieces: list[str] = []
    # The open elements that hold something, and what each of them is.
    opened, roles = [body], [_BLOCK]
    left_out: list[_LeftOut] = []
    linked = links = block = 0
    anchors = _anchors(tree)
    short_noise, known = -1, len(does)
    node = body.first_child
    while node is not None or opened:
        if node is None:
            node = opened.pop()
            role = roles.pop()
            if role >= _BLOCK:
                if pieces:
                    _end_line(lines, pieces, linked, block)
                    linked = 0
                ends[block] = len(nodes)
                if block == short_noise:
                    short_noise = -1
                block = parents[block]
            elif role == _LINK:
                links -= 1
            node = node.next
            continue
        kind = node.tag_id
        role = does[kind] if kind < known else _INLINE
        if role == _LINK and node.mem_id in anchors:
            role = _INLINE
        if role >= _SKIPPED:
            if role == _MEDIA:
                media.append(node)
            node = node.next
            continue
        child = node if role == _TEXT else node.first_child
        # Most inline elements hold a text and no more.
        if role == _TEXT or (
            role <= _LINK and child is not None and child.tag_id == TEXT and child.next is None
        ):
            text = (child and child.text_content) or ""
            if pieces or not text.isspace():
                pieces.append(text)
                if links or role == _LINK:
                    linked += len(text)
            if role == _LINK:
                links_met.append(node)
            node = node.next
            continue
        if role >= _BREAK and pieces:
            _end_line(lines, pieces, linked, block)
            linked = 0
        if child is None:
            node = node.next
            continue
        if role >= _BLOCK:
            name = Label.NOTHING
            if holders is not None:
                if role == _BOILERPLATE and node.mem_id not in holders:
                    letters = len(node.text())
                    if letters > _SHORT_NOISE and len(left_out) < _MOST_LEFT_OUT:
                        left_out.append(_LeftOut(node, letters, is_hidden=False))
                    node = node.next
                    continue
                if len(nodes) < _NAMED:
                    name = label_of(node)
                is_noise = name in (Label.HIDDEN, Label.NOISE) and node.mem_id not in holders
                # What is in short noise is no longer, and is not measured again.
                if is_noise and short_noise < 0:
                    if (letters := len(node.text())) > _SHORT_NOISE:
                        if len(left_out) < _MOST_LEFT_OUT:
                            left_out.append(_LeftOut(node, letters, name == Label.HIDDEN))
                        node = node.next
                        continue
                    short_noise = len(nodes)
            parents.append(block)
            block = len(nodes)
            nodes.append(node)
            kinds.append(kind)
            names.append(name)
            ends.append(0)
        elif role == _LINK:
            links += 1
            links_met.append(node)
        opened.append(node)
        roles.append(role)
        node = child
    return Blocks(nodes, parents, ends, kinds, names, lines, links_met, media), left_out


def _anchors(tree: LexborHTMLParser) -> set[int]:
    """Return the `mem_id` of each <a> that leads nowhere: it marks a place, and its text is text.

    Scripts make links of others, as in menus, so those with a handler or a role are links.
    """
    return {node.mem_id for node in tree.css(_ANCHORS)}


def _end_line(lines: list[TextLine], pieces: list[str], linked: int, block: int) -> None:
    if text := " ".join("".join(pieces).split()):
        lines.append((text, linked, block))
    pieces.clear()


_LEVELS: Final = 200  # of elements around one; real pages have up to 60
_PARTS: Final = 100  # of an element: a picture may stand before its text


def within(node: LexborNode) -> Iterator[LexborNode]:
    """Yield the first parts of a node, texts and comments included, in document order."""
    return islice(node.traverse(include_text=True), 1, _PARTS)


def text_within(node: LexborNode, most: int) -> str:
    """Return the beginning of the text in the first parts of a node, in one line."""
    parts = islice(node.traverse(include_text=True), _PARTS)
    return " ".join(
        "".join([part.text_content or "" for part in parts if part.tag_id == TEXT])[:most].split()
    )


def elements_around(node: LexborNode) -> Iterator[LexborNode]:
    """Yield the ancestors of a node, inner ones first, up to `_LEVELS` of them."""
    outer = node.parent
    for _ in range(_LEVELS):
        if outer is None or not outer.is_element_node:
            return
        yield outer
        outer = outer.parent


def sibling(node: LexborNode, *, forward: bool) -> LexborNode | None:
    """Return the next or the previous sibling element."""
    beside = node.next if forward else node.prev
    while beside is not None and not beside.is_element_node:
        beside = beside.next if forward else beside.prev
    return beside
