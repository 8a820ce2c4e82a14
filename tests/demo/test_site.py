"""The demo site says what its manifest claims."""

from __future__ import annotations

import json
import re
import socket
import struct
import time
from html import unescape
from itertools import combinations
from urllib.request import urlopen

import pytest

from crawldedup.demo.site import DemoSite, all_articles, serving
from crawldedup.literature.bench import shingles, words
from crawldedup.literature.minhash import jaccard_of_sets

SITE = DemoSite()


def test_pages_are_near_duplicates_if_they_are_of_one_cluster() -> None:
    texts = {
        (page.cluster, f"{page.title}\n{page.text}")
        for page in SITE.pages.values()
        if page.judged and page.text
    }
    assert {article.cluster for article in all_articles()} <= {cluster for cluster, _ in texts}
    sets = [(cluster, shingles(words(text))) for cluster, text in sorted(texts)]
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
            assert all(
                "".join(line.split()) in shown for line in (page.title, *page.text.split("\n"))
            ), page.path


def test_every_page_can_be_reached_and_no_other_link_is_dead() -> None:
    seen, waiting = {"/"}, ["/"]
    while waiting:
        body = SITE.reply(waiting.pop()).body.decode(errors="replace")
        for link in map(unescape, re.findall(r'href="([^"]+)"', body, flags=re.IGNORECASE)):
            if link not in seen and not link.startswith("/calendar/"):
                seen.add(link)
                waiting.append(link)
    assert (len(SITE.pages), set(SITE.pages) - seen) == (307, {"/robots.txt"})
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


def test_it_is_served_with_its_manifest_and_clients_may_leave(
    capfd: pytest.CaptureFixture[str],
) -> None:
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
    assert listed[path] == {
        "path": path,
        "kind": "self",
        "cluster": "about-the-almanac",
        "judged": True,
    }
    assert not {"/technical/gone", "/technical/moved", "/technical/harbour.png"} & set(listed)
    assert capfd.readouterr().err == ""
