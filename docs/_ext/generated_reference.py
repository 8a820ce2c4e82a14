"""Sphinx directives that write reference pages from the code: settings and options, and commands.

A page cannot name a default or an option that the code does not have, or miss one.
"""

from __future__ import annotations

import argparse
import importlib
import os
from typing import TYPE_CHECKING, Any

from docutils.parsers.rst import directives
from sphinx.util.docutils import SphinxDirective

from crawldedup.options import Option, options_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from docutils import nodes
    from sphinx.application import Sphinx

SETTING_PREFIX = "CRAWLDEDUP_"
_HELP_WIDTH = "96"


def settings_markdown(options: tuple[Option, ...]) -> str:
    """Return a section for each option that is a Scrapy setting."""
    return "\n".join(_section(each) for each in options if each.owner != "library")


def options_markdown(options: tuple[Option, ...]) -> str:
    """Return a definition list of the options that the library takes."""
    return "\n\n".join(
        f"`{each.name}` (default: `{_shown(each.default)}`)\n: {each.help}"
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
    return f"## {name}\n\n```{{setting}} {name}\n```\n\nDefault: `{_shown(option.default)}`\n\n{option.help}\n"


def _command_section(parser: argparse.ArgumentParser) -> str:
    os.environ["COLUMNS"] = _HELP_WIDTH
    os.environ["NO_COLOR"] = "1"
    return f"## {parser.prog}\n\n```{{command}} {parser.prog}\n```\n\n```text\n{parser.format_help().rstrip()}\n```\n"


def _shown(value: object) -> str:
    if isinstance(value, tuple):
        value = list(value)
    return f'"{value}"' if isinstance(value, str) else repr(value)


def _load(path: str) -> Any:
    module, _, name = path.partition(":")
    return getattr(importlib.import_module(module), name)


class OptionsDirective(SphinxDirective):
    """List the options of the class at "module:Class"; with `:settings:` as Scrapy settings."""

    required_arguments = 1
    option_spec = {"settings": directives.flag}  # noqa: RUF012 - the type that docutils declares

    def run(self) -> list[nodes.Node]:
        """Return the nodes of the generated Markdown."""
        render = settings_markdown if "settings" in self.options else options_markdown
        return self.parse_text_to_nodes(render(options_of(_load(self.arguments[0]))), allow_section_headings=True)


class CommandsDirective(SphinxDirective):
    """List the commands of the parser that the function at "module:function" returns."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Return the nodes of the generated Markdown."""
        return self.parse_text_to_nodes(commands_markdown(_load(self.arguments[0])()), allow_section_headings=True)


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the directives."""
    app.add_directive("dedup-options", OptionsDirective)
    app.add_directive("dedup-commands", CommandsDirective)
    return {"parallel_read_safe": True}
