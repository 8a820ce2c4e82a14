"""URL rules: what they mean, the file they are stored in, and how a crawl follows them.

A rule says which URLs lead to the same page, their target. No matter how wrong a rule is, three
things keep content from getting lost:

- Nothing is skipped at a target before its content has arrived, and a copy was confirmed there for
  that rule, in this crawl or in the one that the rules were mined from. A copy at one target proves
  nothing about another.
- The first request at a target is made as a check, or the second one if the earlier crawl confirmed
  a copy there. After that, one in twenty is made, for each target and for each folder.
- Skipped requests are kept, and made after all if a check contradicts their target or their rule.
  If there is no room for them, requests pass.
"""

import hashlib
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Final, Generic, NamedTuple, Self, TypeVar

import msgspec
from msgspec import Meta

from crawldedup.errors import ConfigurationError
from crawldedup.scope import site_of
from crawldedup.text import printable
from crawldedup.urls import TOKEN

# The maximum number of letters for rules, which is as many as a journal keeps.
LONGEST_URL: Final = 2048
MOST_PARAMETERS: Final = 32  # rules don't apply to URLs with more parameters

# This is several times as fast as urllib's parser, which also reads forms that no page has.
_URL: Final = re.compile(r"(https?)://([^/?#\s]+)([^?#]*)(?:\?([^#]*))?", re.I)
_NUMBER: Final = re.compile(r"\d+")
FRAME: Final = "{path}"
"""The value of `Rule.find` for queries that are the addresses of pages, as in a frameset."""
ADDRESS_IN_QUERY: Final = r"[^=&#]*/[^=&#]*|[^=&#]+\.x?html?"
"""A pattern for queries that are the address of a page."""
_INDEX: Final = re.compile(r"/index\.\w+$")
_FRAME: Final = re.compile(ADDRESS_IN_QUERY, re.IGNORECASE)
_TOKEN: Final = re.compile(TOKEN, re.I)

# In each folder, this share of the pages that a rule predicts to be copies must be copies.
LEAST_CONFIDENCE: Final = 0.95
CHECKED: Final = 20  # one in this many skipped requests is made, per target and per folder
# The number of copies in the mined crawl that count for a rule as if they were seen in this one.
TRUSTED: Final = 40
# The number of skipped requests that are kept, which take about 100 MB.
MOST_SKIPPED: Final = 50_000
# The number of targets that are watched, which take about 80 MB. Requests for others pass.
MOST_TARGETS: Final = 200_000
_MOST_STEPS: Final = 8
_VIEWS_OF_HOST: Final = re.compile(
    r"(?:(?:www|m|mobile|amp|wap|print)\.)*(?=[^.]+\.)", re.IGNORECASE
)

Request = TypeVar("Request")


class Address(NamedTuple):
    """A URL, split into the parts that rules refer to. The fragment is left out."""

    origin: str
    path: str
    #: Those in the path with their semicolons, then those of the query as written.
    parameters: tuple[str, ...]

    @classmethod
    def of(cls, url: str) -> Self | None:
        """Split a URL into its parts, or return None if rules don't apply to such a URL."""
        if len(url) > LONGEST_URL or url.count("&") + url.count(";") >= MOST_PARAMETERS:
            return None
        found = _URL.match(url)
        if found is None or "?;" in url or "&;" in url:
            return None
        scheme, host, path, query = found.groups()
        parameters = [parameter for parameter in query.split("&") if parameter] if query else []
        if ";" in path:
            folder, _, leaf = path.rpartition("/")
            leaf, *in_path = leaf.split(";")
            path = f"{folder}/{leaf}"
            parameters = [*(f";{parameter}" for parameter in in_path), *parameters]
        # One string for all addresses of a site.
        return cls(sys.intern(f"{scheme}://{host}".lower()), path or "/", tuple(parameters))

    def url(self) -> str:
        """Return the URL that consists of these parts."""
        in_path = "".join(parameter for parameter in self.parameters if parameter[0] == ";")
        query = "&".join(parameter for parameter in self.parameters if parameter[0] != ";")
        return f"{self.origin}{self.path}{in_path}{'?' if query else ''}{query}"

    def key(self) -> int:
        """Return this process's number for the URL, whatever the order of its parameters."""
        return hash((self.origin, self.path, *sorted(self.parameters)))

    def digest(self) -> str:
        """Return a short hash of the URL for files, whatever the order of its parameters."""
        url = self._replace(parameters=tuple(sorted(self.parameters))).url()
        return hashlib.blake2b(url.encode("utf-8", "replace"), digest_size=8).hexdigest()

    def folder(self) -> str:
        """Return the folder with numbers replaced by 0: /news/0/0/ for /news/2026/11/ferry."""
        return _folder_of(self.path.rstrip("/"))


