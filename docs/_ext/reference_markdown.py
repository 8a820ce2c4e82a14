"""Markdown of the reference, written from the code: settings and options, commands, and the HTTP
service.
"""

from __future__ import annotations

import argparse
import json
import os
import re
from collections import Counter
from typing import TYPE_CHECKING, Any

from crawldedup.errors import ConfigurationError
from crawldedup.scrapy_plugin.settings import crawl_settings

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from crawldedup.options import Option

_HELP_WIDTH = "88"
# A dictionary, a word in quotes, a URL, or one of Python's constants.
_VALUE = re.compile(
    r"""\{(?:[^{}]|\{[^{}]*\})*\}|'[^']*'|"[^"]*"|[a-z+]+://[a-z:/]*|\b(?:True|False|None)\b"""
)
_MOST_PAGES = 3


def settings_markdown(examples: Sequence[str], pages: Mapping[str, str]) -> str:
    """Return a section for each Scrapy setting that has an example.

    `examples` are lines of Python such as "CRAWLDEDUP_TTL = '30d'", in the order of the sections.
    `pages` are the texts of the pages that may explain a setting, by their names. Raises ValueError
    if a line isn't the example of a setting.
    """
    declared = crawl_settings()
    sections = []
    for example in examples:
        name = example.partition(" = ")[0]
        if name not in declared:
            raise ValueError(f"no setting has the name {name!r}")
        sections.append(_section(name, declared[name], example, pages))
    return "\n".join(sections)


def options_markdown(options: tuple[Option, ...]) -> str:
    """Return a definition list of the options that the library takes."""
    return "\n\n".join(
        f"`{each.name}` (default: `{_shown(each.default)}`)\n: {_coded(each.help)} Allowed: "
        f"{_coded(allowed_values(each))}."
        for each in options
        if each.owner in ("index", "library")
    )


def commands_markdown(parser: argparse.ArgumentParser) -> str:
    """Return a section for each command of a parser, with its help text."""
    return "\n".join(_command_section(each) for each in leaf_parsers(parser))


def leaf_parsers(parser: argparse.ArgumentParser) -> Iterator[argparse.ArgumentParser]:
    """Yield the parsers of the commands below a parser, or the parser itself if it has none."""
    subcommands = [
        action for action in parser._actions if isinstance(action, argparse._SubParsersAction)
    ]
    if not subcommands:
        yield parser
    for action in subcommands:
        for child in dict.fromkeys(action.choices.values()):
            yield from leaf_parsers(child)


def _section(name: str, option: Option, example: str, pages: Mapping[str, str]) -> str:
    facts = f"Default: `{_shown(option.default)}`. Allowed: {_coded(allowed_values(option))}."
    counts = Counter({page: len(re.findall(rf"\b{name}\b", text)) for page, text in pages.items()})
    told = [f"{{doc}}`/{page}`" for page, count in counts.most_common(_MOST_PAGES) if count]
    see = f"See {', '.join(told)}.\n" if told else ""
    shown = f"```python\n{example}\n```"
    title = f"### {name}\n\n```{{setting}} {name}\n```"
    return f"{title}\n\n{_coded(option.help)}\n\n{shown}\n\n{facts}\n\n{see}"


def allowed_values(option: Option) -> str:
    """Return what a check says it allows, by giving it a value that no option allows."""
    try:
        option.check(option.name, object())
    except ConfigurationError as error:
        return str(error).partition(" must be ")[2].rstrip(".")
    raise ValueError(f"the check of {option.name} accepts anything")


def _coded(text: str) -> str:
    """Set the values in a help text as code, with the double quotes of the examples."""
    pieces = re.split("(`[^`]*`)", text)  # what is code already
    return "".join(
        piece if piece.startswith("`") else _VALUE.sub(_as_code, piece) for piece in pieces
    )


def _as_code(value: re.Match[str]) -> str:
    words = value[0]
    return f'`"{words[1:-1]}"`' if words.startswith("'") else f"`{words}`"


def _command_section(parser: argparse.ArgumentParser) -> str:
    os.environ["COLUMNS"] = _HELP_WIDTH
    os.environ["NO_COLOR"] = "1"
    return (
        f"## {parser.prog}\n\n```{{command}} "
        f"{parser.prog}\n```\n\n```text\n{parser.format_help().rstrip()}\n```\n"
    )


def _shown(value: object) -> str:
    if isinstance(value, tuple):
        value = list(value)
    return f'"{value}"' if isinstance(value, str) else repr(value)


def http_markdown(document: dict[str, Any]) -> str:
    """Return a section for each operation of an OpenAPI document, and one for each schema."""
    operations = [
        _operation(method.upper(), path, operation)
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
    ]
    schemas = [_schema(name, schema) for name, schema in document["components"]["schemas"].items()]
    return "\n".join([*operations, *schemas])


def _operation(method: str, path: str, operation: dict[str, Any]) -> str:
    asked = operation.get("requestBody", {}).get("content", {})
    answered = operation["responses"]["200"]["content"]
    query = ", ".join(f"`{each['name']}`" for each in operation.get("parameters", []))
    lines = [f"## {method} {path}", "", f"{operation['summary']}. {operation['description']}", ""]
    if query:
        lines += [
            f"If the body is HTML or plain text, the query can have these parameters: {query}."
            if asked
            else f"Query: {query}.",
            "",
        ]
    for title, content in (("Request", asked), ("Answer", answered)):
        for kind, body in content.items():
            example = body["example"]
            shown = example.rstrip() if isinstance(example, str) else json.dumps(example, indent=2)
            lines += [f"{title}, `{kind}`{_of(body['schema'])}:", "", "```text", shown, "```", ""]
    return "\n".join(lines)


def _of(schema: dict[str, Any]) -> str:
    name = schema.get("$ref", "").rpartition("/")[2]
    return f" (see {name})" if name else ""


def _schema(name: str, schema: dict[str, Any]) -> str:
    head = [f"## {name}", "", schema.get("description", ""), ""]
    if "properties" not in schema:
        words = ", ".join(f"`{word}`" for word in schema.get("enum", ()))
        return "\n".join(
            [*head, f"One of {words}." if words else f"It is an {schema['type']}.", ""]
        )
    rows = [
        f"| `{field}` | {_type(each)} | {each.get('description', '')} |"
        for field, each in schema["properties"].items()
    ]
    return "\n".join([*head, "| field | type | |", "|---|---|---|", *rows, ""])


def _type(schema: dict[str, Any]) -> str:
    if "$ref" in schema:
        return str(schema["$ref"]).rpartition("/")[2]
    options = schema.get("oneOf") or schema.get("anyOf")
    if options:
        return " or ".join(map(_type, options))
    kinds = schema.get("type", "object")
    return " or ".join([kinds] if isinstance(kinds, str) else kinds)
