"""What a page may be told from that something can be bought there."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crawldedup.facts.buttons import _BUY, may_be_for_sale


@pytest.mark.parametrize("sign", _BUY)
def test_every_sign_is_found_in_small_and_in_capital_letters(sign: str) -> None:
    assert may_be_for_sale(f"<button>{sign}</button>")
    assert may_be_for_sale(f"<a class=x{sign.upper()}y>")


@given(
    st.lists(
        st.sampled_from(_BUY).flatmap(lambda sign: st.sampled_from([sign, sign[1:], sign[:-1], sign.title()]))
        | st.text("kKcCbByYjJ\u212a\u0130 adtor-_/", max_size=4),
        max_size=4,
    ).map("".join)
)
@settings(max_examples=500, deadline=None)
def test_no_part_of_a_sign_is_one(source: str) -> None:
    assert may_be_for_sale(source) == any(sign in source.lower() for sign in _BUY)
