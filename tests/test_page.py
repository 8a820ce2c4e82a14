from __future__ import annotations

from typing import Any

import pytest

from crawldedup import Page, fingerprint
from crawldedup.errors import ConfigurationError


@pytest.mark.parametrize("page", [{"html": b"<p>"}, {"text": ""}, {"fingerprint": fingerprint("some words")}])
def test_a_page_is_of_one_kind(page: dict[str, Any]) -> None:
    assert Page("https://example.com/", **page).url == "https://example.com/"


@pytest.mark.parametrize(
    ("url", "page", "said"),
    [
        ("u", {}, "must have one of html, text and fingerprint"),
        ("u", {"html": "<p>", "text": "x"}, "must have one of html, text and fingerprint"),
        (None, {"html": "<p>"}, "url is None"),
        (b"u", {"html": "<p>"}, "url is b'u'"),
        ("u", {"html": 5}, "html is 5"),
        ("u", {"text": b"x"}, "text is b'x'"),
        ("u", {"html": "<p>", "encoding": 5}, "encoding is 5"),
        ("u", {"html": "<p>", "identity": 5}, "identity is 5"),
        ("u", {"html": "<p>", "scope_key": 5}, "scope_key is 5"),
        ("u", {"text": "x", "canonical": 5}, "canonical is 5"),
        ("u", {"fingerprint": "f0"}, "fingerprint is 'f0'; it must be one that"),
        ("u", {"text": "x", "similarity": 7}, "^similarity is 7"),
        ("u", {"text": "x", "revisit_similarity": 7}, "^revisit_similarity is 7"),
    ],
)
def test_what_is_no_page_is_refused_at_once(url: Any, page: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigurationError, match=said):
        Page(url, **page)
