"""Signs of a product page: buy controls and prices."""

from __future__ import annotations

import pytest

from crawldedup.reading.blocks import parse
from crawldedup.reading.facts.declared import show_a_price
from crawldedup.reading.facts.page_facts import BUY_SIGNS, sells

BUTTONS = "button, input, form"
SHORT_NUMBERS = [text for number in range(40) for text in (f"Chapter {number}", f"{number}.4", f"v{number}", "none")]


@pytest.mark.parametrize("sign", BUY_SIGNS)
def test_every_sign_is_found_in_small_and_in_capital_letters(sign: str) -> None:
    assert sells(parse(f"<p>a</p><button>{sign}</button>"), BUTTONS)
    assert sells(parse(f"<form action='/x{sign.upper()}y'>"), BUTTONS)
    assert sells(parse(f"<a href=/1>one</a><a class='x{sign.upper()}y'>two</a>"), "a")


@pytest.mark.parametrize("control", ["<button>Buyer's guide</button>", "<a>buy</a>", "<p>add to cart</p>", "<input>"])
def test_what_only_sounds_like_a_buy_control_is_none(control: str) -> None:
    assert not sells(parse(control), f"a, {BUTTONS}")


@pytest.mark.parametrize(
    "price",
    [
        ["74 EUR"],
        ["usd 74"],
        ["£74"],
        ["74\xa0€"],
        ["74", "EUR"],
        ["$", "74"],
        ["74,-"],
        ["74.–"],
        ["Fr. 74.50"],
        ["4 990 Ft"],
        ["٧٤ ريال"],
        ["7４円"],
    ],
    ids=" ".join,
)
def test_a_price_is_found_among_other_short_texts(price: list[str]) -> None:
    assert show_a_price(price, "")
    assert show_a_price([*SHORT_NUMBERS, *price, *SHORT_NUMBERS], "")


def test_a_number_alone_is_a_price_where_something_is_named_one() -> None:
    assert show_a_price(["74"], "<b class=price>74</b>")
    assert not show_a_price(["74"], "<b>74</b>")
    assert not show_a_price(["Chapter 74"], "<b class=price>Chapter 74</b>")


@pytest.mark.parametrize(
    "texts",
    [
        SHORT_NUMBERS,
        ["74", f"Since 1999 there is a text of more than {'thirty ' * 20}letters in front of 74 EUR here"],
        ["fr.", "74 x"],
        ["74 & 75", "R&D 1"],
        [],
    ],
)
def test_short_numbers_beside_other_words_are_no_price(texts: list[str]) -> None:
    assert not show_a_price(texts, "")


def test_of_very_many_short_numbers_the_first_are_read() -> None:
    assert show_a_price([*["1"] * 3_999, "£1"], "")
    assert not show_a_price([*["1"] * 4_000, "£1"], "")
