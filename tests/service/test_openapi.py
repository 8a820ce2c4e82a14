"""The OpenAPI document tells the truth: requests made from it are answered as it says."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from crawldedup.service.endpoints import ROUTES
from tests.service.serving import ServiceProcess

if TYPE_CHECKING:
    from collections.abc import Iterator

CHECKS = [not_a_server_error, content_type_conformance, response_schema_conformance, status_code_conformance]
FEW, MANY = 3, 300


@schemathesis.serializer("application/x-ndjson")
def as_lines(_: Any, value: Any) -> bytes:
    return str(value).encode("utf-8", "surrogatepass")


@pytest.fixture(scope="module")
def served() -> Iterator[ServiceProcess]:
    with ServiceProcess("--store", "memory://", "--log-level", "warning") as started:
        yield started


def try_out(served: ServiceProcess, examples: int) -> None:
    document: Any = schemathesis.openapi.from_url(f"{served.url}/openapi.json")
    tried = 0
    for found in document.get_all_operations():
        operation = found.ok()
        tried += 1

        @settings(
            max_examples=examples,
            deadline=None,
            database=None,
            derandomize=True,
            suppress_health_check=list(HealthCheck),
        )
        @given(case=operation.as_strategy() | operation.as_strategy(generation_mode=GenerationMode.NEGATIVE))
        def try_one(case: Any) -> None:
            case.call_and_validate(checks=CHECKS)

        try_one()
    assert tried == len(ROUTES) - 1  # all but that of the document itself
    assert "trace" not in served.log()


def test_requests_made_from_it(served: ServiceProcess) -> None:
    try_out(served, FEW)


@pytest.mark.exhaustive
@pytest.mark.timeout(1200)
def test_many_requests_made_from_it(served: ServiceProcess) -> None:
    try_out(served, MANY)
