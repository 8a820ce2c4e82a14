"""Crawl a whole site with each of the tools that people use: what is lost, and which copies are
delivered twice?

    python benchmarks/whole_site.py
    python benchmarks/whole_site.py --rows drop-items/blocks,minhash-0.9 --details
    python benchmarks/whole_site.py --articles ARTICLES     # a folder of the article extraction benchmark
    python benchmarks/whole_site.py --rows drop-items/blocks,no-postpone --found
    python benchmarks/whole_site.py --site forum            # a site of one kind
    python benchmarks/whole_site.py --site shop --days      # with a second day

A server on three loopback addresses has some 3,650 pages with 1,700 pieces of content: news in six
views, including copies by a partner, mirrored documentation, a shop with variants, a forum with
session IDs and a login wall, a calendar, and oddities. Each response names its content in a header
that only the accounting reads. A plain CrawlSpider crawls the site once for each row, in a separate
process.

`--site` crawls a site of one kind instead, with its own hosts: forum, shop, news, documentation,
recipes or questions. `whole_site_parts/sites` says what each contains. `--days` crawls it on two
days, with two crawlers that share an index on Redis and with CRAWLDEDUP_REVISIT "drop".

    lost             pieces of content that no delivered page has
    missed copies    delivered pages whose content had been delivered before, except those that replace a worse copy
    replacing        delivered pages whose verdict says that they replace a worse copy
    own site's copy  stories that were delivered from the site itself, rather than only from the partner, and how many of
                     these as the article itself rather than one of its views
"""

from __future__ import annotations

import contextlib
import json
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from rich.console import Console

from benchmarks.shared.common import make_parser, one_of, progress, run
from benchmarks.whole_site_parts.crawl import run_crawl
from benchmarks.whole_site_parts.figures import Figures, figures, show, show_details, show_found
from benchmarks.whole_site_parts.prose import TRUTH
from benchmarks.whole_site_parts.rows import Row, rows
from benchmarks.whole_site_parts.second_day import show_days, two_days
from benchmarks.whole_site_parts.site import KINDS, WHOLE, Recipe, serving
from crawldedup.cli import main as command_line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from benchmarks.whole_site_parts.site import Site

WIDTH = 160
"""Eleven columns cannot be read in fewer characters."""
ROWS_OF_ONE_KIND = ["no-volatile", "drop-items/blocks"]


def measure(row: Row, site: Site) -> Figures:
    """Crawl with the tool of a row, if it is there."""
    label, missing = row.peer()
    if missing:
        return Figures(label, missing)
    if row.advice:
        # Standard output may be for JSON.
        with contextlib.redirect_stdout(sys.stderr):
            command_line(["advise", *row.advice])
    outcome = run_crawl(site.start_url, row.settings)
    if not outcome.delivered:
        return Figures(label, outcome.error or "nothing was delivered")
    return figures(label, site, outcome)


def main(words: Sequence[str]) -> int:
    console = Console()
    console.width = max(console.width, WIDTH)
    with tempfile.TemporaryDirectory() as folder:
        known = rows(Path(folder))
        parser = make_parser(__doc__)
        parser.add_argument(
            "--rows",
            type=one_of(*known),
            help=f"with commas, of: {', '.join(known)} (default: all)",
        )
        parser.add_argument(
            "--seed", type=int, default=1, help="another seed makes other texts (default: 1)"
        )
        parser.add_argument(
            "--scale", type=float, default=1.0, help="0.1 makes a tenth of the pages (default: 1)"
        )
        parser.add_argument(
            "--articles", type=Path, help="take the stories' texts from this folder"
        )
        parser.add_argument("--site", choices=KINDS, default=WHOLE, help="a site of one kind")
        parser.add_argument(
            "--days", action="store_true", help="crawl on two days; of news, shop and recipes"
        )
        parser.add_argument(
            "--reloads", type=int, default=0, help="of --days: CRAWLDEDUP_RELOADS (default: 0)"
        )
        parser.add_argument(
            "--found", action="store_true", help="tell what was found after shares of the fetches"
        )
        parser.add_argument(
            "--details", action="store_true", help="list what was lost and missed by kind of page"
        )
        parser.add_argument("--json", action="store_true", help="print JSON instead of tables")
        options = parser.parse_args(words)
        if options.articles and not (options.articles / TRUTH).is_file():
            parser.error(f"{options.articles} has no {TRUTH}")
        recipe = Recipe(options.seed, options.scale, options.site, options.articles)
        measured: list[Any] = []
        if options.days:
            measured += two_days(recipe, options.reloads)
        else:
            names = options.rows or (list(known) if options.site == WHOLE else ROWS_OF_ONE_KIND)
            with serving(recipe) as site, progress("crawling", len(names)) as advance:
                for name in names:
                    measured.append(measure(known[name], site))
                    advance(1)
    if options.json:
        print(json.dumps([asdict(row) for row in measured], indent=1))
    elif options.days:
        title = f"{recipe.kind}, seed {recipe.seed}, two crawlers"
        show_days(console, title, measured, details=options.details)
    else:
        judged = site.judged()
        contents = len({page.content for page in judged})
        show(
            console,
            f"{len(judged):,} pages of {contents:,} contents, seed {options.seed}",
            measured,
        )
        if options.found:
            show_found(console, measured)
        if options.details:
            show_details(console, site, measured)
    return 0


if __name__ == "__main__":
    run(
        main,
        "--scale 0.02 --rows drop-items/text,url-rules,deltafetch,minhash-0.9,simhash --details",
        "--scale 0.02 --rows md5 --articles ARTICLES --json",
        "--scale 0.02 --rows no-postpone --found",
        "--scale 0.02 --site forum --rows drop-items/blocks --details",
        "--scale 0.02 --site recipes --rows drop-items/blocks --details",
        "--scale 0.02 --site questions --rows drop-items/blocks --details",
        "--scale 0.02 --site shop --days --details",
    )
