"""Whether the source of a page may hold a price, and currencies in all their spellings."""

from __future__ import annotations

import pytest

from crawldedup.facts.prices import _CLASS_OF, may_hold_a_price, plain, prices

SHORT_NUMBERS = "".join(f"<p>Chapter {number}</p><p>{number}.4</p><i>v{number}</i>" for number in range(40))


@pytest.mark.parametrize("spelling", _CLASS_OF)
def test_every_spelling_of_a_currency_is_known_on_either_side(spelling: str) -> None:
    currency = plain(spelling)
    assert [str(price) for price in prices(f"only {currency} 12.50 today")] == [f"{_CLASS_OF[spelling]}12.5"]
    assert [str(price) for price in prices(f"only 12.50 {currency} today")] == [f"{_CLASS_OF[spelling]}12.5"]


@pytest.mark.parametrize(
    "price",
    [
        "<b>74 EUR</b>",
        "<b>usd 74</b>",
        "<b>£74</b>",
        "<b>74&nbsp;&euro;</b>",
        "<b>&#36;74</b>",
        "<b>74</b><sup>€</sup>",
        "<b>74</b><sup>$</sup>",
        "<b>74,-</b><i>R&amp;D</i>",
        "<b>٧٤ ريال</b>",
        "<b>7４円</b>",
        "<b>74,-</b>",
        "<b>74.–</b>",
        "<b>Fr. 74.50</b>",
        "<b>4 990 Ft</b>",
        "<b class='price'>74</b>",
        '<meta><b itemprop="price" content="74">74.00</b>',
    ],
)
def test_a_price_is_found_among_other_short_numbers(price: str) -> None:
    assert may_hold_a_price(price)
    assert may_hold_a_price(f"{SHORT_NUMBERS}{price}{SHORT_NUMBERS}")


@pytest.mark.parametrize(
    "html",
    [
        SHORT_NUMBERS,
        "<b>74</b><p>Since 1999 there is a text of more than thirty letters in front of 74 EUR here</p>",
        # What stands in two texts is no price.
        "<td>74</td><td>eur x4</td>",
        "<td>fr.</td><td>74 x</td>",
        "<td>74</td><td>ft 1</td>",
        "<td>74,</td><td>- 1</td>",
        "<td>room b1</td><td>kr</td>" + "<p>none at all</p>" * 9 + "<td>74 x</td>",
        # & is a sign, but of no currency.
        "<b>74 &amp; 75</b><i>R&amp;D 1</i>",
        "",
    ],
)
def test_short_numbers_beside_other_words_are_no_price(html: str) -> None:
    assert not may_hold_a_price(html)


def test_a_page_with_thousands_of_short_numbers_may_hold_one() -> None:
    assert may_hold_a_price("<b>1</b>" * 3_001)
    assert not may_hold_a_price("<b>1</b>" * 3_000)


@pytest.mark.parametrize("dash", ["−", "‑", "‐"])
def test_plain_text_has_one_kind_of_each_separator(dash: str) -> None:
    assert plain(f"Ａ{dash}٣٫٤ ٥٬٦ it’s") == "a-3.4 5,6 it's"
