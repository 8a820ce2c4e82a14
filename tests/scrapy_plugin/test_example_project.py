"""Two recipes of the example project, crawled for real."""

import json
import re
from pathlib import Path
from subprocess import CompletedProcess

from tests.scrapy_plugin.prepared import run_prepared
from tests.scrapy_plugin.website import Answer, Site, article

EXAMPLE = Path(__file__).parents[2] / "example_project"


def crawl(spider: str, site: Site, output: Path, **settings: str) -> CompletedProcess[str]:
    """Crawl from a list of all pages of the site."""
    links = "".join(f"<li><a href={path}>{path}</a>" for path in site.pages if path != "/index")
    site.pages["/index"] = Answer(f"<html><body><ul>{links}</ul></body>".encode())
    settings |= {"CRAWLDEDUP_EXTRACTOR": "blocks", "CRAWLDEDUP_STORE": f"sqlite:///{output}.sqlite"}
    options = [text for name, value in settings.items() for text in ("-s", f"{name}={value}")]
    arguments = ["-O", str(output), "-a", f"start={site.url}/index", *options]
    return run_prepared("scrapy", "crawl", spider, *arguments, folder=EXAMPLE)


def test_updates_yields_new_and_changed_pages(tmp_path: Path) -> None:
    with Site({}) as site:

        def news(**pages: Answer) -> dict[str, str]:
            site.pages |= {f"/{name}": page for name, page in pages.items()}
            assert crawl("updates", site, tmp_path / "updates.jsonl").returncode == 0
            items = map(json.loads, (tmp_path / "updates.jsonl").read_text().splitlines())
            return {item["url"].rpartition("/")[2]: item["news"] for item in items}

        assert news(a=article(1), b=article(2)) == {"index": "thin", "a": "new", "b": "new"}
        assert news() == {}
        changed = news(b=article(2, changed_words=40), c=article(3))
        assert changed == {"index": "revisit", "b": "revisit", "c": "new"}


def test_monitors_report_a_crawl_that_went_wrong(tmp_path: Path) -> None:
    with Site({f"/{number}": article(number // 2) for number in range(6)}) as site:
        done = crawl(
            "pages",
            site,
            tmp_path / "pages.jsonl",
            EXTENSIONS='{"spidermon.contrib.scrapy.extensions.Spidermon": 500}',
            SPIDERMON_ENABLED="True",
            SPIDERMON_SPIDER_CLOSE_MONITORS="example.monitors.CrawlMonitors",
            MOST_UNCHECKED="-0.5",
            LARGEST_CLUSTER="0",
        )
    # The other limits are met.
    assert sorted(re.findall(r"\[Spidermon\] .+\.\.\. (OK|FAIL)", done.stderr)) == [
        "FAIL",
        "FAIL",
        "OK",
        "OK",
    ]
    assert "0% of the pages passed unchecked, limit -50%" in done.stderr
    assert "a page has 1 copies, limit 0" in done.stderr
