"""What became of pages since an earlier crawl, as a part of a report."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Changes:
    """Pages beside those of an earlier crawl; `site` is empty for all of them.

    `new` pages were not met then; `changed` ones had another text; `duplicated` ones were no duplicates then, or not
    met; the text of `moved` ones came at another URL; `skipped` ones were not asked for, because
    a rule takes them for copies; `gone` ones were not met, nor was their text.
    """

    site: str
    new: int = 0
    changed: int = 0
    same: int = 0
    duplicated: int = 0
    moved: int = 0
    skipped: int = 0
    gone: int = 0


@dataclass(frozen=True, slots=True)
class Change:
    """One page that is not as it was."""

    change: str
    url: str


@dataclass(frozen=True, slots=True)
class Comparison:
    """This crawl beside an earlier one.

    Pages are compared `by_text`, too, where both crawls had one index: each index has digests of its own.
    """

    name: str
    started: float
    by_text: bool
    total: Changes
    sites: tuple[Changes, ...]
    examples: tuple[Change, ...]
