"""Parse a page, and find its block elements and their lines of text in a single walk.

Lexbor parses like browsers do. Accessing its elements from Python is slow, so code that reads a
page uses the numbers of blocks and the lines, and only accesses the few elements that matter.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import dataclass
from functools import cache
from itertools import accumulate
from typing import Final, NamedTuple

from selectolax.lexbor import LexborDocumentOptions, LexborHTMLParser, LexborNode

from crawldedup.reading.block_names import (
    Label,
    class_of_noise,
    is_called_article,
    is_called_consent,
    is_called_foot,
    is_called_terms,
    label_of,
)
from crawldedup.reading.sizes import least_with_titles, size_beside_links, size_of, size_with_titles


def tags(names: str) -> frozenset[str]:
    """Split a text into a set of tag names."""
    return frozenset(names.split())


BLOCKS: Final = tags("""
    address article aside blockquote body br button caption center dd details dialog dir div dl dt
    fieldset figcaption figure footer form frame h1 h2 h3 h4 h5 h6 head header hgroup hr html legend
    li main menu nav noscript ol optgroup option p pre search section select summary table tbody td
    textarea tfoot th thead title tr ul
""")  # Their edges separate words, even without whitespace.
INVISIBLE: Final = tags("audio canvas iframe map object script style svg template video")
BOILERPLATE_TAGS: Final = tags("aside button dialog footer menu nav search select")
BOILERPLATE_ROLES: Final = tags(
    "alertdialog banner contentinfo dialog menu menubar navigation search"
)

# By default, Lexbor copies the selected option into each <selectedcontent> element.
_OPTIONS: Final = LexborDocumentOptions.WO_EVENTS.value


def parse(html: str | bytes) -> LexborHTMLParser:
    """Parse a page, or its bytes in UTF-8, into a tree. The content of <noscript> stays text.

    Elements that are left open take quadratic time: see `html.bounded`.
    """
    return LexborHTMLParser(html, options=_OPTIONS, scripting=True)


@cache
def kind_of(name: str) -> int:
    """Return Lexbor's number for the name of an HTML tag.

    Custom tags of a site have a different number on each page.
    """
    return parse("").create_node(name).tag_id


def kinds_of(names: Iterable[str]) -> frozenset[int]:
    """Return Lexbor's numbers for the names of HTML tags."""
    return frozenset(map(kind_of, names))


BOILERPLATE: Final = kinds_of(BOILERPLATE_TAGS)
HEADINGS: Final = kinds_of(tags("h1 h2 h3 h4 h5 h6"))
HOLD_CONTENT: Final = kinds_of(["article", "main"])
TEXT: Final = parse("x").body.first_child.tag_id  # type: ignore[union-attr]
COMMENT: Final = parse("<body><!-- -->").body.first_child.tag_id  # type: ignore[union-attr]


_ANCHORS: Final = "a:not([href]):not([onclick]):not([role]):not([tabindex])"
_TEXT, _INLINE, _LINK, _BREAK, _BLOCK, _BOILERPLATE, _SKIPPED, _MEDIA = range(8)
# Elements that show something without text.
_SHOWS: Final = tags("img iframe video audio embed object")
_HIDDEN: Final = INVISIBLE | tags("head input noembed noframes noscript title")
# A button is a block, because one that is never closed contains the rest of the page.
_CONTROLS: Final = tags("datalist option select textarea")


