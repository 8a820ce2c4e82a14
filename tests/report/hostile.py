"""A report whose every text comes from a hostile page."""

from tests.report.synthetic_journal import HOSTILE_URLS, Line

LONGEST = 2048


def hostile_lines() -> list[Line]:
    lines: list[Line] = []
    for url in HOSTILE_URLS:
        cut = url if len(url) <= LONGEST else f"{url[: LONGEST - 9]}01234567…"
        copy = {
            "original": cut,
            "similarity": 0.9,
            "referer": cut,
            "action": cut,
            "difference": f"[-{cut}-]",
            "bytes": 10,
            "latency": 0.1,
        }
        lines += [
            {"t": 1, "url": f"https://fine.example/?{cut}", "outcome": "new", "digest": cut},
            {"t": 2, "url": cut, "outcome": "near", **copy},
            {"t": 3, "url": cut, "outcome": "skipped", "reason": cut},
            {"t": 4, "wall": cut, "share": 0.9, "window": 100},
            {"t": 4, "skipped": f"https://fine.example/{cut}", "rule": cut},
        ]
    ends = "".join(HOSTILE_URLS[:5])
    return [*lines, {"t": 5, "end": ends, "stats": {ends: ends, "crawldedup/checked": 5}}]
