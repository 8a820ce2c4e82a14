"""The rows of the table: the tools, and the settings of a crawl that uses them as a user would."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from benchmarks.shared.peers import load

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

ADDON: Final = {"ADDONS": {"crawldedup.Addon": 500}}
PIPELINES: Final = "benchmarks.whole_site_parts.pipelines"
RULES: Final = {
    "processor": "queryRemoval",
    "args": ["sid", "sort", "utm_source", "utm_medium"],
    "order": 1,
    "urlPattern": {"include": []},
}
"""What somebody who knows the site would write."""


class Row(NamedTuple):
    """A tool and its settings. `package` is that of a peer, which the label follows.

    `advice` are arguments of `crawldedup advise`, which writes rules for it.
    """

    label: str
    settings: Mapping[str, Any]
    package: str = ""
    advice: tuple[str, ...] = ()

    def peer(self) -> tuple[str, str]:
        """Return what the row is called, and how to install the peer if it is not there."""
        if not self.package:
            return self.label, ""
        peer = load(self.package)
        if peer is None:
            return self.package + self.label, f"not installed: pip install {self.package}"
        return f"{self.package} {peer.version}{self.label}", ""


def rows(folder: Path) -> dict[str, Row]:
    """Return all rows by name; files that a tool needs are written to the folder."""
    written = folder / "written-rules.json"
    written.write_text(json.dumps([RULES]))
    ours = {
        f"{action}/{extractor}": Row(
            f"crawldedup, {action}, {extractor}",
            {**ADDON, "CRAWLDEDUP_ACTION": action, "CRAWLDEDUP_EXTRACTOR": extractor},
        )
        for action in ("drop-items", "drop")
        for extractor in ("blocks", "trafilatura", "text")
    }
    volatile, first_copy = (
        {**ADDON, "CRAWLDEDUP_VOLATILE": False},
        {**ADDON, "CRAWLDEDUP_PREFER": []},
    )
    journals, rules = f"{folder}/journals", f"{folder}/rules.json"
    first = {
        **ADDON,
        "CRAWLDEDUP_STORE": f"sqlite:///{folder}/first.sqlite",
        "CRAWLDEDUP_JOURNAL": journals,
    }
    ruled = {"CRAWLDEDUP_RULES": rules, "CRAWLDEDUP_JOURNAL": False}
    daily: dict[str, Any] = {
        "CRAWLDEDUP_STORE": f"sqlite:///{folder}/daily.sqlite",
        "CRAWLDEDUP_REVISIT": "drop",
    }
    daily |= {**ADDON, "CRAWLDEDUP_RELOADS": 5}
    discarder = {
        "ADDONS": {"duplicate_url_discarder.Addon": 600},
        "DUD_LOAD_RULE_PATHS": [str(written)],
    }
    deltafetch = {
        "SPIDER_MIDDLEWARES": {"scrapy_deltafetch.DeltaFetch": 100},
        "DELTAFETCH_ENABLED": True,
    }

    def pipeline(name: str, **settings: float) -> dict[str, Any]:
        return {"ITEM_PIPELINES": {f"{PIPELINES}.{name}Pipeline": 300}, **settings}

    return {
        "nothing": Row("nothing", {}),
        **ours,
        "no-volatile": Row("crawldedup, drop-items, volatile lines compared", volatile),
        "no-postpone": Row(
            "crawldedup, drop-items, in Scrapy's order", ADDON | {"CRAWLDEDUP_POSTPONE": False}
        ),
        **{
            f"budget-{pages}": Row(
                f"crawldedup, drop-items, a budget of {pages}", ADDON | {"CRAWLDEDUP_BUDGET": pages}
            )
            for pages in (50, 100)
        },
        "first-copy": Row("crawldedup, drop-items, the first copy alone", first_copy),
        "first": Row("crawldedup, a first crawl", first),
        "rules": Row(
            "by the rules of the first crawl", ADDON | ruled, advice=(journals, "--output", rules)
        ),
        "day-1": Row("crawldedup, the first day, REVISIT drop", daily),
        "day-2": Row("the second day: nothing has changed", daily),
        "rules-again": Row("the same, with the index of the first", first | ruled),
        "url-rules": Row(", rules for the site", discarder, "duplicate-url-discarder"),
        "deltafetch": Row("", deltafetch, "scrapy-deltafetch"),
        **{
            f"minhash-{threshold}": Row(
                f", MinHashLSH {threshold} of trafilatura's text",
                pipeline("MinHash", MINHASH_THRESHOLD=threshold),
                "datasketch",
            )
            for threshold in (0.9, 0.8)
        },
        "simhash": Row(", k=3 of trafilatura's text", pipeline("Simhash"), "simhash"),
        "md5": Row("md5 of all <p>", pipeline("Paragraphs")),
    }
