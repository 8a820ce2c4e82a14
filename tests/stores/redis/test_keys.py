from __future__ import annotations

import fakeredis

from crawldedup.stores.redis.keys import SAMPLE, Names, bucket_names, sample
from crawldedup.stores.redis.upkeep import remove_epochs
from tests.stores.pages import LAYOUT


def test_every_bucket_has_a_name_and_one_only() -> None:
    for depth, split in ((0, 0), (1, 0), (3, 5), (3, 7)):
        names = [f"{some.stem}{number}" for some in bucket_names("t0:", depth, split) for number in some.numbers]
        # Of 2^depth buckets the first `split` are two each.
        assert len(set(names)) == len(names) == 2**depth + split
        ranges = sorted((int(name[3:]) / 2 ** (int(name[3:]).bit_length() - 1) - 1) for name in names)
        assert ranges[0] == 0
        assert max(ranges) < 1


def test_a_sample_is_of_all_names() -> None:
    names = [Names("a", range(3)), Names("b", range(0)), Names("c", range(5, 7))]
    assert sorted(sample(names)[0]) == ["a0", "a1", "a2", "c5", "c6"]
    assert sample([]) == ([], 0)
    chosen, count = sample([Names("a", range(10**12))])
    assert (len(set(chosen)), count) == (SAMPLE, 10**12)


def test_only_epochs_that_are_over_are_removed() -> None:
    server = fakeredis.FakeStrictRedis()
    prefix = f"crawldedup:{{{LAYOUT.namespace}}}:"
    kept = {f"{prefix}m", f"{prefix}13:r:0", "crawldedup:{other}:5:r:0", f"{prefix}c"}
    for key in (*kept, f"{prefix}12:r:0", f"{prefix}2:t0:1", f"{prefix}9:f1:0"):
        server.set(key, "1")
    remove_epochs(server, prefix, 12)
    assert {key.decode() for key in server.scan_iter()} == kept
