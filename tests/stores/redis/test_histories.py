"""Crawlers get the answers of the rules although the network loses and delays what they say, and
although a replica that lags behind takes the master's place.

A history is a random schedule: steps of several crawlers, and what becomes of each on the network.
The reference store plays it as well, without a network, by the commands that the server ran. Pages
that are asked about twice, because an answer was lost, may get other answers than they would have
got at once, but none may be lost.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from functools import partial
from itertools import count
from typing import Any, Final, NamedTuple

import pytest
import redis
from hypothesis import given, settings
from hypothesis import strategies as st

from crawldedup.errors import StoreUnavailableError
from crawldedup.stores.contract import Answer, Query, Retention
from crawldedup.stores.redis import calls
from crawldedup.stores.redis.connection import Connection
from crawldedup.stores.redis.store import RedisStore
from crawldedup.verdict import Kind
from tests.servers import RedisServer
from tests.stores.backends import Clock
from tests.stores.pages import LAYOUT, name_of
from tests.stores.reference import Attempt, ReferenceIndex, ReferenceStore
from tests.stores.steps import (
    CRAWLERS,
    NO_ANSWER,
    TEXTS,
    URLS,
    Step,
    answer_of,
    one_of_steps,
    promised,
    queries_of,
    question,
    retentions,
)

Command = Callable[[], list[Any]]

CHECKS: Final = ("check", "many")
NIGHTLY: Final = [pytest.mark.nightly, pytest.mark.timeout(3600)]


class Event(NamedTuple):
    """A step, and what becomes of its commands on the network.

    sound        All are run, and answered.
    cut          The connection breaks behind some of them; the client asks again.
    unanswered   Some are run, and no answer comes in time.
    late         No answer comes in time, and all are run after another step.
    interleaved  Some are run, then another step of another crawler, and then the others.
    """

    step: Step
    network: str
    some: int  # commands
    other: Step


events = st.builds(
    Event,
    step=one_of_steps(
        [
            *["check"] * 16,
            *["many"] * 6,
            *["find", "forget", "deliver", "close", "die", "remembered", "look", "uncover"] * 2,
            *["cover", "wait", "replicate", "fail over"] * 3,
            *["open", "heartbeat"],
        ]
    ),
    network=st.sampled_from(["sound"] * 4 + ["cut", "unanswered", "late", "interleaved"]),
    some=st.integers(0, 4),
    other=one_of_steps(["check", "check", "many", "forget", "deliver", "cover"]),
)
histories = st.lists(events, min_size=6, max_size=20)


class Player:
    """Plays histories with up to CRAWLERS crawlers. Their answers are what is compared."""

    def __init__(self, retention: Retention) -> None:
        self.clock = Clock()
        self.retention = retention
        self.crawlers: dict[int, Any] = {}

    def new_store(self) -> Any:
        raise NotImplementedError

    def ask(self, event: Event) -> list[Any]:
        """Return the answer to a step, and that to the other step, if there is one."""
        raise NotImplementedError

    def replicate(self) -> None:
        """Copy all to the replica."""
        raise NotImplementedError

    def fail_over(self) -> None:
        """Let the replica replace the master, with the last data that it received."""
        raise NotImplementedError

    def crawler(self, number: int) -> Any:
        """Return the open store of a crawler."""
        if number not in self.crawlers:
            self.crawlers[number] = self.new_store()
            self.crawlers[number].open()
        return self.crawlers[number]

    def answers(self, history: Sequence[Event]) -> list[Any]:
        """Return the answers to the steps, and then what the index holds."""
        try:
            self.crawler(0)
            self.replicate()
            answers = [self._answers(event) for event in history]
            keeper, last = self.crawler(0), history[-1].step
            held = keeper.remembered([name_of(url) for url in URLS], self.retention)
            texts = [last._replace(text=text) for text in range(len(TEXTS))]
            found = keeper.find([question(text, self.retention) for text in texts])
            return [*answers, held, found]
        finally:
            for store in self.crawlers.values():
                store.close()

    def _answers(self, event: Event) -> list[Any]:
        step = event.step
        match step.what:
            case "wait":
                self.clock.wait(step.seconds)
            case "replicate":
                self.replicate()
            case "fail over":
                self.fail_over()
            case "die":
                # Its lease stays behind.
                self.crawlers.pop(step.crawler, None)
            case "close":
                self.crawler(step.crawler).close()
                del self.crawlers[step.crawler]
            case "open":
                self.crawler(step.crawler).open()
            case _:
                return self.ask(self._possible(event))
        return []

    def _possible(self, event: Event) -> Event:
        """Return the event with what the network can do to it, and open both crawlers.

        Only a check has commands that others could come between, from another crawler.
        """
        step, other = event.step, event.other
        if event.network == "interleaved" and step.what not in CHECKS:
            event = event._replace(network="sound")
        if event.network == "interleaved" and step.crawler == other.crawler:
            other = other._replace(crawler=(step.crawler + 1) % CRAWLERS)
        self.crawler(step.crawler)
        self.crawler(other.crawler)
        return event._replace(other=other)


class Rules(Player):
    """Plays on the reference store, which runs the commands that a server would run."""

    def __init__(self, retention: Retention) -> None:
        super().__init__(retention)
        self.repetitions: list[Repetition] = []
        self._index = ReferenceIndex()
        self._replica = ReferenceIndex()

    def new_store(self) -> ReferenceStore:
        return ReferenceStore(self._index, LAYOUT, self.clock)

    def replicate(self) -> None:
        self._replica = copy.deepcopy(self._index)

    def fail_over(self) -> None:
        # No number is given twice.
        self._replica.crawlers = self._index.crawlers
        self._restore(self._replica)

    def _restore(self, index: ReferenceIndex) -> None:
        vars(self._index).update(vars(copy.deepcopy(index)))

    def ask(self, event: Event) -> list[Any]:
        commands = self._commands(event.step)
        number = len(queries_of(event.step, self.retention)) if event.step.what in CHECKS else 1
        no_answers = [NO_ANSWER] * number
        match event.network:
            case "unanswered":
                run(commands[: event.some])
                return [no_answers]
            case "late":
                other = self._other(event)
                run(commands)
                return [no_answers, other]
            case "interleaved":
                first = run(commands[: event.some])
                other = self._other(event)
                return [first + run(commands[event.some :]), other]
            case "cut":
                return [self._asked_twice(event)]
        return [run(commands)]

    def _asked_twice(self, event: Event) -> list[Any]:
        """Run some commands, whose answers are lost, and then all of them as a client does."""
        before = copy.deepcopy(self._index)
        at_once = run(self._commands(event.step))
        self._restore(before)
        run(self._commands(event.step)[: event.some])
        repeated = run(self._commands(event.step, is_repeated=True))
        if event.step.what in CHECKS:
            queries = queries_of(event.step, self.retention)
            self.repetitions.append(Repetition(queries, at_once, repeated))
        return repeated

    def _other(self, event: Event) -> Any:
        return answer_of(self.crawler(event.other.crawler), event.other, self.retention)

    def _commands(self, step: Step, *, is_repeated: bool = False) -> list[Command]:
        """Return what is run of a step, one by one: first all deliveries, then each check."""
        store = self.crawler(step.crawler)
        if step.what not in CHECKS:
            return [lambda: [answer_of(store, step, self.retention)]]
        queries = queries_of(step, self.retention)
        delivered = [name for query in queries for name in query.delivered]
        commands: list[Command] = []
        if delivered:
            commands.append(lambda: store.deliver(delivered) or [])
        if not is_repeated:
            self._index.counted_place = -1
        earlier: set[int] = set()
        for place, query in enumerate(queries):
            url_key = query.record.url_key
            attempt = Attempt(
                place=place if len(queries) > 1 else None,
                is_repeated=is_repeated and url_key not in earlier,
            )
            commands.append(partial(self._checked, store, query, attempt))
            earlier.add(url_key)
        return commands

    def _checked(self, store: ReferenceStore, query: Query, attempt: Attempt) -> list[Any]:
        return [promised(store.check_once(query, attempt), self.retention)]


class Repetition(NamedTuple):
    """Pages that were asked about twice, with the answers that they would have got at once."""

    queries: Sequence[Query]
    at_once: Sequence[Answer]
    repeated: Sequence[Answer]

    def lost(self) -> list[Query]:
        """Return the pages that would have come through, and of which nothing does.

        Of a copy, and of a page that is known, something comes if the page whose content it has
        comes with the batch.
        """
        contents_that_come = {
            (query.record.url_key, query.record.digest)
            for query, answer in zip(self.queries, self.repeated, strict=True)
            if comes(answer)
        }
        lost: list[Query] = []
        for query, at_once, repeated in zip(*self, strict=True):
            held = repeated.record
            is_kept = held is not None and (held.url_key, held.digest) in contents_that_come
            if comes(at_once) and not comes(repeated) and not is_kept:
                lost.append(query)
        return lost


def comes(answer: Answer) -> bool:
    """Return whether a page comes through."""
    return answer.kind is Kind.NEW or answer.changed or answer.abandoned or answer.replaces


def run(commands: Sequence[Command]) -> list[Any]:
    """Return the answers of all commands."""
    return [answer for command in commands for answer in command()]


class Network(Player):
    """Plays on a Redis store. The replica is another database of the server."""

    def __init__(self, retention: Retention, server: RedisServer) -> None:
        super().__init__(retention)
        self._url = server.url
        self._places = [redis.Redis(port=server.port, db=database) for database in range(2)]
        self._event: Event | None = None
        self._other_answers: list[Any] = []

    @property
    def master(self) -> redis.Redis:
        return self._places[0]

    def new_store(self) -> RedisStore:
        return RedisStore(self._url, LAYOUT, clock=self.clock)

    def replicate(self) -> None:
        master, replica = self._places
        database = replica.get_connection_kwargs()["db"]
        replica.flushdb()
        for key in master.scan_iter():
            master.copy(key, key, destination_db=database)

    def fail_over(self) -> None:
        self._places.reverse()
        self.replicate()
        # A replica may not have the scripts.
        self.master.script_flush()

    def ask(self, event: Event) -> list[Any]:
        store = self.crawler(event.step.crawler)
        self._event = event
        self._other_answers = []
        answers: Any
        try:
            answers = answer_of(store, event.step, self.retention)
        except StoreUnavailableError:
            answers = NO_ANSWER
        if event.step.what not in CHECKS:
            answers = [answers]
        return [answers, *self._other_answers]

    def exchange(self, batches: Sequence[calls.Commands]) -> list[list[Any]]:
        """Take the place of the exchange with the server, and do what the event says."""
        event = self._event
        if event is None or not batches:
            return calls.exchange(
                [calls.Commands(self.master, commands) for _, commands in batches]
            )
        self._event = None
        ((_, commands),) = batches
        match event.network:
            case "cut":
                self._run(commands[: event.some])
                return [[redis.ConnectionError("cut")] * len(commands)]
            case "unanswered":
                self._run(commands[: event.some])
                return [[redis.TimeoutError("unanswered")] * len(commands)]
            case "late":
                self._take_other_step(event.other)
                self._run(commands)
                return [[redis.TimeoutError("late")] * len(commands)]
            case "interleaved":
                first = self._run(commands[: event.some])
                self._take_other_step(event.other)
                return [first + self._run(commands[event.some :])]
        return [self._run(commands)]

    def _run(self, commands: list[calls.Command]) -> list[Any]:
        return calls.exchange([calls.Commands(self.master, commands)])[0] if commands else []

    def _take_other_step(self, step: Step) -> None:
        store = self.crawler(step.crawler)
        self._other_answers.append(answer_of(store, step, self.retention))


@pytest.mark.parametrize("examples", [25, pytest.param(None, marks=NIGHTLY)])
def test_no_answer_differs_whatever_the_network_does(
    redis_server: RedisServer,
    monkeypatch: pytest.MonkeyPatch,
    request: pytest.FixtureRequest,
    examples: int | None,
) -> None:
    @settings(
        max_examples=examples or request.config.getoption("histories"), deadline=None, database=None
    )
    @given(history=histories, retention=retentions)
    def play(history: list[Event], retention: Retention) -> None:
        redis_server.client.flushall()
        network = Network(retention, redis_server)
        monkeypatch.setattr("crawldedup.stores.redis.connection.exchange", network.exchange)
        # Two crawlers that meet have one number by chance, once in a thousand times.
        numbers = count(1)
        monkeypatch.setattr("secrets.randbelow", lambda below: next(numbers) % below)
        monkeypatch.setattr(Connection, "_server", lambda connection, prefix: network.master)
        rules = Rules(retention)
        assert network.answers(history) == rules.answers(history)
        for repetition in rules.repetitions:
            assert not repetition.lost()

    play()
