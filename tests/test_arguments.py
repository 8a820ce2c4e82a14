from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from crawldedup import arguments
from crawldedup.arguments import check_address, check_batch, check_body, check_flag, check_namespace, check_text
from crawldedup.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Callable


def assert_refused(check: Callable[..., object], *values: Any, said: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        check(*values)
    assert said in str(caught.value)


@pytest.mark.parametrize("namespace", [5, None, b"news", ["news"], "", "two words", "é", "x" * 101])
def test_a_namespace_is_a_short_word(namespace: Any) -> None:
    assert_refused(check_namespace, namespace, said=f"namespace is {namespace!r}; it must be 1 to 100 letters")
    check_namespace("news.items:a-b_1")


@pytest.mark.parametrize("similarity", [True, "0.9", None, 0.5, 1.1, float("nan")])
def test_a_similarity_is_a_number(similarity: Any) -> None:
    assert_refused(arguments.check_similarity, similarity, said=f"similarity is {similarity!r}; it must be a number")


def test_a_text_may_be_none_where_it_is_optional() -> None:
    check_text("url", "")
    check_text("encoding", None, optional=True)
    assert_refused(check_text, "url", None, said="url is None; it must be a str")
    assert_refused(check_text, "url", b"x", said="url is b'x'; it must be a str")


@pytest.mark.parametrize("value", ["no", None, 0, 1])
def test_a_flag_is_true_or_false(value: Any) -> None:
    assert_refused(check_flag, "store_urls", value, said=f"store_urls is {value!r}; it must be True or False")
    check_flag("store_urls", False)


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ((None, None, None), "url is None"),
        ((b"http://x", None, None), "url is b'http://x'"),
        (("x", 5, None), "identity is 5"),
        (("x", None, b"s"), "scope_key is b's'"),
    ],
)
def test_an_address_is_of_texts(address: tuple[Any, Any, Any], said: str) -> None:
    assert_refused(check_address, *address, said=said)


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ((None, None, None), "either html or text"),
        (("<p>", "x", None), "either html or text"),
        ((5, None, None), "html is 5; it must be bytes or str"),
        ((bytearray(b"<p>"), None, None), "it must be bytes or str"),
        ((None, b"x", None), "text is b'x'; it must be a str"),
        ((b"<p>", None, b"utf-8"), "encoding is b'utf-8'"),
    ],
)
def test_a_body_is_html_or_a_text(body: tuple[Any, Any, Any], said: str) -> None:
    assert_refused(check_body, *body, said=said)


@pytest.mark.parametrize("body", [(b"", None, None), ("<p>", None, "utf-8"), (None, "", None)])
def test_a_page_may_be_empty(body: tuple[Any, Any, Any]) -> None:
    check_body(*body)


@pytest.mark.parametrize("batch", [0, -1, "5", 1.5, None, True])
def test_a_batch_is_a_number_of_pages(batch: Any) -> None:
    assert_refused(check_batch, batch, said="it must be a whole number from 1")
    check_batch(1)


def test_of_a_large_value_only_the_beginning_is_shown() -> None:
    with pytest.raises(ConfigurationError) as caught:
        check_text("text", b"\x1b[2J" + b"words of a page " * 1000)
    assert len(str(caught.value)) < 200
    assert "\x1b" not in str(caught.value)
