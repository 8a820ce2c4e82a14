"""The tokens that clients authenticate with: where they come from, and what each allows."""

import enum
import hmac
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from crawldedup.errors import ConfigurationError

TOKEN_VARIABLE: Final = "CRAWLDEDUP_TOKEN"
READ_TOKEN_VARIABLE: Final = "CRAWLDEDUP_READ_TOKEN"
SHORTEST_TOKEN: Final = 16


class Access(enum.Enum):
    """What a client with a certain token may do."""

    NONE = "nothing"
    READ = "ask, and change nothing"
    FULL = "everything"


@dataclass(frozen=True, slots=True)
class Tokens:
    """All valid tokens, those that allow everything and read-only ones."""

    full: Sequence[str] = ()
    read_only: Sequence[str] = ()

    def __bool__(self) -> bool:
        return bool(self.full or self.read_only)

    def access_of(self, token: bytes) -> Access:
        """Return what a client with this token may do.

        The token is compared with every valid one completely, so the time reveals nothing.
        """
        is_full = [hmac.compare_digest(token, each.encode()) for each in self.full]
        is_read_only = [hmac.compare_digest(token, each.encode()) for each in self.read_only]
        if any(is_full):
            return Access.FULL
        if any(is_read_only):
            return Access.READ
        return Access.NONE


def tokens_from(token_file: str | None, read_token_file: str | None) -> Tokens:
    """Read the full and the read-only tokens.

    Each kind comes from its file or, if no file is named for it, from its environment variable.

    Raises:
        ConfigurationError: A file can't be read or contains no token, a token is too short or isn't
            ASCII, or a token is both full and read-only.
    """
    tokens = Tokens(
        _tokens_in(token_file, TOKEN_VARIABLE), _tokens_in(read_token_file, READ_TOKEN_VARIABLE)
    )
    if set(tokens.full) & set(tokens.read_only):
        raise ConfigurationError(
            "a token is listed both among those that allow everything and among the read-only "
            "ones: create a different token for reading"
        )
    return tokens


def _tokens_in(file: str | None, variable: str) -> tuple[str, ...]:
    if file is None:
        tokens = tuple(os.environ.get(variable, "").split())
    else:
        try:
            tokens = tuple(Path(file).read_text("utf-8").split())
        except (OSError, ValueError) as error:
            raise ConfigurationError(f"the tokens in {file} cannot be read: {error}") from None
        if not tokens:
            raise ConfigurationError(f"{file} contains no token")
    if any(len(token) < SHORTEST_TOKEN or not token.isascii() for token in tokens):
        raise ConfigurationError(f"a token must have {SHORTEST_TOKEN} or more ASCII characters")
    return tokens
