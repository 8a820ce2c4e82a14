"""The options for a single page: those of the crawl, plus ``request.meta["crawldedup"]``."""

from collections.abc import Mapping
from copy import copy
from typing import Final

from scrapy import Request

from crawldedup.crawling.options import CrawlOptions
from crawldedup.errors import ConfigurationError, CrawlDedupError
from crawldedup.options import options_of

OVERRIDE_KEY: Final = "crawldedup"
_OVERRIDABLE: Final = (
    "action",
    "canonical",
    "keep_per_cluster",
    "paragraphs",
    "remember",
    "revisit",
    "revisit_similarity",
    "scope",
    "similarity",
    "text",
    "trusted_sites",
)
_CHECKS: Final = {
    option.name: option.check for option in options_of(CrawlOptions) if option.name in _OVERRIDABLE
}


class OverrideError(CrawlDedupError):
    """Raised for a request whose ``meta["crawldedup"]`` is invalid. Its page passes unchecked."""

    counter = "meta"


def options_for(request: Request, options: CrawlOptions) -> CrawlOptions:
    """Return the options for the page of a request, including the overrides in its meta.

    Raises OverrideError if ``meta["crawldedup"]`` is invalid.
    """
    override = request.meta.get(OVERRIDE_KEY)
    if override is None or isinstance(override, bool):
        return options
    meta = f'meta["{OVERRIDE_KEY}"]'
    allowed = ", ".join(_OVERRIDABLE)
    if not isinstance(override, Mapping):
        raise OverrideError(
            f"{meta} is {override!r}; it must be True, False or a dict with some of the keys "
            f"{allowed}."
        )
    if unknown := [key for key in override if key not in _CHECKS]:
        raise OverrideError(f"{meta} has the unknown key {unknown[0]!r}; allowed are {allowed}.")
    try:
        return changed(
            options,
            **{key: _CHECKS[key](f'{meta}["{key}"]', value) for key, value in override.items()},
        )
    except ConfigurationError as error:
        raise OverrideError(str(error)) from None


def changed(options: CrawlOptions, **values: object) -> CrawlOptions:
    """Return a copy of the options in which some values are replaced.

    The values are not checked, because checking all options again takes ten times as long.
    """
    new = copy(options)
    for name, value in values.items():
        object.__setattr__(new, name, value)
    return new
