"""Draw pages as Chromium shows them. It needs Playwright and Chromium."""

from __future__ import annotations

from typing import TYPE_CHECKING

from playwright.sync_api import sync_playwright

from tests.browsers import BROWSER

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from playwright.sync_api import Page


def screenshot(
    url: str, path: Path, size: tuple[int, int], act: Callable[[Page], object] | None = None
) -> None:
    """Draw the beginning of a page, after `act` was done on it."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=BROWSER)
        page = browser.new_page(
            viewport={"width": size[0], "height": size[1]}, color_scheme="light"
        )
        page.goto(url)
        if act is not None:
            act(page)
        page.screenshot(path=path, animations="disabled")
        browser.close()
