"""Keep web pages from using the service through the browser of somebody who may: nothing else would stop them.

A page of any site can make the browser send a form to this machine. A name of its own that it has moved to this machine
(DNS rebinding) even lets it read the answer.
"""

from __future__ import annotations

from contextlib import suppress
from ipaddress import ip_address
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from crawldedup.service.problems import ProblemError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_OWN_SITES: Final = ("same-origin", "none")


def require_own_host(hosts: Iterable[bytes], own: str) -> None:
    """Raise ProblemError for a request to a name that anyone could have given this machine."""
    if not all(not each or _is_own(each.decode("latin-1"), own) for each in hosts):
        detail = (
            "the Host of the request is not this machine: ask for localhost or the address given as --host, or give "
            "the service a token (CRAWLDEDUP_TOKEN), with which it takes any name"
        )
        raise ProblemError("misdirected", 421, detail, headers={"connection": "close"})


def require_own_page(headers: Mapping[bytes, bytes]) -> None:
    """Raise ProblemError for a request that a page of another site has made a browser send."""
    site, origin = (headers.get(name, b"").decode("latin-1") for name in (b"sec-fetch-site", b"origin"))
    host = headers.get(b"host", b"").decode("latin-1")
    # Browsers send the first to this machine and over TLS only, and no page can forge it.
    if site in _OWN_SITES if site else not origin or origin.partition("://")[2].lower() == host.lower():
        return
    detail = (
        "a page of another site sent this request through a browser: send it from a page of the service, or from a "
        "program that sends neither Sec-Fetch-Site nor Origin; a proxy before the service must pass Host on"
    )
    raise ProblemError("cross-site", 403, detail, headers={"connection": "close"})


def _is_own(given: str, own: str) -> bool:
    host = None
    with suppress(ValueError):
        host = urlsplit(f"//{given}").hostname
    if host in ("localhost", own.lower()):
        return True
    with suppress(ValueError):
        return ip_address(host or "").is_loopback
    return False
