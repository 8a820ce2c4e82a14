"""Which URLs are allowed, what clients they make, and what becomes of the client's errors."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import redis
from redis import exceptions as theirs
from redis.sentinel import MasterNotFoundError, SlaveNotFoundError

from crawldedup.errors import ConfigurationError, StoreError, StoreFullError, StoreUnavailableError
from crawldedup.stores.redis.client import connect, connect_cluster, read_url, store_errors
from crawldedup.stores.registry import check_store_url
from tests.servers import Certificate, free_port

DOCS = Path(__file__).parents[3] / "docs"
COMMON = "username=a&password=b&socket_timeout=1&socket_connect_timeout=1&max_connections=9&client_name=a&protocol=3"
TLS = (
    "ssl_ca_certs=a&ssl_ca_path=a&ssl_certfile=a&ssl_keyfile=a&ssl_password=a"
    "&ssl_cert_reqs=none&ssl_check_hostname=false"
)
ALIVE = "socket_keepalive=true"


def client_of(url: str) -> redis.Redis:
    return connect(read_url(url))


def settings(client: redis.Redis) -> dict[str, Any]:
    return client.connection_pool.connection_kwargs


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("redis://example.com:6380/3", {"host": "example.com", "port": 6380, "db": 3}),
        ("REDIS://localhost/3?db=4\n", {"host": "localhost", "db": 4}),
        ("redis://user:pass%2Fw%40rd@localhost", {"username": "user", "password": "pass/w@rd"}),
        ("redis://user:p@ss:word@localhost", {"username": "user", "password": "p@ss:word", "host": "localhost"}),
        ("redis://:s3cret@localhost", {"password": "s3cret"}),
        ("redis://guest:@[::1]:6380/0", {"username": "guest", "host": "::1", "port": 6380}),
        ("redis://localhost", {"socket_timeout": 2.0, "socket_connect_timeout": 2.0, "host": "localhost"}),
        ("redis://?socket_timeout=5", {"socket_timeout": 5.0, "socket_connect_timeout": 2.0}),
        ("redis://localhost?decode_responses=1", {"decode_responses": False}),
        ("rediss://localhost?ssl_cert_reqs=none", {"ssl_cert_reqs": "none", "ssl_check_hostname": False}),
        ("unix://user:s3cret@/run/redis.sock?db=1", {"path": "/run/redis.sock", "db": 1, "password": "s3cret"}),
        ("redis+sentinel://user:s3cret@a:1,b/crawl/2", {"username": "user", "password": "s3cret", "db": 2}),
        ("redis+sentinel://a/crawl?db=2&client_name=me", {"db": 2, "client_name": "me", "socket_timeout": 2.0}),
    ],
)
def test_a_url_says_how_to_connect(url: str, expected: dict[str, Any]) -> None:
    assert expected.items() <= settings(client_of(url)).items()


def test_sentinels_have_a_login_and_a_share_of_the_time_of_their_own(certificate: Certificate) -> None:
    url = (
        f"redis+sentinel://user:s3cret@a,b:1,[::1]:2,d/crawl"
        f"?ssl=true&ssl_ca_certs={certificate.file}&sentinel_username=watcher&sentinel_password=hush"
    )
    pool = client_of(url).connection_pool
    asked = [settings(client) for client in pool.sentinel_manager.sentinels]
    assert [(each["host"], each["port"]) for each in asked] == [("a", 26379), ("b", 1), ("::1", 2), ("d", 26379)]
    for each in asked:
        assert (each["username"], each["password"], each["socket_timeout"]) == ("watcher", "hush", 0.5)
        assert each["ssl_ca_certs"] == str(certificate.file)
    assert (pool.is_master, pool.service_name, pool.connection_kwargs["password"]) == (True, "crawl", "s3cret")
    assert issubclass(pool.connection_class, redis.SSLConnection)


@pytest.mark.parametrize(
    "url",
    [
        f"redis://localhost?{COMMON}&db=1&{ALIVE}",
        f"rediss://localhost?{COMMON}&db=1&{ALIVE}&{TLS}",
        f"unix:///run/redis.sock?{COMMON}&db=1",
        f"redis+sentinel://a/crawl?{COMMON}&db=1&{ALIVE}&ssl=true&{TLS}&sentinel_username=a&sentinel_password=b",
        f"redis+cluster://localhost?{COMMON}&{ALIVE}&ssl=true&{TLS}",
    ],
)
def test_the_options_of_the_documentation_are_taken_where_it_says_so(url: str) -> None:
    assert check_store_url("store", url) == url


def taken_for_no_node(answer: str) -> theirs.RedisClusterException:
    """Return what the client makes of any error that a node answers at first."""
    error = theirs.RedisClusterException("Cluster mode is not enabled on this node")
    error.__context__ = theirs.ResponseError(answer)
    return error


def wrapped(cause: Exception) -> Exception:
    error = theirs.RedisClusterException(f"Redis Cluster cannot be connected: {cause}")
    error.__cause__ = cause
    return error


NAMES_OF_PASSING_ERRORS = (
    "ConnectionError TimeoutError BusyLoadingError ReadOnlyError MaxConnectionsError ClusterDownError MasterDownError "
    "ClusterError SlotNotCoveredError TryAgainError ClusterCrossSlotError RedisClusterException"
)
MENDED_BY_TIME = [
    *(getattr(theirs, name)("said") for name in NAMES_OF_PASSING_ERRORS.split()),
    *(kind("said") for kind in (MasterNotFoundError, SlaveNotFoundError, ConnectionResetError)),
    theirs.AskError("1 127.0.0.1:1"),
    wrapped(theirs.ConnectionError("refused")),
    wrapped(taken_for_no_node("BUSY Redis is busy running a script.")),
    theirs.ResponseError("MISCONF disk"),
    theirs.ResponseError("BUSY a script"),
    theirs.ResponseError("Error running script: @user_script: 5: -READONLY You can't write"),
    theirs.ResponseError("Lua script attempted to access a non local key in a cluster node"),
]
MENDED_BY_SETTINGS = [
    theirs.AuthenticationError("WRONGPASS"),
    theirs.NoPermissionError("no"),
    theirs.ConnectionError("[SSL: CERTIFICATE_VERIFY_FAILED] self-signed"),
    theirs.ConnectionError("Error while reading: (1, '[SSL: TLSV13_ALERT_CERTIFICATE_REQUIRED]')"),
    theirs.MovedError("1 127.0.0.1:1"),
    theirs.ResponseError("ERR DB index is out of range"),
    wrapped(theirs.AuthenticationError("WRONGPASS")),
    wrapped(taken_for_no_node("ERR This instance has cluster support disabled")),
]
MENDED_BY_ROOM = [
    theirs.OutOfMemoryError("OOM"),
    theirs.ResponseError("Error running script: -OOM command not allowed"),
]


@pytest.mark.parametrize("was_in", [False, True])
@pytest.mark.parametrize(
    ("errors", "kind", "kind_once_in"),
    [
        (MENDED_BY_TIME, StoreUnavailableError, StoreUnavailableError),
        (MENDED_BY_SETTINGS, ConfigurationError, StoreUnavailableError),
        (MENDED_BY_ROOM, StoreFullError, StoreFullError),
    ],
)
def test_errors_of_the_client_become_ours(
    errors: list[Exception], kind: type, kind_once_in: type, was_in: bool
) -> None:
    for error in errors:
        raised = pytest.raises((StoreError, ConfigurationError), match=r"^redis://host ")
        with raised as caught, store_errors("redis://host", lambda: was_in, "news"):
            raise error
        assert type(caught.value) is (kind_once_in if was_in else kind), error
        assert caught.value.__cause__ is error
        assert str(error) in str(caught.value)


def test_other_errors_pass_through_unchanged() -> None:
    for error in (StoreFullError("full"), ConfigurationError("wrong"), KeyboardInterrupt()):
        with pytest.raises(type(error)) as caught, store_errors("redis://host", lambda: True, "news"):
            raise error
        assert caught.value is error


def test_a_moved_slot_of_a_cluster_is_mended_by_time() -> None:
    with pytest.raises(StoreUnavailableError), store_errors("redis+cluster://host", lambda: False, "news"):
        raise theirs.MovedError("1 127.0.0.1:1")


@pytest.mark.parametrize(
    "text",
    [
        "Error running script (call to f_0): @user_script:9: FOREIGN hash at crawldedup:{news}:m",
        "FOREIGN hash at crawldedup:{news}:m",
        # A name that looks like the code of another error.
        "FOREIGN hash at crawldedup:{OOM.READONLY}:m",
        "WRONGTYPE Operation against a key holding the wrong kind of value",
    ],
)
def test_a_key_that_is_not_ours_is_told_with_the_way_out(text: str) -> None:
    with pytest.raises(StoreError) as caught, store_errors("redis://host", lambda: True, "news"):
        raise theirs.ResponseError(text)
    assert type(caught.value) is StoreError
    assert str(caught.value) == (
        "redis://host has a key in the namespace 'news' with what crawldedup did not write there; remove that key if "
        f"nobody needs it, or use another namespace or database: {text}"
    )


@pytest.mark.parametrize(
    ("form", "use"),
    [
        ("redis://127.0.0.1:{}", lambda url: client_of(url).ping()),
        ("redis+sentinel://127.0.0.1:{}/crawl", lambda url: client_of(url).ping()),
        ("redis+cluster://127.0.0.1:{}", lambda url: connect_cluster(read_url(url))),
    ],
)
def test_nobody_at_home_is_unavailable(form: str, use: Callable[[str], object]) -> None:
    refused = pytest.raises(StoreUnavailableError, match=r"cannot be used|no sentinel")
    with refused, store_errors("", lambda: False, ""):
        use(form.format(free_port()))


def test_silent_sentinels_are_waited_for_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("crawldedup.stores.redis.client.TIMEOUT_SECONDS", 0.3)
    with contextlib.ExitStack() as stack:
        silent = [stack.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(3)]
        client = client_of(
            f"redis+sentinel://{','.join(f'127.0.0.1:{each.getsockname()[1]}' for each in silent)}/crawl"
        )
        refused = pytest.raises(StoreUnavailableError, match="no sentinel that answers")
        with refused, store_errors("", lambda: False, ""):
            client.ping()
        for each in silent:
            each.accept()[0].close()
            each.setblocking(False)
            with pytest.raises(BlockingIOError):
                each.accept()


def test_the_recipe_of_the_documentation_leaves_a_server_alone_that_is_down(monkeypatch: pytest.MonkeyPatch) -> None:
    pages = [path.read_text("utf-8") for path in DOCS.rglob("*.md") if "_build" not in path.relative_to(DOCS).parts]
    (page,) = (page for page in pages if "# Go on while the store is down" in page)
    recipe = page.partition("# Go on while the store is down")[2].partition("```python\n")[2].partition("```")[0]
    assert "localhost:6379" in recipe
    names: dict[str, Any] = {}
    exec(recipe.replace("localhost:6379", f"127.0.0.1:{free_port()}"), names)
    check = names["dedup"].check
    asked: list[str] = []
    monkeypatch.setattr(names["dedup"], "check", lambda url, **page: (asked.append(url), check(url, **page)))
    for url in "abc":
        assert names["is_copy"](url, "<p>some words of a page</p>") is False
    assert asked == ["a"]
    names["not_before"] = 0.0
    assert names["is_copy"]("d", "<p>some words of a page</p>") is False
    assert asked == ["a", "d"]
