"""Warn of a server's configuration that spoils an index."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from redis.exceptions import ResponseError

from crawldedup.stores.redis.client import retry_once
from crawldedup.stores.redis.errors import replies_read

if TYPE_CHECKING:
    from collections.abc import Iterable

    import redis

# Buckets hold twice the mean at most, and chance adds to it; members are 9 bytes long.
_MEMBERS: Final = 128
_MEMBER_BYTES: Final = 9


@replies_read()
def layout_warnings(servers: Iterable[redis.Redis]) -> tuple[str, ...]:
    """Return warnings of any of these servers, or none if they do not show their configuration."""
    return tuple(dict.fromkeys(warning for server in servers for warning in _warnings(_settings_of(server))))


def _settings_of(server: redis.Redis) -> dict[str, str]:
    try:
        # All of it would include passwords.
        told: Any = retry_once(lambda _: server.config_get("*max*"))
    except ResponseError:
        # Hosted servers often have no CONFIG, and users with few rights may not call it.
        return {}
    return dict(told)


def _warnings(settings: dict[str, str]) -> list[str]:
    found = []
    for newer, older, least in (
        ("zset-max-listpack-entries", "zset-max-ziplist-entries", _MEMBERS),
        ("zset-max-listpack-value", "zset-max-ziplist-value", _MEMBER_BYTES),
    ):
        name = newer if newer in settings else older
        if int(settings.get(name, least)) < least:
            found.append(
                f"{name} is {settings[name]}: from {least} on, sorted sets stay packed, and the tables take a "
                f"fifth of the memory"
            )
    policy = settings.get("maxmemory-policy", "noeviction")
    if policy.startswith("allkeys") and settings.get("maxmemory", "0") != "0":
        found.append(
            f"maxmemory-policy is {policy}: a full server throws parts of the index away at random; with noeviction "
            f"pages pass unchecked instead, and max_pages or a ttl keeps the index small"
        )
    return found
