"""Prices with currencies in all their spellings."""

from __future__ import annotations

import pytest

from crawldedup.reading.facts.declared import _SIGN_OF, plain, prices


@pytest.mark.parametrize("spelling", _SIGN_OF)
def test_every_spelling_of_a_currency_is_known_on_either_side(spelling: str) -> None:
    currency = plain(spelling)
    assert [str(price) for price in prices(f"only {currency} 12.50 today")] == [f"{_SIGN_OF[spelling]}12.5"]
    assert [str(price) for price in prices(f"only 12.50 {currency} today")] == [f"{_SIGN_OF[spelling]}12.5"]


@pytest.mark.parametrize("dash", ["−", "‑", "‐"])
def test_plain_text_has_one_kind_of_each_separator(dash: str) -> None:
    assert plain(f"Ａ{dash}٣٫٤ ٥٬٦ it’s") == "a-3.4 5,6 it's"
