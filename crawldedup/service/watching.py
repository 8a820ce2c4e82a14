"""What operators watch: the figures at /metrics, and logs.

Figures of all worker processes are added up where PROMETHEUS_MULTIPROC_DIR is set. Logs are lines of JSON in ASCII:
nothing that a client or a page says can forge a line or move a cursor.
"""

import json
import logging
import os
import sys
from collections import defaultdict
from datetime import UTC, datetime
from functools import partial
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.multiprocess import MultiProcessCollector

_LONGEST_TRACE: Final = 8000
_SECONDS: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)

_own: Final = CollectorRegistry()
_counter: Final = partial(Counter, registry=_own)
REQUESTS: Final = _counter("crawldedup_requests", "Requests answered, by endpoint and status.", ["endpoint", "status"])
REQUEST_SECONDS: Final = Histogram(
    "crawldedup_request_seconds", "From first bytes to the answer.", ["endpoint"], registry=_own, buckets=_SECONDS
)
VERDICTS: Final = _counter("crawldedup_verdicts", "Pages checked, by kind.", ["kind"])
FAILURES: Final = _counter("crawldedup_failures", "Pages not checked, by reason.", ["reason"])
INDEX_PAGES: Final = Gauge(
    "crawldedup_index_pages", "About how many pages the index holds.", registry=_own, multiprocess_mode="mostrecent"
)


def summary() -> list[tuple[str, dict[str, float]]]:
    """Return the figures for people: each metric's description, and its values by their labels. Times are means."""
    tables = []
    for family in everyone().collect():
        values: dict[str, dict[str, float]] = defaultdict(dict)
        for each in family.samples:
            values[each.name.removeprefix(family.name)][" ".join(each.labels.values())] = each.value
        sums, counts = values["_sum"], values["_count"]
        means = {label: sums[label] / count for label, count in counts.items() if count}
        tables.append((family.documentation, means or values["_total"] or values[""]))
    return tables


def everyone() -> CollectorRegistry:
    """Return the figures of all worker processes together."""
    if "PROMETHEUS_MULTIPROC_DIR" not in os.environ:
        return _own
    everyone = CollectorRegistry()
    MultiProcessCollector(everyone)  # type: ignore[no-untyped-call]
    return everyone


class JsonFormatter(logging.Formatter):
    """Writes a record as one line of JSON. The dictionary `fields`, given as `extra`, is merged into it."""

    def format(self, record: logging.LogRecord) -> str:
        """Return a record as JSON: its time, level, message and process, its `fields`, and the end of a traceback."""
        values = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "message": record.getMessage(),
            "process": record.process,
            **getattr(record, "fields", {}),
        }
        if record.exc_info:
            values["trace"] = self.formatException(record.exc_info)[-_LONGEST_TRACE:]
        return json.dumps(values, default=str)


def log_to_stderr(level: str) -> None:
    """Send every log of this process to standard error."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonFormatter())
    logging.basicConfig(handlers=[handler], level=level.upper(), force=True)
    # It tells of each step; what counts of them has lines of ours.
    logging.getLogger("uvicorn.error").setLevel(logging.WARNING)
