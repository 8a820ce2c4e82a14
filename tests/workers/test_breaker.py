from __future__ import annotations

from crawldedup.workers.breaker import Breaker


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def pause_after_failure(breaker: Breaker, clock: Clock) -> float:
    breaker.failed()
    start = clock.now
    while not breaker.allows():
        clock.now += 0.25
    return clock.now - start


def test_failures_double_the_pause_up_to_a_limit() -> None:
    clock = Clock()
    breaker = Breaker(clock=clock)
    assert breaker.allows()
    assert [pause_after_failure(breaker, clock) for _ in range(7)] == [0.5, 1, 2, 4, 8, 15, 15]


def test_a_success_ends_the_pause_and_resets_it() -> None:
    clock = Clock()
    breaker = Breaker(clock=clock)
    for _ in range(5):
        breaker.failed()
    breaker.succeeded()
    assert breaker.allows()
    assert pause_after_failure(breaker, clock) == 0.5
