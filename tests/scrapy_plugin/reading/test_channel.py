from __future__ import annotations

import asyncio
import pickle
import socket
from typing import Any

import pytest

from crawldedup.scrapy_plugin.reading.channel import Channel
from crawldedup.scrapy_plugin.reading.worker import HEAD


def framed(message: object) -> bytes:
    data = pickle.dumps(message)
    return HEAD.pack(len(data)) + data


class Ends:
    """A channel and the other end of its socket."""

    def __init__(self) -> None:
        own, self.other = socket.socketpair()
        self.messages: list[Any] = []
        self.has_ended = asyncio.Event()
        self.channel = Channel(own, self.take, self.has_ended.set)

    def take(self, message: Any) -> None:
        self.messages.append(message)
        if message == "raise":
            raise ZeroDivisionError

    async def messages_after(self, data: bytes) -> list[Any]:
        self.other.sendall(data)
        for _ in range(10):
            await asyncio.sleep(0)
        return self.messages


def test_messages_are_whole_however_they_come() -> None:
    async def work() -> None:
        ends = Ends()
        data = framed("one") + framed(["two"] * 100)
        for byte in data:
            await ends.messages_after(bytes([byte]))
        assert ends.messages == ["one", ["two"] * 100]
        assert (await ends.messages_after(framed("three") + framed("four")))[2:] == ["three", "four"]
        ends.other.close()
        await ends.has_ended.wait()

    asyncio.run(work())


def test_a_message_that_troubles_its_receiver_comes_once() -> None:
    async def work() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda loop, context: None)
        ends = Ends()
        await ends.messages_after(framed("raise") + framed("next"))
        assert await ends.messages_after(framed("last")) == ["raise", "next", "last"]
        ends.channel.close()

    asyncio.run(work())


@pytest.mark.parametrize("nonsense", [b"\0\0\0\5hello", HEAD.pack(3) + b"abc"])
def test_what_is_no_message_is_the_end(nonsense: bytes) -> None:
    async def work() -> None:
        ends = Ends()
        ends.other.sendall(nonsense)
        await asyncio.wait_for(ends.has_ended.wait(), 10)
        ends.channel.send("into the void")

    asyncio.run(work())
