"""Labeled values and prices that a page shows in short lines."""

from __future__ import annotations

import pytest

from crawldedup.reading.html import HtmlPage
from crawldedup.reading.labels import labeled_values
from crawldedup.reading.listing import listing_of


def values_of(*lines: str) -> dict[str, str]:
    body = "".join(f"<p>{line}</p>" for line in lines)
    page = HtmlPage.read(f"<html><body><main>{body}</main></body></html>", None)
    return dict(labeled_values(page.blocks))


@pytest.mark.parametrize(
    ("lines", "values"),
    [
        (["Size: L"], {"label size": "L"}),
        (["Größe: 42", "Farbe : rot"], {"label größe": "42", "label farbe": "rot"}),
        (["尺寸：大"], {"label 尺寸": "大"}),
        (["€ 240.90"], {"price shown": "€ 240.90"}),
        (["1.299,00 kr", "999,00 kr"], {"price shown": "1.299,00 kr 999,00 kr"}),
        # In a list, neither prices nor labels say which of its products the page shows.
        (["€ 1", "€ 2", "€ 3"], {}),
        (["Size: L", "Size: M"], {}),
        # What differs between two ways to one page, or two visits.
        (["Category: Lamps", "Posted: yesterday", "Views: 12", "Updated: 3 May 2024"], {}),
        # The heading of a list.
        (["Tag Archives: Boats", "Schlagwort: Boote", "Метка: лодки", "标签：船"], {}),
        (["Hits: 1532", "Aufrufe: 7", "Просмотров: 12"], {}),
        (["<a href=/l>Size: L</a>"], {}),
        (["He said: the ferry leaves at dawn and nobody waits"], {}),
    ],
)
def test_short_lines_say_which_variant_is_shown(lines: list[str], values: dict[str, str]) -> None:
    assert values_of(*lines) == values


def targets_of(body: str) -> tuple[str, ...] | None:
    page = HtmlPage.read(f"<html><body><main>{body}</main></body></html>", None)
    listing = listing_of(page.blocks, ("link",))
    return None if listing is None else listing.targets


TEASER = "<p>The ferry leaves at dawn, and nobody waits for those who are late.</p>"


@pytest.mark.parametrize(
    ("body", "targets"),
    [
        (
            f"<h1>2025</h1><h2><a href=../a>A</a></h2>{TEASER}<h2><a href=/b>B</a></h2>{TEASER}",
            ("a", "b"),
        ),
        ("<ul>" + "".join(f"<li><a href=/{n}>Story {n}</a></li>" for n in range(9)), ("link",)),
        (f"<h1>A</h1>{TEASER * 9}<h2><a href=/b>Read also</a></h2>{TEASER}", None),
        (f"<h1>A</h1><h2>Plain</h2>{TEASER}", None),
    ],
)
def test_a_listing_is_what_it_leads_to(body: str, targets: tuple[str, ...] | None) -> None:
    assert targets_of(body) == targets


def test_labels_behind_thousands_of_others_are_not_read() -> None:
    """Each takes a pattern, and a hostile page has a hundred thousand of them."""
    others = ["Note: one", "Note: two"] * 2_500
    assert values_of("Size: L", *others) == {"label size": "L"}
    assert values_of(*others, "Size: L") == {}
