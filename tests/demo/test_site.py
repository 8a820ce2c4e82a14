"""The demo site says what its manifest claims."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from html import unescape
from itertools import combinations

import pytest

from crawldedup.demo.site import Article, DemoSite, SitePage, all_articles
from crawldedup.literature.exact import jaccard, shingles, words

SITE = DemoSite()
KINDS = {
    "article": 40,
    "session": 20,
    "print": 20,
    "mirror": 20,
    "edited": 20,
    "rewritten": 10,
    "syndicated": 20,
    "product": 40,
    "list": 20,
    "self": 5,
    "thin": 10,
    "empty": 2,
    "latin-1": 2,
    "wrong-charset": 1,
    "big": 1,
    "redirect": 1,
    "error": 1,
    "pdf": 1,
    "image": 1,
    "robots": 1,
}


def similarity(one: set[tuple[str, ...]], other: set[tuple[str, ...]]) -> float:
    return len(one & other) / len(one | other)


def text_of(page: SitePage) -> str:
    """Return what a page says in its own part, one block a line."""
    assert page.content is not None
    lines = re.split("<[^>]+>|\n", page.content.html)
    return "\n".join(part for part in (page.content.title, page.content.byline, *map(unescape, lines)) if part.strip())


def texts_by_cluster() -> dict[str, set[str]]:
    found = defaultdict(set)
    for page in SITE.pages.values():
        if page.judged and page.content is not None:
            found[page.cluster].add(text_of(page))
    return found


def test_articles_are_many_long_and_different() -> None:
    articles = all_articles()
    assert len({article.slug for article in articles}) == len(articles) >= 40
    assert {article.language for article in articles} == {"en", "de", "fr", "es", "ru", "ja"}
    for article in articles:
        low, high = (500, 1000) if article.language == "ja" else (250, 500)
        assert low <= len(words(article.text)) <= high, article.slug
    sets = [shingles(article.text) for article in articles]
    assert max(similarity(one, other) for one, other in combinations(sets, 2)) < 0.3


def test_pages_of_one_cluster_are_near_duplicates() -> None:
    for cluster, texts in texts_by_cluster().items():
        for one, other in combinations(sorted(texts), 2):
            assert jaccard(one, other) >= 0.92, cluster


def test_pages_of_different_clusters_are_not() -> None:
    sets = [(cluster, shingles(text)) for cluster, texts in texts_by_cluster().items() for text in sorted(texts)]
    for (cluster, one), (other_cluster, other) in combinations(sets, 2):
        if cluster != other_cluster:
            assert similarity(one, other) <= 0.7, (cluster, other_cluster)


@pytest.mark.parametrize("article", [article for article in all_articles() if article.rewritten], ids=lambda a: a.slug)
def test_rewritten_articles_share_about_half(article: Article) -> None:
    original = text_of(SITE.pages[article.path])
    versions = [text_of(page) for path, page in SITE.pages.items() if page.kind == "rewritten" and article.path in path]
    assert versions
    for version in versions:
        assert 0.4 <= jaccard(original, version) <= 0.7


def test_every_kind_of_page_is_there() -> None:
    counts: dict[str, int] = defaultdict(int)
    for page in SITE.pages.values():
        counts[page.kind] += 1
    assert {kind: counts[kind] for kind, least in KINDS.items() if counts[kind] < least} == {}
    assert 250 <= len(SITE.pages) <= 400


def test_every_page_can_be_reached_and_no_other_link_is_dead() -> None:
    seen, waiting = {"/"}, ["/"]
    while waiting:
        body = SITE.reply(waiting.pop()).body.decode(errors="replace")
        for link in map(unescape, re.findall(r'href="([^"]+)"', body, flags=re.IGNORECASE)):
            if link not in seen and not link.startswith("/calendar/"):
                seen.add(link)
                waiting.append(link)
    assert set(SITE.pages) - seen == {"/robots.txt"}
    assert [link for link in seen if SITE.reply(link).status == 404] == ["/technical/gone"]


def test_the_calendar_has_no_end_within_reach() -> None:
    path, texts = "/calendar/2024-01/", []
    for _ in range(30):
        body = SITE.reply(path).body.decode()
        assert SITE.entry(path) is not None
        texts.append(re.sub("<[^>]+>", " ", body))
        path = re.findall(r'href="(/calendar/[^"]+)"', body)[-1]
    assert path == "/calendar/2026-07/"
    assert len(set(texts)) == len(texts)


@pytest.mark.parametrize(
    "path",
    [
        "/calendar/9999-12/",
        "/calendar/0001-01/",
        "/calendar/2024-13/",
        "/calendar/",
        "/none",
        "//",
        "",
        "/%ff\x00",
    ],
)
def test_what_is_not_there_is_not_found(path: str) -> None:
    assert SITE.reply(path).status == 404
    assert SITE.entry(path) is None


def test_the_manifest_is_served_and_lists_what_can_be_judged() -> None:
    reply = SITE.reply("/manifest.json")
    assert reply.content_type == "application/json"
    listed = {entry["path"]: entry for entry in json.loads(reply.body)}
    assert set(listed) == set(SITE.manifest())
    assert listed["/about/?from=menu"] == {
        "path": "/about/?from=menu",
        "kind": "self",
        "cluster": "about-the-almanac",
        "judged": True,
    }
    assert not {"/technical/gone", "/technical/moved", "/technical/harbour.png"} & set(listed)


def test_encodings_are_what_the_manifest_says() -> None:
    header = SITE.reply("/technical/latin1-header.html")
    assert header.content_type == "text/html; charset=iso-8859-1"
    assert "éboulis" in header.body.decode("latin-1")
    meta = SITE.reply("/technical/latin1-meta.html")
    assert b"charset=iso-8859-1" in meta.body
    assert meta.content_type == "text/html"
    wrong = SITE.reply("/technical/wrong-charset.html")
    assert wrong.content_type == "text/html; charset=iso-8859-1"
    assert "Äpfel" in wrong.body.decode("utf-8")
