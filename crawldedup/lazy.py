"""Import the public names of a package on their first use."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


def lazy(package: str, names: Mapping[str, str]) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Return `__getattr__`, `__dir__` and `__all__` for a package.

    `names` maps modules of the package to the names taken from them, separated by spaces. A module with none is itself
    a public name.
    """
    homes = {name: module for module, listed in names.items() for name in listed.split() or [module]}

    def get(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module = import_module(f"{package}.{homes[name]}")
        return getattr(module, name) if names[homes[name]] else module

    return get, lambda: sorted({*filter(_is_special, vars(sys.modules[package])), *homes}), sorted(homes)


def _is_special(name: str) -> bool:
    return name.startswith("__")
