"""Markdown of the reference, written from the code: settings and options, and commands."""

from __future__ import annotations

import argparse
import os
from typing import TYPE_CHECKING

from crawldedup.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from crawldedup.options import Option

SETTING_PREFIX = "CRAWLDEDUP_"
_HELP_WIDTH = "88"


def settings_markdown(options: tuple[Option, ...]) -> str:
    """Return a section for each option that is a Scrapy setting."""
    return "\n".join(_section(each) for each in options if each.owner != "library")


def options_markdown(options: tuple[Option, ...]) -> str:
    """Return a definition list of the options that the library takes."""
    return "\n\n".join(
        f"`{each.name}` (default: `{_shown(each.default)}`)\n: {each.help} Allowed: {allowed_values(each)}."
        for each in options
        if each.owner in ("index", "library")
    )


def commands_markdown(parser: argparse.ArgumentParser) -> str:
    """Return a section for each command of a parser, with its help text."""
    return "\n".join(_command_section(each) for each in leaf_parsers(parser))


def leaf_parsers(parser: argparse.ArgumentParser) -> Iterator[argparse.ArgumentParser]:
    """Yield the parsers of the commands below a parser, or the parser itself if it has none."""
    subcommands = [action for action in parser._actions if isinstance(action, argparse._SubParsersAction)]
    if not subcommands:
        yield parser
    for action in subcommands:
        for child in dict.fromkeys(action.choices.values()):
            yield from leaf_parsers(child)


def _section(option: Option) -> str:
    name = SETTING_PREFIX + option.name.upper()
    facts = f"Default: `{_shown(option.default)}`. Allowed: {allowed_values(option)}."
    return f"## {name}\n\n```{{setting}} {name}\n```\n\n{option.help}\n\n{facts}\n"


def allowed_values(option: Option) -> str:
    """Return what a check says it allows, by giving it a value that no option allows."""
    try:
        option.check(option.name, object())
    except ConfigurationError as error:
        return str(error).partition("it must be ")[2].rstrip(".")
    raise ValueError(f"the check of {option.name} accepts anything")


def _command_section(parser: argparse.ArgumentParser) -> str:
    os.environ["COLUMNS"] = _HELP_WIDTH
    os.environ["NO_COLOR"] = "1"
    return f"## {parser.prog}\n\n```{{command}} {parser.prog}\n```\n\n```text\n{parser.format_help().rstrip()}\n```\n"


def _shown(value: object) -> str:
    if isinstance(value, tuple):
        value = list(value)
    return f'"{value}"' if isinstance(value, str) else repr(value)
