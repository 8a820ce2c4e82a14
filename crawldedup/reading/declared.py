"""Read what a page declares besides its text.

This is data for machines, as in JSON-LD and microdata, and the state of its controls.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple, Self

import msgspec
from selectolax.lexbor import LexborHTMLParser, LexborNode

from crawldedup.marks.values import AVAILABILITY, MOST_DATA
from crawldedup.reading import mark_words
from crawldedup.reading.blocks import BLOCKS, Blocks, kinds_of
from crawldedup.reading.labels import labeled_values
from crawldedup.reading.nodes import own_text
from crawldedup.urls import TOKEN

Values = Iterator[tuple[str, str]]
"""Pairs of a name and the value that a page declares under it."""

_BLOCK_KINDS: Final = kinds_of(BLOCKS)

# Limits, because a page may have 100,000 of each.
_MOST_ELEMENTS: Final = 400
_MOST_CONTROLS: Final = 100
_MOST_PLACES: Final = 3
_MOST_SCRIPTS: Final = 40
_MOST_LINKED_DATA: Final = 200_000
_MOST_STATE: Final = 100_000
_MOST_LEVELS: Final = 60
_MOST_DEPTH: Final = 12
_MOST_LEAVES: Final = 2_000
_LONGEST_VALUE: Final = 500

_LONG_TEXT: Final = 3_000
"""If the main text has this many letters, the state that scripts contain isn't read."""

_TOKEN: Final = re.compile(TOKEN, re.IGNORECASE)
NEXT_SITE: Final = "next site"
"""The name of the address on another site that a page leads to after a few seconds."""

_DECLARED: Final = (
    "product:price:amount",
    "og:price:amount",
    "product:retailer_item_id",
    NEXT_SITE,
)
_DECLARED_AVAILABILITY: Final = ("product:availability", "og:availability")
# Each selector is tried on each element of a page. To save time, selectors begin with a test that
# few elements pass.
_SAYING: Final = (
    "input:is([type=hidden], [type=radio][checked], [readonly]), option[selected], [data-lat], "
    "[itemprop]:is([itemprop=sku], [itemprop=productID], [itemprop=price], [itemprop=color], "
    "[itemprop=mpn], [itemprop^=gtin], [itemprop=isbn], [itemprop=startDate], "
    "[itemprop=availability])"
)
_LINKED_DATA: Final = "script[type*='ld+json']"
_ANY_DATA: Final = "script:not([src])"


class Elements(NamedTuple):
    """The elements of a page that declare something about its content.

    These are scripts with data, form controls, microdata properties, and places on maps.
    """

    scripts: list[LexborNode]
    controls: list[LexborNode]
    properties: list[LexborNode]
    places: list[LexborNode]

    @classmethod
    def of(cls, tree: LexborHTMLParser, text: str) -> Self:
        """Find the elements that declare something about the content, up to 400, in one pass.

        If the main `text` is long, only the scripts with JSON-LD are read, and not those with
        embedded state.
        """
        scripts = _LINKED_DATA if len(text) >= _LONG_TEXT else _ANY_DATA
        found = cls([], [], [], [])
        for node in tree.css(f"{scripts}, {_SAYING}")[:_MOST_ELEMENTS]:
            tag = node.tag
            if tag == "script":
                found.scripts.append(node)
            elif tag in ("input", "option"):
                found.controls.append(node)
            elif "itemprop" in node.attributes:
                found.properties.append(node)
            else:
                found.places.append(node)
        return found


def declared_data(
    blocks: Blocks, elements: Elements, meta: Mapping[str, str]
) -> tuple[tuple[str, str], ...]:
    """Return what a page declares about its content, as pairs of a name and a value.

    Args:
        blocks: The blocks of the content.
        elements: The elements that say something besides the text.
        meta: What the page says about itself in its head.
    """
    found: dict[str, str] = {}
    in_scripts = [*_declared(elements.scripts)]
    in_microdata = [*_properties(elements.properties)]
    declared = [*in_scripts, *in_microdata, *_chosen(elements.controls, blocks)]
    declared += labeled_values(blocks)
    declared += [(name, meta[name]) for name in _DECLARED if name in meta]
    for name, value in declared:
        if name != AVAILABILITY:
            found.setdefault(name, value[:_LONGEST_VALUE])
    data = tuple(found.items())[:MOST_DATA]
    in_head = [(AVAILABILITY, meta[name]) for name in _DECLARED_AVAILABILITY if name in meta]
    available = _availability(in_scripts, in_microdata, in_head[:1])
    # A page that declares nothing else isn't an offer.
    return (*data, (AVAILABILITY, available)) if data and available else data


def _availability(*places: Sequence[tuple[str, str]]) -> str:
    """Return the availability of a product, such as "instock", or "" if no place declares it.

    The first place that does counts. If there are several variants, their values are sorted, so
    their order doesn't matter.
    """
    for place in places:
        values = [_without_vocabulary(value) for name, value in place if name == AVAILABILITY]
        if any(values):
            return ", ".join(sorted(values))[:_LONGEST_VALUE]
    return ""


def _without_vocabulary(value: str) -> str:
    """Return "instock" for ``https://schema.org/InStock``, and for "in stock" as well."""
    term = re.split(r"[/#]", value[:_LONGEST_VALUE].strip().rstrip("/"))[-1]
    return "".join([char for char in term.lower() if char.isalnum()])


