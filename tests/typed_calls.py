"""Calls of the public API for `test_typing.py`: nobody runs them, mypy checks them.

A line that mypy has to refuse ends with the code of the error.
"""

from typing import Any

from crawldedup import AsyncDeduplicator, Deduplicator, Kind, Page, Verdict, compare
from crawldedup.client import AsyncClient, Client
from crawldedup.index.explain import Comparison, Explanation
from crawldedup.spark import deduplicate
from crawldedup.verdict import Match

URL = "https://a.example/"


def use_a_deduplicator() -> None:
    dedup = Deduplicator("sqlite:///seen.sqlite", similarity=0.9, ttl="30d", key=0)
    Deduplicator(similarity="high")  # error: arg-type
    Deduplicator(treshold=0.9)  # error: call-arg
    Deduplicator(scope=None)  # error: arg-type

    verdict: Verdict = dedup.check(URL, html=b"<p>Closed", encoding="latin-1", delivered=False)
    dedup.check(URL, text="Closed", treshold=1)  # error: call-arg
    dedup.check(URL, text=b"Closed")  # error: arg-type
    dedup.check(text="Closed")  # error: call-arg
    kind: Kind = verdict.kind
    matches: list[Match] = dedup.find(text="Closed", scope_key="a")
    dedup.find(text="Closed", limit=3)  # error: call-arg
    explanation: Explanation = dedup.explain(URL, fingerprint=dedup.fingerprint(text="Closed"))
    dedup.explain(URL, fingerprint="Closed")  # error: arg-type
    dedup.fingerprint(text="Closed", rank="best")  # error: arg-type
    first, second = Page(URL, text="Closed"), Page(URL, text="Open")
    comparison: Comparison = compare(first, second, similarity=0.8, key=7)
    compare(first, second, similarity="high")  # error: arg-type
    compare(first, second, treshold=0.8)  # error: call-arg
    print(kind, matches, explanation, comparison)


async def use_an_async_deduplicator() -> None:
    dedup = AsyncDeduplicator("redis://localhost/", workers=2, page_seconds=5, content="main")
    AsyncDeduplicator(similarity="high")  # error: arg-type
    AsyncDeduplicator(readers=2)  # error: call-arg

    verdict: Verdict = await dedup.check(URL, text="Closed", rank=3, remember=False)
    await dedup.check(URL, text="Closed", treshold=1)  # error: call-arg
    await dedup.check(URL, text="Closed", similarity="high")  # error: arg-type
    wrong: Verdict = dedup.check(URL, text="Closed")  # error: assignment
    matches: list[Match] = await dedup.find(html="<p>Closed")
    await dedup.find(html="<p>Closed", limit=3)  # error: call-arg
    explanation: Explanation = await dedup.explain(URL, html="<p>Closed")
    await dedup.explain(URL, html=3)  # error: arg-type
    await dedup.fingerprint(text="Closed", ranks=3)  # error: call-arg
    comparison: Comparison = await dedup.compare(Page(URL, text="Closed"), Page(URL, text="Open"))
    await dedup.forget(URL, identities="a")  # error: call-arg
    print(verdict, wrong, matches, explanation, comparison.similarity, dedup.key.secret)


def use_a_client() -> None:
    client = Client(token="a token", patience_seconds=30)
    verdict: Verdict = client.check(URL, html=b"<p>Closed", identity="a", similarity=0.8)
    client.check(URL, text="Closed", treshold=1)  # error: call-arg
    client.check(URL, text="Closed", delivered=False)  # error: call-arg
    client.check(URL, text=b"Closed")  # error: arg-type
    matches: list[Match] = client.find(text="Closed")
    client.find(text="Closed", limit=3)  # error: call-arg
    explanation: Explanation = client.explain(URL, text="Closed")
    client.explain(text="Closed")  # error: call-arg
    print(verdict, matches, explanation)


async def use_an_async_client() -> None:
    client = AsyncClient(timeout_seconds=5)
    verdict: Verdict = await client.check(URL, html=b"<p>Closed", canonical=URL)
    await client.check(URL, text="Closed", treshold=1)  # error: call-arg
    await client.check(URL, text="Closed", remember="no")  # error: arg-type
    wrong: Verdict = client.check(URL, text="Closed")  # error: assignment
    matches: list[Match] = await client.find(text="Closed")
    await client.find(text="Closed", limit=3)  # error: call-arg
    explanation: Explanation = await client.explain(URL, text="Closed")
    await client.explain(URL, text="Closed", delivered=True)  # error: call-arg
    print(verdict, wrong, matches, explanation)


def use_spark(pages: Any) -> None:
    deduplicate(pages, text="text", order=["file", "number"], similarity=0.8, key=b"x" * 16)
    deduplicate(pages, text="text", similarity="high")  # error: arg-type
    deduplicate(pages, text="text", treshold=0.8)  # error: call-arg
    deduplicate(pages, text="text", ttl="30d")  # error: call-arg
