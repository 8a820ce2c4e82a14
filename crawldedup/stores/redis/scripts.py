"""Load the Lua scripts of the Redis store.

An entry script names the parts it is made of in its first line, in the order in which they build on each other:
`-- parts: layout, records`.
"""

import hashlib
from functools import cache
from importlib import resources
from typing import Final

SCRIPTS: Final[dict[str, str]] = {}
"""The scripts that were asked for, by the names that the server has for them."""


@cache
def script_sha(name: str) -> str:
    """Return the server's name of an entry script."""
    text = script_text(name)
    sha = hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest()
    SCRIPTS[sha] = text
    return sha


def script_text(name: str) -> str:
    """Return an entry script behind its parts.

    All but the first part stand in a function of their own: Lua looks up what a function takes from around it in a
    list of all such names of one level, and a script makes some fifty functions each time it runs.
    """
    folder = resources.files("crawldedup.stores.redis").joinpath("lua")
    entry = folder.joinpath(f"{name}.lua").read_text("utf-8")
    parts = entry.partition("\n")[0].removeprefix("-- parts: ").split(", ")
    first, *others = (folder.joinpath(f"lib/{part}.lua").read_text("utf-8") for part in parts)
    return "\n".join((first, "return (function()", *others, entry, "end)()"))
