"""The shared store: one Redis (or Valkey) server, 6.2 or later, one script call a page.

Everything that must be atomic is in the scripts under `lua/`, whose head describes the layout. This module packs
their arguments, unpacks their answers, and turns the client's errors into ours.
"""

from __future__ import annotations

import contextlib
import random
import re
import struct
import threading
from importlib import resources
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

import numpy as np
import redis
from redis.backoff import NoBackoff
from redis.exceptions import NoPermissionError
from redis.retry import Retry

from crawldedup.errors import (
    ConfigurationError,
    CrawlDedupError,
    ProfileMismatchError,
    StoreError,
    StoreFullError,
    StoreUnavailableError,
)
from crawldedup.search.tables import KEY_BITS
from crawldedup.stores.base import (
    LEASE_SECONDS,
    Answer,
    Crawler,
    Entry,
    Layout,
    Query,
    Record,
    Status,
    StoreInfo,
    rank_costs,
    shown_url,
)
from crawldedup.stores.process import is_gone, own_process

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from crawldedup.search.plan import ProbePlan
    from crawldedup.search.tables import Order

TIMEOUT_SECONDS: Final = 2.0
"""For connecting and for an answer. A crawl waits no longer for a verdict: pages pass instead."""

_KEY_PREFIX: Final = "crawldedup"
_HEAD: Final = struct.Struct(">IIII8s8s8s")
_SEARCH_PLACE: Final = 16
_SIGNATURE_PLACE: Final = _HEAD.size
_RECORDS_A_LIST: Final = 64
_SAMPLE: Final = 64
_SCRIPTS: Final = ("check", "find", "forget", "join", "heartbeat")


