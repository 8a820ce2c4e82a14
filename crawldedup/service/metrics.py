"""The metrics of the service for Prometheus."""

import os
from functools import cache, partial
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.multiprocess import MultiProcessCollector

METRICS: Final = CollectorRegistry()
counter: Final = partial(Counter, registry=METRICS)
VERDICTS: Final = counter("crawldedup_verdicts", "Pages checked, by kind.", ["kind"])
FAILURES: Final = counter("crawldedup_failures", "Pages not checked, by reason.", ["reason"])

REQUESTS: Final = counter(
    "crawldedup_requests", "Requests answered, by endpoint and status.", ["endpoint", "status"]
)
REQUEST_SECONDS: Final = Histogram(
    "crawldedup_request_seconds",
    "Seconds from the first bytes of a request to its answer.",
    ["endpoint"],
    registry=METRICS,
    buckets=(0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30),
)
INDEX_PAGES: Final = Gauge(
    "crawldedup_index_pages",
    "Approximate number of pages in the index.",
    registry=METRICS,
    multiprocess_mode="mostrecent",
)

# There are few endpoints and statuses, and looking up a metric takes longer than adding to it.
_requests_of: Final = cache(REQUESTS.labels)
_seconds_of: Final = cache(REQUEST_SECONDS.labels)


def note_request(endpoint: str, status: int, seconds: float) -> None:
    """Count a request that was answered, and how long it took."""
    _requests_of(endpoint, status).inc()
    _seconds_of(endpoint).observe(seconds)


def registry_of_all_workers() -> CollectorRegistry:
    """Return a registry that adds up the figures of all worker processes.

    They share their figures in the folder that PROMETHEUS_MULTIPROC_DIR names. Without it, this
    process is the only one.
    """
    if "PROMETHEUS_MULTIPROC_DIR" not in os.environ:
        return METRICS
    registry = CollectorRegistry()
    MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
    return registry