def _roles(hidden: Iterable[str]) -> list[int]:
    """Return how the walk treats each kind of tag. Unknown ones count as inline elements."""
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
# The maximum number of blocks whose names are read. A page may have 100,000, each with a different
# name.
_NAMED: Final = 5_000
# Noise with at most this many letters is read anyway: a price may be named "promo".
_SHORT_NOISE: Final = 100
# How many times longer than the rest of the page, without links, noise can be before it counts as
# content.
_BELIEVED: Final = 1.5
_BELIEVED_IN_DOUBT: Final = 4.0
_BELIEVED_OF_ARTICLE: Final = 0.5
_LEFT_OUT: Final = frozenset([Label.HIDDEN, Label.NOISE, Label.COMMENTS])
_LEAST_CONTENT: Final = 500  # letters: a page of a table may have all its prose in a footer
_LEAST_OF_ARTICLE: Final = 150  # letters of the only element that is called an article
# The number of letters at which a page has enough text. Terms and policies in footers and dialogs
# then count as such even if they are longer.
_ENOUGH: Final = 1_000
_FEET: Final = tags("footer dialog")
_FEET_KINDS: Final = kinds_of(_FEET)
_H1: Final = kind_of("h1")
_MOST_LEFT_OUT: Final = 2_000  # elements that may turn out to be content
# How many levels of nested noise may turn out to be content, like comments in a list of comments.
_LEVELS_OF_NAMES: Final = 3

TextLine = tuple[str, int, int]
"""A line of text: the text between two edges of blocks, the letters of its links, and its block."""


