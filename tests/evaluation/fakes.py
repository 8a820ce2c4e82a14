"""Judges that do what a test wants, and small corpora."""

from __future__ import annotations

import json

from crawldedup.evaluation import Corpus, Detection, Document


class FakeDetector:
    """Flags the pages it was told to, naming an original; breaks on others; remembers what it was shown."""

    def __init__(
        self, flags: dict[str, str | None], breaks_on: tuple[str, ...] = (), *, uses_facts: bool = True
    ) -> None:
        self.name = "fake [detector]"
        self.uses_facts = uses_facts
        self.seen: list[Document] = []
        self._flags, self._breaks_on = flags, breaks_on

    def check(self, document: Document) -> Detection:
        url = document.url
        self.seen.append(document)
        if url in self._breaks_on:
            raise RuntimeError(f"cannot stand {url}")
        if url in self._flags:
            return Detection(True, self._flags[url], similarity=0.97, candidates=9, probes=5)
        return Detection(False, candidates=1, probes=5)

    def bytes_per_page(self) -> float | None:
        return None


def numbered_words(first: int, last: int) -> str:
    """Words of which none repeats: two such texts of n words in common share n - 2 shingles."""
    return " ".join(f"w{number}" for number in range(first, last))


def product_page(name: str, price: str, text: str) -> str:
    """HTML of a page about a product, whose main text is the one given."""
    offer = {"@type": "Product", "name": name, "offers": {"price": price, "priceCurrency": "EUR"}}
    head = f'<title>{name}</title><script type="application/ld+json">{json.dumps(offer)}</script>'
    return f"<html><head>{head}</head><body><article><h1>{name}</h1><p>{text}.</p></article></body></html>"


def corpus_of(**texts: str) -> Corpus:
    return Corpus("tests", tuple(Document(f"/{name}", text) for name, text in texts.items()))
