"""docker-compose.yml is valid, and does what its users rely on."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import yaml

from crawldedup.cli import parser

FILE = Path(__file__).parent.parent / "docker-compose.yml"
COMPOSE = yaml.safe_load(FILE.read_text())


def test_it_follows_the_compose_specification() -> None:
    # The package has the specification's schema.
    check = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.compose-spec", str(FILE)]
    done = subprocess.run(check, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_the_crawl_is_a_command_of_ours() -> None:
    assert parser().parse_args(COMPOSE["services"]["crawl"]["command"])


def test_the_service_is_a_command_of_ours_and_open_to_this_machine_alone() -> None:
    service = COMPOSE["services"]["service"]
    assert parser().parse_args(service["command"])
    assert service["environment"] == {"CRAWLDEDUP_TOKEN": "${CRAWLDEDUP_TOKEN:-}"}
    assert all(port.startswith("127.0.0.1:") for port in service["ports"])
    assert "'.[server]'" in service["build"]["dockerfile_inline"]


def test_the_crawl_waits_for_a_healthy_redis() -> None:
    services = COMPOSE["services"]
    assert services["crawl"]["depends_on"]["redis"]["condition"] == "service_healthy"
    assert services["redis"]["healthcheck"]["test"]
    assert "redis://redis:6379/0" in services["crawl"]["command"]


def test_redis_is_not_open_to_the_world_and_refuses_rather_than_forgets() -> None:
    redis = COMPOSE["services"]["redis"]
    assert all(port.startswith("127.0.0.1:") for port in redis["ports"])
    command = redis["command"]
    assert command[command.index("--maxmemory-policy") + 1] == "noeviction"
    assert command[command.index("--appendonly") + 1] == "yes"
    assert redis["volumes"] == ["redis-data:/data"]
    assert "redis-data" in COMPOSE["volumes"]
