"""Find the controls of a page that buy something."""

from __future__ import annotations

from itertools import chain, islice
from typing import TYPE_CHECKING, Final

from crawldedup.facts.limits import MAX_BUTTONS, MAX_EDGES, MAX_VALUE
from crawldedup.text.visible import first_texts

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lxml.html import HtmlElement

BUY_SIGNS: Final = (
    "add to cart", "add-to-cart", "add_to_cart", "addtocart", "add to basket", "add-to-basket", "add_to_basket",
    "addtobasket", "add to bag", "add-to-bag", "addtobag", "add to trolley", "cart/add", "buy now", "buy-now", "buynow",
    "in den warenkorb", "in den einkaufswagen", "ajouter au panier", "añadir al carrito", "agregar al carrito",
    "añadir a la cesta", "aggiungi al carrello", "adicionar ao carrinho", "in winkelwagen", "in winkelmand",
    "læg i kurv", "legg i handlekurv", "lägg i varukorg", "lisää ostoskoriin", "do koszyka", "do košíku", "kosárba",
    "v košarico", "u košaricu", "u korpu", "în coș", "sepete ekle", "в корзину", "в кошик", "أضف إلى السلة",
    "افزودن به سبد", "הוסף לסל", "カートに入れる", "カートに追加", "買い物かご", "加入购物车", "加入購物車",
    "立即购买", "立即購買", "장바구니", "구매하기",
)  # fmt: skip
"""Parts of the names and texts of buy controls."""
# Whole texts of buttons.
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
# Texts of one control that are read.
_MAX_TEXTS: Final = 5


def buy_controls(tree: HtmlElement) -> set[HtmlElement]:
    """Return the buttons, forms and links that buy something, by their names and texts; the first of very many."""
    controls = chain(islice(tree.iter("button", "input", "form"), MAX_BUTTONS), islice(tree.iter("a"), MAX_BUTTONS))
    says = [(control, _says(control)) for control in controls]
    source = "\n".join(text for _, text in says)
    signs = [sign for sign in BUY_SIGNS if sign in source]
    return {
        control for control, text in says if any(sign in text for sign in signs) or _button_text(control) in _BUY_WORDS
    }


def _says(control: HtmlElement) -> str:
    texts = _texts(control) if control.tag in ("button", "a") else ()
    pieces = chain((control.get(key) for key in _NAMES), texts)
    return "\n".join(piece[:MAX_VALUE] for piece in pieces if piece).lower()


def _texts(control: HtmlElement) -> Iterator[str]:
    return islice(first_texts(control, MAX_EDGES), _MAX_TEXTS)


def _button_text(control: HtmlElement) -> str:
    """Return the text on a button; "" for other controls."""
    if control.tag == "button":
        text = "".join(piece[:MAX_VALUE] for piece in _texts(control))
    elif control.tag == "input" and control.get("type") in ("submit", "button"):
        text = (control.get("value") or "")[:MAX_VALUE]
    else:
        return ""
    return " ".join(text.split()).strip("!").lower()
