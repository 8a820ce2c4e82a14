"""The errors that this package raises, all derived from `CrawlDedupError`.

The message for a value that isn't allowed says what was given, what is allowed, and what to change.
Messages may contain text from crawled pages, which may be hostile. To make them safe to show in a
terminal or a log, pass them to `crawldedup.text.printable`.
"""

from typing import ClassVar, Self

from crawldedup.text import printable


class CrawlDedupError(Exception):
    """Base of every error that this package raises on purpose.

    Attributes:
        counter: A short stable word for statistics.
        is_fatal: True for errors that waiting doesn't fix. A crawl with such an error ends right
            away.
    """

    counter: ClassVar[str] = "internal"
    is_fatal: ClassVar[bool] = False


class ConfigurationError(CrawlDedupError, ValueError):
    """Raised for an option or an argument whose value is not allowed.

    Change what the message names.
    """

    counter = "configuration"
    is_fatal = True


class MissingDependencyError(ConfigurationError):
    """Raised if an optional package is missing. Install the one that the message names."""

    @classmethod
    def of_extra(cls, extra: str, what: str) -> Self:
        """Make the error for something (`what`) that needs the packages of an extra."""
        return cls(f"{what}: pip install 'crawldedup[{extra}]'")


class ProfileMismatchError(CrawlDedupError):
    """Raised for an index that was made with other options, another key or another version.

    `index_profile` and `own_profile` differ. The index stays unchanged. The message says what has
    changed.
    """

    counter = "profile"
    is_fatal = True

    def __init__(
        self, where: str, *, index_profile: str, own_profile: str, changes: tuple[str, ...] = ()
    ) -> None:
        """Make the message from what has changed.

        Args:
            where: The index.
            index_profile: The profile of the index.
            own_profile: The profile that this program makes.
            changes: What has changed, in words. If empty, the key has changed.
        """
        self.index_profile = index_profile
        self.own_profile = own_profile
        what = "; ".join(changes) or (
            "it has a different secret key: leave out `key`, or give the right one"
        )
        super().__init__(
            f"{where} was made with different settings: {what}. Its pages cannot be compared "
            "with those of this program. Use the previous settings or another namespace, or "
            f"empty this one with `crawldedup clear`. Its profile is {index_profile!r}, and the "
            f"profile of this program is {own_profile!r}."
        )


class ClosedError(CrawlDedupError):
    """Raised when a closed `Deduplicator` is used.

    Open it again with `open()` or in a `with` statement.
    """

    counter = "closed"


class PageError(CrawlDedupError):
    """Raised for one page that cannot be read. Skip it: other pages are not affected.

    Attributes:
        reason: A short stable word for counters: ``too_large``, ``too_deep``, ``too_slow``,
            ``out_of_memory``, ``binary``, ``empty``, ``broken``, or ``shell`` for a page that a
            script has yet to fill. For files, archives and URLs, also ``partial`` if the page is
            cut off, ``encoding`` if it can't be decoded, and ``unreachable`` if it can't be
            fetched. For Scrapy's items, also ``not_an_item``, ``no_site`` and ``field_type``.
    """

    counter = "page"

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(reason, message)  # both, because pickling only keeps an exception's args
        self.reason = reason

    def __str__(self) -> str:
        return str(self.args[1])

    @classmethod
    def after(cls, error: Exception, what: str) -> Self:
        """Make the error for a page if a step of reading it failed with another error.

        The reason is ``out_of_memory`` or ``broken``, and the message names the step (`what`).
        """
        reason = "out_of_memory" if isinstance(error, MemoryError) else "broken"
        return cls(reason, f"{what} failed: {type(error).__name__}: {error}")


class WorkerError(CrawlDedupError):
    """Raised for a page that isn't checked because worker processes died or hung while reading it.

    It's also raised if the processes are closed before they have answered. The call can be
    repeated.
    """

    counter = "worker"


class NoWorkerError(WorkerError):
    """Raised when no worker process can be started.

    The message says why. Repeat the call later.
    """


class UnexpectedReadError(CrawlDedupError):
    """Raised for a page if reading it in a worker raised an unexpected error of the type `kind`.

    The message is its traceback, safe to log.
    """

    def __init__(self, kind: str, trace: str) -> None:
        self.kind = kind
        super().__init__("\n".join(map(printable, trace.splitlines())))


class StoreError(CrawlDedupError):
    """Raised when the store cannot answer; `reason` is a word for counters.

    The call can be repeated.
    """

    reason = counter = "store"


class KeyMismatchError(StoreError):
    """Raised for a fingerprint whose key is no longer the key of the index.

    Make the fingerprint again.
    """

    reason = counter = "key"


class ForeignStoreError(StoreError):
    """Raised if the store contains data of another program or version.

    Choose another place or namespace.
    """

    reason = counter = "foreign"
    is_fatal = True


class StoreUnavailableError(StoreError):
    """Raised when the store is absent, refuses the connection, or does not answer in time.

    Try again later.
    """

    reason = counter = "unavailable"


class StoreFullError(StoreError):
    """Raised when the store has no room for another page.

    Give the store more room, or limit `max_pages`.
    """

    reason = counter = "full"
