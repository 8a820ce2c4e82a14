"""Real crawls of Crawlee against a local site, with the hook that recognises duplicates."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pytest
from crawlee import ConcurrencySettings
from crawlee.crawlers import ParselCrawler
from crawlee.storage_clients import MemoryStorageClient
from crawlee.storages import RequestQueue

from crawldedup import Kind, MainText
from crawldedup.adapter import SCRAPY_ALONE
from crawldedup.crawlee import DedupHook, is_duplicate
from crawldedup.crawling.options import CrawlOptions
from crawldedup.errors import ConfigurationError, StoreUnavailableError
from crawldedup.options import options_of
from crawldedup.reading.extract import extract_page, get_extractor
from crawldedup.stores.sqlite.store import SqliteStore
from tests.docs.pages import blocks
from tests.scrapy_plugin.website import Answer, Site, article

if TYPE_CHECKING:
    from pathlib import Path


PAGES = {"/1": article(1), "/copy": article(1), "/2": article(2)}


def crawl(
    site: Site, starts: list[str], *, failing: str = "", **options: Any
) -> tuple[dict[str, str], DedupHook]:
    """Return what the handler saw of each page: its kind, or "copy" for one that is not wanted; and
    the hook.
    """

    async def run() -> tuple[dict[str, str], DedupHook]:
        seen: dict[str, str] = {}
        async with DedupHook(**options) as dedup:
            client = MemoryStorageClient()
            crawler = ParselCrawler(
                storage_client=client,
                # Storages are shared within a process.
                request_manager=await RequestQueue.open(alias=uuid4().hex, storage_client=client),
                concurrency_settings=ConcurrencySettings(desired_concurrency=1, max_concurrency=1),
                configure_logging=False,
                max_request_retries=0,
            )
            crawler.post_navigation_hook(dedup)

            @crawler.router.default_handler
            async def handle(context: Any) -> None:
                await context.enqueue_links()
                path = context.request.loaded_url.removeprefix(site.url)
                if path == failing:
                    raise ValueError("a handler fails")
                mark = context.request.user_data.get("crawldedup") or {}
                seen[path] = "copy" if is_duplicate(context) else str(mark.get("kind"))

            await crawler.run([site.url + start for start in starts], purge_request_queue=False)
        return seen, dedup

    return asyncio.run(run())


def test_duplicates_are_marked_and_their_links_followed() -> None:
    copy = article(1)._replace(body=article(1).body.replace(b"'/'", b"'/2'"))
    with Site({"/1": article(1), "/copy": copy, "/2": article(2)}) as site:
        seen, dedup = crawl(site, ["/1", "/copy"])
    assert seen == {"/1": "new", "/copy": "copy", "/2": "new"}
    assert dedup.counts[Kind.NEW] == 2


def test_pages_that_a_script_fills_reach_the_handler_with_one_warning(
    caplog: pytest.LogCaptureFixture,
) -> None:
    shell = Answer(b"<title>Acme</title><script src=/a.js></script><div id=root></div>")
    paths = [f"/{number}" for number in range(3)]
    with Site(dict.fromkeys(paths, shell)) as site:
        seen, dedup = crawl(site, paths, action="drop")
    assert seen == dict.fromkeys(paths, "None")
    assert dedup.counts == {"shell": 3}
    warnings = [record.getMessage() for record in caplog.records if record.name == "crawldedup"]
    assert len([text for text in warnings if "give 127.0.0.1 a browser" in text]) == 1


def test_a_handler_gets_the_text_and_the_queue_does_not() -> None:
    async def run(**options: Any) -> dict[str, MainText | None]:
        texts = {}
        async with DedupHook(**options) as dedup:
            client = MemoryStorageClient()
            crawler = ParselCrawler(
                storage_client=client,
                request_manager=await RequestQueue.open(alias=uuid4().hex, storage_client=client),
                configure_logging=False,
            )
            crawler.post_navigation_hook(dedup)

            @crawler.router.default_handler
            async def handle(context: Any) -> None:
                texts[context.request.url.removeprefix(site.url)] = dedup.text_of(context)
                assert {"text", "name"}.isdisjoint(context.request.user_data["crawldedup"])

            await crawler.run([f"{site.url}/1", f"{site.url}/2"], purge_request_queue=False)
            assert not dedup._texts
        return texts

    with Site(PAGES) as site:
        texts, without = asyncio.run(run(text=True)), asyncio.run(run())
    assert without == {"/1": None, "/2": None}
    for number in (1, 2):
        main = texts[f"/{number}"]
        assert main is not None
        read = extract_page(article(number).body, "utf-8", get_extractor("blocks"), min_words=20)
        assert (main.name, main.text) == ("Article", read.main)


def test_dropped_duplicates_do_not_reach_the_handler() -> None:
    hub = Answer(b"<h1>All</h1><a href=/1>one</a> <a href=/copy>two</a>")
    with Site({**PAGES, "/hub": hub}) as site:
        seen, dedup = crawl(site, ["/hub"], action="drop")
    assert sorted(seen) == ["/1", "/hub"]
    assert dedup.counts[Kind.EXACT_DUPLICATE] == 1


def test_a_better_copy_comes_although_a_worse_one_did() -> None:
    with Site({"/1": article(1)}) as site:
        seen, _ = crawl(site, ["/1?sid=a1b2c3d4e5f6", "/1"])
    assert seen["/1"] == "exact_duplicate"


@pytest.mark.parametrize("failing", ["", "/2"])
def test_the_next_crawl_delivers_what_is_new_or_was_not_handled(
    tmp_path: Path, failing: str
) -> None:
    options = {"store": f"sqlite:///{tmp_path}/seen.sqlite", "revisit": "drop", "action": "drop"}
    with Site(PAGES) as site:
        site.pages["/hub"] = Answer(
            b"<h1>All</h1><a href=/1>one</a> <a href=/2>two</a> <a href=/3>three</a>"
        )
        crawl(site, ["/hub"], failing=failing, **options)
        site.pages["/3"] = article(3)
        seen, _ = crawl(site, ["/hub"], **options)
    # A start page leads to the others, changed or not.
    assert sorted(seen) == [*filter(None, [failing]), "/3", "/hub"]


def test_pages_pass_while_the_store_fails(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_: object) -> None:
        raise StoreUnavailableError("the store is down")

    monkeypatch.setattr(SqliteStore, "check", fail)
    with Site(PAGES) as site:
        seen, dedup = crawl(site, ["/1", "/copy"])
    assert list(seen) == ["/1", "/copy"]
    assert dedup.counts["unavailable"] == 2
    assert caplog.text.count("passes unchecked") == 1


def test_what_is_no_page_is_not_judged() -> None:
    data, gone = Answer(b'{"a": 1}', content_type="application/json"), Answer(b"gone", status=404)
    with Site({"/data": data, "/gone": gone}) as site:
        _, dedup = crawl(site, ["/data", "/gone"])
    assert not dedup.counts


def test_the_guide_runs_as_printed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (block,) = (block for block in blocks("python") if "DedupHook" in block.code)
    home = article(3)._replace(
        body=article(3).body.replace(b"<footer>", b"<a href=/1>1</a> <a href=/copy>2</a>")
    )
    with Site({**PAGES, "/": home}) as site:
        exec(block.code.replace("https://example.com", site.url), {"__name__": "__main__"})
    assert "<Kind.EXACT_DUPLICATE: 'exact_duplicate'>: 1" in capsys.readouterr().out
    assert len(list((tmp_path / "storage/datasets/default").glob("0*.json"))) == 2


def test_a_wrong_option_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="did you mean 'revisit'"):
        DedupHook(revisits="drop")


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("budget", 50),
        ("wall", "close"),
        ("reloads", 2),
        ("set_aside", "aside.jl.gz"),
        ("rules", "rules.json"),
        ("on_error", "fail"),
        ("enabled", False),
    ],
)
def test_an_option_that_only_scrapy_has_is_refused(option: str, value: object) -> None:
    with pytest.raises(ConfigurationError, match=f"'{option}' only has an effect in Scrapy"):
        DedupHook(**{option: value})


def test_an_option_that_only_scrapy_has_may_have_its_default() -> None:
    defaults = {option.name: option.default for option in options_of(CrawlOptions)}
    hook = DedupHook(**{name: defaults[name] for name in SCRAPY_ALONE})
    assert hook.options.wall == "warn"


def test_every_crawl_option_is_used_or_refused() -> None:
    """A new option has to be added to one of the two lists."""
    used = ("action", "canonical", "keep_per_cluster", "prefer", "remember", "revisit")
    used += ("revisit_similarity", "page_seconds", "text", "trusted_sites", "workers")
    of_crawl = {option.name for option in options_of(CrawlOptions)} - {
        option.name for option in options_of()
    }
    assert of_crawl == {*used, *SCRAPY_ALONE}


def test_items_can_only_be_dropped_in_scrapy() -> None:
    with pytest.raises(ConfigurationError, match="action is 'drop-items'; it must be one of mark"):
        DedupHook(action="drop-items")


def test_a_canonical_page_can_be_ignored() -> None:
    """Two texts whose similarity is between .8 and .9 are copies if one names the other."""
    first = article(1)
    second = article(1, changed_words=12, head='<link rel="canonical" href="https://e.com/1">')

    async def kind_of(canonical: str) -> str:
        async with DedupHook(canonical=canonical) as dedup:
            await dedup.judge("https://e.com/1", first.body)
            mark = await dedup.judge("https://other.example/2", second.body)
            return str(mark["kind"])

    assert asyncio.run(kind_of("compare")) == "near_duplicate"
    assert asyncio.run(kind_of("ignore")) == "new"
