"""A single linked heading: that of a teaser, or one that names the author or the employer."""

from __future__ import annotations

import pytest

from crawldedup import Deduplicator
from tests.stories import TEXT

TEASER = "<article><h2><a href='/story'>The story of the ferry</a></h2><p>{}</p></article>"
NAMED = "<h2><a href='/company/acme'>Acme Care</a></h2><p>{}</p>"


def page(name: str, content: str, text: str = TEXT) -> str:
    return (
        f"<title>{name} | Jobs</title><main><h1>{name}</h1>{content.format(text)}</main>"
        "<footer>Jobs</footer>"
    )


@pytest.mark.parametrize("heading", ["h2", "h3", "h4"])
def test_an_ad_below_its_employer_is_no_list(heading: str) -> None:
    content = NAMED.replace("h2", heading)
    dedup = Deduplicator(key=0)
    dedup.check("https://a.example/jobs/17", html=page("Staff nurse", content))
    other = dedup.check("https://a.example/jobs/18", html=page("Night porter", content))
    assert other.rejected_by == "name"


def test_a_word_of_a_note_below_its_author_counts() -> None:
    dedup = Deduplicator(key=0)
    dedup.check("https://a.example/notes/17", html=page("Notes", NAMED))
    changed = page("Notes", NAMED, TEXT.replace(TEXT.split()[40], "ferry", 1))
    assert dedup.check("https://a.example/notes/18", html=changed).rejected_by == "text"


def test_categories_with_the_same_story_are_copies() -> None:
    dedup = Deduplicator(key=0)
    dedup.check("https://a.example/tags/boats", html=page("Boats", TEASER))
    assert dedup.check("https://a.example/tags/piers", html=page("Piers", TEASER)).is_duplicate
