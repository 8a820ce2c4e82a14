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
    says = [_says(control) for control in controls[: limits.CONTROLS]]
    source = "\n".join(says)
    signs = [sign for sign in BUY_SIGNS if sign in source]
    return [
        control
        for control, text in zip(controls, says, strict=False)
        if any(sign in text for sign in signs) or _button_text(control) in _BUY_BUTTONS
    ]


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
