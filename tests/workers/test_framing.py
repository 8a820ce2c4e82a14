"""Errors cross from a worker as plain values, whatever it writes."""

from __future__ import annotations

import json
from typing import Any

import pytest

from crawldedup import errors
from crawldedup.errors import CrawlDedupError, PageError, ProfileMismatchError, StoreFullError
from crawldedup.workers.framing import ANSWER, UnexpectedReadError, answer, error_from, plain_error


def arrived_error(plain: dict[str, str]) -> Any:
    return error_from(json.loads(answer(plain)[ANSWER.size :]))


def errors_of_the_package() -> list[CrawlDedupError]:
    made: list[CrawlDedupError] = [
        PageError("too_deep", "The page is nested too deeply."),
        ProfileMismatchError("Namespace news", index_profile="old", own_profile="new"),
    ]
    classes = [cls for cls in vars(errors).values() if isinstance(cls, type) and issubclass(cls, CrawlDedupError)]
    made += [cls("What is wrong.") for cls in classes if cls not in {type(error) for error in made}]
    assert len(made) >= 8
    return made


@pytest.mark.parametrize("error", errors_of_the_package(), ids=lambda error: type(error).__name__)
def test_an_error_of_every_class_crosses(error: CrawlDedupError) -> None:
    arrived = arrived_error(plain_error(error))
    assert type(arrived) is type(error)
    assert str(arrived) == str(error)
    assert (arrived.counter, arrived.is_fatal) == (error.counter, error.is_fatal)
    assert getattr(arrived, "reason", None) == getattr(error, "reason", None)


def test_an_error_that_nobody_foresaw_crosses_with_its_traceback_safe_to_show() -> None:
    class TheirError(BaseException):
        """Of a class that the crawl does not have."""

    try:
        raise TheirError("bad \x1b[31m page")
    except TheirError as error:
        arrived = arrived_error(plain_error(error))
    assert isinstance(arrived, UnexpectedReadError)
    assert arrived.kind == "TheirError"
    assert "Traceback (most recent call last)" in str(arrived)
    assert r"bad \x1b[31m page" in str(arrived)
    assert "\x1b" not in str(arrived)


@pytest.mark.parametrize("name", ["annotations", "ClassVar", "__builtins__", "CrawlDedupErro", "object", ""])
def test_no_name_of_an_error_reaches_anything_but_an_error(name: str) -> None:
    assert type(error_from({"error": name, "message": "x"})) is UnexpectedReadError


def test_an_error_without_its_parts_is_an_error() -> None:
    assert type(error_from({"error": "StoreFullError"})) is StoreFullError
    assert error_from({"error": "PageError"}).reason == "None"  # type: ignore[attr-defined]
