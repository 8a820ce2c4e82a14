"""Prose of an article, and what templates put beside it."""

from __future__ import annotations

SENTENCES = [
    "The ferry to the outer islands leaves at dawn, and by the time the fog has lifted the harbour is out of sight.",
    "Halfway across, the captain slows down for the seals, which lie on the skerries and pay no attention to him.",
    "On the island there is one shop, one church and one telephone box, which was turned into a library long ago.",
    "Readers leave a book for every book they take, and most of them leave two, for the winters here are long.",
    "When the light goes, somebody rings a bell on the pier, and whoever is late stays over night at the school.",
]
NOTICE = "This site uses cookies and similar things, as you may have read before, and by reading on you agree to all."
TEASER = "A second bridge will be built over the sound, says the minister, although nobody on the islands wants it."


def paragraphs(*texts: str) -> str:
    return "".join(f"<p>{text}</p>" for text in texts)
