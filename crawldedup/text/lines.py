"""The lines of a page as its layout shows them: headings, prices, rows of a specification, links."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from itertools import chain, islice
from typing import TYPE_CHECKING, Final

from lxml import etree

from crawldedup.text.tags import AROUND_THE_CONTENT, BLOCKS, INVISIBLE, ROLES_AROUND_THE_CONTENT

if TYPE_CHECKING:
    from collections.abc import Iterable, Set

    from lxml.html import HtmlElement

_MAX_LINES: Final = 4_000
_MAX_LINE: Final = 20_000
_MAX_HEADINGS: Final = 3
_HEADINGS: Final = frozenset(["h1", "h2", "h3", "h4", "h5", "h6"])
_MAX_ROW_TEXT: Final = 400
_MAX_ROW_ELEMENTS: Final = 40
_MAX_PAIR_ELEMENTS: Final = 6
_NOT_IN_A_ROW: Final = _HEADINGS | {"table", "tr", "form", "dl", "article", "section"}
_PAIRS: Final = frozenset(["div", "li", "p"])
_MARKS: Final = frozenset(["b", "strong", "span", "em", "i"])

# What changes from visit to visit, or is about other things than this page's.
_ABOUT_OTHERS: Final = re.compile(
    r"(?<![A-Za-z])(?i:related|recommend(?:ed|ations?|er)?|similar|up-?sells?|cross-?sells?|also|recent(?:ly)?|"
    r"reviews?|ratings?|stars|comments?|breadcrumbs?|newsletter|share|social|cookies?|consent|footer|mini-?cart|"
    r"countdown|stock|inventory|availability|delivery|shipping|questions)(?![a-z])"
)
_PRICE: Final = re.compile(r"(?i:price|preis|precio|prezzo|preço|\bprix)")
# Choices that make no other product of it.
_OTHER_CHOICES: Final = re.compile(
    r"(?i:qty|quantit|anzahl|menge|sort|order|country|currency|lang|page|limit|ship|deliver|pay|amount|rating|review)"
)

# In the names and texts of what can be pressed.
_BUY: Final = (
    "add to cart", "add-to-cart", "add_to_cart", "addtocart", "add to basket", "add-to-basket", "add_to_basket",
    "addtobasket", "add to bag", "add-to-bag", "addtobag", "add to trolley", "cart/add", "buy now", "buy-now", "buynow",
    "in den warenkorb", "in den einkaufswagen", "ajouter au panier", "añadir al carrito", "agregar al carrito",
    "añadir a la cesta", "aggiungi al carrello", "adicionar ao carrinho", "in winkelwagen", "in winkelmand",
    "læg i kurv", "legg i handlekurv", "lägg i varukorg", "lisää ostoskoriin", "do koszyka", "do košíku", "kosárba",
    "v košarico", "u košaricu", "u korpu", "în coș", "sepete ekle", "в корзину", "в кошик", "أضف إلى السلة",
    "افزودن به سبد", "הוסף לסל", "カートに入れる", "カートに追加", "買い物かご", "加入购物车", "加入購物車",
    "立即购买", "立即購買", "장바구니", "구매하기",
)  # fmt: skip
# All that a button says.
_BUY_WORDS: Final = frozenset(
    (
        "buy", "buy it", "buy it now", "order", "order now", "purchase", "kaufen", "jetzt kaufen", "bestellen",
        "jetzt bestellen", "acheter", "commander", "comprar", "comprar ahora", "comprar agora", "acquista",
        "acquista ora", "kopen", "koop nu", "köp", "köp nu", "køb", "køb nu", "kjøp", "osta", "kup teraz", "kupuj",
        "koupit", "kúpiť", "megveszem", "vásárlás", "cumpără", "satın al", "купить", "купити", "купи", "αγορά",
        "اشتري الآن", "ซื้อเลย", "mua ngay", "購入する", "购买", "購買", "구매",
    )
)  # fmt: skip
_NAMES: Final = ("class", "id", "name", "value", "action", "title", "aria-label")
_MAX_PRESSED: Final = 1_000
_MAX_NAME: Final = 300
_MAX_IN_A_BOX: Final = 3
_MAX_OPTIONS: Final = 500
_LABEL_WORDS: Final = 4
_MAX_ITEM_ELEMENTS: Final = 12
_MAX_ITEM_TEXT: Final = 80
_NOT_IN_AN_ITEM: Final = _NOT_IN_A_ROW | {"a", "img", "button", "ul", "ol"}


@dataclass(frozen=True, slots=True)
class Line:
    """One block of text.

    `row`: a key and its value, among others. `item`: a short entry of a list, a single key and value, or a choice
    that is made. `linked`: mostly a link. `priced`: marked as a price.
    """

    text: str
    heading: bool = False
    row: bool = False
    item: bool = False
    linked: bool = False
    priced: bool = False


@dataclass(frozen=True, slots=True)
class PageLines:
    """The lines of a page, and its buttons to buy, each by the number of the line that it stands in front of."""

    lines: list[Line]
    buttons: list[int]


def page_lines(tree: HtmlElement, controls: Set[HtmlElement]) -> PageLines:
    """The lines of a page without what surrounds the content, and without what is about other pages.

    `controls` are its `buy_controls`.
    """
    walk = _Walk(tree, controls)
    return PageLines(walk.lines, walk.buttons)


def may_be_for_sale(html: str) -> bool:
    """Whether the source of a page names a control to buy."""
    source = html.lower()
    return any(sign in source for sign in _BUY)


def buy_controls(tree: HtmlElement) -> set[HtmlElement]:
    """What can be pressed to buy something, by its names and texts; of a page with very many, the first."""
    pressed = chain(islice(tree.iter("button", "input", "form"), _MAX_PRESSED), islice(tree.iter("a"), _MAX_PRESSED))
    says = [(element, _says(element)) for element in pressed]
    source = "\n".join(text for _, text in says)
    signs = [sign for sign in _BUY if sign in source]
    return {
        element for element, text in says if any(sign in text for sign in signs) or _button_text(element) in _BUY_WORDS
    }


def _says(element: HtmlElement) -> str:
    texts = islice(element.itertext(), 5) if element.tag in ("button", "a") else ()
    pieces = chain((element.get(key) for key in _NAMES), texts)
    return "\n".join(piece[:_MAX_NAME] for piece in pieces if piece).lower()


def _button_text(element: HtmlElement) -> str:
    """What is written on a button; "" for what is none."""
    if element.tag == "button":
        text = "".join(piece[:_MAX_NAME] for piece in islice(element.itertext(), 5))
    else:
        is_button = element.tag == "input" and element.get("type") in ("submit", "button")
        text = (element.get("value") or "")[:_MAX_NAME] if is_button else ""
    return " ".join(text.split()).strip("!").lower()


class _Walk:
    def __init__(self, tree: HtmlElement, controls: Set[HtmlElement]) -> None:
        self.lines: list[Line] = []
        self.buttons: list[int] = []
        self._controls = controls
        self._boxes = _boxes_of(controls)
        self._pieces: list[str] = []
        self._size = self._linked = 0
        self._links = self._headings = self._prices = 0
        self._priced = self._headed = self._chosen = False
        self._row_ends: HtmlElement | None = None
        self._item: HtmlElement | None = None
        self._around_the_name = _holders_of_headings(tree)
        self._walk(tree)

    def _walk(self, tree: HtmlElement) -> None:
        skipped = None
        walk = etree.iterwalk(tree, events=("start", "end"))
        for event, element in walk:
            if event == "end":
                if element is skipped:
                    skipped = None
                else:
                    self._end(element)
                self._add(element.tail)
            elif self._is_skipped(element):
                if element.tag == "select":
                    self._choose(element, _selected(element))
                skipped = element
                walk.skip_subtree()
                if element.tag in BLOCKS:
                    self._break()
            else:
                self._start(element)
                self._add(element.text)
            if len(self.lines) >= _MAX_LINES:
                return
        self._break()

    def _is_skipped(self, element: HtmlElement) -> bool:
        tag = element.tag
        if element in self._controls:
            self._break()
            self.buttons.append(len(self.lines))
            if tag != "form":
                return True
        if tag in INVISIBLE or tag in ("head", "noscript"):
            return True
        if element in self._around_the_name or tag in ("html", "body", "main", "article"):
            return False
        if _is_header_of_the_site(element):
            return True
        is_around = tag in AROUND_THE_CONTENT or element.get("role") in ROLES_AROUND_THE_CONTENT
        if is_around and element not in self._boxes:
            return True
        name = f"{element.get('class') or ''} {element.get('id') or ''}"
        return len(name) > 1 and _ABOUT_OTHERS.search(name[:500]) is not None

    def _start(self, element: HtmlElement) -> None:
        if self._row_ends is None and (end := _row(element)) is not None:
            self._break()
            self._row_ends = end
        elif element.tag in BLOCKS or (self._row_ends is not None and element.getparent() is self._row_ends):
            self._break()
        if self._item is None and self._row_ends is None and _is_item(element):
            self._item = element
        if element.tag == "input" and element.get("type") == "radio" and element.get("checked") is not None:
            self._choose(element, _label(element))
        self._count(element, 1)

    def _end(self, element: HtmlElement) -> None:
        if element is self._row_ends:
            self._flush(row=True)
            self._row_ends = None
        elif element.tag in BLOCKS:
            self._break()
        if element is self._item:
            self._break()
            self._item = None
        self._count(element, -1)

    def _choose(self, element: HtmlElement, choice: str) -> None:
        """Write a choice that is made behind the label in front of it."""
        if not choice or _OTHER_CHOICES.search(f"{element.get('name')} {element.get('id')}"[:_MAX_NAME]):
            return
        before = "".join(self._pieces)
        if len(before.split()) > _LABEL_WORDS or any(map(str.isdigit, before)):
            self._break()
        self._add(f" {choice} ")
        self._chosen = True
        self._break()

    def _count(self, element: HtmlElement, step: int) -> None:
        if element.tag == "a" and not (element.get("href") or "#").startswith("#"):
            self._links += step
        elif element.tag in _HEADINGS:
            self._headings += step
        if _names_a_price(element):
            self._prices += step

    def _add(self, text: str | None) -> None:
        if not text or self._size >= _MAX_LINE:
            return
        self._pieces.append(text)
        size = len(text.strip())
        if size:
            self._size += size
            self._linked += size if self._links else 0
            self._priced |= self._prices > 0
            self._headed |= self._headings > 0

    def _break(self) -> None:
        if self._row_ends is None:
            self._flush(row=False)
        else:
            self._pieces.append(" ")

    def _flush(self, *, row: bool) -> None:
        if text := " ".join("".join(self._pieces).split()):
            linked = 2 * self._linked > self._size
            item = self._item is not None or self._chosen
            self.lines.append(Line(text[:_MAX_LINE], self._headed, row, item, linked, self._priced))
        self._pieces.clear()
        self._size = self._linked = 0
        self._priced = self._headed = self._chosen = False


def _boxes_of(controls: Iterable[HtmlElement]) -> set[HtmlElement]:
    """The asides with a button to buy; with more of them, they are about other products."""
    held = Counter(holder for control in controls for holder in control.iterancestors("aside"))
    return {box for box, count in held.items() if count <= _MAX_IN_A_BOX}


def _selected(element: HtmlElement) -> str:
    for option in islice(element.iter("option"), _MAX_OPTIONS):
        if option.get("selected") is not None:
            return _short_text(option)
    return ""


def _label(element: HtmlElement) -> str:
    """The text of a radio button's label: around it, behind it, or in front of it."""
    around = next(element.iterancestors("label"), None)
    for label in (around, element.getnext(), element.getprevious()):
        if label is not None and label.tag == "label":
            return _short_text(label)
    return ""


