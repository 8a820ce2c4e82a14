"""Find the buy controls of a page."""

from __future__ import annotations

import re
from itertools import chain, islice
from typing import TYPE_CHECKING, Final

from crawldedup.facts import limits
from crawldedup.facts.vocabulary import VOCABULARY
from crawldedup.text.lxml_tree import first_texts

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lxml.html import HtmlElement

BUY_SIGNS: Final = tuple(VOCABULARY["buy_signs"])
_BUY_BUTTONS: Final = frozenset(VOCABULARY["buy_buttons"])
_NAMES: Final = ("class", "id", "name", "value", "action", "title", "aria-label")
# Every sign holds one of them.
_RARE_LETTERS: Final = "kjybcкضفו買购購カ구"


def _signs_by_letter() -> tuple[re.Pattern[str], ...]:
    """Return a pattern for each rare letter, which stands first in it: any other search takes twice as long."""
    by_letter: dict[str, list[str]] = {}
    for sign in BUY_SIGNS:
        letter = next(letter for letter in _RARE_LETTERS if letter in sign)
        rest = sign.partition(letter)[2]
        by_letter.setdefault(letter, []).append(f"{re.escape(rest)}(?<={re.escape(sign)})")
    return tuple(re.compile(f"{letter}(?:{'|'.join(rests)})") for letter, rests in by_letter.items())


_BUY_BY_LETTER: Final = _signs_by_letter()


def may_be_for_sale(html: str) -> bool:
    """Return whether the source of a page names a buy control."""
    source = html.lower()
    return any(signs.search(source) for signs in _BUY_BY_LETTER)


def buy_controls(tree: HtmlElement) -> set[HtmlElement]:
    """Return the buttons, forms and links that buy something, by their names and texts; the first of very many."""
    kinds = (tree.iter("button", "input", "form"), tree.iter("a"))
    says = [(control, _says(control)) for kind in kinds for control in islice(kind, limits.CONTROLS)]
    source = "\n".join(text for _, text in says)
    signs = [sign for sign in BUY_SIGNS if sign in source]
    named = {control for control, text in says if any(sign in text for sign in signs)}
    return named | {control for control, _ in says if _button_text(control) in _BUY_BUTTONS}


def _says(control: HtmlElement) -> str:
    texts = _texts(control) if control.tag in ("button", "a") else ()
    pieces = chain((control.get(key) for key in _NAMES), texts)
    return "\n".join(piece[: limits.VALUE] for piece in pieces if piece).lower()


def _texts(control: HtmlElement) -> Iterator[str]:
    return islice(first_texts(control, limits.EDGES), limits.CONTROL_TEXTS)


def _button_text(control: HtmlElement) -> str:
    """Return the text on a button; "" for other controls."""
    if control.tag == "button":
        text = "".join(piece[: limits.VALUE] for piece in _texts(control))
    elif control.tag == "input" and control.get("type") in ("submit", "button"):
        text = (control.get("value") or "")[: limits.VALUE]
    else:
        return ""
    return " ".join(text.split()).strip("!").lower()
