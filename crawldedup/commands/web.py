"""Download single pages, within limits of time and size."""

import http.client
import threading
import urllib.request
from queue import Empty, SimpleQueue
from typing import Final, NamedTuple

from crawldedup.commands.items import MOST_BYTES
from crawldedup.errors import PageError
from crawldedup.passwords import without_passwords

SCHEMES: Final = ("http://", "https://")
_SILENCE_SECONDS: Final = 20
_FETCH_SECONDS: Final = 60
"""The time limit for a whole response, no matter how slowly its bytes arrive."""


class Fetched(NamedTuple):
    """A downloaded page: its body, its URL after all redirects, and its declared encoding."""

    body: bytes
    url: str
    charset: str | None


def fetched(url: str) -> Fetched:
    """Download the page at a URL.

    Raises:
        PageError: "unreachable", or "partial" if the response ends early.
    """
    # The time-out of a socket is that of each of its bytes. What has not come by then is left to a
    # thread that ends with the program.
    answers: SimpleQueue[Fetched | PageError] = SimpleQueue()

    def fetch() -> None:
        try:
            answers.put(_answer_of(url))
        except PageError as error:
            answers.put(error)

    threading.Thread(target=fetch, daemon=True).start()
    try:
        answer = answers.get(timeout=_FETCH_SECONDS)
    except Empty:
        message = f"{url} cannot be fetched: it takes longer than {_FETCH_SECONDS} s"
        raise PageError("unreachable", message) from None
    if isinstance(answer, PageError):
        raise answer
    return answer


def _answer_of(url: str) -> Fetched:
    """Download a page. Only the time between two of its bytes is limited. Raises PageError."""
    if "@" in url.partition("://")[2].partition("/")[0]:
        raise PageError(
            "unreachable",
            f"{without_passwords(url)} cannot be fetched: logins in URLs are not supported; give "
            "the page as a file",
        )
    try:
        # A text that begins like a URL may still be no URL.
        request = urllib.request.Request(url, headers={"User-Agent": "crawldedup"})
        with urllib.request.urlopen(request, timeout=_SILENCE_SECONDS) as response:
            charset = response.headers.get_content_charset()
            body = response.read(MOST_BYTES)
            answer = Fetched(body, response.url, charset)
            missing = response.length
    except (http.client.HTTPException, OSError, ValueError) as error:
        raise PageError("unreachable", f"{url} cannot be fetched: {error}") from error
    if missing and len(body) < MOST_BYTES:
        raise PageError("partial", f"{url} is incomplete: the last {missing:,} bytes are missing")
    return answer
