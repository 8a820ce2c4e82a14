"""The Prometheus metrics of the service."""

import os
from functools import partial
from typing import Final

from prometheus_client import CollectorRegistry, Counter
from prometheus_client.multiprocess import MultiProcessCollector

METRICS: Final = CollectorRegistry()
counter: Final = partial(Counter, registry=METRICS)
VERDICTS: Final = counter("crawldedup_verdicts", "Pages checked, by kind.", ["kind"])
FAILURES: Final = counter("crawldedup_failures", "Pages not checked, by reason.", ["reason"])


def registry_of_all_workers() -> CollectorRegistry:
    """Return a registry with the figures of all worker processes together.

    They share their figures in the folder that PROMETHEUS_MULTIPROC_DIR names. Without it, this
    process is the only one.
    """
    if "PROMETHEUS_MULTIPROC_DIR" not in os.environ:
        return METRICS
    registry = CollectorRegistry()
    MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
    return registry
