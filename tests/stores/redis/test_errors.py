from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from redis.exceptions import ResponseError

from crawldedup.errors import StoreError
from crawldedup.stores.redis.errors import store_errors
from tests.servers import free_port
from tests.stores.redis.documentation import passage_behind

if TYPE_CHECKING:
    from crawldedup.verdict import Verdict


@pytest.mark.parametrize(
    ("text", "named"),
    [
        (
            "Error running script (call to f_0123): @user_script:9: FOREIGN hash at crawldedup:{news}:m",
            "crawldedup:{news}:m",
        ),
        ("FOREIGN hash at crawldedup:{news}:m", "crawldedup:{news}:m"),
        # A name that looks like the code of another error.
        ("FOREIGN hash at crawldedup:{OOM.READONLY}:m", "crawldedup:{OOM.READONLY}:m"),
    ],
)
def test_a_key_that_is_not_ours_is_named_with_the_way_out(text: str, named: str) -> None:
    with pytest.raises(StoreError) as caught, store_errors("redis://host", lambda: True, "news"):
        raise ResponseError(text)
    assert type(caught.value) is StoreError
    assert str(caught.value) == (
        f"redis://host: the key {named!r} holds what crawldedup did not write there; remove it if nobody needs it, or "
        f"use another namespace or database: {text}"
    )


@pytest.mark.parametrize(
    ("namespace", "said"), [("news", "a key of the namespace 'news' holds"), (None, "a key of the index holds")]
)
def test_where_no_key_is_known_the_namespace_is_named(namespace: str | None, said: str) -> None:
    text = "WRONGTYPE Operation against a key holding the wrong kind of value"
    with pytest.raises(StoreError, match=said), store_errors("redis://host", lambda: True, namespace):
        raise ResponseError(text)


def test_the_recipe_of_the_documentation_leaves_a_server_alone_that_is_down(monkeypatch: pytest.MonkeyPatch) -> None:
    recipe = passage_behind("# Go on while the store is down").partition("```python\n")[2].partition("```")[0]
    assert "localhost:6379" in recipe
    names: dict[str, Any] = {}
    exec(recipe.replace("localhost:6379", f"127.0.0.1:{free_port()}"), names)
    check = names["dedup"].check
    asked = []

    def noted(url: str, **page: str) -> Verdict:
        asked.append(url)
        verdict: Verdict = check(url, **page)
        return verdict

    monkeypatch.setattr(names["dedup"], "check", noted)
    for url in "abc":
        assert names["is_copy"](url, "<p>some words of a page</p>") is False
    assert asked == ["a"]
    names["not_before"] = 0.0
    assert names["is_copy"]("d", "<p>some words of a page</p>") is False
    assert asked == ["a", "d"]
