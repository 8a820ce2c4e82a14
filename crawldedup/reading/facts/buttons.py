"""Find the buy controls of a page."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Final

from crawldedup.reading.blocks import NUMBER, numbers, texts_within
from crawldedup.reading.facts import VOCABULARY, limits

if TYPE_CHECKING:
    from selectolax.lexbor import LexborHTMLParser, LexborNode

BUY_SIGNS: Final = tuple(VOCABULARY["buy_signs"])
_BUY_BUTTONS: Final = frozenset(VOCABULARY["buy_buttons"])
_BUTTON, _INPUT = NUMBER["button"], NUMBER["input"]
_SHOW_TEXTS: Final = numbers(["a", "button"])
_NAMES: Final = ("class", "id", "name", "value", "action", "title", "aria-label")


def buy_buttons(tree: LexborHTMLParser) -> list[LexborNode]:
    """Return the buttons and forms that buy something; of very many, the first."""
    return _buying(tree.css("button, input, form"))


def buy_controls(tree: LexborHTMLParser, buttons: list[LexborNode] | None = None) -> list[LexborNode]:
    """Return the buttons and forms that buy something, or the links if none does. `buttons` may be known."""
    return (buy_buttons(tree) if buttons is None else buttons) or _buying(tree.css("a"))


def _buying(controls: list[LexborNode]) -> list[LexborNode]:
    """Return those that buy something, by their names and texts."""
    read = [_read(control) for control in controls[: limits.CONTROLS]]
    source = "\n".join([said for said, _ in read])
    signs = [sign for sign in BUY_SIGNS if sign in source]
    return [
        control
        for control, (said, text) in zip(controls, read, strict=False)
        if text in _BUY_BUTTONS or any(sign in said for sign in signs)
    ]


def _read(control: LexborNode) -> tuple[str, str]:
    """Return what a control says by its names and texts, and the text on it if it is a button, in lower case."""
    attributes, kind = control.attributes, control.tag_id
    pieces = [value[: limits.VALUE] for name in _NAMES if (value := attributes.get(name))]
    label = ""
    if kind in _SHOW_TEXTS:
        texts = filter(None, islice(texts_within(control), limits.EDGES))
        read = [text[: limits.VALUE] for text in islice(texts, limits.CONTROL_TEXTS)]
        pieces += read
        label = "".join(read) if kind == _BUTTON else ""
    elif kind == _INPUT and attributes.get("type") in ("submit", "button"):
        label = (attributes.get("value") or "")[: limits.VALUE]
    return "\n".join(pieces).lower(), " ".join(label.split()).strip("!").lower()
