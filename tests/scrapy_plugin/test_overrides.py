"""What a request changes of the options for its page."""

from scrapy import Request

from crawldedup.crawling.options import CrawlOptions
from crawldedup.scrapy_plugin.overrides import options_for

URL = "https://www.example.co.uk/page?b=2&a=1"
USUAL = CrawlOptions(action="drop")


def test_overrides_apply_to_one_request() -> None:
    override = {
        "action": "mark",
        "scope": "site",
        "keep_per_cluster": 3,
        "similarity": 0.8,
        "remember": False,
        "canonical": "compare",
        "revisit": "drop",
        "revisit_similarity": 0.95,
        "paragraphs": 0.2,
        "trusted_sites": frozenset({"example.com"}),
    }
    request = Request(URL, meta={"crawldedup": override})
    assert options_for(request, USUAL) == CrawlOptions(**override)
    for neutral in (None, True, {}):
        assert options_for(Request(URL, meta={"crawldedup": neutral}), USUAL) == USUAL
