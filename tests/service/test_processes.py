"""`crawldedup serve` as it starts, is stopped, or loses a process: nothing is lost, and nothing
made up.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest

from crawldedup import Deduplicator
from crawldedup.cli import main
from tests.processes import command_line, is_there
from tests.servers import RedisServer, wait_until
from tests.service.serving import ServiceProcess, story

ENDED = (0, -signal.SIGTERM)
WORKERS = pytest.mark.parametrize("workers", ["1", pytest.param("2", marks=pytest.mark.nightly)])
PAGE = {"url": "https://a.example/1", "text": story(1)}


def workers_of(service: ServiceProcess) -> list[int]:
    children = (
        Path(f"/proc/{service.process.pid}/task/{service.process.pid}/children").read_text().split()
    )
    return [pid for pid in map(int, children) if b"spawn_main" in command_line(pid)]


def test_what_must_be_installed_is_said(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    assert main(["serve", "--store", "memory://"]) == 2
    assert "pip install 'crawldedup[server]'" in capsys.readouterr().err


@pytest.mark.parametrize("workers", ["1", "2"])
def test_no_other_process_gets_a_secret(tmp_path: Path, workers: str) -> None:
    """Every program of the same user can read the environment and the arguments of a process."""
    store, token = f"sqlite:///{tmp_path}/index.sqlite", "a-token-of-today-x"
    read_token = "a-token-to-read-with"
    environment = {
        "CRAWLDEDUP_STORE": store,
        "CRAWLDEDUP_TOKEN": token,
        "CRAWLDEDUP_READ_TOKEN": read_token,
    }
    with ServiceProcess("--workers", workers, **environment) as service:
        page = {"url": "u", "html": f"<p>{story(1)}"}
        answer = service.post("/v1/check", page, headers={"authorization": f"Bearer {token}"})
        assert answer.status_code == 200
        assert service.post("/v1/check", page).status_code == 401
        reading = {"authorization": f"Bearer {read_token}"}
        assert service.post("/v1/check", page, headers=reading).status_code == 403
        assert service.post("/v1/find", page, headers=reading).status_code == 200
        others = processes_below(service.process.pid)
        assert len(others) >= int(workers)
        for process in others:
            for file in ("cmdline", "environ"):
                content = Path(f"/proc/{process}/{file}").read_bytes()
                for secret in (store, token, read_token):
                    assert secret.encode() not in content


def processes_below(process: int) -> list[int]:
    """The processes that a process has started, and those that these have."""
    found = []
    for task in Path(f"/proc/{process}/task").iterdir():
        for child in (task / "children").read_text().split():
            found += [int(child), *processes_below(int(child))]
    return found


def test_a_server_behind_a_socket_is_waited_for() -> None:
    with ServiceProcess("--store", "unix:///nowhere/redis.sock", wait=False) as service:
        wait_until(lambda: "waits for the store" in service.log())


def test_a_file_that_cannot_be_used_is_not_waited_for() -> None:
    with ServiceProcess("--store", "sqlite:////proc/index.sqlite", wait=False) as service:
        wait_until(lambda: service.process.poll() is not None)
        assert (service.process.returncode, "unable to open" in service.log()) == (2, True)


@pytest.mark.parametrize("is_of_use", [True, False])
def test_a_store_that_is_not_up_yet_is_waited_for(is_of_use: bool) -> None:
    with RedisServer("--appendonly", "yes", "--appendfsync", "always") as server:
        if not is_of_use:
            with Deduplicator(server.url, distinguish="nothing") as other:
                other.check(**PAGE)
        server.stop()
        with ServiceProcess("--store", server.url, "--workers", "2", wait=False) as service:
            wait_until(lambda: "waits for the store" in service.log())
            server.start()
            if not is_of_use:
                wait_until(lambda: service.process.poll() is not None)
                assert (
                    service.process.returncode,
                    "distinguish (CRAWLDEDUP_DISTINGUISH" in service.log(),
                ) == (2, True)
                return
            wait_until(service.answers)
            wait_until(lambda: service.post("/v1/check", PAGE).status_code == 200)
            # Workers are one crawler: to another one's page the same URL would be a copy of itself.
            answers = [
                service.post("/v1/check", PAGE, headers={"connection": "close"}) for _ in range(20)
            ]
            assert {
                answer.json().get("kind") for answer in answers if answer.status_code == 200
            } == {"revisit"}
            assert service.stop() in ENDED


@WORKERS
def test_a_signal_while_it_starts_ends_it(workers: str, tmp_path: Path) -> None:
    store = f"sqlite:///{tmp_path}/index.sqlite"
    with ServiceProcess("--store", store, "--workers", workers, wait=False) as service:
        wait_until(lambda: "serves" in service.log())
        assert service.stop() in ENDED


def test_a_closed_terminal_ends_a_single_worker_like_any_other_signal(tmp_path: Path) -> None:
    with ServiceProcess("--store", f"sqlite:///{tmp_path}/index.sqlite") as service:
        assert service.post("/v1/check", PAGE).status_code == 200
        assert service.stop(signal.SIGHUP) in ENDED


@WORKERS
def test_nothing_is_lost_when_the_service_is_stopped_under_load(
    workers: str, tmp_path: Path
) -> None:
    store = f"sqlite:///{tmp_path / 'index.sqlite'}"
    verdicts: dict[int, dict[str, Any]] = {}

    def ask(client: int) -> None:
        with (
            contextlib.suppress(httpx.TransportError),
            httpx.Client(base_url=service.url, timeout=30) as http,
        ):
            for number in range(1000 * client, 1000 * client + 1000):
                # Each text comes twice.
                page = {"url": f"https://{number}.example/", "text": story(number // 2)}
                answer = http.post("/v1/check", json=page)
                assert answer.status_code == 200
                verdicts[number] = answer.json()

    with (
        ServiceProcess("--store", store, "--workers", workers) as service,
        ThreadPoolExecutor() as clients,
    ):
        asking = [clients.submit(ask, number) for number in range(6)]
        wait_until(lambda: len(verdicts) >= 100)
        assert service.stop() in ENDED
        assert [each.result() for each in asking] == [None] * 6
    # What was answered is remembered, and what was not answered has not been begun.
    with Deduplicator(store) as dedup:
        found = {number // 2: dedup.find(text=story(number // 2)) for number in verdicts}
        known = {match.url for matches in found.values() for match in matches if match.exact}
        assert {
            verdict["url"] for verdict in verdicts.values() if verdict["kind"] == "new"
        } == known
        assert dedup.info().pages == len(known) < len(verdicts)
        # The index is left: to another crawler at work, it would be a copy.
        number = next(number for number, matches in found.items() if matches)
        assert dedup.check(found[number][0].url, text=story(number)).kind == "revisit"


@pytest.mark.nightly
def test_a_worker_that_dies_is_replaced_and_none_outlives_its_parent(tmp_path: Path) -> None:
    def is_known() -> bool:
        with contextlib.suppress(httpx.TransportError):
            return bool(service.check(**PAGE)["kind"] == "revisit")
        return False

    with ServiceProcess(
        "--store", f"sqlite:///{tmp_path / 'index.sqlite'}", "--workers", "2"
    ) as service:
        service.check(**PAGE)
        workers = workers_of(service)
        assert len(workers) == 2
        os.kill(workers[0], signal.SIGKILL)
        wait_until(lambda: len(workers_of(service)) == 2 and workers[0] not in workers_of(service))
        wait_until(is_known)
        workers = workers_of(service)
        service.stop(signal.SIGKILL)
        wait_until(lambda: not any(is_there(worker) for worker in workers))
