"""Rules for URLs as plain data, and how they are applied."""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import asdict, dataclass, field, fields
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Self

from crawldedup.advice.address import LONGEST_URL, Address, is_token, name_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

KINDS: Final = ("query", "prefix", "suffix", "session", "host")
_MOST_STEPS: Final = 8


class Contrary(NamedTuple):
    """What speaks against a rule: the page at `url` is no copy of `other`, or only this one of both leads to `link`."""

    url: str
    other: str
    link: str = ""

    def __str__(self) -> str:
        """Return a sentence without its full stop."""
        if self.link:
            return f"{self.url} leads to {self.link}, and {self.other} does not"
        return f"{self.url} is no copy of {self.other}"


@dataclass(frozen=True, slots=True)
class Rule:
    """A part of the URLs of one site that does not change the text, and what to write in its place.

    `site` is scheme and host. By its kind, `find` is: names of parameters with "&" between them, of which all must be
    there, or a name with its value ("query"); how a path begins ("prefix") or ends ("suffix"); what stands in front of
    the id of a session in a path, or ";" and the name that it has ("session"); scheme and host ("host"). It applies to
    paths that begin with `section`. `replace` stands for what was found.

    `support` counts the contents that were seen at URLs that the rule takes for one, `against` the groups of such URLs
    with different texts or links, of which `contrary` is an example. `targets` is the share of the first whose
    rewritten URL was seen, and `linked` of those to which another page leads than those that the rule would have left
    out.
    """

    kind: str
    site: str
    find: str
    replace: str = ""
    section: str = "/"
    support: int = 0
    against: int = 0
    targets: float = 0.0
    linked: float = 0.0
    examples: tuple[tuple[str, str], ...] = ()
    contrary: Contrary | None = field(default=None, compare=False)

    @property
    def id(self) -> tuple[str, str, str, str, str]:
        """What the rule does, without what speaks for it."""
        return self.kind, self.site, self.section, self.find, self.replace

    @property
    def confidence(self) -> float:
        """The share of the groups of URLs that speak for the rule."""
        return self.support / (self.support + self.against) if self.support else 0.0

    @property
    def what(self) -> str:
        """What the rule does, in a few characters."""
        if self.kind == "query":
            return f"?{self.find}"
        find = f"{self.find}*/" if self.kind == "session" and not self.find.startswith(";") else self.find
        return f"{find} -> {self.replace or 'nothing'}"

    def includes(self, other: Rule) -> bool:
        """Return True if this rule takes those URLs for copies that another one does, in whichever direction."""
        return (
            self.kind == other.kind
            and (self.site == other.site or self.kind == "host")
            and {self.find, self.replace} == {other.find, other.replace}
            and other.section.startswith(self.section)
        )

    def applies(self, url: str) -> bool:
        """Return True for a URL that the rule rewrites."""
        return self.rewrite(url) != url

    def rewrite(self, url: str) -> str:
        """Return the URL in its place, or the same if the rule does not apply."""
        address = Address.of(url)
        rewritten = None if address is None else self.rewritten(address)
        return url if rewritten is None else rewritten.url()

    def rewritten(self, address: Address) -> Address | None:
        """Return the address in its place, or None if the rule does not apply."""
        if address.origin != self.site or not address.path.startswith(self.section):
            return None
        if self.kind == "query":
            return self._without_parameters(address)
        if self.kind == "host":
            return Address(self.replace, address.path, address.parameters)
        path = self._path(address.path)
        return None if path is None or path == address.path else Address(address.origin, path, address.parameters)

    def _without_parameters(self, address: Address) -> Address | None:
        wanted = self.find.split("&")
        gone = [each for each in address.parameters if each in wanted or name_of(each) in wanted]
        if not gone or {*map(name_of, wanted)} - {*map(name_of, gone)}:
            return None
        left = tuple([each for each in address.parameters if each not in gone])
        return Address(address.origin, address.path, left)

    def _path(self, path: str) -> str | None:
        if self.kind == "prefix":
            return self.replace + path[len(self.find) :] if path.startswith(self.find) and path != self.find else None
        if self.kind == "suffix":
            return (path[: -len(self.find)] + self.replace or "/") if path.endswith(self.find) else None
        if self.find.startswith(";"):
            return re.sub(rf"{re.escape(self.find)}=[^/;]*", "", path, flags=re.IGNORECASE)
        token, _, rest = path[len(self.find) :].partition("/")
        return self.replace + rest if path.startswith(self.find) and rest and is_token(token) else None

    def id_as_dict(self) -> dict[str, str]:
        """Return what the rule does as plain values, which `from_dict` takes."""
        return dict(zip(("kind", "site", "section", "find", "replace"), self.id, strict=True))

    def as_dict(self) -> dict[str, Any]:
        """Return plain values, ready for JSON."""
        return {**asdict(self), "what": self.what, "confidence": round(self.confidence, 3)}

    @classmethod
    def from_dict(cls, values: object) -> Self:
        """Return the rule of which `as_dict` gave these values. Raises ValueError for those of no rule."""
        if not isinstance(values, dict):
            raise ValueError("a rule is an object")
        given = {each.name: values[each.name] for each in fields(cls) if each.name in values}
        rule = cls(**{**given, "examples": (), "contrary": None})
        if not rule._is_sound():
            raise ValueError("it is no rule")
        return rule

    def _is_sound(self) -> bool:
        """Return True for values that rules have: others may come from a hand, or from another program."""
        texts = (self.kind, self.site, self.find, self.replace, self.section)
        numbers = (self.support, self.against, self.targets, self.linked)
        if not all(isinstance(each, str) and len(each) <= LONGEST_URL for each in texts):
            return False
        if not all(isinstance(each, int | float) and each >= 0 for each in numbers):
            return False
        is_whole = self.kind in KINDS and bool(self.find) and _is_origin(self.site) and self.section.startswith("/")
        if self.kind == "host":
            return is_whole and self.find == self.site and _is_origin(self.replace)
        is_path = self.kind in ("prefix", "suffix", "session") and not self.find.startswith(";")
        return is_whole and (not is_path or self.kind == "suffix" or self.replace.startswith("/"))


