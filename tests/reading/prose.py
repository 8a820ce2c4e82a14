"""Prose that means nothing: pages of one template that share no sentence but those of the site."""

from __future__ import annotations

import random
from typing import Final

from crawldedup.reading.html import HtmlPage
from crawldedup.reading.main_text import main_text

_WORDS: Final = (
    "amber anchor autumn bakery barley basket beacon bicycle birch blanket bottle bramble brass "
    "bucket cabin candle canvas carpet cedar chapel cherry chimney cider clay clover compass copper "
    "cottage cradle curtain daisy dairy drizzle eagle ember fence fiddle flour fountain gravel "
    "hammer harvest hazel heron honey island ivory jacket kettle ladder lantern linen magnet maple "
    "meadow mirror mustard needle oatmeal orchard otter paddle pebble pepper pillow pocket quarry "
    "rabbit raven ribbon saddle salmon satchel shovel sparrow spruce stable thimble thistle timber "
    "turnip velvet violin walnut willow arrives borrows carries climbs counts follows gathers hides "
    "lends mends moves opens paints polishes remembers repairs returns sells sorts teaches trades "
    "visits waits washes weighs wraps"
)


def sentences(seed: int, words: int) -> list[str]:
    """Return sentences of eight to twelve words each, `words` or some more in all."""
    chooser = random.Random(seed)
    words_of_prose = _WORDS.split()
    made: list[str] = []
    number = 0
    while number < words:
        length = chooser.randint(8, 12)
        made.append(" ".join(chooser.choices(words_of_prose, k=length)).capitalize() + ".")
        number += length
    return made


def paragraphs(texts: list[str]) -> str:
    return "".join([f"<p>{text}</p>\n" for text in texts])


def document(body: str, head: str = "", body_class: str = "") -> str:
    """Return a page whose title is that of its site, and so names no page of it."""
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>Harbor</title>'
        f'{head}</head>\n<body class="{body_class}">\n{body}\n</body></html>\n'
    )


def main_text_of(body: str, title: str = "A page") -> str:
    """Return the main text of a page."""
    return main_text(
        HtmlPage(f"<html><head><title>{title}</title></head><body>{body}</body></html>")
    )
