"""Draw report.png: the beginning of the report of a crawl of the demo site."""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path

from browser import screenshot

from crawldedup.demo.site import DemoSite, serving

PROJECT = Path(__file__).parents[2] / "example_project"
SIZE = (1120, 1180)


def draw(path: Path) -> None:
    """Crawl the demo site with the example project, and draw its report."""
    with tempfile.TemporaryDirectory() as folder, serving(DemoSite().reply) as start:
        report = Path(folder, "report.html")
        given = {
            "CRAWLDEDUP_JOURNAL": folder,
            "CRAWLDEDUP_REPORT": report,
            "CRAWLDEDUP_CRAWL": "demo",
        }
        options = [text for name, value in given.items() for text in ("-s", f"{name}={value}")]
        subprocess.run(
            ["scrapy", "crawl", "pages", "-a", f"start={start}/", *options], cwd=PROJECT, check=True
        )
        screenshot(report.as_uri(), path, SIZE)