def places_on_maps(blocks: Blocks, elements: Elements) -> Iterator[str]:
    """Yield the coordinates that the content shows on maps, as "latitude,longitude"."""
    shown = _shown(blocks) if elements.places else set()
    for node in elements.places[:_MOST_PLACES]:
        if not _is_left_out(node, shown):
            attributes = node.attributes
            longitude = attributes.get("data-lng") or attributes.get("data-lon")
            yield f"{attributes.get('data-lat')},{longitude}"


def _declared(scripts: Sequence[LexborNode]) -> Values:
    """Yield what scripts declare for machines: identifiers, prices and the like."""
    letters = 0
    for place, script in enumerate(scripts[:_MOST_SCRIPTS]):
        kind = script.attributes.get("type") or ""
        is_linked_data = "ld+json" in kind
        content = own_text(script)
        letters += len(content)
        if letters > (_MOST_LINKED_DATA if is_linked_data else _MOST_STATE):
            return
        prefix = "declared" if is_linked_data else f"script {place}"
        for leaf in _leaves(_decoded(content, is_json="json" in kind)):
            if leaf.name == AVAILABILITY:
                # In other scripts, it may be the number of items that are left.
                if is_linked_data:
                    yield AVAILABILITY, leaf.value
            elif not _TOKEN.fullmatch(leaf.value):
                yield f"{prefix} {leaf.path}", leaf.value


def _properties(nodes: Sequence[LexborNode]) -> Values:
    """Yield the microdata of a page. Properties with several values, as in a list, are left out."""
    found: dict[str, set[str]] = {}
    for node in nodes[:_MOST_CONTROLS]:
        attributes = node.attributes
        name = (attributes.get("itemprop") or "").lower()
        value = attributes.get("content") or attributes.get("datetime")
        if name == AVAILABILITY:
            value = value or attributes.get("href")
        value = value or node.text()
        found.setdefault(name, set()).add(value.strip()[:_LONGEST_VALUE])
    for name, values in found.items():
        if len(values) == 1 and (value := values.pop()):
            yield (AVAILABILITY if name == AVAILABILITY else f"property {name}"), value


def _decoded(script: str, *, is_json: bool) -> Any:
    """Parse the data in a script, or return None if it's a program or broken."""
    if not is_json:
        match = mark_words.STATE.match(script[:200])
        if match is None:
            return None
        script = script[match.end() :].rstrip().rstrip(";")
    try:
        return msgspec.json.decode(script)
    except (msgspec.MsgspecError, RecursionError, UnicodeEncodeError):
        return None


class _Leaf(NamedTuple):
    name: str
    path: str
    value: str


class _Inner(NamedTuple):
    """A part of the data in a script that is yet to be read."""

    name: str
    path: str
    depth: int
    value: Any


def _leaves(data: Any) -> Iterator[_Leaf]:
    """Yield the values in data that identify content, in order, with the names on the way."""
    waiting = [_Inner("", "", 0, data)]
    for _ in range(_MOST_LEAVES):
        if not waiting:
            return
        inner = waiting.pop()
        value = inner.value
        if isinstance(value, dict | list):
            if inner.depth <= _MOST_DEPTH:
                waiting += reversed(_parts_of(inner))
            continue
        is_value = isinstance(value, str | int | float) and not isinstance(value, bool)
        is_wanted = inner.name in mark_words.IDENTIFYING or inner.name == AVAILABILITY
        if is_value and value and is_wanted:
            yield _Leaf(inner.name, inner.path.strip(), str(value))


def _parts_of(inner: _Inner) -> list[_Inner]:
    """Return those parts of an object or a list that may be about the content.

    Of a list, these are the first three members.
    """
    parts = []
    path = inner.path
    depth = inner.depth + 1
    value = inner.value
    if isinstance(value, dict):
        for key, part in value.items():
            name = str(key).lower()
            if name not in mark_words.ABOUT_OTHERS:
                parts.append(_Inner(name, f"{path}{name} ", depth, part))
    elif isinstance(value, list):
        for place, part in enumerate(value[:3]):
            parts.append(_Inner("", f"{path}{place} ", depth, part))
    return parts


def _chosen(controls: Sequence[LexborNode], blocks: Blocks) -> Values:
    """Yield what a visitor has selected: hidden or read-only fields, checked buttons and the
    like."""
    shown: set[int] | None = None
    for node in controls[:_MOST_CONTROLS]:
        holder: LexborNode | None = node
        value = node.attributes.get("value") or ""
        if node.tag == "option":
            value = value or node.text()[:_LONGEST_VALUE]
            holder = next((outer for outer in _around(node) if outer.tag == "select"), None)
        if holder is None:
            continue
        name = holder.attributes.get("name") or holder.attributes.get("id") or ""
        if "readonly" in holder.attributes:
            name = name or "read-only"
            # It may be the address of the page, for sharing.
            if "://" in value:
                continue
        if not name or not value or mark_words.NO_FIELD.search(name) or _TOKEN.fullmatch(value):
            continue
        shown = shown or _shown(blocks)
        if not _is_left_out(holder, shown):
            yield f"field {name}", value


def _around(node: LexborNode) -> Iterator[LexborNode]:
    outer = node.parent
    for _ in range(_MOST_LEVELS):
        if outer is None:
            return
        yield outer
        outer = outer.parent


def _shown(blocks: Blocks) -> set[int]:
    """Return the `mem_id` of each block that the page shows."""
    return {block.mem_id for block in blocks.nodes}


def _is_left_out(element: LexborNode, shown: set[int]) -> bool:
    """Return whether the closest block around an element isn't shown, or counts as noise."""
    for outer in _around(element):
        if outer.mem_id in shown:
            return False
        if outer.tag_id in _BLOCK_KINDS:
            return True
    return False
