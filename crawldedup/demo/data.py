"""The small texts of the demo site: labels and comments by language, goods of the shop, notices."""

from __future__ import annotations

import json
from functools import cache
from importlib import resources
from typing import Any


@cache
def phrases(language: str) -> dict[str, Any]:
    """What surrounds an article of this language: labels, comments, and how an editor would change it."""
    found: dict[str, Any] = _load("phrases.json")[language]
    return found


@cache
def goods() -> dict[str, Any]:
    """The shop, by category: one description for all items, column names, and the items' values."""
    return _load("goods.json")


@cache
def notices() -> dict[str, tuple[str, str]]:
    """Pages of a handful of words: heading and line by slug."""
    return {slug: (heading, line) for slug, (heading, line) in _load("notices.json").items()}


@cache
def _load(name: str) -> dict[str, Any]:
    text = (resources.files(__package__) / "texts" / name).read_text(encoding="utf-8")
    loaded: dict[str, Any] = json.loads(text)
    return loaded
