from __future__ import annotations

from typing import Any

import fakeredis

from crawldedup.stores.redis.upkeep import SAMPLE, bucket_numbers, measure, remove_epochs
from tests.stores.pages import LAYOUT


def test_every_bucket_has_a_number_and_one_only() -> None:
    for depth, split in ((0, 0), (1, 0), (3, 5), (3, 7)):
        numbers = bucket_numbers(depth, split)
        # Of 2^depth buckets the first `split` are two each.
        assert len(numbers) == 2**depth + split
        starts = sorted(number / 2 ** (number.bit_length() - 1) - 1 for number in numbers)
        assert starts[0] == 0
        assert max(starts) < 1


def test_a_sample_of_the_keys_stands_for_all() -> None:
    asked: list[str] = []

    def send(commands: Any) -> list[Any]:
        if commands[0][0] == "HMGET":
            return [[b"%d" % 10**9, b"%d" % 10**9, b"24", b"0", b"0", b"1"]]
        names = [command[1] for command in commands]
        asked.extend(names)
        # A bucket has 1,000 bytes, a filter 500,000, a list 50,000, a text 500. There is no directory.
        sizes = {"t": 1000, "u": 1000, "f": 500_000, "r": 50_000, "d": None, "x": 500}
        return [sizes[name.split(":")[1][0]] for name in names]

    pages, size, table_bytes = measure(send, ["crawldedup{x}"], 2)
    assert pages == 10**9
    lists = -(-(10**9) // 512)
    assert table_bytes == 2 * (2**24 * 1000 + 2 * 500_000)
    assert size - table_bytes == 2**24 * 1000 + lists * 50_000 + 10**9 * 500
    # A large index has millions of keys.
    assert len(set(asked)) == len(asked) == 6 * SAMPLE + 2 * 2


def test_a_part_that_is_empty_has_no_size() -> None:
    assert measure(lambda commands: [[None] * 6 if c[0] == "HMGET" else None for c in commands], ["x"], 2) == (
        0,
        0,
        0,
    )


def test_only_epochs_that_are_over_are_removed() -> None:
    server = fakeredis.FakeStrictRedis()
    prefix = f"crawldedup:{{{LAYOUT.namespace}}}:"
    kept = {f"{prefix}m", f"{prefix}13:r:0", "crawldedup:{other}:5:r:0", f"{prefix}c"}
    for key in (*kept, f"{prefix}12:r:0", f"{prefix}2:t0:1", f"{prefix}9:f1:0"):
        server.set(key, "1")
    remove_epochs(
        lambda commands: [server.execute_command(*command) for command in commands],
        [server],
        "crawldedup:*",
        {prefix: 12},
    )
    assert {key.decode() for key in server.scan_iter()} == kept
