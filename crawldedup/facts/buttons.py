"""What can be pressed on a page to buy something."""

from __future__ import annotations

import re
from itertools import chain, islice
from typing import TYPE_CHECKING, Final

from crawldedup.text.visible import first_texts

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lxml.html import HtmlElement

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
# Every sign holds one of them.
_RARE_LETTERS: Final = "kjybcкضفו買购購カ구"
_MAX_PRESSED: Final = 1_000
_MAX_NAME: Final = 300
_MAX_TEXTS: Final = 5
# A picture of a cart may stand before the text.
_MAX_EDGES: Final = 100


def _signs_by_letter() -> tuple[re.Pattern[str], ...]:
    """The signs as a regular expression for each rare letter, which comes first: no other search is half as quick."""
    by_letter: dict[str, list[str]] = {}
    for sign in _BUY:
        letter = next(letter for letter in _RARE_LETTERS if letter in sign)
        rest = sign.partition(letter)[2]
        by_letter.setdefault(letter, []).append(f"{re.escape(rest)}(?<={re.escape(sign)})")
    return tuple(re.compile(f"{letter}(?:{'|'.join(rests)})") for letter, rests in by_letter.items())


_BUY_BY_LETTER: Final = _signs_by_letter()


def may_be_for_sale(html: str) -> bool:
    """Whether the source of a page names a control to buy."""
    source = html.lower()
    return any(signs.search(source) for signs in _BUY_BY_LETTER)


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
    texts = _texts(element) if element.tag in ("button", "a") else ()
    pieces = chain((element.get(key) for key in _NAMES), texts)
    return "\n".join(piece[:_MAX_NAME] for piece in pieces if piece).lower()


def _texts(element: HtmlElement) -> Iterator[str]:
    return islice(first_texts(element, _MAX_EDGES), _MAX_TEXTS)


def _button_text(element: HtmlElement) -> str:
    """What is written on a button; "" for what is none."""
    if element.tag == "button":
        text = "".join(piece[:_MAX_NAME] for piece in _texts(element))
    else:
        is_button = element.tag == "input" and element.get("type") in ("submit", "button")
        text = (element.get("value") or "")[:_MAX_NAME] if is_button else ""
    return " ".join(text.split()).strip("!").lower()