def _folder_of(path: str) -> str:
    """Return the folder in a path, with every number replaced by 0."""
    return _NUMBER.sub("0", path[: path.rfind("/") + 1]) or "/"


def name_of(parameter: str) -> str:
    """Return the name of a query parameter, which may be followed by a value."""
    return parameter.partition("=")[0]


def is_frame(parameters: Sequence[str]) -> bool:
    """Return whether a query is nothing but the address of a page, as in ?java/util/List.html."""
    return len(parameters) == 1 and _FRAME.fullmatch(parameters[0]) is not None


def _is_frame_of(frame: Address, folder: Address) -> bool:
    """Return whether an address is that of a frame in the index page of a folder."""
    return (
        is_frame(frame.parameters)
        and not folder.parameters
        and frame.origin == folder.origin
        and _INDEX.sub("/", frame.path) == folder.path
    )


def is_token(text: str) -> bool:
    """Return whether a text looks like a session ID."""
    return _TOKEN.fullmatch(text) is not None


@dataclass(frozen=True, slots=True)
class Rule:
    """A statement that a part of a site's URLs doesn't matter, and by what to replace it.

    `site` is scheme and host. The meaning of `find` depends on the kind: parameter names separated
    by "&", all of which must be there, a name with its value, or `FRAME` ("query"); the beginning
    ("prefix") or end ("suffix") of a path; or scheme and host ("host"). `replace` replaces it. The
    rule applies to pages in `folders`, where it was observed, except for those whose rewritten URL
    is one of `exceptions`. With `targets`, it only applies to pages whose rewritten URL is one of
    these, because it is only known for them that the parameters make no difference.

    `support` is the number of pieces of content, and `copies` the number of pages that support it.
    `against` is the number of pages that it wrongly predicts to be copies, and `contrary` says why
    for one of them. `confirmed` has the digests of the rewritten URLs for which copies were seen.
    """

    kind: Annotated[str, Meta(pattern="^(query|prefix|suffix|host)$")]
    site: Annotated[str, Meta(pattern=r"^https?://[^/?#\s]+$")]
    find: Annotated[str, Meta(min_length=1)]
    replace: str = ""
    folders: frozenset[str] = frozenset()
    exceptions: frozenset[str] = frozenset()
    targets: frozenset[str] = frozenset()
    support: int = 0
    copies: int = 0
    against: int = 0
    examples: tuple[tuple[str, str], ...] = ()
    confirmed: frozenset[str] = frozenset()
    contrary: str = field(default="", compare=False)

    @property
    def id(self) -> tuple[str, str, str, str]:
        """What the rule does, to tell it from other rules. Its folders and support don't count."""
        return self.kind, self.site, self.find, self.replace

    @property
    def confidence(self) -> float:
        """The share of the predicted copies that really were copies."""
        return self.copies / (self.copies + self.against) if self.copies else 0.0

    @property
    def what(self) -> str:
        """What the rule does, in a few characters."""
        if self.kind == "suffix":
            return f"*{self.find} -> *{self.replace}"
        if self.kind == "query":
            found = self.find if self.find.startswith(";") else f"?{self.find}"
            return f"{found} of {' and '.join(sorted(self.targets))}" if self.targets else found
        return f"{self.find} -> {self.replace}"

    @property
    def name(self) -> str:
        """The rule in a few words, by which logs and reports name it."""
        return f"{self.site}: {self.what}"

    def folder_of(self, address: Address) -> str:
        """Return the folder by which the rule decides whether it applies to a URL.

        Numbers are replaced by 0. An ending may contain folders, like that of /news/ferry/amp/.
        They don't count, so the rule applies to all pages in /news/, not just to this one.
        """
        if self.kind == "suffix" and address.path.endswith(self.find):
            return _folder_of(address.path[: -len(self.find)])
        return address.folder()

    def rewritten(self, address: Address) -> Address | None:
        """Apply the rule to a URL, or return None if it doesn't apply."""
        target = self._replaced(address)
        # A candidate is tried everywhere.
        if target == address or (self.folders and self.folder_of(address) not in self.folders):
            return None
        if self.targets and target.url() not in self.targets:
            return None
        return None if self.exceptions and target.url() in self.exceptions else target

    def _replaced(self, address: Address) -> Address:
        """Return a URL as the rule rewrites it, whatever its folder, or as it is."""
        origin, path, parameters = address
        if origin != self.site:
            return address
        match self.kind:
            case "query" if self.find == FRAME:
                parameters = () if is_frame(parameters) else parameters
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
        return Address(origin, path, parameters)

    def as_dict(self) -> dict[str, Any]:
        """Return the rule as plain values for JSON, the same in every process."""
        plain: dict[str, Any] = msgspec.to_builtins(self, order="deterministic")
        return {**plain, "what": self.what, "confidence": round(self.confidence, 3)}

    def is_sound(self) -> bool:
        """Return whether the rule has folders, and only changes what its kind may change."""
        may = {
            "host": self.find == self.site and are_views(self.find, self.replace),
            "prefix": self.find.startswith("/") and self.replace.startswith("/"),
            "query": not self.replace,
        }
        return bool(self.folders) and may.get(self.kind, True)


