"""Compare the profile of an index (the options and version that it was made with) with our own.

The pages of an index are only compared with those of a program with the same profile.
"""

from dataclasses import dataclass
from typing import Final, Self

from crawldedup.errors import ProfileMismatchError

_FEWEST_PARTS: Final = 5
_OTHER_VERSION: Final = "it was made by another version of crawldedup"


@dataclass(frozen=True, slots=True)
class ProfileParts:
    """The parts of an index's profile, which names everything that affects fingerprints.

    `content` is a digest of the areas of pages that are compared, or "". `texts`, `bits` and
    `tables` belong to a version of this package.
    """

    extractor: str
    content: str
    texts: str
    distinguish: str
    bits: str
    tables: str
    key: str

    @classmethod
    def of(cls, profile: str) -> Self | None:
        """Parse a profile, or return None if this version can't read it."""
        parts = profile.split("/")
        if len(parts) < _FEWEST_PARTS:
            return None
        reading, rules, *bits, tables, key = parts
        extractor, _, content = reading.partition("+")
        texts, _, distinguish = rules.partition(".")
        return cls(extractor, content, texts, distinguish, "/".join(bits), tables, key)


def changes_between(index_profile: str, own_profile: str) -> dict[str, str]:
    """Say in words how the profile of an index differs from that of this program.

    Return a sentence for each option that differs, by its name, and for a different version under
    "version". The keys of indexes don't count.
    """
    index = ProfileParts.of(index_profile)
    own = ProfileParts.of(own_profile)
    if index is None or own is None:
        return {} if index_profile == own_profile else {"version": _OTHER_VERSION}
    changes: dict[str, str] = {}
    if index.extractor != own.extractor:
        changes["extractor"] = f"was {index.extractor!r}; it is {own.extractor!r}"
    if index.content != own.content:
        changes["content"] = _of_content(index.content, own.content)
    if index.distinguish != own.distinguish:
        changes["distinguish"] = f"was {index.distinguish!r}; it is {own.distinguish!r}"
    named = {
        option: f"{option} (CRAWLDEDUP_{option.upper()}, --{option}) {values}"
        for option, values in changes.items()
    }
    if (index.texts, index.bits, index.tables) != (own.texts, own.bits, own.tables):
        named["version"] = _OTHER_VERSION
    return named


def is_readable(index_profile: str, own_profile: str) -> bool:
    """Return whether this program can read the records of an index, whatever its options are."""
    index = ProfileParts.of(index_profile)
    own = ProfileParts.of(own_profile)
    if index is None or own is None:
        return False
    return (index.bits, index.tables) == (own.bits, own.tables)


def mismatch(where: str, index_profile: str, own_profile: str) -> ProfileMismatchError:
    """Make the error for an index that was made with other options. `where` names the index."""
    changes = tuple(changes_between(index_profile, own_profile).values())
    return ProfileMismatchError(
        where, index_profile=index_profile, own_profile=own_profile, changes=changes
    )


def _of_content(before: str, now: str) -> str:
    if not before:
        return "was not set, and is set now"
    if not now:
        return "was set, and is not set now"
    return "was different"
