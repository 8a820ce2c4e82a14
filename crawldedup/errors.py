"""One tree of errors. Each message says what was given, what is allowed, and what to change."""


class CrawlDedupError(Exception):
    """Base of every error this package raises on purpose."""


class ConfigurationError(CrawlDedupError, ValueError):
    """A setting or an argument has a value that is not allowed; raised before any page is judged."""


class MissingDependencyError(ConfigurationError):
    """An optional package is needed for what was asked; the message says what to install."""


class ProfileMismatchError(CrawlDedupError):
    """The index was written with another fingerprint profile than the one asked for.

    Fingerprints of different profiles cannot be compared, so the index is refused, unchanged. Nor can they be
    converted: that would take the texts, which are not stored.
    """

    def __init__(self, where: str, *, index_profile: str, own_profile: str) -> None:
        self.index_profile = index_profile
        self.own_profile = own_profile
        super().__init__(
            f"{where} holds fingerprints of the profile {index_profile!r}, but this program makes "
            f"{own_profile!r}; the two can neither be compared nor converted, for texts are not stored. Use the "
            f"settings (or the version) it was written with, or crawl again: into another namespace, or into this one "
            f"after `crawldedup clear`."
        )


class PageError(CrawlDedupError):
    """One page could not be read; the page is passed on and counted, the crawl goes on.

    `reason` is a short stable word for counters: ``too_large``, ``too_deep``, ``too_slow``,
    ``binary``, ``empty`` or ``broken``.
    """

    def __init__(self, reason: str, message: str) -> None:
        self.reason = reason
        super().__init__(message)

    def __reduce__(self) -> tuple[type["PageError"], tuple[str, str]]:
        # Exceptions are pickled by their args alone, and these must cross from worker processes.
        return type(self), (self.reason, str(self))


class StoreError(CrawlDedupError):
    """The store could not answer. `reason` is a short stable word for counters."""

    reason = "store"


class ForeignStoreError(StoreError):
    """In the store's place is something else, of another program or another version: waiting mends nothing."""

    reason = "foreign"


class StoreUnavailableError(StoreError):
    """The store is not there, refuses the connection, or does not answer in time."""

    reason = "unavailable"


class StoreFullError(StoreError):
    """The store has no room for another page (Redis maxmemory, a full disk)."""

    reason = "full"
