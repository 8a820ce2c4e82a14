"""The demo site says what its manifest claims."""

from __future__ import annotations

import json
import re
from html import unescape
from itertools import combinations
from urllib.request import urlopen

from crawldedup.demo.site import DemoSite, all_articles, serving
from crawldedup.literature.exact import shingles
from crawldedup.literature.minhash import jaccard_of_sets

SITE = DemoSite()


def test_pages_are_near_duplicates_if_they_are_of_one_cluster() -> None:
    texts = {(page.cluster, f"{page.title}\n{page.text}") for page in SITE.pages.values() if page.judged and page.text}
    assert {article.cluster for article in all_articles()} <= {cluster for cluster, _ in texts}
    sets = [(cluster, shingles(text)) for cluster, text in sorted(texts)]
    rewritten = 0
    for (cluster, one), (other_cluster, other) in combinations(sets, 2):
        alike = jaccard_of_sets(one, other)
        assert alike >= 0.92 if cluster == other_cluster else alike <= 0.7, (cluster, other_cluster)
        if other_cluster.startswith(f"{cluster}/"):
            rewritten += alike >= 0.4
    assert rewritten >= 10


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


def test_what_is_not_there_is_not_found() -> None:
    dates = (f"/calendar/{month}/" for month in ("9999-12", "0001-01", "2024-13"))
    for path in (*dates, "/calendar/", "/none", "//", "", "/%ff\x00"):
        assert SITE.reply(path).status == 404
        assert SITE.entry(path) is None


def test_it_is_served_with_its_manifest() -> None:
    with serving(SITE.reply) as url, urlopen(f"{url}/manifest.json") as answer:
        assert answer.headers["Content-Type"] == "application/json"
        listed = {entry["path"]: entry for entry in json.load(answer)}
    assert set(listed) == set(SITE.manifest())
    path = "/about/?from=menu"
    assert listed[path] == {"path": path, "kind": "self", "cluster": "about-the-almanac", "judged": True}
    assert not {"/technical/gone", "/technical/moved", "/technical/harbour.png"} & set(listed)
