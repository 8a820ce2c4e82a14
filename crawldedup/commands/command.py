"""Declare a command of `crawldedup`, without what it takes to run it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

INDEX_OPTIONS: Final = ("store", "namespace")
PROFILE_OPTIONS: Final = ("extractor", "content", "min_words", "distinguish")
"""What an index was made with: every command that asks it needs the same values."""

PARAGRAPH_OPTIONS: Final = ("paragraphs", "paragraph_ttl", "max_paragraphs")

ADVISE_OPTIONS: Final[dict[str, dict[str, Any]]] = {
    "--format": {
        "choices": ("rules", "duplicate-url-discarder", "deny"),
        "default": "rules",
        "help": "the rules themselves, or what another tool reads: a file for duplicate-url-discarder, or the deny "
        "patterns of a LinkExtractor (default: rules)",
    },
}


@dataclass(frozen=True, slots=True)
class Command:
    """One command: `options` are names of `Options`; `defaults` are those of their defaults that differ here.

    The function `run` of `module` takes the arguments that were given and the `Output`. It is imported only then:
    `--help` waits for neither Scrapy nor numpy.
    """

    help: str
    arguments: dict[str, dict[str, Any]] = field(default_factory=dict)
    options: tuple[str, ...] = ()
    defaults: dict[str, Any] = field(default_factory=dict)
    description: str = ""
    module: str = "crawldedup.cli.commands"
