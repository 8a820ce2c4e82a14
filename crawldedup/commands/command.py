"""Declare a command of `crawldedup`, without what it takes to run it."""

from collections.abc import Callable
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

    It is run by `run`, or by the function of this name in `module`, which is imported only then.
    """

    help: str
    arguments: dict[str, dict[str, Any]] = field(default_factory=dict)
    options: tuple[str, ...] = ()
    defaults: dict[str, Any] = field(default_factory=dict)
    description: str = ""
    module: str = ""
    run: Callable[..., None] | None = None
