"""Which key is it that holds no value of ours? The server does not say of commands within a script."""

from __future__ import annotations

from importlib import resources
from typing import TYPE_CHECKING, Final

from redis.exceptions import ResponseError

from crawldedup.stores.redis.protocol import script_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    import redis

_CODE: Final = "WRONGTYPE"
_NAMED: Final = "WRONGTYPE at "


def name_key(
    error: Exception, client: redis.Redis, script: str, prefix: str, arguments: Sequence[bytes | str | float]
) -> None:
    """If a script met a key of another type, raise a ResponseError that names it.

    The script is run once more for that, without writing. Returns if the error is another one, or if the key is not
    met again: it may be gone. Raises what the client raises if the server cannot be asked.
    """
    # Redis 6.2 hides the code of an error inside a script in the middle of the message.
    if _CODE not in str(error):
        return
    naming = resources.files(__package__).joinpath("lua", "naming.lua").read_text("utf-8")
    try:
        client.register_script(f"{naming}\n{script_text(script)}")(keys=[prefix], args=arguments)
    except ResponseError as found:
        # Another error comes of what was not written.
        if _NAMED in str(found):
            raise
