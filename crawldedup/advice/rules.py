"""Rules for URLs: what they rewrite, and the file that holds them for the next crawl."""

import re
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Final

import msgspec
from msgspec import Meta

from crawldedup.advice.address import Address, name_of
from crawldedup.errors import ConfigurationError
from crawldedup.printable import printable
from crawldedup.scope import site_of

_MOST_STEPS: Final = 8
_VIEW_OF_HOST: Final = re.compile(r"(?:(?:www|m|mobile|amp|wap|print)\.)*(?=[^.]+\.)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Rule:
    """A part of the URLs of one site that does not change the text, and what to write in its place.

    `site` is scheme and host. By its kind, `find` is: names of parameters with "&" between them, of which all must be
    there, or a name with its value ("query"); how a path begins ("prefix") or ends ("suffix"); or scheme and host
    ("host"). `replace` stands for what was found. The rule applies to pages in `folders`, where it was seen, and not to
    those whose rewritten URL is one of `exceptions`.

    `support` counts the contents and `copies` the pages that speak for the rule, `against` the pages that it takes for
    copies and that are none; `contrary` says of one why. `confirmed` has the digests of the rewritten URLs of which
    copies were seen.
    """

    kind: Annotated[str, Meta(pattern="^(query|prefix|suffix|host)$")]
    site: Annotated[str, Meta(pattern=r"^https?://[^/?#\s]+$")]
    find: Annotated[str, Meta(min_length=1)]
    replace: str = ""
    folders: frozenset[str] = frozenset()
    exceptions: frozenset[str] = frozenset()
    support: int = 0
    copies: int = 0
    against: int = 0
    examples: tuple[tuple[str, str], ...] = ()
    confirmed: frozenset[str] = frozenset()
    contrary: str = field(default="", compare=False)

    @property
    def id(self) -> tuple[str, str, str, str]:
        """What the rule does, without where and what speaks for it."""
        return self.kind, self.site, self.find, self.replace

    @property
    def confidence(self) -> float:
        """The share of the pages that speak for the rule."""
        return self.copies / (self.copies + self.against) if self.copies else 0.0

    @property
    def what(self) -> str:
        """What the rule does, in a few characters."""
        if self.kind == "suffix":
            return f"*{self.find} -> *{self.replace}"
        if self.kind == "query":
            return self.find if self.find.startswith(";") else f"?{self.find}"
        return f"{self.find} -> {self.replace}"

    @property
    def name(self) -> str:
        """What stands for the rule in logs and reports."""
        return f"{self.site}: {self.what}"

    def rewritten(self, address: Address) -> Address | None:
        """Return the address in its place, or None if the rule does not apply."""
        origin, path, parameters = address
        if origin != self.site:
            return None
        match self.kind:
            case "query":
                wanted = self.find.split("&") if parameters else []
                gone = [each for each in parameters if each in wanted or name_of(each) in wanted]
                if gone and {*map(name_of, gone)} >= {*map(name_of, wanted)}:
                    parameters = tuple([each for each in parameters if each not in gone])
            case "host":
                origin = self.replace
            case "prefix" if path.startswith(self.find) and path != self.find:
                path = self.replace + path[len(self.find) :]
            case "suffix" if path.endswith(self.find):
                path = path[: -len(self.find)] + self.replace or "/"
        target = Address(origin, path, parameters)
        # A candidate is tried everywhere.
        if target == address or (self.folders and address.folder() not in self.folders):
            return None
        return None if self.exceptions and target.url() in self.exceptions else target

    def as_dict(self) -> dict[str, Any]:
        """Return plain values, ready for JSON, alike in every process."""
        plain: dict[str, Any] = msgspec.to_builtins(self, order="deterministic")
        return {**plain, "what": self.what, "confidence": round(self.confidence, 3)}

    def is_sound(self) -> bool:
        """Return True if the rule replaces what its kind may replace, in some folders."""
        may = {
            "host": self.find == self.site and are_views(self.find, self.replace),
            "prefix": self.find.startswith("/") and self.replace.startswith("/"),
            "query": not self.replace,
        }
        return bool(self.folders) and may.get(self.kind, True)


def are_views(one: str, other: str) -> bool:
    """Return True for two origins of one site that differ by scheme, "www." or the name of a view alone.

    Anyone may own another host, and answer there what he likes.
    """
    hosts = [_VIEW_OF_HOST.sub("", origin.partition("://")[2], count=1) for origin in (one, other)]
    return hosts[0] == hosts[1] and site_of(one) == site_of(other)


def read_rules(path: Path) -> list[Rule]:
    """Return the rules of a file that `crawldedup advise` wrote. Raises ConfigurationError."""
    shown = printable(str(path))
    try:
        rules = msgspec.json.decode(path.read_bytes(), type=list[Rule])
    except (OSError, msgspec.MsgspecError, RecursionError) as error:
        raise ConfigurationError(
            f"{shown} cannot be read as rules: {error}; `crawldedup advise JOURNAL --output {shown}` writes them"
        ) from error
    if unsound := [number for number, rule in enumerate(rules, start=1) if not rule.is_sound()]:
        raise ConfigurationError(f"{shown}: rule {unsound[0]} names no folders, or what its kind cannot replace")
    return rules


class RuleBook:
    """Rules, found by the site that they are for."""

    def __init__(self, rules: Iterable[Rule] = ()) -> None:
        self._by_site: defaultdict[str, list[Rule]] = defaultdict(list)
        # What stands in a query goes first: after a host or a path is rewritten, its rules are those of another place.
        for rule in sorted(rules, key=lambda each: each.kind != "query"):
            self._by_site[rule.site].append(rule)

    def rewritten(self, address: Address) -> tuple[Address, tuple[Rule, ...]]:
        """Return what all rules together make of an address, and those that had a part in it."""
        used: list[Rule] = []
        for _ in range(_MOST_STEPS):
            for rule in self._by_site.get(address.origin, ()):
                target = rule.rewritten(address)
                if target is not None and rule not in used:
                    used.append(rule)
                    address = target
                    break
            else:
                break
        return address, tuple(used)
