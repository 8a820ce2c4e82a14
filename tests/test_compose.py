"""docker-compose.yml: what its users rely on. (It is valid against the compose specification's schema, which is
not part of this repository.)"""

from __future__ import annotations

from pathlib import Path

import yaml

COMPOSE = yaml.safe_load((Path(__file__).parent.parent / "docker-compose.yml").read_text())


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
