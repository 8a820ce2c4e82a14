from __future__ import annotations

import asyncio
import socket

import pytest

from crawldedup.scrapy_plugin.reading.channel import Channel
from crawldedup.workers.framing import ANSWER, LARGEST_ANSWER


def framed(message: bytes) -> bytes:
    return ANSWER.pack(len(message)) + message


class Ends:
    """A channel and the other end of its socket."""

    def __init__(self) -> None:
        own, self.other = socket.socketpair()
        own.setblocking(False)
        self.messages: list[bytes] = []
        self.ended: list[ValueError | None] = []
        self.has_ended = asyncio.Event()
        self.channel = Channel(self.take, self.end)
        self.channel.connect(own)

    def take(self, message: bytes) -> None:
        self.messages.append(message)
        if message == b"nonsense":
            raise ValueError("it answered nonsense")

    def end(self, nonsense: ValueError | None) -> None:
        self.ended.append(nonsense)
        self.has_ended.set()

    async def messages_after(self, data: bytes) -> list[bytes]:
        self.other.sendall(data)
        for _ in range(10):
            await asyncio.sleep(0)
        return self.messages


def test_messages_are_whole_however_they_come() -> None:
    async def work() -> None:
        ends = Ends()
        for byte in framed(b"one") + framed(b"two" * 100) + framed(b""):
            await ends.messages_after(bytes([byte]))
        assert ends.messages == [b"one", b"two" * 100, b""]
        assert (await ends.messages_after(framed(b"three") + framed(b"four")))[3:] == [b"three", b"four"]
        ends.other.close()
        await ends.has_ended.wait()
        assert ends.ended == [None]

    asyncio.run(work())


def test_what_is_sent_before_it_is_connected_comes_first() -> None:
    async def work() -> None:
        ends = Ends()
        ends.channel.send(b"one ")
        await asyncio.sleep(0.01)
        ends.channel.send(b"two")
        await asyncio.sleep(0.01)
        assert ends.other.recv(100) == b"one two"
        ends.channel.close()

    asyncio.run(work())


def test_what_was_answered_before_the_other_end_died_is_taken_though_a_write_finds_out_first() -> None:
    async def work() -> None:
        ends = Ends()
        await asyncio.sleep(0.01)
        ends.other.sendall(framed(b"one") + framed(b"two"))
        ends.other.close()
        ends.channel.send(b"three")
        await asyncio.wait_for(ends.has_ended.wait(), 10)
        assert ends.messages == [b"one", b"two"]
        assert ends.ended == [None]

    asyncio.run(work())


@pytest.mark.parametrize("nonsense", [framed(b"nonsense"), ANSWER.pack(LARGEST_ANSWER + 1), b"\xff" * 9])
def test_nonsense_is_the_end_and_nothing_behind_it_is_taken(nonsense: bytes) -> None:
    async def work() -> None:
        ends = Ends()
        ends.other.sendall(framed(b"one") + nonsense + framed(b"two"))
        await asyncio.wait_for(ends.has_ended.wait(), 10)
        ends.channel.send(b"into the void")
        for _ in range(10):
            await asyncio.sleep(0)
        assert ends.messages[0] == b"one"
        assert b"two" not in ends.messages
        assert [type(end) for end in ends.ended] == [ValueError]
        assert ends.other.recv(100) == b""

    asyncio.run(work())


def test_one_that_is_closed_neither_takes_messages_nor_tells_of_the_end() -> None:
    async def work() -> None:
        ends = Ends()
        assert await ends.messages_after(framed(b"one")) == [b"one"]
        ends.channel.close()
        ends.channel.close()
        ends.channel.send(b"into the void")
        ends.other.close()
        await asyncio.sleep(0.01)
        early = Ends()
        early.channel.close()
        await asyncio.sleep(0.01)
        assert early.other.recv(100) == b""
        assert (ends.messages, ends.ended, early.ended) == ([b"one"], [], [])

    asyncio.run(work())


def test_writing_to_an_end_that_is_gone_is_no_noise(caplog: pytest.LogCaptureFixture) -> None:
    async def work() -> None:
        ends = Ends()
        await asyncio.sleep(0.01)
        ends.other.close()
        for _ in range(20):
            ends.channel.send(b"page" * 100)
        await asyncio.wait_for(ends.has_ended.wait(), 10)
        assert ends.ended == [None]

    asyncio.run(work())
    assert caplog.text == ""
