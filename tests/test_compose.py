"""docker-compose.yml is valid, and does what its users rely on."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import yaml

from crawldedup.cli import parser

FILE = Path(__file__).parent.parent / "docker-compose.yml"
COMPOSE = yaml.safe_load(FILE.read_text())
SERVICES = COMPOSE["services"]


def test_it_follows_the_compose_specification_and_is_open_to_this_machine_alone() -> None:
    # The package has the specification's schema.
    check = [
        sys.executable,
        "-m",
        "check_jsonschema",
        "--builtin-schema",
        "vendor.compose-spec",
        str(FILE),
    ]
    done = subprocess.run(check, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    assert all(
        port.startswith("127.0.0.1:")
        for service in SERVICES.values()
        for port in service.get("ports", ())
    )
    assert {name for name, service in SERVICES.items() if "ports" in service} >= {
        "service",
        "redis",
    }


def test_the_service_is_a_command_of_ours_that_waits_for_a_healthy_redis() -> None:
    service, redis = SERVICES["service"], SERVICES["redis"]
    assert parser().parse_args(service["command"])
    assert "redis://redis:6379/0" in service["command"]
    assert service["environment"] == {"CRAWLDEDUP_TOKEN": "${CRAWLDEDUP_TOKEN:-}"}
    assert "'.[server]'" in service["build"]["dockerfile_inline"]
    assert service["depends_on"]["redis"]["condition"] == "service_healthy"
    assert redis["healthcheck"]["test"]


def test_redis_refuses_rather_than_forgets() -> None:
    redis = SERVICES["redis"]
    command = redis["command"]
    assert command[command.index("--maxmemory-policy") + 1] == "noeviction"
    assert command[command.index("--appendonly") + 1] == "yes"
    assert redis["volumes"] == ["redis-data:/data"]
    assert "redis-data" in COMPOSE["volumes"]
