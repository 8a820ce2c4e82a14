"""Draw service.png: the page at / of `crawldedup serve`, with two texts compared.

The texts are an article of the demo site and its second edition there.
"""

from __future__ import annotations

import contextlib
import socket
import subprocess
import time
import urllib.request
from typing import TYPE_CHECKING
from urllib.error import URLError

from browser import screenshot

from crawldedup.demo.library import all_articles, read_json

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from playwright.sync_api import Page

ARTICLE = "retiring-the-foghorn"
SIZE = (1000, 930)
SECONDS_TO_START = 60


def draw(path: Path) -> None:
    """Start the service, compare the texts and draw the page."""
    with serving() as address:
        screenshot(f"{address}/", path, SIZE, compare)


def compare(page: Page) -> None:
    """Fill in the texts and wait for the answer."""
    article = next(article for article in all_articles() if article.slug == ARTICLE)
    edition = article.edited(read_json("editions.json")[ARTICLE][1])
    page.locator("[name=first]").fill(article.text)
    page.locator("[name=second]").fill(edition.text)
    page.get_by_role("button", name="Compare").click()
    page.get_by_text("The search bits that differ").click()


@contextlib.contextmanager
def serving() -> Iterator[str]:
    """Start a service on a free port; yields its address."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    address = f"http://127.0.0.1:{port}"
    process = subprocess.Popen(["crawldedup", "serve", "--store", "memory://", "--port", str(port)])
    try:
        until = time.monotonic() + SECONDS_TO_START
        while not answers(f"{address}/health/live"):
            if process.poll() is not None or time.monotonic() > until:
                raise RuntimeError("the service does not start")
            time.sleep(0.1)
        yield address
    finally:
        process.terminate()
        process.wait()


def answers(url: str) -> bool:
    """Tell whether a URL can be read."""
    try:
        with urllib.request.urlopen(url):
            return True
    except URLError:
        return False
