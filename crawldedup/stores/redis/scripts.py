"""Put together the Lua scripts that run on the Redis server from the files under `lua/`."""

import hashlib
from functools import cache
from importlib import resources
from typing import Final, Literal

ScriptName = Literal[
    "anchors", "check", "clear", "deliver", "find", "forget", "heartbeat", "join", "remembered"
]

LOADED_IN_ORDER: Final[tuple[ScriptName, ...]] = (
    "anchors", "clear", "deliver", "find", "forget", "heartbeat", "join", "remembered", "check"
)  # fmt: skip
"""All scripts, in the order in which a server gets them.

Deliveries are sent before checks. So `check` comes last here: a server that knows it also knows
`deliver`, and runs both in order.
"""


@cache
def script_sha(name: ScriptName) -> str:
    """Return the SHA-1 digest by which the server knows a script."""
    return hashlib.sha1(script_text(name).encode(), usedforsecurity=False).hexdigest()


@cache
def script_text(name: ScriptName) -> str:
    """Return the full text of a script, including the parts that its first line names.

    The first line lists the parts in the order in which they build on each other. Each part except
    the first becomes a separate function, because Lua looks names up in a list of all outer names
    of one level, and a script creates about fifty functions each time it runs.
    """
    folder = resources.files("crawldedup.stores.redis").joinpath("lua")
    entry = folder.joinpath(f"{name}.lua").read_text("utf-8")
    parts = entry.partition("\n")[0].removeprefix("-- parts: ").split(", ")
    first, *others = (folder.joinpath(f"lib/{part}.lua").read_text("utf-8") for part in parts)
    return "\n".join((first, "return (function()", *others, entry, "end)()"))
