"""Load the Lua scripts of the Redis stores.

An entry script names the parts it is made of in its first line, in the order in which they build on each other:
`-- parts: layout, records`. Those that only clusters need stand apart.
"""

from __future__ import annotations

from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

_STORES: Final = resources.files("crawldedup.stores")
_FOLDERS: Final = ("redis/lua", "redis/lua/lib", "cluster/lua")
_HEAD: Final = "-- parts: "


@cache
def script_text(name: str) -> str:
    """Return an entry script behind its parts.

    All but the first part stand in a function of their own: Lua looks up what a function takes from around it in a
    list of all such names of one level, and a script makes some fifty functions each time it runs.
    """
    first, *others = (_file(part).read_text("utf-8") for part in parts_of(name))
    return "\n".join((first, "return (function()", *others, _file(name).read_text("utf-8"), "end)()"))


def parts_of(name: str) -> list[str]:
    """Return the parts that the head of an entry script names."""
    head = _file(name).read_text("utf-8").partition("\n")[0]
    if not head.startswith(_HEAD):
        raise ValueError(f"the script {name!r} names no parts in its first line")
    return head.removeprefix(_HEAD).split(", ")


def _file(name: str) -> Traversable:
    places = (_STORES.joinpath(f"{folder}/{name}.lua") for folder in _FOLDERS)
    return next((place for place in places if place.is_file()), _STORES.joinpath(f"{_FOLDERS[0]}/{name}.lua"))