def _short_text(element: HtmlElement) -> str:
    return " ".join("".join(islice(element.itertext(), _MAX_ITEM_ELEMENTS))[:_MAX_ITEM_TEXT].split())


def _is_item(element: HtmlElement) -> bool:
    """Whether it is a short entry of a list, two short texts, or a word and a marked one: Colour <b>red</b>."""
    if element.tag != "li" and not (element.tag in _PAIRS and (_is_pair(element) or _is_marked(element))):
        return False
    size = 0
    for number, part in enumerate(element.iter()):
        if number > _MAX_ITEM_ELEMENTS or part.tag in _NOT_IN_AN_ITEM:
            return False
        size += len((part.text or "").strip()) + (len((part.tail or "").strip()) if number else 0)
    return size <= _MAX_ITEM_TEXT


def _is_marked(element: HtmlElement) -> bool:
    if len(element) != 1 or not (element.text or "").strip():
        return False
    return element[0].tag in _MARKS and bool((element[0].text or "").strip()) and not (element[0].tail or "").strip()


def _holders_of_headings(tree: HtmlElement) -> set[HtmlElement]:
    """The ancestors of the first headings: whatever they are called, the page's own content is in them."""
    headings = list(islice(tree.iter("h1"), _MAX_HEADINGS)) or list(islice(tree.iter("h2"), _MAX_HEADINGS))
    return {holder for heading in headings for holder in (heading, *heading.iterancestors())}