class RedisStore:
    """One namespace of a Redis server. Safe to use from several threads, processes and machines."""

    def __init__(self, url: str, layout: Layout, *, clock: Callable[[], float] | None = None) -> None:
        self._layout = layout
        # None lets the server's clock count, which the machines of a fleet share.
        self._clock = clock
        self._prefix = f"{_KEY_PREFIX}:{{{layout.namespace}}}:"
        self._order = b"".join(_packed_order(table) for table in layout.tables)
        self._crawler = Crawler(0, 0)
        self._joining = threading.Lock()
        self._url = shown_url(url)
        self._client = _client(url)
        common = _script_text("common")
        self._scripts = {name: self._client.register_script(common + _script_text(name)) for name in _SCRIPTS}

    def open(self) -> int:
        """See `Store`."""
        with self._joining:
            own = self._crawler.number
            self._bury_the_dead()
            answer = self._run("join", self._layout.profile, self._order, self._now(), LEASE_SECONDS, own)
            self._check_profile(answer)
            self._crawler = Crawler(int(answer[1]), int(answer[2]))
            with self._errors():
                self._client.hset(self._prefix + "w", str(self._crawler.number), own_process())
            return int(answer[3])

    def _bury_the_dead(self) -> None:
        """End the leases of crawlers of this machine that died without a word, or we would be their fellow."""
        with self._errors():
            processes: Any = self._client.hgetall(self._prefix + "w")
            dead = [number for number, process in processes.items() if is_gone(process.decode("utf-8", "replace"))]
            if dead:
                self._client.zrem(self._prefix + "c", *dead)
                self._client.hdel(self._prefix + "w", *dead)

    def check_and_add(self, query: Query) -> Answer:
        """See `Store`."""
        entry = query.entry
        answer = self._run(
            "check",
            self._layout.profile,
            self._order,
            self._now(),
            _number_or_empty(query.ttl_seconds),
            self._crawler.number,
            self._crawler.first,
            LEASE_SECONDS,
            _bytes8(entry.url_key),
            self._packed_keys(entry),
            _record_body(entry),
            _bytes8(entry.digest),
            *self._question(query),
        )
        self._check_profile(answer)
        status, changed, pages, candidates, record = answer
        return Answer(
            Status(status.decode()),
            self._unpack(record) if record else None,
            bool(changed),
            int(pages),
            int(candidates),
        )

    def find(self, query: Query) -> list[Record]:
        """See `Store`."""
        answer = self._run(
            "find",
            self._layout.profile,
            self._now(),
            _number_or_empty(query.ttl_seconds),
            self._packed_keys(query.entry),
            *self._question(query),
        )
        self._check_profile(answer)
        return [self._unpack(record) for record in answer[1:]]

    def _packed_keys(self, entry: Entry) -> bytes:
        return b"".join(map(_bytes8, self._layout.keys(entry.search, entry.signature)))

    def _question(self, query: Query) -> tuple[bytes | int, ...]:
        """Where to look and what to accept, as the scripts expect it."""
        return (
            query.entry.signature,
            _pack_probes(query.plan),
            query.rule.costs,
            query.rule.limit,
            _bytes8(query.entry.digest) if query.exact_only else b"",
            query.max_candidates,
            query.max_keys,
            rank_costs(query, self._layout).tobytes(),
        )

    def forget(self, url_key: int) -> bool:
        """See `Store`."""
        return bool(self._run("forget", _bytes8(url_key)))

    def clear(self) -> None:
        """See `Store`. Works on an index of a foreign profile too: clearing it is the way out."""
        with self._errors():
            # Who is at work stays known, for crawlers go on in the empty index.
            self._client.hdel(self._prefix + "m", "profile", "order", "pages", "next", "depth", "split")
            pattern = self._prefix.translate(_GLOB_ESCAPES) + "[tur]*"
            batch: list[bytes] = []
            for key in self._client.scan_iter(match=pattern, count=1000):
                batch.append(key)
                if len(batch) == 1000:
                    self._client.unlink(*batch)
                    batch.clear()
            if batch:
                self._client.unlink(*batch)
        self.open()

    def info(self) -> StoreInfo:
        """See `Store`. `bytes` is projected from a sample of the index's keys."""
        with self._errors():
            meta = self._client.hgetall(self._prefix + "m")
            pages, depth, split, following = (
                int(meta.get(name, 0)) for name in (b"pages", b"depth", b"split", b"next")
            )
            buckets = [(1 << depth + 1) + number for number in range(2 * split)]
            buckets += [(1 << depth) + number for number in range(split, 1 << depth)]
            names = [f"t{table}" for table in range(len(self._layout.tables))] + ["u"]
            size = sum(self._sampled_bytes([f"{name}:{bucket}" for bucket in buckets]) for name in names)
            size += self._sampled_bytes([f"r:{number}" for number in range(-(-following // _RECORDS_A_LIST))])
        return StoreInfo(
            pages=pages,
            bytes=size,
            tables=len(self._layout.tables),
            profile=self._layout.profile,
            namespace=self._layout.namespace,
            store=self._url,
        )

    def _sampled_bytes(self, suffixes: Sequence[str]) -> int:
        """Memory of keys, projected from at most _SAMPLE of them."""
        sample = random.sample(suffixes, min(_SAMPLE, len(suffixes)))
        pipeline = self._client.pipeline(transaction=False)
        for suffix in sample:
            pipeline.memory_usage(self._prefix + suffix, samples=0)
        sizes = [size or 0 for size in pipeline.execute()]
        return round(sum(sizes) / len(sizes) * len(suffixes)) if sizes else 0

    def heartbeat(self) -> None:
        """See `Store`."""
        self._run("heartbeat", self._now(), LEASE_SECONDS, self._crawler.number)

    def close(self) -> None:
        """See `Store`."""
        with self._joining, contextlib.suppress(redis.RedisError, OSError):
            if self._crawler.number:
                self._client.zrem(self._prefix + "c", self._crawler.number)
                self._client.hdel(self._prefix + "w", str(self._crawler.number))
                self._crawler = Crawler(0, 0)
            self._client.close()

    def _run(self, script: str, *arguments: bytes | str | float) -> Any:
        with self._errors():
            return self._scripts[script](keys=[self._prefix], args=arguments)

    @contextlib.contextmanager
    def _errors(self) -> Iterator[None]:
        """The client's errors as ours."""
        try:
            yield
        except redis.AuthenticationError as error:
            raise self._refusal(f"{self._url} refuses the user or the password: {error}") from error
        except NoPermissionError as error:
            raise self._refusal(f"{self._url} does not let this user work: {error}") from error
        except redis.OutOfMemoryError as error:
            raise StoreFullError(f"{self._url} is full (maxmemory reached): {error}") from error
        except (redis.ConnectionError, redis.TimeoutError, redis.ReadOnlyError, OSError) as error:
            raise StoreUnavailableError(f"{self._url} cannot be used: {error}") from error
        except redis.RedisError as error:
            # Redis 6.2 hides the code of an error inside a script in the middle of the message.
            if re.search(r"\bOOM\b", str(error)):
                raise StoreFullError(f"{self._url} is full (maxmemory reached): {error}") from error
            if _UNAVAILABLE.search(str(error)):
                raise StoreUnavailableError(f"{self._url} cannot be used: {error}") from error
            if "DB index" in str(error):
                raise ConfigurationError(f"{self._url} names a database the server does not have: {error}") from error
            raise StoreError(f"{self._url}: {error}") from error

    def _refusal(self, message: str) -> CrawlDedupError:
        # A server that has let us in before is being reconfigured: no crawl must end for that.
        return StoreUnavailableError(message) if self._crawler.number else ConfigurationError(message)

    def _check_profile(self, answer: Any) -> None:
        if answer[0] == b"profile":
            raise ProfileMismatchError(
                f"the namespace {self._layout.namespace!r} of {self._url}",
                index_profile=answer[1].decode("utf-8", "replace"),
                own_profile=self._layout.profile,
            )

    def _now(self) -> int | str:
        return "" if self._clock is None else int(self._clock())

    def _unpack(self, record: bytes) -> Record:
        added_at, seen_at, copies, _, search, digest, url_key = _HEAD.unpack_from(record)
        end = _HEAD.size + self._layout.signature_bytes
        return Record(
            url=record[end:].decode("utf-8", "replace"),
            url_key=int.from_bytes(url_key, "big"),
            search=int.from_bytes(search, "big"),
            signature=record[_HEAD.size : end],
            digest=int.from_bytes(digest, "big"),
            added_at=added_at,
            seen_at=seen_at,
            copies=copies,
        )


_UNAVAILABLE: Final = re.compile(r"\b(LOADING|MASTERDOWN|CLUSTERDOWN|READONLY|BUSY|NOREPLICAS|MISCONF)\b")
_GLOB_ESCAPES: Final = str.maketrans({character: f"\\{character}" for character in "*?[]\\"})


def _client(url: str) -> redis.Redis:
    """A client with our limits, not yet connected. Raises ConfigurationError, in which no password shows."""
    problem = "write redis://user:password@host:port/db, with the signs / ? # @ : of a password percent-encoded"
    try:
        # One immediate retry covers a connection that the server closed while it was idle; a script whose
        # answer was lost is safe to send again, for the page is then its own revisit.
        client = redis.Redis.from_url(
            url,
            socket_timeout=TIMEOUT_SECONDS,
            socket_connect_timeout=TIMEOUT_SECONDS,
            retry=Retry(NoBackoff(), 1, supported_errors=(redis.ConnectionError,)),
            health_check_interval=0,
        )
        options = client.connection_pool.connection_kwargs
        str(options.get("host", "")).encode("idna")
        path = urlsplit(url).path.strip("/")
        if not url.startswith("unix:") and path and not path.isdecimal():
            problem = "what follows the host must be the number of a database, as in redis://host:port/0"
        elif options.get("decode_responses"):
            problem = "leave out decode_responses, for answers are binary"
        else:
            # The client looks at other options only when it connects.
            client.connection_pool.connection_class(**options)
            return client
    except ValueError:
        pass  # the client's message may quote a part of the password
    except (TypeError, redis.RedisError) as error:
        problem = f"an option is wrong: {error}"
    raise ConfigurationError(f"the store URL {shown_url(url)!r} is not valid: {problem}")


def _script_text(name: str) -> str:
    return resources.files(__package__).joinpath("lua", f"{name}.lua").read_text("utf-8")


def _bytes8(value: int) -> bytes:
    return value.to_bytes(8, "big")


def _packed_order(table: Order) -> bytes:
    """Where in a record the bits of a table's keys are, two bytes each; zeros stand for bits the order lacks."""
    bits = table.order
    places = np.where(bits < KEY_BITS, bits + 8 * _SEARCH_PLACE, bits - KEY_BITS + 8 * _SIGNATURE_PLACE)
    return places.astype(">u2").tobytes().ljust(2 * KEY_BITS, b"\0")


def _number_or_empty(value: int | None) -> int | str:
    return "" if value is None else value


def _record_body(entry: Entry) -> bytes:
    """A record without its times and counters, which the script puts in front."""
    numbers = _bytes8(entry.search) + _bytes8(entry.digest) + _bytes8(entry.url_key)
    return numbers + entry.signature + entry.url.encode("utf-8", "replace")


def _pack_probes(plan: ProbePlan) -> bytes:
    """Eleven bytes a probe: table, and the leading five bytes of the low and the high key."""
    packed = bytearray(11 * len(plan))
    packed[0::11] = bytes(plan.tables.tolist())
    lows = plan.lows.astype(">u8").tobytes()
    highs = plan.highs.astype(">u8").tobytes()
    for place in range(5):
        packed[1 + place :: 11] = lows[place::8]
        packed[6 + place :: 11] = highs[place::8]
    return bytes(packed)
