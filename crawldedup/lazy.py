"""Import the public names of a package only when they are first used (PEP 562)."""

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any, NamedTuple


class LazyNames(NamedTuple):
    """What a package needs to define for lazy imports, in the order of assignment."""

    getattr: Callable[[str], Any]
    dir: Callable[[], list[str]]
    all: list[str]


def lazy(package: str, names: Mapping[str, str]) -> LazyNames:
    """Make `__getattr__`, `__dir__` and `__all__` for a package whose names are imported lazily.

    Args:
        package: The name of the package.
        names: For each module of the package, the names that the package takes from it, separated
            by spaces. A module without names is a public name of the package itself.
    """
    homes: dict[str, str] = {}
    for module, listed in names.items():
        for name in listed.split() or [module]:
            homes[name] = module

    def get(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module = import_module(f"{package}.{homes[name]}")
        return getattr(module, name) if names[homes[name]] else module

    return LazyNames(get, lambda: sorted(homes), sorted(homes))
