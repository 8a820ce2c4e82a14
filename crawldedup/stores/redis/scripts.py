"""Build the Lua scripts that run on the server from the files under `lua/`."""

import hashlib
from functools import cache
from importlib import resources
from typing import Final, Literal

ScriptName = Literal[
    "anchors", "check", "clear", "deliver", "find", "forget", "heartbeat", "join", "remembered"
]

_TEXTS: Final[dict[str, str]] = {}
"""The scripts in use, by their SHA-1 digests."""


@cache
def script_sha(name: ScriptName) -> str:
    """Return the digest by which the server knows an entry script."""
    text = script_text(name)
    sha = hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest()
    _TEXTS[sha] = text
    return sha


def script_with_sha(sha: str) -> str:
    """Return the script with a digest that `script_sha` has returned before."""
    return _TEXTS[sha]


def script_text(name: ScriptName) -> str:
    """Return an entry script, preceded by the parts that it names in its first line.

    The first line lists the parts in the order in which they build on each other. All parts but the
    first go into a function of their own: Lua looks up the names that a function takes from its
    surroundings in a list of all such names of one level, and a script makes some fifty functions
    each time it runs.
    """
    folder = resources.files("crawldedup.stores.redis").joinpath("lua")
    entry = folder.joinpath(f"{name}.lua").read_text("utf-8")
    parts = entry.partition("\n")[0].removeprefix("-- parts: ").split(", ")
    first, *others = (folder.joinpath(f"lib/{part}.lua").read_text("utf-8") for part in parts)
    return "\n".join((first, "return (function()", *others, entry, "end)()"))
