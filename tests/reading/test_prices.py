"""Numbers and prices in all their spellings, and the signs of a page that sells something."""

from __future__ import annotations

import pytest

from crawldedup.reading.blocks import parse
from crawldedup.reading.facts.declared import _SIGN_OF, numbers, plain, prices, show_a_price
from crawldedup.reading.facts.layout import BUY_SIGNS, sells
from crawldedup.reading.facts.page_facts import text_facts

BUTTONS = "button, input, form"
SHORT_NUMBERS = [
    text
    for number in range(40)
    for text in (f"Chapter {number}", f"{number}.4", f"v{number}", "none")
]


def test_every_spelling_of_a_currency_is_known_on_either_side() -> None:
    for spelling, sign in _SIGN_OF.items():
        for text in (f"only {plain(spelling)} 12.50 today", f"only 12.50 {plain(spelling)} today"):
            assert [str(price) for price in prices(text)] == [f"{sign}12.5"], text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("£1,299.00", ["£1299"]),
        ("1.299,00 €", ["€1299"]),
        ("1 299,50 kr", ["kr1299.5"]),
        ("CHF 1’299.–", ["chf1299"]),
        ("US$ 1,299", ["$1299"]),
        ("₹1,29,999", ["₹129999"]),
        ("1,299円（税込）", ["¥1299"]),
        ("￥１２９９", ["¥1299"]),
        ("١٬٢٩٩٫٠٠ ر.س", ["sar1299"]),
        ("was £99 now £74.00", ["£99", "£74"]),
        ("49,-", ["49"]),
        ("4 990 Ft", ["huf4990"]),
        ("Fr. 32.10", ["chf32.1"]),
        *(
            (none, [])
            for none in (
                "3 frames for 4 turns",
                "6.5. 원래",
                "7.3 đưa",
                "Fr. 12. Mai",
                "Fr 24.12",
                "Fr 24.12 –",
            )
        ),
        *((none, []) for none in ("13 ft", "a cliff of 1,300 ft", "(1,-1)", "page 12")),
    ],
)
def test_prices(text: str, expected: list[str]) -> None:
    assert [str(price) for price in prices(plain(text))] == expected


def test_numbers_have_their_units() -> None:
    text = plain("31 cm, 5kg, 220V, 40 %, 1.5 l, 12公斤, 3 friends")
    assert numbers(text, units=True) == ["31cm", "5kg", "220v", "40%", "1.5l", "12公斤", "3"]


@pytest.mark.parametrize(
    ("one", "other", "equal"),
    [
        ("Room 7 of 9", "Room 8 of 9", False),
        ("It is -5 today", "It is 5 today", False),
        ("version 1.10", "version 1.1", False),
        ("1,299 kg", "1299 kg", False),
        ("5 and 10", "5-10", False),
        ("三月", "四月", False),
        ("Room 7 of 9", "Chamber 7 out of 9", True),
        ("1.299,00", "1'299", True),
        ("1,234,567", "1 234 567", True),
        ("２０２４年３月", "2024年3月", True),
        ("No numbers", "None at all", True),
    ],
)
def test_texts_with_other_numbers_differ_whatever_their_spelling(
    one: str, other: str, equal: bool
) -> None:
    assert (text_facts(one, "numbers") == text_facts(other, "numbers")) is equal
    assert (text_facts(one, "numbers") is None) is (one == "No numbers")


@pytest.mark.parametrize("sign", BUY_SIGNS)
def test_every_sign_is_found_in_small_and_in_capital_letters(sign: str) -> None:
    assert sells(parse(f"<p>a</p><button>{sign}</button>"), BUTTONS)
    assert sells(parse(f"<form action='/x{sign.upper()}y'>"), BUTTONS)
    assert sells(parse(f"<a href=/1>one</a><a class='x{sign.upper()}y'>two</a>"), "a")


@pytest.mark.parametrize(
    "control", ["<button>Buyer's guide</button>", "<a>buy</a>", "<p>add to cart</p>", "<input>"]
)
def test_what_only_sounds_like_a_buy_control_is_none(control: str) -> None:
    assert not sells(parse(control), f"a, {BUTTONS}")


@pytest.mark.parametrize(
    ("texts", "source", "is_price"),
    [
        *(
            ([price], "", True)
            for price in ("74 EUR", "usd 74", "74\xa0€", "74,-", "Fr. 74.50", "4 990 Ft", "7４円")
        ),
        *((pair, "", True) for pair in (["74", "EUR"], ["$", "74"])),
        (["74"], "<b class=price>74</b>", True),
        (["74"], "<b>74</b>", False),
        (["Chapter 74"], "<b class=price>Chapter 74</b>", False),
        (
            [
                "74",
                f"Since 1999 there is a text of more than {'thirty ' * 20}letters before 74 EUR",
            ],
            "",
            False,
        ),
        (["74 & 75", "R&D 1"], "", False),
        ([*["1"] * 3_800, "£1"], "", True),
        # Of very many short numbers the first are read.
        ([*["1"] * 4_000, "£1"], "", False),
    ],
)
def test_a_price_is_found_among_other_short_texts(
    texts: list[str], source: str, is_price: bool
) -> None:
    assert show_a_price(texts, source) is is_price
    assert show_a_price([*SHORT_NUMBERS, *texts, *SHORT_NUMBERS], is_price * source) is is_price
