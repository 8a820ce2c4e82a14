"""Thin pages that are seen again: their programs and surroundings may change with every load, their content may not."""

from __future__ import annotations

from itertools import count
from typing import Final

import pytest

from crawldedup import Deduplicator
from crawldedup.verdict import describe
from tests.stores.backends import Backend

URL: Final = "https://hub.example/"
LINKS: Final = ("/boats?utm_source=front&page=1", "/piers?sid=a1b2c3d4e5")
loads = count(1)


def hub(
    text: str = "Boats and piers of the harbour.",
    links: tuple[str, ...] = LINKS,
    picture: str = "/harbour.jpg",
    title: str = "Harbour",
    data: str = '{"boats": 3}',
    visitors: int = 24,
) -> str:
    """A page of few words, whose programs and footer change with every load."""
    return (
        f"<title>{title}</title><script>var nonce = {next(loads)};</script>"
        f"<script type='application/json'>{data}</script><main><p>{text}</p><img src='{picture}'>"
        + "".join(f"<a href='{link}'>more</a>" for link in links)
        + f"</main><footer>{visitors} visitors, page {next(loads)}</footer>"
    )


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(hub(), id="other programs"),
        pytest.param(hub(visitors=31), id="other surroundings"),
        pytest.param(hub(links=("/boats?page=1", "/piers?sid=9f8e7d6c5b")), id="other session, no campaign"),
    ],
)
def test_what_has_the_same_text_and_links_is_unchanged(page: str) -> None:
    with Deduplicator() as dedup:
        first = dedup.check(URL, html=hub())
        again = dedup.check(URL, html=page)
    assert (str(first.kind), str(again.kind), again.changed) == ("thin", "revisit", False)
    assert (again.similarity, again.hamming, describe(again)) == (1, 0, "known and unchanged")


CHANGES: Final = {
    "another link": hub(links=(*LINKS, "/news")),
    "links in another order": hub(links=LINKS[::-1]),
    "another page of a link": hub(links=("/boats?page=2", LINKS[1])),
    "another text": hub("Boats and piers of the river."),
    "another picture": hub(picture="/river.jpg"),
    "another title": hub(title="River"),
    "other data": hub(data='{"boats": 4}'),
}


@pytest.mark.parametrize("page", CHANGES.values(), ids=CHANGES)
def test_what_has_another_text_or_link_is_changed(page: str) -> None:
    with Deduplicator() as dedup:
        dedup.check(URL, html=hub())
        again = dedup.check(URL, html=page)
        same = dedup.check(URL, html=page)
    assert (str(again.kind), again.changed, again.similarity) == ("revisit", True, None)
    assert not same.changed


def test_at_another_url_only_an_exact_copy_is_a_duplicate() -> None:
    page = hub()
    with Deduplicator() as dedup:
        kinds = [str(dedup.check(f"{URL}{place}", html=html).kind) for place, html in enumerate((page, hub(), page))]
    assert kinds == ["thin", "thin", "exact_duplicate"]


@pytest.mark.parametrize("shared_backend", ["sqlite"], indirect=True)
def test_two_crawlers_at_work_deliver_it_once(shared_backend: Backend) -> None:
    with Deduplicator(shared_backend.url) as one, Deduplicator(shared_backend.url) as other:
        verdicts = [
            one.check(URL, html=hub()),
            other.check(URL, html=hub()),
            other.check(URL, html=CHANGES["another link"]),
            one.check(URL, html=hub()),
        ]
    # What has changed is new, and belongs to the crawler that saw it so.
    assert [str(verdict.kind) for verdict in verdicts] == ["thin", "near_duplicate", "thin", "thin"]
    assert (verdicts[1].original, verdicts[1].similarity) == (URL, 1)
