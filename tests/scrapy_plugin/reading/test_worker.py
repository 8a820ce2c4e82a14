"""What a worker does with the requests that wait for it: no processes here."""

from __future__ import annotations

import contextlib
import json
import sqlite3
from typing import TYPE_CHECKING, Any

import pytest

from crawldedup import Deduplicator
from crawldedup.errors import (
    CrawlDedupError,
    KeyMismatchError,
    ProfileMismatchError,
    StoreFullError,
    StoreUnavailableError,
)
from crawldedup.options import Options
from crawldedup.reader import PageReader
from crawldedup.scrapy_plugin.reading import worker as worker_module
from crawldedup.scrapy_plugin.reading.messages import Done, Job, Judged, answer_from
from crawldedup.scrapy_plugin.reading.worker import Worker
from crawldedup.stores.base import CrawlSession
from crawldedup.stores.process import own_process
from crawldedup.verdict import Kind, Verdict
from crawldedup.workers.breaker import Breaker
from crawldedup.workers.framing import ANSWER, REQUEST, UnexpectedReadError, answer
from crawldedup.workers.inbox import Request
from tests.attacks.forging import bytes_like
from tests.scrapy_plugin.website import article

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.servers import RedisServer

TEXTS = [" ".join(f"{name}{number}" for number in range(60)) for name in ("alpha", "beta", "gamma")]
DOWN = StoreUnavailableError("The store refuses the connection.")


def page(name: str, text: str = TEXTS[0], **rules: Any) -> Request:
    return request_of(Job(f"https://e.com/{name}", f"<p>{text}".encode(), **rules))


def request_of(job: Job) -> Request:
    message = job.request()
    head, _ = REQUEST.unpack_from(message)
    middle = REQUEST.size + head
    return Request(json.loads(message[REQUEST.size : middle]), message[middle:])


def do(what: str, **header: Any) -> Request:
    return Request({"do": what, **header}, b"")


class FakeInbox:
    """Holds groups of requests; those of a group wait behind one another."""

    def __init__(self, groups: list[list[Request]]) -> None:
        self.groups = [[*group, None] for group in groups]

    def take(self, timeout_seconds: float | None) -> Request | None:
        while self.groups and not self.groups[0]:
            del self.groups[0]
        if not self.groups:
            raise EOFError
        return self.groups[0].pop(0)


class FakeProgress:
    def __init__(self) -> None:
        self.steps: list[str] = []

    def begin(self) -> None:
        self.steps.append("begin")

    def read(self) -> None:
        self.steps.append("read")

    def ask_store(self) -> None:
        self.steps.append("ask")

    def rest(self) -> None:
        self.steps.append("rest")


class Served:
    """A worker on a file, the answers that it gave, and what its Deduplicator was asked."""

    def __init__(self, folder: Path, **setup: Any) -> None:
        given = {"store": f"sqlite:///{folder}/index.sqlite", "extractor": "text", **setup.pop("options", {})}
        self.options = Options(**given)
        self.progress = FakeProgress()
        self.told: list[Any] = []
        self.judged: list[Judged] = []
        self.worker = Worker(
            {
                "options": {"store": self.options.store, **self.options.index_values()},
                "session": [0, "host:1:"],
                "stays": True,
                **setup,
            },
            self.tell,
            self.progress,  # type: ignore[arg-type]
        )

    def tell(self, value: object) -> None:
        told = answer_from(answer(value)[ANSWER.size :])
        if isinstance(told, Judged):
            self.judged.append(told)
            self.told.append(told.verdict)
        else:
            self.told.append(told)

    def serve(self, *groups: list[Request]) -> list[Any]:
        """Return the answers to groups of requests, without the sessions that are told in between."""
        before = len(self.told)
        with contextlib.suppress(EOFError):
            self.worker.serve(FakeInbox([*groups]))  # type: ignore[arg-type]
        return [told for told in self.told[before:] if not isinstance(told, CrawlSession)]

    def kinds(self, *groups: list[Request]) -> list[str]:
        """The same, in words."""
        return [in_words(told) for told in self.serve(*groups)]


def in_words(told: object) -> str:
    if isinstance(told, Verdict):
        return str(told.kind)
    return told.counter if isinstance(told, CrawlDedupError) else "done"


