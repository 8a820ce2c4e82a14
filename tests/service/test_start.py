"""How the service starts: without its packages, before its store, and when it is ended at once."""

from __future__ import annotations

import signal
import sys
from pathlib import Path

import pytest

import crawldedup
from crawldedup import Deduplicator
from crawldedup.cli import main
from tests.servers import RedisServer, wait_until
from tests.service.serving import ServiceProcess, story


def test_what_must_be_installed_is_said_by_the_names_of_packages(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    assert main(["serve", "--store", "memory://"]) == 2
    assert "pip install starlette uvicorn uvloop prometheus-client jinja2" in capsys.readouterr().err
    sources = Path(crawldedup.__file__).parent.rglob("*.py")
    # There is no such distribution, and who makes one may put into it what he likes.
    assert [path.name for path in sources if "install 'crawldedup" in path.read_text("utf-8")] == []


@pytest.mark.parametrize("workers", ["1", "2"])
def test_a_store_that_is_not_up_yet_is_waited_for(workers: str) -> None:
    with RedisServer() as server:
        server.stop()
        with ServiceProcess("--store", server.url, "--workers", workers) as service:
            page = {"url": "https://a.example/", "text": story(1)}
            refused = service.post("/v1/check", page)
            assert (refused.status_code, refused.headers["retry-after"].isdecimal()) == (503, True), refused.text
            assert service.http.get("/health/ready").status_code == 503
            server.start()
            wait_until(lambda: service.post("/v1/check", page).status_code == 200)
            # Workers are one crawler: to another one's page the same URL would be a copy of itself.
            answers = [service.post("/v1/check", page, headers={"connection": "close"}) for _ in range(20)]
            assert {answer.json().get("kind") for answer in answers if answer.status_code == 200} == {"revisit"}
            assert service.stop() in (0, -signal.SIGTERM)


def test_a_store_that_turns_out_to_be_of_no_use_ends_the_service() -> None:
    with RedisServer("--appendonly", "yes", "--appendfsync", "always") as server:
        with Deduplicator(server.url, distinguish="nothing") as other:
            other.check("https://a.example/", text=story(1))
        server.stop()
        with ServiceProcess("--store", server.url) as service:
            server.start()
            wait_until(lambda: service.process.poll() is not None)
            assert "the store is of no use" in service.log()


@pytest.mark.parametrize("workers", ["1", "2"])
def test_a_signal_while_it_starts_ends_it(workers: str, tmp_path: Path) -> None:
    store = f"sqlite:///{tmp_path}/index.sqlite"
    with ServiceProcess("--store", store, "--workers", workers, wait=False) as service:
        wait_until(lambda: "serves" in service.log())
        assert service.stop() in (0, -signal.SIGTERM)
