"""The options of an index, each of which is declared once, with its check and its help text.

The library, Scrapy's settings, the command line and the reference all use these declarations.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, fields
from importlib import import_module
from typing import Any, Final, Self, TypedDict

from crawldedup import checks
from crawldedup.checks import Check
from crawldedup.errors import ConfigurationError
from crawldedup.fingerprinting import MIN_WORDS

LOWEST_SIMILARITY: Final = 0.5

check_similarity: Final = checks.number(
    "above 0.5 and at most 1", lambda value: LOWEST_SIMILARITY < value <= 1
)


def _paragraphs(name: str, value: object) -> float | str | None:
    if value is None or value == "mark" or (isinstance(value, float) and 0 < value < 1):
        return value
    raise checks.refused(name, value, "a share above 0 and below 1, 'mark' or None")


_check_distinguish: Final = checks.one_of("siblings", "numbers", "nothing")


def _distinguish(name: str, value: object) -> object:
    if value == "products":
        raise ConfigurationError(
            f"{name} is 'products', which is called 'siblings' now and keeps more than products "
            "apart"
        )
    return _check_distinguish(name, value)


def _check_in(module: str, check: str) -> Check:
    """Return a check from a module that is only imported when it's used, so options load fast."""
    return lambda name, value: getattr(import_module(module), check)(name, value)


@dataclass(frozen=True, slots=True)
class Option:
    """The declaration of an option.

    It has an owner: "index", "library" (not in Scrapy), "crawl" or "items". A text is converted to
    its `kind`.
    """

    name: str
    default: Any
    check: Check
    help: str
    owner: str
    kind: type

    def from_text(self, text: str) -> Any:
        """Convert a text from a command line or a setting to a value, which isn't checked yet.

        A text that can't be converted is returned as it is, so the check can refuse it.
        """
        if self.kind is bool:
            return {"true": True, "1": True, "false": False, "0": False}.get(text.lower(), text)
        try:
            if self.kind is int:
                return int(text)
            if self.kind is float:
                return float(text)
        except ValueError:
            pass
        return text


def option(
    default: Any,
    check: Check,
    help: str,
    *,
    owner: str = "index",
    kind: type | None = None,
    shown: bool = True,
) -> Any:
    """Declare an option as a field of `Options`.

    Args:
        default: The default value.
        check: Checks and converts a value.
        help: What the option does, for help texts and the reference.
        owner: The part of the package that takes the option: see `Option`.
        kind: The type of its values. By default, it's that of `default`, or str for None.
        shown: Whether `repr` includes the value. Secrets are left out.
    """
    kind = kind or (str if default is None else type(default))
    return field(
        default=default,
        repr=shown,
        metadata={"check": check, "help": help, "owner": owner, "kind": kind},
    )