def _is_origin(text: str) -> bool:
    return (address := Address.of(text)) is not None and address.origin == text


class _OfSite:
    """The rules of one site, of which few apply to an address."""

    def __init__(self) -> None:
        self._by_parameter: defaultdict[str, list[Rule]] = defaultdict(list)
        self._by_kind: dict[str, list[Rule]] = {kind: [] for kind in KINDS}
        self._by_parts: dict[str, tuple[str, ...]] = {"prefix": (), "suffix": (), "session": ()}

    def add(self, rule: Rule) -> None:
        if rule.kind == "query":
            self._by_parameter[name_of(rule.find.partition("&")[0])].append(rule)
            return
        self._by_kind[rule.kind].append(rule)
        if rule.kind in self._by_parts:
            self._by_parts[rule.kind] += (rule.find,)

    def possible(self, address: Address) -> Iterator[Rule]:
        """Yield the rules that may apply to an address."""
        if address.parameters and self._by_parameter:
            for name in dict.fromkeys(map(name_of, address.parameters)):
                yield from self._by_parameter.get(name, ())
        path, parts = address.path, self._by_parts
        if parts["prefix"] and path.startswith(parts["prefix"]):
            yield from self._by_kind["prefix"]
        if parts["suffix"] and path.endswith(parts["suffix"]):
            yield from self._by_kind["suffix"]
        if parts["session"] and (";" in path or path.startswith(parts["session"])):
            yield from self._by_kind["session"]
        yield from self._by_kind["host"]


class RuleBook:
    """Rules, found quickly by the URL that they apply to."""

    def __init__(self, rules: Iterable[Rule] = ()) -> None:
        self.rules = tuple(rules)
        self._sites: defaultdict[str, _OfSite] = defaultdict(_OfSite)
        for rule in self.rules:
            self._sites[rule.site].add(rule)

    def applied(self, address: Address) -> Iterator[tuple[Rule, Address]]:
        """Yield each rule that applies to an address, and what it makes of it."""
        site = self._sites.get(address.origin)
        for rule in site.possible(address) if site is not None else ():
            made = rule.rewritten(address)
            if made is not None:
                yield rule, made

    def rewritten(self, address: Address) -> tuple[Address, tuple[Rule, ...]]:
        """Return what all rules together make of an address, and those that had a part in it."""
        used: list[Rule] = []
        for _ in range(_MOST_STEPS):
            step = next(((rule, made) for rule, made in self.applied(address) if rule not in used), None)
            if step is None:
                break
            used.append(step[0])
            address = step[1]
        return address, tuple(used)