@dataclass(frozen=True, slots=True)
class Blocks:
    """The block elements of a page, numbered in document order, and their lines of text.

    `parents` has the block around each one, -1 for the body. The blocks inside of a block have the
    numbers from its own to before its end. `names` are the labels from their attributes. `media`
    are pictures, frames and players. `content` has the `mem_id` of elements that hold most of the
    page. `left_out` are elements that were, or may be, left out because of their names or tags.
    `anchors` has the `mem_id` of each <a> that isn't a link.
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
    left_out: Sequence["LeftOut"] = ()
    anchors: Set[int] = frozenset()

    def children(self, block: int) -> Iterator[int]:
        """Yield the direct children of a block."""
        inner = block + 1
        while inner < self.ends[block]:
            yield inner
            inner = self.ends[inner]

    def way_to(self, block: int) -> Iterator[int]:
        """Yield a block and the blocks around it, from the inside out; nothing for -1."""
        while block >= 0:
            yield block
            block = self.parents[block]


def totals(own: list[int], ends: list[int]) -> list[int]:
    """Return, for each block, the sum of its own value and those of all blocks inside of it."""
    before = [0, *accumulate(own)]
    return [before[end] - start for start, end in zip(before, ends, strict=False)]


def holders_of_content(tree: LexborHTMLParser, content: str = "h1, article, main") -> set[int]:
    """Find the elements around an <h1>, an <article> or <main>, and return their `mem_id`.

    A navigation that contains the article was never closed, so it isn't treated as one. An <h1>
    above the terms in a footer doesn't count if the page has any of these elements elsewhere.
    """
    nodes = tree.css(content)
    return _around(nodes, _FEET_KINDS) or _around(nodes, frozenset())


def _around(nodes: Sequence[LexborNode], feet: Set[int]) -> set[int]:
    """Return the `mem_id` of all elements around some others.

    An <h1> inside of an element of the kinds `feet` doesn't count.
    """
    around: set[int] = set()
    in_feet: set[int] = set()
    for node in nodes:
        is_heading = node.tag_id == _H1
        way: list[int] = []
        outer = node.parent
        while outer is not None and outer.mem_id not in around:
            way.append(outer.mem_id)
            if is_heading and (outer.tag_id in feet or outer.mem_id in in_feet):
                in_feet.update(way)
                break
            outer = outer.parent
        else:
            around.update(way)
    return around


def blocks_of(tree: LexborHTMLParser, *, with_controls: bool = False) -> Blocks:
    """Find the blocks of a page. Controls, such as selection lists, are only included if wanted."""
    return _walk(tree.body, _anchors(tree), _WITH_CONTROLS if with_controls else _WITHOUT_CONTROLS)


def blocks_in(page: Blocks, node: LexborNode) -> Blocks:
    """Find the blocks inside of an element of a page.

    Only controls, programs and the like are left out.
    """
    return _walk(node, page.anchors, _WITHOUT_CONTROLS)


def blocks_without_noise(tree: LexborHTMLParser, holders: set[int]) -> Blocks:
    """Find the blocks of a page without navigation, footers, and what is hidden or named as noise.

    Names and tags are only evidence: an element with most of the page's text is content.
    """
    anchors = _anchors(tree)
    blocks = _walk(tree.body, anchors, _WITHOUT_CONTROLS, holders)
    content: frozenset[int] = frozenset()
    for _ in range(_LEVELS_OF_NAMES):
        found = _content_among(blocks.left_out, blocks.lines, anchors)
        if not found:
            break
        content |= found
        blocks = _walk(tree.body, anchors, _WITHOUT_CONTROLS, holders, content)
    return blocks


class LeftOut(NamedTuple):
    """An element that was left out because of its name or tag, or will be unless it is long."""

    node: LexborNode
    letters: int  # its letters, as `size_of` counts them
    name: int  # the label from its attributes, unless it was left out because of its tag
    is_read: bool = False  # whether it is so short that it was read anyway

    @property
    def has_comments(self) -> bool:
        """Whether it is named after comments, no matter why it was left out."""
        return (self.name or label_of(self.node)) == Label.COMMENTS


def _content_among(
    left_out: Sequence[LeftOut], lines: Sequence[TextLine], anchors: Set[int]
) -> frozenset[int]:
    """Find left-out elements that are content after all, and return their `mem_id`.

    How much more text than the rest of the page they need depends on their names. Elements with the
    same tag and name count together, such as the replies to a question, even short ones.

    Args:
        left_out: The elements that were left out.
        lines: The lines of the rest of the page.
        anchors: The `mem_id` of each <a> that isn't a link.
    """
    read = sum([each.letters for each in left_out if each.is_read])
    # Most pages stop here.
    if _are_short(left_out, 0) or _are_short(left_out, _least_size(lines) - read):
        return frozenset()
    rest = sum([size_with_titles(text, linked) for text, linked, _ in lines]) - read
    if _are_short(left_out, rest):
        return frozenset()
    rest = max(0, rest)
    groups: dict[tuple[str, str, int], list[LeftOut]] = defaultdict(list)
    for each in left_out:
        groups[each.node.tag or "", class_of_noise(each.node), each.name].append(each)
    content: set[int] = set()
    for (tag, _, label), group in groups.items():
        first = group[0].node
        is_foot = rest >= _ENOUGH and (tag in _FEET or is_called_foot(first))
        least = _LEAST_CONTENT
        if label == Label.HIDDEN:
            times = _BELIEVED_IN_DOUBT
        elif len(group) == 1 and _is_article(first, label):
            times = _BELIEVED_OF_ARTICLE
            least = _LEAST_OF_ARTICLE
        else:
            times = _BELIEVED_IN_DOUBT if is_foot else _BELIEVED
        most = max(rest * times, least)
        # Until now, the letters of programs and styles were counted as well.
        letters = sum([each.letters for each in group])
        if letters <= most:
            continue
        if rest >= _ENOUGH:
            group = [each for each in group if not _asks_for_consent(each.node)]
        letters = sum([_letters_shown(each.node, anchors, is_foot=is_foot) for each in group])
        if letters > most:
            content.update([each.node.mem_id for each in group])
    return frozenset(content)


def _least_size(lines: Sequence[TextLine]) -> int:
    """Return the least size that some lines may have. Letters of any script count at least once."""
    return sum([least_with_titles(text, linked) for text, linked, _ in lines])


def _is_article(node: LexborNode, label: int) -> bool:
    return is_called_article(node) or (node.tag == "article" and label == Label.NOISE)


def _are_short(left_out: Sequence[LeftOut], rest: int) -> bool:
    """Return whether left-out elements are too short to be content, alone and together."""
    sizes = [each.letters for each in left_out]
    is_short_alone = max(sizes, default=0) <= max(rest * _BELIEVED_OF_ARTICLE, _LEAST_OF_ARTICLE)
    return is_short_alone and sum(sizes) <= max(rest * _BELIEVED, _LEAST_CONTENT)


def _asks_for_consent(node: LexborNode) -> bool:
    """Return whether an element is a dialog about cookies, which may be longer than any article."""
    return is_called_consent(node) and not is_called_article(node)


def _letters_shown(node: LexborNode, anchors: Set[int], *, is_foot: bool) -> int:
    """Count the letters that an element shows, except for those of links.

    In a footer (`is_foot`), dialogs and terms don't count, because nobody reads them.
    """
    blocks = _walk(node, anchors, _WITHOUT_CONTROLS)
    terms = _blocks_of_terms(blocks) if is_foot else frozenset()
    lines = [line for line in blocks.lines if line[2] not in terms]
    return sum([size_beside_links(text, linked) for text, linked, _ in lines])


def _blocks_of_terms(blocks: Blocks) -> frozenset[int]:
    """Return the blocks that are named as terms and policies, with all blocks inside of them."""
    terms: set[int] = set()
    end = 0
    for block in range(1, min(len(blocks.nodes), _NAMED)):
        if block >= end and is_called_terms(blocks.nodes[block]):
            end = blocks.ends[block]
            terms.update(range(block, end))
    return frozenset(terms)


# One loop over plain lists with few accesses to each node. A function call would double the time.
def _walk(  # noqa: C901, PLR0915
    body: LexborNode | None,
    anchors: Set[int],
    does: list[int],
    holders: Set[int] | None = None,
    content: frozenset[int] = frozenset(),
) -> Blocks:
    """Walk the tree below an element once, and return its blocks.

    With `holders`, names of blocks are read, and noise is left out unless it is `content`.
    """
    if body is None:
        return Blocks([], [], [], [], [], [], [], [])
    nodes, parents, ends, kinds, names = [body], [-1], [0], [body.tag_id], [Label.NOTHING]
    lines: list[TextLine] = []
    links_met: list[LexborNode] = []
    media: list[LexborNode] = []
    pieces: list[str] = []
    opened, roles = [body], [_BLOCK]
    left_out: list[LeftOut] = []
    linked = links = block = 0
    short_noise, known = -1, len(does)
    node = body.first_child
    while opened:
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
        # Most inline elements contain nothing but a text.
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
                if role == _BOILERPLATE and not _is_held(node, holders, content):
                    letters = size_of(node.text())
                    if letters and len(left_out) < _most_left_out_for(letters):
                        left_out.append(LeftOut(node, letters, Label.NOTHING))
                    node = node.next
                    continue
                if len(nodes) < _NAMED:
                    name = label_of(node)
                is_noise = name in _LEFT_OUT and not _is_held(node, holders, content)
                # Elements inside of short noise aren't longer, so they aren't measured again.
                if is_noise and short_noise < 0:
                    text = node.text()
                    letters = size_of(text)
                    is_short = len(text) <= _SHORT_NOISE
                    if len(left_out) < _most_left_out_for(letters):
                        left_out.append(LeftOut(node, letters, name, is_short))
                    if not is_short:
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
    return Blocks(
        nodes, parents, ends, kinds, names, lines, links_met, media, content, left_out, anchors
    )


def _is_held(node: LexborNode, holders: Set[int], content: frozenset[int]) -> bool:
    """Return whether an element is content or has content inside, so its name doesn't matter."""
    return node.mem_id in holders or node.mem_id in content


def _most_left_out_for(letters: int) -> int:
    """Return how many left-out elements to note before one with this many letters is ignored.

    Short ones are given up first, at half the maximum.
    """
    return _MOST_LEFT_OUT if letters > _SHORT_NOISE else _MOST_LEFT_OUT // 2


def _anchors(tree: LexborHTMLParser) -> set[int]:
    """Return the `mem_id` of each <a> that isn't a link but marks a place. Its text is plain text.

    Those with a handler or a role count as links, because scripts make them links, as in menus.
    """
    return {node.mem_id for node in tree.css(_ANCHORS)}


def _end_line(lines: list[TextLine], pieces: list[str], linked: int, block: int) -> None:
    if text := " ".join("".join(pieces).split()):
        lines.append((text, linked, block))
    pieces.clear()
