"""Which marks of a page have changed since an earlier visit."""

from __future__ import annotations

import pytest

from crawldedup.key import NO_KEY
from crawldedup.marks.packing import packed_content
from crawldedup.marks.values import ShownMarks
from crawldedup.marks.visits import changes_between

SKU = ("declared sku", "7")
PRICE, NEW_PRICE = ("declared offers price", "12"), ("declared offers price", "9")
IN_STOCK, SOLD_OUT = ("availability", "instock"), ("availability", "soldout")


def marks_of(*data: tuple[str, str]) -> bytes:
    return packed_content(ShownMarks(data=data).hashed(NO_KEY))


@pytest.mark.parametrize(
    ("before", "now", "changes"),
    [
        ((SKU, PRICE, IN_STOCK), (SKU, PRICE, IN_STOCK), ()),
        ((SKU, PRICE, IN_STOCK), (SKU, PRICE, SOLD_OUT), ("availability",)),
        ((SKU, PRICE, IN_STOCK), (SKU, NEW_PRICE, IN_STOCK), ("data",)),
        ((SKU, PRICE, IN_STOCK), (SKU, NEW_PRICE, SOLD_OUT), ("data", "availability")),
        # Indexes of earlier versions have no availability.
        ((SKU, PRICE), (SKU, PRICE, SOLD_OUT), ()),
        ((SKU, IN_STOCK), (SKU, PRICE), ()),
    ],
)
def test_changes_of_availability_and_of_other_data_have_different_names(
    before: tuple[tuple[str, str], ...],
    now: tuple[tuple[str, str], ...],
    changes: tuple[str, ...],
) -> None:
    assert changes_between(marks_of(*now), marks_of(*before)) == changes
