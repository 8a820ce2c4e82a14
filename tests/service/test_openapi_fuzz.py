"""The OpenAPI document tells the truth: requests made from it, right and wrong, are answered as it says."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import requests
from hypothesis import HealthCheck, given, settings

from crawldedup.service.endpoints import ROUTES
from tests.service.serving import ServiceProcess

if TYPE_CHECKING:
    from collections.abc import Iterator

schemathesis: Any = pytest.importorskip("schemathesis", reason="the extra `openapi` is not installed")
checks: Any = pytest.importorskip("schemathesis.specs.openapi.checks")
LARGEST_HEAD = 60_000
"""Bytes; the server refuses heads from 64 KB on."""

CHECKS = [
    schemathesis.checks.not_a_server_error,
    checks.content_type_conformance,
    checks.response_schema_conformance,
    checks.status_code_conformance,
]


def head_size(case: Any, url: str) -> int:
    """Return about how many bytes there are in front of the body of a request."""
    named = case.as_transport_kwargs(base_url=url)
    request = requests.PreparedRequest()
    request.prepare_url(named["url"], named.get("params"))
    return len(request.url or "") + sum(len(str(part)) for header in named["headers"].items() for part in header)


@pytest.fixture(scope="module")
def served() -> Iterator[ServiceProcess]:
    with ServiceProcess("--store", "memory://", "--log-level", "warning") as started:
        yield started


@pytest.mark.timeout(1200)
@pytest.mark.parametrize("examples", [2, pytest.param(300, marks=pytest.mark.nightly)])
def test_requests_made_from_it(served: ServiceProcess, examples: int) -> None:
    quick = settings(
        max_examples=examples, deadline=None, database=None, derandomize=True, suppress_health_check=list(HealthCheck)
    )
    document = schemathesis.openapi.from_url(f"{served.url}/openapi.json")
    operations = [found.ok() for found in document.get_all_operations()]
    assert len(operations) == len(ROUTES) - 1  # all but that of the document itself

    for operation in operations:
        wrong = operation.as_strategy(generation_mode=schemathesis.GenerationMode.NEGATIVE)

        @quick
        @given(case=operation.as_strategy() | wrong)
        def try_one(case: Any) -> None:
            # The server itself refuses a head that is too large: it answers in plain text, or closes the connection.
            if head_size(case, served.url) < LARGEST_HEAD:
                case.call_and_validate(checks=CHECKS)

        try_one()
    assert "trace" not in served.log()
