"""Draw docs/images/report.png: the beginning of the report of a crawl of the demo site. It needs Chromium."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

from crawldedup.demo.server import serving
from crawldedup.demo.site import DemoSite

PROJECT = Path(__file__).parents[2] / "example_project"
SIZE = {"width": 1120, "height": 1180}


def main() -> None:
    """Crawl the demo site with the example project, and draw its report."""
    with tempfile.TemporaryDirectory() as folder, serving(DemoSite()) as start:
        report = Path(folder, "report.html")
        given = {"CRAWLDEDUP_JOURNAL": folder, "CRAWLDEDUP_REPORT": report, "CRAWLDEDUP_CRAWL": "demo"}
        options = [text for name, value in given.items() for text in ("-s", f"{name}={value}")]
        subprocess.run(["scrapy", "crawl", "pages", "-a", f"start={start}/", *options], cwd=PROJECT, check=True)
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=shutil.which("chromium"))
            page = browser.new_page(viewport=SIZE, color_scheme="light")
            page.goto(report.as_uri())
            page.screenshot(path=Path(__file__).with_suffix(".png"))
            browser.close()


if __name__ == "__main__":
    main()
