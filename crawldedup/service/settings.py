"""What `crawldedup serve` was told, and how its worker processes learn it."""

import json
import os
from dataclasses import asdict, dataclass
from typing import Any, Final, Self

from crawldedup.options import Options
from crawldedup.stores.base import NO_SESSION, CrawlSession

VARIABLE: Final = "CRAWLDEDUP_SERVICE"
"""The variable of the environment in which worker processes find their settings; users have no use for it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceSettings:
    """The settings of one service; its worker processes share the `session`, and so count as one crawler.

    `parent` is the process that starts them. A client has `client_seconds` to send the body of a request.
    """

    options: Options
    session: CrawlSession = NO_SESSION
    tokens: tuple[str, ...] = ()
    host: str = "127.0.0.1"
    port: int = 8300
    workers: int = 1
    parent: int = 0
    readers: int = 1
    max_body: int = 8 << 20
    client_seconds: float = 30
    page_seconds: int = 30
    log_level: str = "info"
    trust_proxy: str | None = None

    def hand_on(self) -> None:
        """Leave the settings to the worker processes that are started next."""
        values = asdict(self) | {"options": {"store": self.options.store, **self.options.index_values()}}
        os.environ[VARIABLE] = json.dumps(values)

    @classmethod
    def handed_on(cls) -> Self:
        """Return the settings that the parent process has left."""
        values: dict[str, Any] = json.loads(os.environ[VARIABLE])
        made = {
            "options": Options.from_values(values["options"]),
            "session": CrawlSession(**values["session"]),
            "tokens": tuple(values["tokens"]),
        }
        return cls(**values | made)
