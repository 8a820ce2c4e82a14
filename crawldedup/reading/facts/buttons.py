"""Find the buy controls of a page."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Final

from crawldedup.reading.blocks import NUMBER, numbers
from crawldedup.reading.facts import limits
from crawldedup.reading.facts.vocabulary import VOCABULARY
from crawldedup.reading.nodes import texts_within

if TYPE_CHECKING:
    from selectolax.lexbor import LexborHTMLParser, LexborNode

BUY_SIGNS: Final = tuple(VOCABULARY["buy_signs"])
_BUY_BUTTONS: Final = frozenset(VOCABULARY["buy_buttons"])
_BUTTONS, _LINKS = "button, input, form", "a"
_BUTTON, _INPUT = NUMBER["button"], NUMBER["input"]
_SHOW_TEXTS: Final = numbers(["a", "button"])
_NAMES: Final = ("class", "id", "name", "value", "action", "title", "aria-label")


def has_buy_button(tree: LexborHTMLParser) -> bool:
    """Return whether one of the buttons and forms of a page buys something."""
    return bool(_buying(tree, _BUTTONS))


def buy_controls(tree: LexborHTMLParser) -> frozenset[int]:
    """Return the buttons, forms and links that buy something, by their names and texts; the first of very many."""
    return _buying(tree, _BUTTONS) | _buying(tree, _LINKS)


def _buying(tree: LexborHTMLParser, kind: str) -> frozenset[int]:
    controls = tree.css(kind)[: limits.CONTROLS]
    says = [_says(control) for control in controls]
    source = "\n".join(says)
    signs = [sign for sign in BUY_SIGNS if sign in source]
    return frozenset(
        control.mem_id
        for control, text in zip(controls, says, strict=True)
        if any(sign in text for sign in signs) or _button_text(control) in _BUY_BUTTONS
    )


def _says(control: LexborNode) -> str:
    attributes = control.attributes
    pieces = [value[: limits.VALUE] for name in _NAMES if (value := attributes.get(name))]
    if control.tag_id in _SHOW_TEXTS:
        pieces += _texts(control)
    return "\n".join(pieces).lower()


def _texts(control: LexborNode) -> list[str]:
    found = filter(None, islice(texts_within(control), limits.EDGES))
    return [text[: limits.VALUE] for text in islice(found, limits.CONTROL_TEXTS)]


def _button_text(control: LexborNode) -> str:
    """Return the text on a button; "" for other controls."""
    if control.tag_id == _BUTTON:
        text = "".join(_texts(control))
    elif control.tag_id == _INPUT and control.attributes.get("type") in ("submit", "button"):
        text = (control.attributes.get("value") or "")[: limits.VALUE]
    else:
        return ""
    return " ".join(text.split()).strip("!").lower()