@pytest.fixture(autouse=True)
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """However busy the machine, a batch is held back until all that waits is read."""
    monkeypatch.setattr(worker_module, "_BATCH_SECONDS", 100)
    monkeypatch.setattr(worker_module, "_LEAST_SECONDS", 100)


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    served = Served(tmp_path)
    yield served
    served.worker._dedup.close()


class Spy:
    """Counts what a Deduplicator is asked, and raises the errors that it is given."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.calls: list[str] = []
        self.errors: list[Exception | None] = []
        for name in ("check_many", "check_fingerprint", "heartbeat", "open", "close"):
            monkeypatch.setattr(Deduplicator, name, self.wrapped(name, getattr(Deduplicator, name)))

    def wrapped(self, name: str, method: Any) -> Any:
        def call(dedup: Deduplicator, *args: Any, **kwargs: Any) -> Any:
            self.calls.append(f"{name} {kwargs['batch']}" if "batch" in kwargs else name)
            if name.startswith("check") and self.errors and (error := self.errors.pop(0)) is not None:
                raise error
            return method(dedup, *args, **kwargs)

        return call

    def count(self, name: str) -> int:
        return [call.split()[0] for call in self.calls].count(name)


@pytest.fixture
def spy(monkeypatch: pytest.MonkeyPatch) -> Spy:
    return Spy(monkeypatch)


def test_pages_that_wait_behind_one_another_are_asked_about_in_one_round_trip(spy: Spy, tmp_path: Path) -> None:
    served = Served(tmp_path)
    group = [page("a"), page("b"), page("c", TEXTS[1]), page("a")]
    assert served.kinds(group, [page("d")]) == ["new", "exact_duplicate", "new", "revisit", "exact_duplicate"]
    assert [call for call in spy.calls if "check" in call] == ["check_many 4", "check_many 1"]
    assert served.progress.steps == [
        "rest",
        "begin",
        "ask",
        "read",
        *["begin"] * 3,
        "ask",
        "rest",
        "begin",
        "ask",
        "rest",
    ]


def test_only_a_page_that_names_an_original_is_asked_about_alone(spy: Spy, tmp_path: Path) -> None:
    usual = {"links": (), "is_lenient": True}
    named = request_of(Job("https://e.com/b", article(1, head="<link rel=canonical href=/a>").body, **usual))
    Served(tmp_path).serve([page("a", **usual), page("c", **usual), named, page("d", **usual)])
    calls = [call for call in spy.calls if "check" in call]
    assert calls == ["check_many 2", "check_fingerprint", "check_many 1"]


def test_a_batch_has_an_end(spy: Spy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    served = Served(tmp_path)
    assert len(served.serve([page(str(number)) for number in range(40)])) == 40
    assert [call for call in spy.calls if "check" in call] == ["check_many 16", "check_many 16", "check_many 8"]
    spy.calls.clear()
    # One that took its time to read is answered before the next is read.
    monkeypatch.setattr(worker_module, "_BATCH_SECONDS", 0)
    assert len(served.serve([page(str(number)) for number in range(3)])) == 3
    assert [call for call in spy.calls if "check" in call] == ["check_many 1"] * 3


def test_answers_come_in_the_order_of_the_requests(served: Served) -> None:
    group = [
        page("a"),
        page("deep", "<div>" * 300),
        page("look", remember=False),
        page("b", TEXTS[1]),
        do("forget", url="https://e.com/b", identity=None, scope_key=None),
        page("c", TEXTS[1]),
        page("print", TEXTS[1], links=()),
    ]
    answers = served.serve(group)
    assert [getattr(told, "url", type(told).__name__) for told in answers] == [
        "https://e.com/a",
        "PageError",
        "https://e.com/look",
        "https://e.com/b",
        "Done",
        "https://e.com/c",
        "https://e.com/print",
    ]
    # What was forgotten is new in another place.
    assert [told.kind for told in answers if isinstance(told, Verdict)] == [
        Kind.NEW,
        Kind.EXACT_DUPLICATE,
        Kind.NEW,
        Kind.NEW,
        Kind.EXACT_DUPLICATE,
    ]


def test_every_form_of_a_page_is_read_as_what_it_is(served: Served) -> None:
    latin = f"<p>{'Grüße ' * 30}".encode("latin-1")
    jobs = [
        Job("https://e.com/html", latin, "latin-1"),
        Job("https://e.com/text", latin, "latin-1", form="text"),
        Job("https://e.com/wrong", latin, "utf-8", form="text"),
        Job("https://e.com/item", f"A title\x1e<p>{TEXTS[0]}</p>".encode(), form="fields"),
    ]
    html, text, wrong, item = served.serve([request_of(job) for job in jobs])
    assert (html.kind, html.words, text.words, wrong.kind) == (Kind.NEW, 30, 31, Kind.NEW)
    assert item.words == 62


def test_a_page_that_is_only_looked_at_changes_nothing(served: Served) -> None:
    assert served.kinds([do("look")], [page("a", remember=False)], [page("b", remember=False)]) == [
        "done",
        "new",
        "new",
    ]
    assert served.worker._dedup.session is None
    assert served.told == [told for told in served.told if not isinstance(told, CrawlSession)]


def test_a_page_that_names_its_original_is_compared_more_leniently(served: Served) -> None:
    def printed(name: str, head: str = "", links: tuple[str, ...] | None = None) -> Request:
        body = article(1, changed_words=10, head=head).body
        rules = {"links": links, "is_lenient": links is not None}
        return request_of(Job(f"https://e.com/{name}", body, **rules, remember=False))

    original = request_of(Job("https://e.com/a", article(1).body))
    by_header = printed("b", links=("<https://e.com/a>; rel=canonical",))
    by_page = printed("c", head="<link rel=canonical href='/a'>", links=())
    unasked = printed("d", head="<link rel=canonical href='/a'>")
    assert served.kinds([original, by_header, by_page, unasked]) == ["new", "near_duplicate", "near_duplicate", "new"]


def test_a_page_that_names_another_as_its_original_has_a_worse_rank(served: Served) -> None:
    def copy(name: str, rank: int | None, head: str = "", links: tuple[str, ...] | None = ()) -> Request:
        return request_of(Job(f"https://e.com/{name}", article(1, head=head).body, rank=rank, links=links))

    names_a = "<link rel=canonical href='/a'>"
    asked = [copy("b", 0, names_a), copy("c", 0, names_a), copy("d", 1), copy("a", 0, names_a), copy("e", 0, names_a)]
    verdicts = [told for told in served.serve(asked) if isinstance(told, Verdict)]
    assert [verdict.replaces for verdict in verdicts] == [False, False, False, True, False]


def test_rules_of_a_page_count(served: Served) -> None:
    near = TEXTS[0].replace("alpha30", "other")
    strict = served.kinds([page("a"), page("b", near, similarity=1), page("c", identity="GET https://e.com/a")])
    assert strict == ["new", "new", "exact_duplicate"]


def test_a_page_with_the_public_hash_of_anothers_bytes_is_read_for_itself(served: Served) -> None:
    spam, text = (f"<p>{text}</p>".encode() for text in TEXTS[:2])
    victim = text + b" " * len(spam)
    asked = [Job(f"https://e.com/{body[3:5]!r}", body) for body in (bytes_like(victim, spam), victim)]
    assert served.kinds([request_of(job) for job in asked]) == ["new", "new"]


@pytest.mark.usefixtures("own_keys")
def test_pages_on_their_way_pass_when_the_index_is_begun_again_with_another_key(tmp_path: Path) -> None:
    served = Served(tmp_path)
    url = served.worker._options.store
    assert served.kinds([page("a")]) == ["new"]
    with contextlib.closing(Deduplicator(url, extractor="text")) as dedup:
        dedup.clear()
    with Deduplicator(url, extractor="text") as other:
        other.check("https://e.com/z", text="something else")
    assert [type(told) for told in served.serve([page("a"), page("b", TEXTS[1])])] == [KeyMismatchError] * 2
    assert served.kinds([page("a"), page("b", TEXTS[1]), page("c")]) == ["new", "new", "exact_duplicate"]


@pytest.mark.parametrize("error", [ZeroDivisionError("bad"), SystemExit(3), KeyboardInterrupt()])
def test_whatever_reading_raises_is_one_pages_trouble(
    served: Served, error: BaseException, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: Any) -> Any:
        raise error

    with monkeypatch.context() as patch:
        patch.setattr(PageReader, "content", broken)
        (told,) = served.serve([page("a")])
    assert isinstance(told, UnexpectedReadError)
    assert told.kind == type(error).__name__
    assert served.kinds([page("a")]) == ["new"]


def test_a_store_that_is_down_is_left_alone_for_a_while(
    spy: Spy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 0.0
    monkeypatch.setattr("crawldedup.scrapy_plugin.reading.worker.Breaker", lambda: Breaker(clock=lambda: now))
    served = Served(tmp_path)
    spy.errors = [DOWN, DOWN]
    # All that wait for the same answer pass.
    assert served.kinds([page("a"), page("b")], [page("c")], [page("look", remember=False)]) == ["unavailable"] * 4
    assert spy.count("check_many") + spy.count("check_fingerprint") == 1
    now = 0.5
    assert served.kinds([page("d")]) == ["unavailable"]
    now = 1.4
    assert served.kinds([page("e")]) == ["unavailable"]
    assert spy.count("check_many") == 2
    now = 1.5
    assert served.kinds([page("f")], [page("g")]) == ["new", "exact_duplicate"]


def test_a_full_store_is_asked_about_the_next_page_all_the_same(spy: Spy, tmp_path: Path) -> None:
    served = Served(tmp_path)
    spy.errors = [StoreFullError("The disk is full.")]
    assert served.kinds([page("a")], [page("b")]) == ["full", "new"]


def test_an_error_of_one_page_costs_those_behind_it_nothing(tmp_path: Path, session_redis: RedisServer) -> None:
    session_redis.client.flushall()
    served = Served(tmp_path, options={"store": session_redis.url})
    assert served.kinds([page("a")]) == ["new"]
    batch = [page("a-copy"), page("b", TEXTS[1]), page("a"), page("c", TEXTS[2])]
    session_redis.client.config_set("maxmemory", 1)
    try:
        # A full server still knows what it knows.
        assert served.kinds(batch) == ["exact_duplicate", "full", "revisit", "full"]
    finally:
        session_redis.client.config_set("maxmemory", 0)
    assert served.kinds(batch) == ["exact_duplicate", "new", "revisit", "new"]
    served.worker._dedup.close()


def test_a_verdict_tells_how_long_the_page_was_read_and_the_store_asked(tmp_path: Path) -> None:
    served = Served(tmp_path)
    served.serve([page("a"), page("b"), page("c", similarity=0.8, remember=False)])
    (first, *copies) = served.judged
    assert min(first.reading, first.store) > 0
    # Nobody reads the same bytes twice.
    assert [(each.reading, each.store > 0) for each in copies] == [(0, True)] * 2


def test_texts_are_told_by_their_digests(served: Served) -> None:
    served.serve([page("a"), page("b", TEXTS[1]), page("a", TEXTS[1])])
    first, second, changed = (each.digest for each in served.judged)
    assert second == changed
    assert first not in (second, 0)


def blocked(name: str, number: int) -> Request:
    return page(name, f"{TEXTS[2]} request {number} was refused")


def test_known_pages_with_one_text_have_one_face(served: Served) -> None:
    served.serve([page("a"), page("b", TEXTS[1])], [blocked("a", 1), blocked("b", 2)], [blocked("a", 1), page("b")])
    faces = [each.face for each in served.judged]
    assert faces[:2] == [0, 0]
    assert faces[2] == faces[3] == served.judged[2].digest != served.judged[3].digest
    assert faces[4:] == [faces[2], served.judged[0].digest]


def sold(name: str, price: str, *, text: str = TEXTS[0], **job: Any) -> Request:
    html = f"<h1>Tide book</h1><p class=price>&pound; {price}</p><p>{text}</p><button>Add to basket</button>"
    return page(name, html, form="html", **job)


def kept_apart(served: Served) -> list[bool]:
    return [each.kept_apart for each in served.judged]


def test_new_pages_that_only_their_product_keeps_apart_are_told(served: Served) -> None:
    batch = [sold("a", "12"), sold("b", "13"), sold("c", "13"), sold("d", "14"), sold("e", "14", text=TEXTS[1])]
    assert served.kinds(batch) == ["new", "new", "exact_duplicate", "new", "new"]
    assert kept_apart(served) == [False, True, False, True, False]


def test_only_pages_of_one_scope_are_kept_apart(served: Served) -> None:
    served.serve([sold("a", "12", scope_key="x"), sold("b", "13", scope_key="y"), sold("c", "14", scope_key="x")])
    assert kept_apart(served) == [False, False, True]


def test_a_page_that_is_asked_about_twice_is_kept_apart_once(served: Served) -> None:
    served.serve([sold("a", "12"), sold("b", "13"), sold("b", "13"), sold("c", "14", remember=False)])
    assert kept_apart(served) == [False, True, False, False]


def test_all_products_are_one_where_nothing_is_told_apart(tmp_path: Path) -> None:
    served = Served(tmp_path, options={"distinguish": "nothing"})
    assert served.kinds([sold("a", "12"), sold("b", "13")]) == ["new", "near_duplicate"]
    assert kept_apart(served) == [False, False]
    served.worker._dedup.close()


def test_the_pages_of_the_index_are_told_at_the_start(tmp_path: Path) -> None:
    for pages, request in enumerate((do("look"), do("open"), do("look"))):
        served = Served(tmp_path)
        served.serve([request])
        assert served.told[-1] == Done(pages)
        served.serve([page(str(pages), text=TEXTS[pages])])
        served.worker._dedup.close()


def test_an_index_of_another_profile_is_refused_by_every_request(tmp_path: Path) -> None:
    with Deduplicator(f"sqlite:///{tmp_path}/index.sqlite", extractor="trafilatura") as other:
        other.check("https://e.com/", text=TEXTS[0])
    served = Served(tmp_path)
    for request in (do("open"), do("look"), page("a"), page("a", remember=False)):
        (told,) = served.serve([request])
        assert isinstance(told, ProfileMismatchError)
        assert "trafilatura" in str(told)


def test_the_session_is_told_once_and_all_workers_of_it_are_one_crawler(tmp_path: Path) -> None:
    first = Served(tmp_path)
    assert first.serve([do("open")], [page("a")]) == [Done(0), first.told[-1]]
    (session,) = [told for told in first.told if isinstance(told, CrawlSession)]
    assert session.process == "host:1:"
    second = Served(tmp_path, session=[session.number, session.process])
    third = Served(tmp_path)
    joined = do("join", session=[session.number, session.process])
    # The same URL in another worker is a revisit; in another crawler of the crawl it would be a copy.
    assert second.kinds([page("a")]) == third.kinds([joined, page("a")])[1:] == ["revisit"]
    other = Served(tmp_path)
    assert other.kinds([page("a")]) == ["exact_duplicate"]
    for each in (first, second, third, other):
        each.worker._dedup.close()


def test_the_last_to_close_ends_the_lease_even_if_it_was_never_asked(tmp_path: Path) -> None:
    def leases() -> int:
        with contextlib.closing(sqlite3.connect(tmp_path / "index.sqlite")) as db:
            (count,) = db.execute("SELECT count(*) FROM crawlers").fetchone()
            return int(count)

    first = Served(tmp_path, session=[0, own_process()])
    first.serve([page("a")])
    (session,) = [told for told in first.told if isinstance(told, CrawlSession)]
    idle = Served(tmp_path, session=[session.number, session.process])
    assert leases() == 1
    assert first.serve([do("close", leave=False, names=[]), page("never")]) == [Done(1)]
    assert leases() == 1
    (done,) = idle.serve([do("close", leave=True, names=[])])
    assert isinstance(done, Done)
    assert int(done.note) > 0
    assert leases() == 0


def test_one_that_does_not_stay_leaves_the_crawl_after_each_page(spy: Spy, tmp_path: Path) -> None:
    served = Served(tmp_path, stays=False)
    assert served.kinds([page("a")], [page("a")], [page("b", remember=False)]) == ["new", "revisit", "exact_duplicate"]
    assert served.worker._dedup.session is None
    # Its next visit is another crawl.
    assert not [told for told in served.told if isinstance(told, CrawlSession)]
    assert (spy.count("open"), spy.count("close")) == (2, 2)


def test_the_store_hears_from_an_idle_crawler_now_and_then(spy: Spy, tmp_path: Path) -> None:
    served = Served(tmp_path)
    served.serve([], [])
    assert spy.count("heartbeat") == 0
    served.serve([do("open")], [], [])
    assert spy.count("heartbeat") == 2
