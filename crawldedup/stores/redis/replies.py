"""Validate what the scripts of a single server answer: a proxy or another server may answer anything."""

from __future__ import annotations

from typing import Any, Final

from crawldedup.stores.base import Status
from crawldedup.stores.redis.errors import UnexpectedReplyError

_LARGEST: Final = 0xFFFF_FFFF
_STATUSES: Final = frozenset(status.encode() for status in Status)
_NEEDING_AN_INDEX: Final = frozenset(("check", "load", "scout", "claim", "count", "own", "anchors"))
_ANSWERED_WITH_A_NUMBER: Final = frozenset(
    ("clear", "forget", "heartbeat", "deliver", "depart", "forget_anchors", "prune_anchors")
)
_ASKED_WITH_A_PROFILE: Final = _NEEDING_AN_INDEX | {"find", "join", "look"}


class LostPartError(Exception):
    """Raised for an index, or a part of it, that was lost: it must be begun again."""


class ForeignPartError(Exception):
    """Raised for an index, or a part of it, with another profile."""

    def __init__(self, profile: bytes) -> None:
        self.profile = profile.decode("utf-8", "replace")
        super().__init__(self.profile)


def validate_reply(script: str, answer: Any) -> Any:
    """Return the answer if the script can give it. Raises UnexpectedReplyError, LostPartError or ForeignPartError."""
    if not _is_valid(script, answer):
        raise UnexpectedReplyError.to(f"the script {script!r}", answer)
    match answer:
        case [b"lost"]:
            raise LostPartError
        case [b"profile", profile]:
            raise ForeignPartError(profile)
    return answer


def _is_valid(script: str, answer: Any) -> bool:
    match script, answer:
        case _, [b"profile", bytes()]:
            return script in _ASKED_WITH_A_PROFILE
        case _, [b"lost"]:
            return script in _NEEDING_AN_INDEX
        case "check", [status, int(), int(), int(), bytes() | None, int(), *text]:
            return (status in _STATUSES or status == b"other") and (not text or isinstance(text[0], bytes))
        case "find", [b"found", *records]:
            return all(isinstance(record, bytes) for record in records)
        case "join", [b"joined", int(number), int(), int()]:
            return 0 <= number <= _LARGEST
        case ("look", [b"pages", int()]) | ("load", [b"loaded", int()]) | ("prune", [int(), int(), int(), int()]):
            return True
        case "anchors", [b"anchors", int(), [*lists], [*pages]] if _are_holders(lists, pages):
            return True
        case _, int():
            return script in _ANSWERED_WITH_A_NUMBER
        case "scout", [b"scouted", int(), bytes(), int(), bytes(), int(), bytes() | None]:
            return True
        case ("claim", [b"claimed", int(), bytes()]) | ("own", [b"own", bytes(), int(), int(), bytes()]):
            return True
        case ("text", bytes()) | ("count", [b"gone"] | [b"counted", int(), bytes()]):
            return True
    return False


def _are_holders(lists: list[Any], pages: list[Any]) -> bool:
    """Return True for the lists of anchors, and for pages, when each was added, and their URLs."""
    kinds = (bytes, int, bytes)
    are_pages = len(pages) % 3 == 0 and all(isinstance(each, kinds[place % 3]) for place, each in enumerate(pages))
    return are_pages and all(isinstance(each, bytes) for each in lists)
