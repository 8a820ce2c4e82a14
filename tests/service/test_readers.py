"""Hostile pages cost their own request, and nobody else's; what reads them knows no secret of the service."""

import asyncio
import os
import signal
from pathlib import Path

import httpx
import pytest

from tests.processes import is_there
from tests.servers import wait_until
from tests.service.serving import ServiceProcess, story

EXTRACTORS = "tests.scrapy_plugin.deadly_extractor"


def readers(service: ServiceProcess) -> list[int]:
    """The processes of a service that read pages."""
    children = Path(f"/proc/{service.process.pid}/task/{service.process.pid}/children").read_text().split()
    return [int(each) for each in children if b"workers.program" in Path(f"/proc/{each}/cmdline").read_bytes()]


def test_pages_that_kill_their_reader_or_fail_there_are_refused_and_others_are_read(tmp_path: Path) -> None:
    words = ["one", "crash", "two", "leave", "three"]

    async def ask(service: ServiceProcess) -> list[tuple[int, str]]:
        async with httpx.AsyncClient(base_url=service.url, timeout=60) as http:
            pages = [{"url": word, "html": f"<p>{word} {story(at)}"} for at, word in enumerate(words)]
            answers = await asyncio.gather(*(http.post("/v1/check", json=page) for page in pages))
        plain = [answer.json() for answer in answers]
        assert "Traceback" not in str(plain)
        return [
            (each.status_code, value.get("kind") or value.get("reason") or value["type"].rpartition(":")[2])
            for each, value in zip(answers, plain, strict=True)
        ]

    with ServiceProcess(
        "--store", f"sqlite:///{tmp_path}/index.sqlite", "--extractor", f"{EXTRACTORS}.obedient"
    ) as service:
        answers = asyncio.run(ask(service))
        log = service.log()
    new = (200, "new")
    assert answers == [new, (503, "busy"), new, (500, "internal"), new]
    assert "SystemExit: 3" in log


def test_a_reader_that_is_killed_from_outside_costs_no_page(tmp_path: Path) -> None:
    with ServiceProcess(
        "--store", f"sqlite:///{tmp_path}/index.sqlite", "--extractor", f"{EXTRACTORS}.obedient"
    ) as service:
        for number in range(3):

            async def ask(number: int = number) -> int:
                async with httpx.AsyncClient(base_url=service.url, timeout=60) as http:
                    page = {"url": f"u{number}", "html": f"<p>slow {story(number)}"}
                    asking = asyncio.ensure_future(http.post("/v1/check", json=page))
                    await asyncio.sleep(0.15)
                    for reader in readers(service):
                        os.kill(reader, signal.SIGKILL)
                    return (await asking).status_code

            assert asyncio.run(ask()) == 200


def test_what_reads_pages_knows_no_password_and_no_token_and_ends_with_the_service(tmp_path: Path) -> None:
    secrets = {"CRAWLDEDUP_TOKEN": "hunter1-a-token-of-some-length", "AWS_SECRET_ACCESS_KEY": "hunter2"}
    store = f"sqlite:///{tmp_path}/hunter3.sqlite"
    with ServiceProcess("--store", store, **secrets) as service:
        service.http.headers["authorization"] = f"Bearer {secrets['CRAWLDEDUP_TOKEN']}"
        service.check("https://a.example/", html=f"<p>{story(1)}")
        (reader,) = readers(service)
        known = Path(f"/proc/{reader}/environ").read_bytes() + Path(f"/proc/{reader}/cmdline").read_bytes()
        assert b"hunter" not in known
        assert b"PATH=" in known
        service.stop(signal.SIGKILL)
        wait_until(lambda: not is_there(reader))


@pytest.mark.nightly
def test_texts_are_decided_while_a_page_is_read_that_never_ends(tmp_path: Path) -> None:
    with ServiceProcess(
        "--store", f"sqlite:///{tmp_path}/index.sqlite", "--extractor", f"{EXTRACTORS}.deadly"
    ) as service:
        service.check("https://a.example/", html=f"<p>{story(1)}")

        async def main() -> None:
            async with httpx.AsyncClient(base_url=service.url, timeout=60) as http:
                endless = {"url": "u", "html": "<p>endless"}
                reading = asyncio.ensure_future(http.post("/v1/check", json=endless))
                for number in range(50):
                    answer = await http.post("/v1/check", json={"url": f"u{number}", "text": story(number + 2)})
                    assert answer.json()["kind"] == "new"
                assert not reading.done()
                answer = await reading
                assert (answer.status_code, answer.json()["reason"]) == (422, "too_slow")

        asyncio.run(main())
