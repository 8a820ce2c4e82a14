"""The errors of this package, in one tree.

Each message says what was given, what is allowed, and what to change.

Text from crawled pages may be hostile: `printable` makes it safe to show in a terminal or a log.
"""

from typing import ClassVar, Self

from crawldedup.text import printable


class CrawlDedupError(Exception):
    """Base of every error that this package raises on purpose.

    Attributes:
        counter: A short stable word for statistics.
        is_fatal: True for errors that waiting does not mend. A crawl that meets one ends at its
            start.
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
    """Raised where an optional package is needed. Install what the message names."""


class ProfileMismatchError(CrawlDedupError):
    """Raised for an index made with other options:

    `index_profile` is not `own_profile`. The index stays unchanged. The message names the options
    that have changed.
    """

    counter = "profile"
    is_fatal = True

    def __init__(
        self, where: str, *, index_profile: str, own_profile: str, changes: tuple[str, ...] = ()
    ) -> None:
        """Make the message.

        Args:
            where: The index.
            index_profile: The profile of the index.
            own_profile: The profile that this program makes.
            changes: What has changed, in words. Without it, the key has.
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
            ``out_of_memory``, ``binary``, ``empty``, ``broken``, or ``shell`` for a page whose
            content a script has yet to bring. Files and archives have ``partial`` as well, for what
            is cut off, and ``encoding``, for a text in another encoding than it says.
    """

    counter = "page"

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(reason, message)  # of both, exceptions are pickled by their args alone
        self.reason = reason

    def __str__(self) -> str:
        return str(self.args[1])

    @classmethod
    def after(cls, error: Exception, what: str) -> Self:
        """Return the error for a page at which a step failed with another error.

        The message names the step.
        """
        reason = "out_of_memory" if isinstance(error, MemoryError) else "broken"
        return cls(reason, f"{what} failed: {type(error).__name__}: {error}")


class WorkerError(CrawlDedupError):
    """Raised when worker processes died of a page, which is not checked.

    The call can be repeated.
    """

    counter = "worker"


class NoWorkerError(WorkerError):
    """Raised when no worker process can be started.

    The message tells why. Repeat the call later.
    """


class UnexpectedReadError(CrawlDedupError):
    """Raised for a page at which an error of another `kind` was raised.

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
    """Raised for a fingerprint that was made with another key than the index has by now.

    Make it again.
    """

    reason = counter = "key"


class ForeignStoreError(StoreError):
    """Raised where the store holds data of another program or version.

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
    """Raised when the store has no room for another page. Give it more, or limit `max_pages`."""

    reason = counter = "full"