def are_views(one: str, other: str) -> bool:
    """Return whether two hosts (with scheme) certainly belong to the same owner.

    They only differ by scheme, "www." or a view, such as "m.". Any other host may belong to
    somebody else.
    """
    hosts = [_VIEWS_OF_HOST.sub("", origin.partition("://")[2], count=1) for origin in (one, other)]
    return hosts[0] == hosts[1] and site_of(one) == site_of(other)


def read_rules(path: Path) -> list[Rule]:
    """Read the rules in a file that `crawldedup advise` wrote. Raises ConfigurationError."""
    shown = printable(str(path))
    try:
        rules = msgspec.json.decode(path.read_bytes(), type=list[Rule])
    except (OSError, msgspec.MsgspecError, RecursionError) as error:
        raise ConfigurationError(
            f"{shown} cannot be read as rules: {error}; `crawldedup advise JOURNAL --output "
            f"{shown}` writes them"
        ) from error
    if unsound := [number for number, rule in enumerate(rules, start=1) if not rule.is_sound()]:
        raise ConfigurationError(
            f"{shown}: rule {unsound[0]} has no folders, or something that rules of its kind "
            "cannot replace"
        )
    return rules


class RuleBook:
    """All rules of a crawl, and how they work together. They are looked up by site."""

    def __init__(self, rules: Iterable[Rule] = ()) -> None:
        self._by_site: defaultdict[str, list[Rule]] = defaultdict(list)
        # The query comes first, because after a host or path was rewritten, the rules of another
        # place apply.
        for rule in sorted(rules, key=lambda each: each.kind != "query"):
            self._by_site[rule.site].append(rule)

    def rewritten(self, address: Address) -> tuple[Address, tuple[Rule, ...]]:
        """Apply all rules to a URL, and also return the rules that changed it."""
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


class Step(StrEnum):
    """What to do with a request: make it, skip it, or postpone it while its target is fetched.

    CHECKED and NO_ROOM requests are also made although a rule predicts a copy: as a check, or
    because there's no room for more skipped ones.
    """

    MADE = "made"
    POSTPONED = "postponed"
    SKIPPED = "skipped"
    CHECKED = "checked"
    NO_ROOM = "no_room"


@dataclass(slots=True)
class Target:
    """A page that several URLs lead to according to the rules, and what a crawl has seen of it.

    `confirmed` are the rules for which a copy was confirmed, and `trusted` those for which an
    earlier crawl confirmed one. `urls` has the keys of the URLs that lead here. The value is False
    if an earlier crawl delivered the page, and this one hasn't fetched it.
    """

    confirmed: set[str]
    trusted: frozenset[str] = frozenset()
    urls: dict[int, bool] = field(default_factory=dict)
    is_on_its_way: bool = False
    is_wrong: bool = False
    predicted: int = 0  # requests that would bring copies


class Aim(NamedTuple):
    """What the rules say about a request: the page that it leads to, and the rules that say so.

    `url` is the key of its own URL, and `rules` are the names of the rules that rewrite it.
    """

    url: int
    address: Address
    rewritten: Address
    target: Target
    rules: frozenset[str]


class Lesson(NamedTuple, Generic[Request]):
    """What to do after a page has confirmed or contradicted a prediction.

    `wanted` are the skipped requests to make after all, and `withdrawn` is a rule that is no longer
    used because it was wrong too often.
    """

    wanted: Sequence[Request] = ()
    withdrawn: Rule | None = None


