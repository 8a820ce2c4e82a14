"""Command-line options made from `Options`, and the Deduplicator that they describe."""

from __future__ import annotations

import os
from argparse import BooleanOptionalAction
from typing import TYPE_CHECKING, Any, Final

from crawldedup.errors import ConfigurationError
from crawldedup.options import options_of

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Iterable, Mapping

    from crawldedup.deduplicator import Deduplicator

STORE_VARIABLE: Final = "CRAWLDEDUP_STORE"
DEFAULT_STORE: Final = "sqlite:///crawldedup.sqlite"

_OPTIONS: Final = {option.name: option for option in options_of()}
OPTION_FLAGS: Final = {name: f"--{name.replace('_', '-')}" for name in _OPTIONS}


def add_options(parser: ArgumentParser, names: Iterable[str], defaults: Mapping[str, Any]) -> None:
    """Add the named options of `Options`. `defaults` holds the defaults that differ from those of `Options`."""
    for name in names:
        option = _OPTIONS[name]
        # As argparse and most programs write help.
        help_text = option.help[0].lower() + option.help[1:].removesuffix(".")
        default = shown = defaults.get(name, option.default)
        if name == "store" and name not in defaults:
            # Not the value: the environment's may hold a password.
            default, shown = None, f"the environment's {STORE_VARIABLE}, else {DEFAULT_STORE}"
        if shown is not None:
            help_text += f" (default: {shown})"
        if option.kind is bool:
            how: dict[str, Any] = {"action": BooleanOptionalAction}
        else:
            how = {"type": option.from_text, "metavar": {int: "N", float: "X"}.get(option.kind, name.upper())}
        parser.add_argument(OPTION_FLAGS[name], default=default, help=help_text, **how)


def make_deduplicator(given: Namespace, *, store_flag: str = "--store", **changes: Any) -> Deduplicator:
    """Make the Deduplicator of a command's options. Raises ConfigurationError, which names the option."""
    # Here, so that `--help` does not wait for numpy.
    from crawldedup.deduplicator import Deduplicator

    values = {name: getattr(given, name) for name in _OPTIONS if hasattr(given, name)} | changes
    names = {**OPTION_FLAGS, "store": store_flag}
    if "store" in values and values["store"] is None:
        values["store"], names["store"] = os.environ.get(STORE_VARIABLE, DEFAULT_STORE), STORE_VARIABLE
    checked = {name: _OPTIONS[name].check(names[name], value) for name, value in values.items()}
    if checked.get("scope") == "spider":
        raise ConfigurationError("--scope is 'spider', but no spider is named here: use `scrapy dedup --spider NAME`")
    return Deduplicator(**checked)
