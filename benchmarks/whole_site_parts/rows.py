"""The rows of the table: the tools, and the settings of a crawl that uses them as a user would."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from benchmarks import peers

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

EXTRACTORS: Final = ("blocks", "trafilatura", "text")
ACTIONS: Final = ("drop-items", "drop")
_PIPELINES: Final = "benchmarks.whole_site_parts.pipelines"
_RULES_FILE: Final = "rules.json"
_RULES: Final = [
    {
        "processor": "queryRemoval",
        "args": ["sid", "sort", "utm_source", "utm_medium"],
        "order": 1,
        "urlPattern": {"include": []},
    }
]
"""What somebody who knows the site would write."""


@dataclass(frozen=True)
class Row:
    """A tool and its settings. `package` is that of a peer, which the label follows.

    `advice` are arguments of `crawldedup advise`, which writes rules for it.
    """

    name: str
    label: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    package: str = ""
    advice: tuple[str, ...] = ()

    def peer(self) -> tuple[str, str]:
        """What the row is called, and how to install the peer if it is not there."""
        if not self.package:
            return self.label, ""
        peer = peers.load(self.package)
        if peer is None:
            return self.package + self.label, f"not installed: {peers.how_to_install(self.package)}"
        return f"{self.package} {peer.version}{self.label}", ""


def rows(folder: Path) -> dict[str, Row]:
    """All rows by name; files that a tool needs are written to the folder."""
    rules = folder / _RULES_FILE
    rules.write_text(json.dumps(_RULES))
    return {
        row.name: row for row in [Row("nothing", "nothing"), *_ours(), *_by_rules(folder), *_by_url(rules), *_by_text()]
    }


def _ours() -> list[Row]:
    return [
        Row(
            f"{action}/{extractor}",
            f"crawldedup, {action}, {extractor}",
            {
                "ADDONS": {"crawldedup.Addon": 500},
                "CRAWLDEDUP_ACTION": action,
                "CRAWLDEDUP_EXTRACTOR": extractor,
            },
        )
        for action in ACTIONS
        for extractor in EXTRACTORS
    ] + [
        Row(
            "no-volatile",
            "crawldedup, drop-items, volatile lines compared",
            {"ADDONS": {"crawldedup.Addon": 500}, "CRAWLDEDUP_VOLATILE": False},
        ),
        Row(
            "first-copy",
            "crawldedup, drop-items, the first copy alone",
            {"ADDONS": {"crawldedup.Addon": 500}, "CRAWLDEDUP_PREFER": []},
        ),
    ]


def _by_rules(folder: Path) -> list[Row]:
    """A crawl, one by the rules that its journal speaks for, and one that has its index, too."""
    addon, journals, rules = {"ADDONS": {"crawldedup.Addon": 500}}, f"{folder}/journals", f"{folder}/rules.json"
    first = {**addon, "CRAWLDEDUP_STORE": f"sqlite:///{folder}/first.sqlite", "CRAWLDEDUP_JOURNAL": journals}
    daily = {
        **addon,
        "CRAWLDEDUP_STORE": f"sqlite:///{folder}/daily.sqlite",
        "CRAWLDEDUP_REVISIT": "drop",
        "CRAWLDEDUP_RELOADS": 5,
    }
    ruled = {"CRAWLDEDUP_RULES": rules, "CRAWLDEDUP_JOURNAL": False}
    return [
        Row("first", "crawldedup, a first crawl", first),
        Row("rules", "by the rules of the first crawl", addon | ruled, advice=(journals, "--output", rules)),
        Row("day-1", "crawldedup, the first day, REVISIT drop", daily),
        Row("day-2", "the second day: nothing has changed", daily),
        Row("rules-again", "the same, with the index of the first", first | ruled),
    ]


def _by_url(rules: Path) -> list[Row]:
    return [
        Row(
            "url-rules",
            ", rules for the site",
            {"ADDONS": {"duplicate_url_discarder.Addon": 600}, "DUD_LOAD_RULE_PATHS": [str(rules)]},
            "duplicate-url-discarder",
        ),
        Row(
            "deltafetch",
            "",
            {"SPIDER_MIDDLEWARES": {"scrapy_deltafetch.DeltaFetch": 100}, "DELTAFETCH_ENABLED": True},
            "scrapy-deltafetch",
        ),
    ]


def _by_text() -> list[Row]:
    minhash = {"ITEM_PIPELINES": {f"{_PIPELINES}.MinHashPipeline": 300}}
    return [
        *(
            Row(
                f"minhash-{threshold}",
                f", MinHashLSH {threshold} of trafilatura's text",
                {**minhash, "MINHASH_THRESHOLD": threshold},
                "datasketch",
            )
            for threshold in (0.9, 0.8)
        ),
        Row(
            "simhash",
            ", k=3 of trafilatura's text",
            {"ITEM_PIPELINES": {f"{_PIPELINES}.SimhashPipeline": 300}},
            "simhash",
        ),
        Row("md5", "md5 of all <p>", {"ITEM_PIPELINES": {f"{_PIPELINES}.ParagraphsPipeline": 300}}),
    ]
