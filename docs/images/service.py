"""Draw service.png: the page at / of `crawldedup serve`, with two texts compared.

The texts are an article of the demo site and its second edition there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from browser import screenshot

from crawldedup.demo.site import DemoSite
from tests.service.serving import ServiceProcess

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.sync_api import Page

ARTICLE = "/en/retiring-the-foghorn/"
SIZE = (1000, 930)


def draw(path: Path) -> None:
    """Start the service, compare the texts and draw the page."""
    with ServiceProcess("--store", "memory://") as service:
        screenshot(f"{service.url}/", path, SIZE, compare)


def compare(page: Page) -> None:
    """Fill in the texts and wait for the answer."""
    article, edition = (DemoSite().pages[path] for path in (ARTICLE, f"{ARTICLE}second-edition/"))
    page.locator("[name=first]").fill(article.text)
    page.locator("[name=second]").fill(edition.text)
    page.get_by_role("button", name="Compare").click()
    page.get_by_text("The search bits that differ").click()
