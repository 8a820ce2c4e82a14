"""docker-compose.yml and the Dockerfile are valid, and do what their users rely on."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import redis
import yaml

from crawldedup import Deduplicator
from crawldedup.cli import parser
from crawldedup.commands.command import STORE_FILE_VARIABLE
from tests.servers import free_port, redis_binary, wait_until
from tests.service.serving import ServiceProcess, story

ROOT = Path(__file__).parent.parent
FILE = ROOT / "docker-compose.yml"
COMPOSE = yaml.safe_load(FILE.read_text())
SERVICES = COMPOSE["services"]
DOCKERFILE = (ROOT / "Dockerfile").read_text()


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
    arguments = parser().parse_args(service["command"])
    assert (arguments.host, arguments.workers) == ("0.0.0.0", 2)
    assert arguments.token_file == "/run/secrets/tokens"
    assert arguments.read_token_file == "/run/secrets/read_tokens"
    assert service["environment"] == {STORE_FILE_VARIABLE: "/run/secrets/store_url"}
    assert service["depends_on"]["redis"]["condition"] == "service_healthy"
    assert redis["healthcheck"]["test"]


def test_redis_refuses_rather_than_forgets() -> None:
    redis = SERVICES["redis"]
    command = redis["command"]
    assert command[command.index("--maxmemory-policy") + 1] == "noeviction"
    assert command[command.index("--appendonly") + 1] == "yes"
    assert redis["volumes"] == ["redis-data:/data"]
    assert "redis-data" in COMPOSE["volumes"]


@pytest.mark.parametrize("name", SERVICES)
def test_every_service_is_bounded_and_restricted(name: str) -> None:
    service = SERVICES[name]
    limits = service["deploy"]["resources"]["limits"]
    assert limits.keys() == {"memory", "cpus", "pids"}
    assert service["logging"]["options"].keys() == {"max-size", "max-file"}
    assert service["healthcheck"]["test"]
    assert service["read_only"]
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert "privileged" not in service
    # Neither a command nor an environment names a secret: both are shown to others.
    assert set(service["secrets"]) <= COMPOSE["secrets"].keys()
    for secret in service["secrets"]:
        shown = [*service["command"], *service.get("environment", {}).values()]
        assert f"/run/secrets/{secret}" in shown


def test_the_images_use_existing_files_and_do_not_run_as_root() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    stages = re.split(r"^FROM ", DOCKERFILE, flags=re.MULTILINE)[1:]
    images = {stage.split()[2]: stage for stage in stages}
    assert images.keys() == {service["build"]["target"] for service in SERVICES.values()}
    for image in images.values():
        assert re.search(r"^USER (?!root|0)\w+$", image, re.MULTILINE)
    ignored = (ROOT / ".dockerignore").read_text().split()
    for line in re.findall(r"^COPY (.*)$", DOCKERFILE, re.MULTILINE):
        for name in line.split()[:-1]:
            assert (ROOT / name).exists()
            assert f"!{name}" in ignored
    assert "*" in ignored
    extras = re.findall(r"'\.\[(\w+)\]'", DOCKERFILE)
    assert extras == ["server"]
    assert set(extras) <= project["optional-dependencies"].keys()
    (entry,) = re.findall(r'^ENTRYPOINT \["(\w+)"\]$', DOCKERFILE, re.MULTILINE)
    assert entry in project["scripts"]
    (python,) = re.findall(r"^FROM python:(3\.\d+)", DOCKERFILE, re.MULTILINE)
    assert f"Programming Language :: Python :: {python}" in project["classifiers"]


@pytest.fixture
def secrets(tmp_path: Path) -> Path:
    """The folder that the script for secrets makes."""
    subprocess.run(["sh", ROOT / "docker" / "make_secrets.sh"], cwd=tmp_path, check=True)
    return tmp_path / "secrets"


def test_secrets_are_made_once_and_for_the_owner_alone(secrets: Path) -> None:
    named = {ROOT / secret["file"] for secret in COMPOSE["secrets"].values()}
    assert {path.name for path in named} == {path.name for path in secrets.iterdir()}
    assert secrets.stat().st_mode & 0o777 == 0o700
    assert all(path.stat().st_mode & 0o777 == 0o644 for path in secrets.iterdir())
    texts = [path.read_text() for path in secrets.iterdir()]
    again = subprocess.run(
        ["sh", ROOT / "docker" / "make_secrets.sh"],
        cwd=secrets.parent,
        capture_output=True,
        check=False,
    )
    assert again.returncode != 0
    assert [path.read_text() for path in secrets.iterdir()] == texts
    assert "secrets/" in (ROOT / ".gitignore").read_text().split()


def in_place(text: str, secrets: Path) -> str:
    """A part of a command with the files of secrets where they are here, and with its defaults."""
    for name, secret in COMPOSE["secrets"].items():
        path = secrets / Path(secret["file"]).name
        text = text.replace(f"/run/secrets/{name}", str(path))
    return re.sub(r"\$\{\w+:-(.*?)\}", r"\1", text).replace("$$", "$")


@contextmanager
def redis_as_composed(secrets: Path) -> Iterator[int]:
    """The Redis of the file, on a free port."""
    program, *arguments = [in_place(part, secrets) for part in SERVICES["redis"]["command"]]
    assert program == "redis-server"
    port = free_port()
    command = [redis_binary(), *arguments, "--port", str(port), "--dir", str(secrets.parent)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as server:
        try:
            yield port
        finally:
            server.terminate()


def is_healthy(secrets: Path, port: int) -> bool:
    kind, check = SERVICES["redis"]["healthcheck"]["test"]
    assert kind == "CMD-SHELL"
    check = in_place(check, secrets).replace("redis-cli", f"redis-cli -p {port}")
    return subprocess.run(["sh", "-c", check], check=False, timeout=30).returncode == 0


def test_what_is_composed_works_together(secrets: Path) -> None:
    with redis_as_composed(secrets) as port:
        wait_until(lambda: is_healthy(secrets, port))
        with pytest.raises(redis.AuthenticationError):
            redis.Redis(port=port).ping()
        url_file = secrets / "store.url"
        url_file.write_text(url_file.read_text().replace("redis:6379", f"localhost:{port}"))
        command = [in_place(part, secrets) for part in SERVICES["service"]["command"]]
        assert command.pop(0) == "serve"
        environment = {
            name: in_place(value, secrets)
            for name, value in SERVICES["service"]["environment"].items()
        }
        with ServiceProcess(*command, **environment) as service:
            check_service(service, secrets, port)
    assert not is_healthy(secrets, port)


def check_service(service: ServiceProcess, secrets: Path, port: int) -> None:
    page = {"url": "https://a.example/", "text": story(1)}
    tokens = {path.name: path.read_text().strip() for path in secrets.iterdir()}
    statuses: dict[str, Any] = {}
    for name in ("tokens", "read_tokens"):
        headers = {"authorization": f"Bearer {tokens[name]}"}
        statuses[name] = service.post("/v1/check", page, headers=headers).status_code
    assert statuses == {"tokens": 200, "read_tokens": 403}
    assert service.post("/v1/check", page).status_code == 401
    health = SERVICES["service"]["healthcheck"]["test"][1:]
    assert health[0] == "python"
    code = health[2].replace("8300", str(service.port))
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
    with Deduplicator((secrets / "store.url").read_text().strip()) as dedup:
        assert dedup.info().pages == 1
    command_line = Path(f"/proc/{service.process.pid}/cmdline").read_bytes()
    assert not any(secret.encode() in command_line for secret in tokens.values())
    assert os.environ.get(STORE_FILE_VARIABLE) is None
