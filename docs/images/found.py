"""Draw found.svg: what is found after shares of the fetches, with and without postponing."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from figures import new_figure, save_figure

from benchmarks.whole_site_parts.figures import SHARES

SITES = {"whole": "a whole site", "forum": "a forum"}
ROWS = {"drop-items/blocks": "new content first", "no-postpone": "in Scrapy's order"}


def draw(path: Path) -> None:
    """Draw the picture. It crawls each site twice."""
    figure = new_figure(8, 3.2)
    for chart, (site, title) in zip(figure.subplots(ncols=len(SITES)), SITES.items(), strict=True):
        for label, found in zip(ROWS.values(), found_at(site), strict=True):
            chart.plot([100 * share for share in (0, *SHARES)], [0, *found], label=label)
        chart.set_title(title, fontsize=10, loc="left")
        chart.set_xlabel("fetched pages, %")
        chart.set_ylabel("contents found")
        chart.legend(fontsize=8.5, loc="lower right")
    save_figure(figure, path)


def found_at(site: str) -> list[list[int]]:
    """Return the contents found at a site, for each row."""
    program = Path(__file__).parents[2] / "benchmarks/whole_site.py"
    command = [sys.executable, str(program), "--site", site, "--rows", ",".join(ROWS), "--json"]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE)
    return [row["found"] for row in json.loads(done.stdout)]
