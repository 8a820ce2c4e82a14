"""Import the names of a package on their first use (PEP 562)."""

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def lazy(
    package: str, names: Mapping[str, str]
) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Return `__getattr__`, `__dir__` and `__all__` for a package.

    `names` maps each module of the package to the names it gives, with blanks between them. A
    module without names is itself a name of the package.
    """
    homes = {
        name: module for module, listed in names.items() for name in listed.split() or [module]
    }

    def get(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module = import_module(f"{package}.{homes[name]}")
        return getattr(module, name) if names[homes[name]] else module

    return get, lambda: sorted(homes), sorted(homes)