def _is_header_of_the_site(element: HtmlElement) -> bool:
    parent = element.getparent()
    return element.tag == "header" and parent is not None and parent.tag == "body"


def _names_a_price(element: HtmlElement) -> bool:
    name = element.get("itemprop") or element.get("class") or element.get("id")
    return name is not None and _PRICE.search(name[:500]) is not None


def _row(element: HtmlElement) -> HtmlElement | None:
    """The element that ends the row which this one begins, or None if it begins none."""
    tag = element.tag
    if tag == "tr":
        cells = sum(1 for cell in islice(element, _MAX_ROW_ELEMENTS) if cell.tag in ("td", "th"))
        return element if cells > 1 and _is_small(element, _MAX_ROW_ELEMENTS) else None
    if tag == "dt":
        value = element.getnext()
        both = (element, value)
        if value is None or value.tag != "dd" or not all(_is_small(part, _MAX_ROW_ELEMENTS) for part in both):
            return None
        return value
    if tag in _PAIRS and _is_pair(element):
        for other in (element.getnext(), element.getprevious()):
            if other is not None and other.tag == tag and _is_pair(other):
                return element
    return None


def _is_pair(element: HtmlElement) -> bool:
    """Whether it holds two short texts and nothing else, as in <div><span>Colour</span><span>red</span></div>."""
    if len(element) != 2 or (element.text or "").strip():
        return False
    return all(
        isinstance(part.tag, str)
        and part.tag not in ("a", "img")
        and not (part.tail or "").strip(" \n\r\t:")
        and _is_small(part, _MAX_PAIR_ELEMENTS)
        and any(text.strip() for text in part.itertext())
        for part in element
    )


def _is_small(element: HtmlElement, most: int) -> bool:
    size = 0
    for number, part in enumerate(element.iter()):
        if number > most or (number and part.tag in _NOT_IN_A_ROW):
            return False
        size += len(part.text or "") + len(part.tail or "")
        if size > _MAX_ROW_TEXT:
            return False
    return True