class Predictor(Generic[Request]):
    """Predicts which requests would bring copies, and checks whether the rules are right.

    `skipped` are the requests that may still be needed.
    """

    def __init__(self, rules: Iterable[Rule]) -> None:
        self.rules = {rule.name: rule for rule in rules}
        self._book = RuleBook(self.rules.values())
        self._origins = {
            origin for rule in self.rules.values() for origin in (rule.site, rule.replace)
        }
        self._targets: dict[int, Target] = {}
        self.skipped: list[tuple[Request, Aim]] = []
        # One contradiction at the start doesn't outweigh the crawl that a rule was mined from, but
        # a third one does.
        self._copies = Counter(
            {name: min(rule.copies, TRUSTED) for name, rule in self.rules.items()}
        )
        self._others: Counter[str] = Counter()
        # Requests that would bring copies, by their rules and folders.
        self._predicted: Counter[tuple[frozenset[str], str, str]] = Counter()

    def aim_of(self, url: str, purpose: Hashable = None) -> Aim | None:
        """Return which page a request leads to according to the rules, separately for each purpose.

        It is None if no rule may apply, or if there's no room.
        """
        address = Address.of(url)
        if address is None or address.origin not in self._origins:
            return None
        rewritten, rules = self._book.rewritten(address)
        key = hash((purpose, rewritten.key()))
        if key not in self._targets:
            if len(self._targets) == MOST_TARGETS:
                return None
            digest = rewritten.digest()
            trusted = frozenset(
                [name for name, rule in self.rules.items() if digest in rule.confirmed]
            )
            self._targets[key] = Target(set(trusted), trusted)
        return Aim(
            address.key(),
            address,
            rewritten,
            self._targets[key],
            frozenset(rule.name for rule in rules),
        )

    def step(self, aim: Aim, request: Request, *, may_wait: bool) -> Step:
        """Decide whether to make a request now. A skipped one is kept, in case a rule was wrong."""
        target = aim.target
        step = Step.MADE
        if aim.rules and not target.is_wrong and target.urls.get(aim.url) is not False:
            if target.urls and aim.rules <= target.confirmed:
                if self._is_check(aim):
                    step = Step.CHECKED
                elif len(self.skipped) < MOST_SKIPPED:
                    step = Step.SKIPPED
                else:
                    step = Step.NO_ROOM
            elif target.is_on_its_way and may_wait:
                step = Step.POSTPONED
            elif target.urls:
                step = Step.CHECKED
        if step is Step.SKIPPED:
            self.skipped.append((request, aim))
        elif step is not Step.POSTPONED:
            target.is_on_its_way = True
        return step

    def _is_check(self, aim: Aim) -> bool:
        """Return whether to make a request as a check although a rule predicts a copy.

        Somebody else may cause a single copy by linking to a target at a made-up address. So a
        target that only this crawl knows is checked once more before anything is skipped there.
        """
        target = aim.target
        # The views of a page may be in a separate folder, and would never be checked there.
        place = (aim.rules, aim.address.origin, aim.rewritten.folder())
        target.predicted += 1
        self._predicted[place] += 1
        first = 2 if aim.rules <= target.trusted else 1
        if target.predicted == first or target.predicted % CHECKED == 0:
            return True
        return self._predicted[place] % CHECKED == 0

    def learn(self, aim: Aim, original: Aim | None) -> Lesson[Request]:
        """Check the prediction about a page that has arrived.

        Args:
            aim: What the rules said about its request.
            original: The same for the page that it is a copy of. For a new page, this is `aim`
                itself.

        Returns:
            The skipped requests to make after all, and a rule to stop using.
        """
        target = aim.target
        target.is_on_its_way = False
        if original is None:
            return Lesson()
        if original.target is not target:
            # A copy of anything else may be a wall. But a frameset is the page of its folder.
            is_known = not target.urls or original.url in target.urls
            if not (is_known and _is_frame_of(aim.address, original.address)):
                return Lesson()
        if target.urls and original.url not in target.urls:
            return self._contradicted(aim)
        if original is not aim:
            target.urls.setdefault(original.url, False)
            target.confirmed |= aim.rules | original.rules
            self._copies.update(aim.rules)
        target.urls[aim.url] = True
        return Lesson()

    def _contradicted(self, aim: Aim) -> Lesson[Request]:
        """Decide what to do about a page that isn't the copy that its rules predicted."""
        aim.target.is_wrong = True
        # If several rules work together, the one that has done the least so far is blamed.
        blamed = min(
            aim.rules & self.rules.keys(),
            key=lambda name: (self._copies[name], name),
            default="",
        )
        self._others[blamed] += 1
        withdrawn = None
        predicted = self._others[blamed] + self._copies[blamed]
        if blamed and self._others[blamed] > (1 - LEAST_CONFIDENCE) * predicted:
            withdrawn = self.rules.pop(blamed)
            self._book = RuleBook(self.rules.values())
        wanted: list[Request] = []
        skipped: list[tuple[Request, Aim]] = []
        for request, skipped_aim in self.skipped:
            is_behind_rule = withdrawn is not None and blamed in skipped_aim.rules
            if skipped_aim.target is aim.target or is_behind_rule:
                wanted.append(request)
            else:
                skipped.append((request, skipped_aim))
        self.skipped = skipped
        return Lesson(wanted, withdrawn)
