from __future__ import annotations

import socket
import threading
import time
from typing import TYPE_CHECKING

import pytest

from crawldedup.workers.framing import request
from crawldedup.workers.inbox import Inbox

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def ends() -> Iterator[tuple[Inbox, socket.socket]]:
    own, other = socket.socketpair()
    with own, other:
        yield Inbox(own), other


def test_requests_are_whole_however_they_come(ends: tuple[Inbox, socket.socket]) -> None:
    inbox, other = ends
    other.sendall(request({"do": "one"}, b"body") + request({"do": "two"}))
    assert inbox.take(None) == ({"do": "one"}, b"body")
    assert inbox.take(0) == ({"do": "two"}, b"")
    assert inbox.take(0) is None


def test_a_request_that_has_begun_is_waited_for(ends: tuple[Inbox, socket.socket]) -> None:
    inbox, other = ends
    message = request({"do": "one"}, b"x" * 3_000_000)
    other.sendall(message[:20])

    def rest() -> None:
        time.sleep(0.05)
        other.sendall(message[20:])

    threading.Thread(target=rest).start()
    taken = inbox.take(0)
    assert taken is not None
    assert len(taken.body) == 3_000_000


def test_there_is_room_for_the_next_pages_while_one_is_read(ends: tuple[Inbox, socket.socket]) -> None:
    inbox, other = ends
    other.setblocking(False)
    page = request({"do": "check"}, b"x" * 50_000)
    for _ in range(100):
        # No more than one of them is taken, and all that came is received.
        sent = other.send(page)
        assert sent == len(page)
        if inbox.take(0) is None:
            pytest.fail("a request that was sent whole is not there")
        assert other.send(page) == len(page)


def test_the_end_is_told(ends: tuple[Inbox, socket.socket]) -> None:
    inbox, other = ends
    other.sendall(request({"do": "one"}))
    other.close()
    assert inbox.take(None) == ({"do": "one"}, b"")
    with pytest.raises(EOFError):
        inbox.take(None)
