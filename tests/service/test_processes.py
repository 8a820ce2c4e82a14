"""A service that starts, is stopped, or whose store or processes die: nothing is lost, and nothing made up."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

import httpx
import pytest

from crawldedup import Deduplicator
from crawldedup.cli import main
from tests.processes import is_there
from tests.servers import RedisServer, wait_until
from tests.service.serving import ServiceProcess, story

CLIENTS = 6
ENDED = (0, -signal.SIGTERM)
TWO_WORKERS = pytest.param("2", marks=pytest.mark.nightly)
PAGE = {"url": "https://a.example/1", "text": story(1)}


class Load:
    """Clients that check a page and its copy, one after the other, until they are told to stop."""

    def __init__(self, service: ServiceProcess) -> None:
        self.verdicts: dict[tuple[int, str], dict[str, Any]] = {}
        self.statuses: Counter[int] = Counter()
        self.lost = 0
        self._service = service
        self._done = threading.Event()
        self._threads = [threading.Thread(target=self._ask, args=(number,)) for number in range(CLIENTS)]

    def __enter__(self) -> Load:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *raised: object) -> None:
        self._done.set()
        for thread in self._threads:
            thread.join()

    def _ask(self, client: int) -> None:
        with httpx.Client(base_url=self._service.url, timeout=30) as http:
            for number in range(1000 * client, 1000 * client + 1000):
                for copy in ("original", "copy"):
                    if self._done.is_set():
                        return
                    page = {"url": f"https://{number}.example/{copy}", "text": story(number)}
                    try:
                        answer = http.post("/v1/check", json=page)
                    except httpx.TransportError:
                        self.lost += 1
                        time.sleep(0.02)
                        continue
                    self.statuses[answer.status_code] += 1
                    self.verdicts[number, copy] = answer.json()

    def wait_for(self, verdicts: int) -> None:
        before = self.statuses[200]
        wait_until(lambda: self.statuses[200] >= before + verdicts)


def workers_of(service: ServiceProcess) -> list[int]:
    children = Path(f"/proc/{service.process.pid}/task/{service.process.pid}/children").read_text().split()
    return [int(each) for each in children if b"spawn_main" in Path(f"/proc/{each}/cmdline").read_bytes()]


def test_what_must_be_installed_is_said(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    assert main(["serve", "--store", "memory://"]) == 2
    assert "pip install starlette uvicorn uvloop prometheus-client jinja2" in capsys.readouterr().err


@pytest.mark.parametrize("workers", [pytest.param("1", marks=pytest.mark.nightly), "2"])
def test_a_store_that_is_not_up_yet_is_waited_for(workers: str) -> None:
    with RedisServer() as server:
        server.stop()
        with ServiceProcess("--store", server.url, "--workers", workers) as service:
            refused = service.post("/v1/check", PAGE)
            assert (refused.status_code, refused.headers["retry-after"].isdecimal()) == (503, True), refused.text
            server.start()
            wait_until(lambda: service.post("/v1/check", PAGE).status_code == 200)
            # Workers are one crawler: to another one's page the same URL would be a copy of itself.
            answers = [service.post("/v1/check", PAGE, headers={"connection": "close"}) for _ in range(20)]
            assert {answer.json().get("kind") for answer in answers if answer.status_code == 200} == {"revisit"}
            assert service.stop() in ENDED


def test_a_store_that_turns_out_to_be_of_no_use_ends_the_service() -> None:
    with RedisServer("--appendonly", "yes", "--appendfsync", "always") as server:
        with Deduplicator(server.url, distinguish="nothing") as other:
            other.check(**PAGE)
        server.stop()
        with ServiceProcess("--store", server.url) as service:
            server.start()
            wait_until(lambda: service.process.poll() is not None)
            assert "the store is of no use" in service.log()


@pytest.mark.parametrize("workers", ["1", TWO_WORKERS])
def test_a_signal_while_it_starts_ends_it(workers: str, tmp_path: Path) -> None:
    store = f"sqlite:///{tmp_path}/index.sqlite"
    with ServiceProcess("--store", store, "--workers", workers, wait=False) as service:
        wait_until(lambda: "serves" in service.log())
        assert service.stop() in ENDED


@pytest.mark.parametrize("workers", ["1", TWO_WORKERS])
def test_nothing_is_lost_when_the_service_is_stopped_under_load(workers: str, tmp_path: Path) -> None:
    store = f"sqlite:///{tmp_path / 'index.sqlite'}"
    with ServiceProcess("--store", store, "--workers", workers) as service, Load(service) as load:
        load.wait_for(100)
        assert service.stop() in ENDED
    # What was answered is remembered, and what was not answered has not been begun.
    assert set(load.statuses) == {200}
    with Deduplicator(store) as dedup:
        texts = {number: dedup.find(text=story(number)) for number, _ in load.verdicts}
        known = {match.url for matches in texts.values() for match in matches if match.exact}
        assert {verdict["url"] for verdict in load.verdicts.values() if verdict["kind"] == "new"} == known
        assert dedup.info().pages == len(known)


@pytest.mark.nightly
def test_while_redis_restarts_there_are_refusals_and_no_wrong_verdicts() -> None:
    lasting = RedisServer("--appendonly", "yes", "--appendfsync", "always")
    with lasting as server, ServiceProcess("--store", server.url) as service, Load(service) as load:
        load.wait_for(50)
        server.stop()
        wait_until(lambda: load.statuses[503] > CLIENTS)
        assert service.http.get("/health/live").status_code == 200
        assert service.http.get("/health/ready").status_code == 503
        server.start()
        load.wait_for(50)
        assert service.http.get("/health/ready").status_code == 200
    assert (set(load.statuses), load.lost) == ({200, 503}, 0)
    numbers = {number for number, _ in load.verdicts}
    kinds = Counter(
        tuple(load.verdicts.get((number, copy), {}).get("kind") for copy in ("original", "copy")) for number in numbers
    )
    # A page whose answer was lost may have been remembered, so only its copy may be a duplicate or not.
    assert {original for original, _ in kinds} <= {"new", None}
    assert ("new", "new") not in kinds
    assert kinds["new", "exact_duplicate"] >= 40


@pytest.mark.nightly
def test_a_worker_that_dies_is_replaced_and_the_index_stays(tmp_path: Path) -> None:
    store = f"sqlite:///{tmp_path / 'index.sqlite'}"

    def is_known() -> bool:
        with contextlib.suppress(httpx.TransportError):
            return bool(service.check(**PAGE)["kind"] == "revisit")
        return False

    with ServiceProcess("--store", store, "--workers", "2") as service:
        service.check(**PAGE)
        workers = workers_of(service)
        assert len(workers) == 2
        os.kill(workers[0], signal.SIGKILL)
        wait_until(lambda: len(workers_of(service)) == 2 and workers[0] not in workers_of(service))
        wait_until(is_known)
    # The index is left, so that the next crawler does not take this one to be at work.
    with Deduplicator(store) as dedup:
        assert dedup.check(**PAGE).kind == "revisit"


@pytest.mark.nightly
def test_workers_end_with_a_parent_that_is_killed(tmp_path: Path) -> None:
    with ServiceProcess("--store", f"sqlite:///{tmp_path / 'index.sqlite'}", "--workers", "2") as service:
        workers = workers_of(service)
        assert len(workers) == 2
        service.stop(signal.SIGKILL)
        wait_until(lambda: not any(is_there(worker) for worker in workers))
