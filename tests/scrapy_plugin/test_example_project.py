"""The recipes of the example project, crawled for real."""

import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from crawldedup.demo.site import DemoSite, serving
from tests.scrapy_plugin.prepared import run_prepared
from tests.scrapy_plugin.website import Answer, Site, article

EXAMPLE = Path(__file__).parents[2] / "example_project"


@pytest.fixture(scope="module")
def demo() -> Iterator[str]:
    with serving(DemoSite().reply) as base_url:
        yield base_url


def index_of(paths: Iterable[str]) -> Answer:
    return Answer(f"<html><body><ul>{''.join(f'<li><a href={path}>{path}</a>' for path in paths)}</ul></body>".encode())


def crawl(spider: str, output: Path, *arguments: str) -> list[dict[str, Any]]:
    settings = ["-s", "CRAWLDEDUP_EXTRACTOR=blocks", "-s", "LOG_LEVEL=WARNING"]
    done = run_prepared("scrapy", "crawl", spider, "-O", str(output), *arguments, *settings, folder=EXAMPLE)
    log = [line for line in done.stderr.splitlines() if "a new index begins" not in line]
    assert (done.returncode, log) == (0, [])
    return [json.loads(line) for line in output.read_text().splitlines()]


PRODUCT = """<html><head><title>{name}</title></head><body><main><h1>{name}</h1>
<p class=price>&pound; {number}.00</p><p class=sku>Item NO-{number}</p><button>Add to basket</button>
<p class=description>Bound by hand in our workshop behind the harbour, from paper that does not mind being wet and
thread that outlives its owners. Every copy is slightly different, which is not a fault. We repair what we have made for
as long as we are here, and send it back without a bill if the damage was done by weather.</p></main></body></html>"""


def test_shop_keeps_every_product_once(tmp_path: Path) -> None:
    names = ["Log book", "Sketch book", "Tide book"]
    pages = {
        f"/shop/{number}{view}.html": Answer(PRODUCT.format(name=name, number=number).encode())
        for number, name in enumerate(names, 12)
        for view in ("", "-from-the-newsletter")
    }
    with Site({**pages, "/shop/": index_of(pages)}) as site:
        items = crawl("shop", tmp_path / "shop.jsonl", "-a", f"start={site.url}/shop/")
    assert sorted(item["name"] for item in items) == names


def test_updates_yields_what_is_new_or_has_changed(tmp_path: Path) -> None:
    with Site({}) as site:

        def news(**pages: Answer) -> dict[str, str]:
            site.pages |= {f"/{name}": page for name, page in pages.items()}
            site.pages["/index"] = index_of(path for path in site.pages if path != "/index")
            options = ["-s", f"CRAWLDEDUP_STORE=sqlite:///{tmp_path}/seen.sqlite"]
            items = crawl("updates", tmp_path / "updates.jsonl", "-a", f"start={site.url}/index", *options)
            return {item["url"].rpartition("/")[2]: item["news"] for item in items}

        assert news(a=article(1), b=article(2)) == {"index": "thin", "a": "new", "b": "new"}
        assert news() == {}
        changed = news(b=article(2, changed_words=40), c=article(3))
        assert changed == {"index": "revisit", "b": "revisit", "c": "new"}


NOTHING_IS_RIGHT = {"MOST_DUPLICATES": 0, "MOST_UNCHECKED": -0.5, "LARGEST_CLUSTER": 0, "LEAST_NOVELTY": 1.5}


@pytest.mark.parametrize("limits", [pytest.param({}, marks=pytest.mark.nightly), NOTHING_IS_RIGHT])
def test_monitors_tell_a_crawl_that_went_wrong(demo: str, limits: dict[str, float]) -> None:
    settings = {
        "CRAWLDEDUP_EXTRACTOR": "blocks",
        "EXTENSIONS": '{"spidermon.contrib.scrapy.extensions.Spidermon": 500}',
        "SPIDERMON_ENABLED": "True",
        "SPIDERMON_SPIDER_CLOSE_MONITORS": "example.monitors.CrawlMonitors",
        **limits,
        "CLOSESPIDER_PAGECOUNT": "25",
    }
    options = [text for name, value in settings.items() for text in ("-s", f"{name}={value}")]
    done = run_prepared("scrapy", "crawl", "pages", "-a", f"start={demo}/", *options, folder=EXAMPLE)
    said = re.findall(r"\[Spidermon\] (.+)\.\.\. (OK|FAIL)", done.stderr)
    assert [outcome for _, outcome in said] == ["FAIL" if limits else "OK"] * 4
    figures = [r"\S+ % of the pages are duplicates, limit 0 %", "0 % of the pages passed unchecked, limit -50 %"]
    figures += [r"a page has \d+ copies, limit 0", r"\S+ % of the last pages are new, limit 150 %"]
    assert [bool(re.search(figure, done.stderr)) for figure in figures] == [bool(limits)] * 4
