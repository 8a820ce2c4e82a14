from __future__ import annotations

import re

import pytest

from crawldedup.errors import ConfigurationError
from crawldedup.stores.redis.url import parse_url
from tests.stores.redis.documentation import passage_behind

PLACES = {
    "redis": "redis://localhost",
    "rediss": "rediss://localhost",
    "unix": "unix:///run/redis.sock",
    "redis+sentinel": "redis+sentinel://localhost/crawl",
    "redis+cluster": "redis+cluster://localhost",
}


TLS = ("rediss", "redis+sentinel", "redis+cluster")
ALLOWED_WITH = {
    "all": tuple(PLACES),
    "all but cluster": tuple(PLACES)[:-1],
    "with TLS": TLS,
    "sentinel": TLS[1:2],
    "sentinel, cluster": TLS[1:],
    "cluster": TLS[2:],
    "`redis`, `rediss`": ("redis", "rediss"),
}
"""By the words of the documentation."""


def refusal(url: str) -> str:
    with pytest.raises(ConfigurationError) as caught:
        parse_url(url, *PLACES)
    return str(caught.value)


def allowed_options(scheme: str) -> set[str]:
    """As the message says that refuses another one."""
    return set(refusal(f"{PLACES[scheme]}?colour=red").partition("allowed are ")[2].split(", "))


def documented_options() -> dict[str, set[str]]:
    """By scheme, as the table in the documentation has them."""
    table = passage_behind("| option | allowed with | meaning |\n").partition("\n\n")[0].splitlines()[1:]
    found: dict[str, set[str]] = {scheme: set() for scheme in PLACES}
    for row in table:
        names, where, _ = row.strip("| ").split(" | ", 2)
        for scheme in ALLOWED_WITH[where]:
            found[scheme].update(name.partition("=")[0] for name in re.findall("`(.+?)`", names))
    return found


@pytest.mark.parametrize("scheme", PLACES)
def test_the_documentation_has_every_option_and_no_other(scheme: str) -> None:
    assert documented_options()[scheme] == allowed_options(scheme)


@pytest.mark.parametrize(
    ("option", "allowed"),
    [
        ("socket_timeout=soon", "seconds, more than 0"),
        ("socket_timeout=0", "seconds, more than 0"),
        ("socket_connect_timeout=inf", "seconds, more than 0"),
        (f"socket_connect_timeout={'9' * 400}", "seconds, more than 0"),
        ("socket_keepalive=perhaps", "true or false"),
        ("max_connections=-1", "a whole number"),
        ("db=one", "a whole number"),
        ("protocol=three", "2 or 3"),
    ],
)
def test_a_wrong_value_is_refused_with_what_is_allowed(option: str, allowed: str) -> None:
    name = option.partition("=")[0]
    message = f"an option is wrong: {name} has a value that is not allowed; write {allowed}"
    assert refusal(f"redis://localhost?{option}").endswith(f"is not valid: {message}")


@pytest.mark.parametrize(
    ("url", "needed"),
    [
        ("redis://localhost?ssl_cert_reqs=none", "rediss://"),
        ("redis+sentinel://localhost/crawl?ssl_cert_reqs=none", "ssl=true"),
        ("redis+cluster://localhost?ssl=false&ssl_cert_reqs=none", "ssl=true"),
    ],
)
def test_an_option_of_tls_says_what_it_needs(url: str, needed: str) -> None:
    assert refusal(url).endswith(f"ssl_cert_reqs needs {needed}")
    assert "ssl_cert_reqs" not in allowed_options("redis")


@pytest.mark.parametrize("label", ["exa..mple", f"{'a' * 64}.com"])
def test_a_name_that_no_host_can_have_is_refused(label: str) -> None:
    assert "is not valid: write redis://user" in refusal(f"redis://{label}/0")