class OptionValues(TypedDict, total=False):
    """The options of an index by keyword, without its store. `Options` checks them."""

    namespace: str
    scope: str
    similarity: float
    recall: float
    ttl: float | str | None
    ttl_refresh: bool
    max_pages: int | None
    store_urls: bool
    extractor: str
    content: str | Mapping[str, str] | None
    min_words: int
    distinguish: str
    distinguish_params: str | Sequence[str] | Mapping[str, Sequence[str]] | None
    apart: str | Collection[str] | None
    ignore_marks: str | Mapping[str, Sequence[str]] | None
    volatile: bool | str
    keep_texts: bool
    paragraphs: float | str | None
    paragraph_ttl: float | str | None
    max_paragraphs: int
    expected_pages: int
    key: int | bytes | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The values of all options of an index, checked when they are set.

    Nothing is opened or built yet: `Deduplicator.from_options` does that.

    Raises:
        ConfigurationError: The value of an option is not allowed.
    """

    store: str = option(
        "memory://",
        _check_in("crawldedup.stores.registry", "check_store_url"),
        "Where pages are remembered: memory://, sqlite:///path, redis://host:port/db, rediss://, "
        "unix://, redis+sentinel:// or redis+cluster://.",
    )
    namespace: str = option("default", checks.namespace, "The name of the index within the store.")
    scope: str = option(
        "global",
        checks.one_of("global", "site", "spider"),
        "Which pages a page is compared with: all pages (global), pages of the same registered "
        "domain (site), or pages of the same spider (spider).",
    )
    similarity: float = option(
        0.9,
        check_similarity,
        "How similar two texts must be for the later page to count as a near duplicate: the "
        "Jaccard similarity of their word 3-shingles.",
    )
    recall: float = option(
        0.98,
        checks.number("from 0.5 to below 1", lambda value: 0.5 <= value < 1),
        "The share of the pages with exactly this `similarity` that are accepted. In addition, the "
        "search misses half as many pages as are rejected, and more in very large indexes. A "
        "higher recall costs more probes.",
        owner="library",
    )
    ttl: float | str | None = option(
        None,
        checks.ttl_seconds,
        'Forget pages that have not been seen for this long, given as a text such as "30d" or as '
        "a number of seconds.",
    )
    ttl_refresh: bool = option(
        True,
        checks.flag,
        "Count the time to live from the last visit. False counts it from when the page was added.",
        owner="library",
    )
    max_pages: int | None = option(
        None,
        checks.optional(checks.whole(1)),
        "The number of pages above which the oldest ones are forgotten.",
        kind=int,
    )
    store_urls: bool = option(
        True,
        checks.flag,
        "Remember the URLs of pages. With False, only 64 bits of each URL are kept, so verdicts "
        "do not name an original.",
        owner="library",
    )
    extractor: str = option(
        "blocks",
        _check_in("crawldedup.reading.extract", "check_extractor"),
        "The extractor, which finds the main text of a page: blocks, trafilatura, text (all "
        "visible text), or the dotted path of your own.",
    )
    content: Any = option(
        None,
        _check_in("crawldedup.reading.area", "check_areas"),
        'Which part of a page to compare: a CSS selector, or JSON such as {"shop.example": '
        '{"compare": "#product", "leave_out": ".offers"}, "*": "main"}.',
    )
    min_words: int = option(
        MIN_WORDS,
        checks.whole(1, 1000),
        "A page with fewer words than this is thin, which means that only exact copies of it are "
        "duplicates.",
    )
    distinguish: str = option(
        "siblings",
        _distinguish,
        "With siblings, pages of one site stay apart, no matter how similar their texts are, if "
        "their marks say that their content is different. With numbers, pages with different "
        "numbers or main headings stay apart as well. With nothing, similarity alone decides.",
    )
    distinguish_params: Any = option(
        None,
        _check_in("crawldedup.scope", "check_parameters"),
        "Query parameters whose values keep pages apart, no matter how similar the pages are. "
        'Give the names in a list, separated by commas, or by host as in {"shop.example": ["img", '
        '"color"]}.',
    )
    apart: Any = option(
        None,
        _check_in("crawldedup.apart", "check_apart"),
        "A file of pages that are not compared with any other page, because you know that they "
        'are not copies, such as "apart.jl". `crawldedup restore --apart` writes it. In the '
        "library, it can also be a list of URLs.",
    )
    ignore_marks: Any = option(
        None,
        _check_in("crawldedup.marks.quiet", "check_ignored_marks"),
        "Marks that do not keep pages apart because they change by themselves. They are listed by "
        'host, as in {"news.example": ["picture"]}, and "*" stands for every host. The marks are '
        "name, picture, player, data, listing, text, links, comments and rest. Pages that differ "
        "only in these marks are dropped.",
    )
    volatile: bool | str = option(
        "known",
        checks.one_of(True, False, "known"),
        "Leave out numbers that change with every load, and ignore marks that do. With known, this "
        "applies to the lines and marks that the index has learned about. With true, the default "
        "in crawls, the index also learns new ones from pages that are loaded twice within "
        "minutes. With false, everything is compared.",
        kind=bool,
    )
    keep_texts: bool = option(
        False,
        checks.flag,
        "Store the text of each remembered page, compressed, so that the verdict of a changed "
        "page can say what changed.",
    )
    paragraphs: float | str | None = option(
        None,
        _paragraphs,
        "With mark, the verdict of each new page says how much of it is on earlier pages, "
        "paragraph by paragraph. With a share such as 0.2, a page also counts as a duplicate if a "
        "smaller share of its words is new.",
        kind=float,
    )
    paragraph_ttl: float | str | None = option(
        30 * 86400,
        checks.ttl_seconds,
        'Forget the paragraphs of a page after this time, given as a text such as "30d" or as a '
        "number of seconds.",
        owner="library",
        kind=str,
    )
    max_paragraphs: int = option(
        1_000_000,
        checks.whole(1000, 10**10),
        "The approximate number of paragraphs (of 80 words each) above which those of the oldest "
        "pages are forgotten.",
    )
    expected_pages: int = option(
        0,
        checks.whole(0, 10**12),
        "Search as if the index already contained this many pages, instead of going by its actual "
        "size.",
        owner="library",
    )
    key: int | bytes | None = option(
        None,
        checks.secret,
        "The secret that keeps others from forging fingerprints. With None, the index has a "
        "secret of its own, which is chosen at random when the index begins. With 0, there is no "
        "secret, and fingerprints are the same everywhere.",
        owner="library",
        shown=False,
    )

    def __post_init__(self) -> None:
        for declared in options_of(type(self)):
            object.__setattr__(
                self, declared.name, declared.check(declared.name, getattr(self, declared.name))
            )

    def index_values(self) -> dict[str, Any]:
        """Return the values of an index's options by name, without the store."""
        names = [declared.name for declared in fields(Options)]
        return {name: getattr(self, name) for name in names if name != "store"}

    @classmethod
    def from_values(cls, values: Mapping[str, object]) -> Self:
        """Make options from named values.

        Raises:
            ConfigurationError: There is no option with that name, or a value isn't allowed.
        """
        names = [declared.name for declared in options_of(cls)]
        if unknown := [name for name in values if name not in names]:
            # Other packages call it `threshold`.
            wanted = "similarity" if unknown[0] == "threshold" else unknown[0]
            hint = checks.did_you_mean(wanted, names) or f"; options: {', '.join(names)}"
            raise ConfigurationError(f"there is no option {unknown[0]!r}{hint}")
        return cls(**values)  # type: ignore[arg-type]


def options_of(cls: type[Options] = Options) -> tuple[Option, ...]:
    """Return the declarations of a class's options, in order."""
    return tuple(
        Option(declared.name, declared.default, **declared.metadata) for declared in fields(cls)
    )
