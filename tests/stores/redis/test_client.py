"""Which URLs are allowed, what clients they make, and what becomes of the client's errors."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import redis
from redis import exceptions as theirs
from redis.sentinel import MasterNotFoundError

from crawldedup.errors import ConfigurationError, StoreError, StoreFullError, StoreUnavailableError
from crawldedup.stores.redis.client import connect, read_url
from crawldedup.stores.redis.errors import store_errors
from tests.servers import Certificate, free_port

DOCS = Path(__file__).parents[3] / "docs"


def client_of(url: str) -> redis.Redis:
    return connect(read_url(url))


def settings(client: redis.Redis) -> dict[str, Any]:
    return client.connection_pool.connection_kwargs


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("redis://example.com:6380/3", {"host": "example.com", "port": 6380, "db": 3}),
        ("redis://user:pass%2Fw%40rd@localhost", {"username": "user", "password": "pass/w@rd"}),
        (
            "redis://localhost",
            {"socket_timeout": 2.0, "socket_connect_timeout": 2.0, "host": "localhost"},
        ),
        (
            "rediss://localhost?ssl_cert_reqs=none",
            {"ssl_cert_reqs": "none", "ssl_check_hostname": False},
        ),
        (
            "unix://user:s3cret@/run/redis.sock?db=1",
            {"path": "/run/redis.sock", "db": 1, "password": "s3cret"},
        ),
    ],
)
def test_a_url_says_how_to_connect(url: str, expected: dict[str, Any]) -> None:
    assert expected.items() <= settings(client_of(url)).items()


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("redis://h/0?foo=1", "there is no option 'foo'"),
        ("rediss://h?retries=1", "there is no option 'retries'"),
        ("unix:///a?foo=1", "there is no option 'foo'"),
        ("redis://h?self=1", "there is no option 'self'"),
        ("redis+cluster://h:1?foo=1", "there is no option 'foo'"),
        ("redis+sentinel://h:1/crawl/0?foo=1", "there is no option 'foo'"),
        ("redis+sentinel://h:1/crawl?sentinel_foo=1", "there is no option 'sentinel_foo'"),
        ("redis://h?parser_class=1", "an option has a value that it cannot have"),
        (f"redis://h:{'1' * 5000}", "a number is too long"),
        # The client would have taken the database 0.
        (f"redis://h/{'1' * 5000}", "redis://user:password@host:port/db"),
        (f"redis+sentinel://h:1/crawl/{'1' * 5000}", "host:port,host:port/service/db"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_what_is_wrong_with_a_url_is_told_without_python(url: str, said: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        read_url(url)
    message = str(caught.value)
    assert said in message
    assert len(message) < 600
    for inside in ("__init__", "keyword argument", "set_int_max_str_digits", "object is not"):
        assert inside not in message


def test_sentinels_have_a_login_and_a_share_of_the_time_of_their_own(
    certificate: Certificate,
) -> None:
    url = (
        f"redis+sentinel://user:s3cret@a,b:1,[::1]:2,d/crawl"
        f"?ssl=true&ssl_ca_certs={certificate.file}&sentinel_username=watcher&sentinel_password=hush"
    )
    pool = client_of(url).connection_pool
    sentinels = [settings(client) for client in pool.sentinel_manager.sentinels]
    assert [(sentinel["host"], sentinel["port"]) for sentinel in sentinels] == [
        ("a", 26379),
        ("b", 1),
        ("::1", 2),
        ("d", 26379),
    ]
    for sentinel in sentinels:
        assert (sentinel["username"], sentinel["password"], sentinel["socket_timeout"]) == (
            "watcher",
            "hush",
            0.5,
        )
        assert sentinel["ssl_ca_certs"] == str(certificate.file)
    assert (pool.is_master, pool.service_name, pool.connection_kwargs["password"]) == (
        True,
        "crawl",
        "s3cret",
    )
    assert issubclass(pool.connection_class, redis.SSLConnection)


NAMES_OF_PASSING_ERRORS = (
    "ConnectionError TimeoutError BusyLoadingError ReadOnlyError ClusterDownError MasterDownError "
    "RedisClusterException"
)
MENDED_BY_TIME = [
    *(getattr(theirs, name)("said") for name in NAMES_OF_PASSING_ERRORS.split()),
    *(kind("said") for kind in (MasterNotFoundError, ConnectionResetError)),
    theirs.ResponseError("MISCONF disk"),
    theirs.ResponseError("Error running script: @user_script: 5: -READONLY You can't write"),
]
MENDED_BY_SETTINGS = [
    theirs.AuthenticationError("WRONGPASS"),
    theirs.NoPermissionError("no"),
    theirs.ConnectionError("[SSL: CERTIFICATE_VERIFY_FAILED] self-signed"),
    theirs.ResponseError("ERR DB index is out of range"),
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


def test_the_recipe_of_the_documentation_leaves_a_server_alone_that_is_down(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pages = [
        path.read_text("utf-8")
        for path in DOCS.rglob("*.md")
        if "_build" not in path.relative_to(DOCS).parts
    ]
    (page,) = (page for page in pages if "# Continue while the store is down" in page)
    recipe = (
        page.partition("# Continue while the store is down")[2]
        .partition("```python\n")[2]
        .partition("```")[0]
    )
    assert "localhost:6379" in recipe
    names: dict[str, Any] = {}
    exec(recipe.replace("localhost:6379", f"127.0.0.1:{free_port()}"), names)
    check = names["dedup"].check
    asked: list[str] = []
    monkeypatch.setattr(
        names["dedup"], "check", lambda url, **page: (asked.append(url), check(url, **page))
    )
    for url in "abc":
        assert names["is_copy"](url, "<p>some words of a page</p>") is False
    assert asked == ["a"]
    names["not_before"] = 0.0
    assert names["is_copy"]("d", "<p>some words of a page</p>") is False
    assert asked == ["a", "d"]
