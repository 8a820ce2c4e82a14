"""The demo site says what its manifest claims."""

from __future__ import annotations

import json
import re
import socket
import struct
import time
from collections import Counter
from html import unescape
from itertools import combinations
from urllib.request import urlopen

import pytest

from crawldedup.demo.site import DemoSite, all_articles, serving
from crawldedup.literature.exact import shingles, words
from crawldedup.literature.minhash import jaccard_of_sets

SITE = DemoSite()
LEAST = {
    40: "article product",
    20: "session print mirror edited syndicated list",
    10: "rewritten thin",
    5: "self",
    2: "empty latin-1",
    1: "wrong-charset big redirect error pdf image robots",
}


def test_articles_are_many_long_and_different() -> None:
    articles = all_articles()
    assert len({article.cluster for article in articles}) == len(articles) >= 40
    assert {article.language for article in articles} == {"en", "de", "fr", "es", "ru", "ja"}
    for article in articles:
        low, high = (500, 1000) if article.language == "ja" else (250, 500)
        assert low <= len(words(article.text)) <= high, article.cluster


def test_pages_are_near_duplicates_if_they_are_of_one_cluster() -> None:
    texts = {(page.cluster, f"{page.title}\n{page.text}") for page in SITE.pages.values() if page.judged and page.text}
    sets = [(cluster, shingles(text)) for cluster, text in sorted(texts)]
    rewritten = 0
    for (cluster, one), (other_cluster, other) in combinations(sets, 2):
        alike = jaccard_of_sets(one, other)
        assert alike >= 0.92 if cluster == other_cluster else alike <= 0.7, (cluster, other_cluster)
        if other_cluster.startswith(f"{cluster}/"):
            rewritten += alike >= 0.4
    assert rewritten >= 10


def test_what_a_page_says_stands_in_it() -> None:
    for page in SITE.pages.values():
        if page.judged and page.text and page.kind not in ("latin-1", "big"):
            shown = "".join(unescape(re.sub("<[^>]+>", " ", page.reply.body.decode())).split())
            assert all("".join(line.split()) in shown for line in (page.title, *page.text.split("\n"))), page.path


def test_every_kind_of_page_is_there() -> None:
    counts = Counter(page.kind for page in SITE.pages.values())
    for least, kinds in LEAST.items():
        assert min(counts[kind] for kind in kinds.split()) >= least
    assert len(SITE.pages) == 307


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


def test_what_is_not_there_is_not_found() -> None:
    dates = (f"/calendar/{month}/" for month in ("9999-12", "0001-01", "2024-13"))
    for path in (*dates, "/calendar/", "/none", "//", "", "/%ff\x00"):
        assert SITE.reply(path).status == 404
        assert SITE.entry(path) is None


def test_it_is_served_with_its_manifest_and_clients_may_leave(capfd: pytest.CaptureFixture[str]) -> None:
    with serving(SITE.reply) as url:
        for _ in range(3):
            with socket.create_connection(("127.0.0.1", int(url.rpartition(":")[2]))) as client:
                client.sendall(b"GET /manifest.json HTTP/1.1\r\n")
                # Closing resets the connection now.
                client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        with urlopen(f"{url}/manifest.json") as answer:
            assert answer.headers["Content-Type"] == "application/json"
            listed = {entry["path"]: entry for entry in json.load(answer)}
        time.sleep(0.2)
    assert set(listed) == set(SITE.manifest())
    path = "/about/?from=menu"
    assert listed[path] == {"path": path, "kind": "self", "cluster": "about-the-almanac", "judged": True}
    assert not {"/technical/gone", "/technical/moved", "/technical/harbour.png"} & set(listed)
    assert capfd.readouterr().err == ""


def test_encodings_are_what_the_manifest_says() -> None:
    names = ("latin1-header", "latin1-meta", "wrong-charset")
    header, meta, wrong = (SITE.reply(f"/technical/{name}.html") for name in names)
    assert header.content_type == wrong.content_type == "text/html; charset=iso-8859-1"
    assert "éboulis" in header.body.decode("latin-1")
    assert (meta.content_type, b"charset=iso-8859-1" in meta.body) == ("text/html", True)
    assert "Äpfel" in wrong.body.decode("utf-8")
