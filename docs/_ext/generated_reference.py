"""Sphinx directives that write reference pages from the code: settings and options, commands, HTTP.

A page cannot name a default or an option that the code does not have, or miss one. What autodoc
writes of docstrings is set with dashes.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from docutils import nodes
from reference_markdown import commands_markdown, http_markdown, options_markdown, settings_markdown
from sphinx import addnodes
from sphinx.util.docutils import SphinxDirective

from crawldedup.options import options_of

if TYPE_CHECKING:
    from sphinx.application import Sphinx


# They name nearly all settings.
_OVERVIEWS = ("index", "explanation/limits", "benchmarks/speed")


def _load(path: str) -> Any:
    module, _, name = path.partition(":")
    return getattr(importlib.import_module(module), name)


class OptionsDirective(SphinxDirective):
    """List the options that the library takes, of the class at "module:Class"."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Return the nodes of the generated Markdown."""
        options = options_of(_load(self.arguments[0]))
        return self.parse_text_to_nodes(options_markdown(options), allow_section_headings=True)


class SettingsDirective(SphinxDirective):
    """Describe Scrapy settings. Each line of the content is an example of a setting."""

    has_content = True

    def run(self) -> list[nodes.Node]:
        """Return the nodes of the generated Markdown."""
        text = settings_markdown(list(self.content), self._guides())
        return self.parse_text_to_nodes(text, allow_section_headings=True)

    def _guides(self) -> dict[str, str]:
        """Return the texts of the pages that tell when to use a setting, by their names."""
        names = [
            name
            for name in sorted(self.env.found_docs)
            if name.startswith(("how-to/", "explanation/"))
        ]
        return {
            name: self.env.doc2path(name).read_text("utf-8")
            for name in names
            if name not in _OVERVIEWS
        }


class CommandsDirective(SphinxDirective):
    """List the commands of the parser that the function at "module:function" returns."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Return the nodes of the generated Markdown."""
        return self.parse_text_to_nodes(
            commands_markdown(_load(self.arguments[0])()), allow_section_headings=True
        )


class HttpDirective(SphinxDirective):
    """Describe the operations of the OpenAPI document that the function at "module:function"
    returns.
    """

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Return the nodes of the generated Markdown."""
        return self.parse_text_to_nodes(
            http_markdown(_load(self.arguments[0])()), allow_section_headings=True
        )


def set_dashes(_app: Sphinx, document: nodes.document) -> None:
    """Set a dash between the name of an argument and what is said of it.

    Smart quotes would also change options.
    """
    for content in document.findall(addnodes.desc_content):
        for text in list(content.findall(nodes.Text)):
            if text.startswith(" -- "):
                text.parent.replace(text, nodes.Text(text.replace(" -- ", " \N{EN DASH} ", 1)))


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the directives."""
    app.connect("doctree-read", set_dashes)
    app.add_directive("dedup-options", OptionsDirective)
    app.add_directive("dedup-settings", SettingsDirective)
    app.add_directive("dedup-commands", CommandsDirective)
    app.add_directive("dedup-http", HttpDirective)
    return {"parallel_read_safe": True}
