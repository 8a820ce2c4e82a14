"""Decide whether to accept a request: by its token, its Host, and the page that it comes from."""

import base64
from collections.abc import Mapping
from typing import Final
from urllib.parse import urlsplit

from crawldedup.service.command import is_this_machine
from crawldedup.service.problems import CLOSE, ProblemError
from crawldedup.service.routes import Route, Scope
from crawldedup.service.tokens import Access, Tokens

_SAFE_METHODS: Final = ("GET", "HEAD", "OPTIONS")


class Doorkeeper:
    """Rejects requests that are never allowed, or that this client may not send."""

    def __init__(self, tokens: Tokens, own_host: str) -> None:
        self._tokens = tokens
        self._own_host = own_host

    def check(self, scope: Scope, headers: Mapping[bytes, bytes], route: Route) -> None:
        """Raise ProblemError for a request that has to be rejected before its body is read."""
        if b"content-length" in headers and b"transfer-encoding" in headers:
            # A proxy that uses the length would mistake the rest for the next request.
            detail = "give either Content-Length or Transfer-Encoding, not both"
            raise ProblemError("invalid", 400, detail, headers=CLOSE)
        if route.is_open:
            return
        if self._tokens:
            self._require_token(headers.get(b"authorization", b""), route)
        else:
            require_own_host(headers.get(b"host", b""), self._own_host)
        # A link may lead to a page, but to nothing else.
        if not route.is_page or scope["method"] not in _SAFE_METHODS:
            require_own_page(headers)

    def _require_token(self, authorization: bytes, route: Route) -> None:
        access = self._tokens.access_of(_token_in(authorization))
        if access is Access.NONE:
            detail = "give the token of the service in a header: Authorization: Bearer TOKEN"
            kind = 'Basic realm="crawldedup"' if route.is_page else "Bearer"
            headers = {"www-authenticate": kind, **CLOSE}
            raise ProblemError("unauthorized", 401, detail, headers=headers)
        if route.writes and access is not Access.FULL:
            detail = (
                f"this token is read-only, and {route.path} changes the index: send a token that "
                "allows changes, or ask /v1/explain what a check would say"
            )
            raise ProblemError("read-only", 403, detail, headers=CLOSE)


def _token_in(authorization: bytes) -> bytes:
    """Return the token in the Authorization header of a request. An empty one never matches."""
    kind, _, token = authorization.partition(b" ")
    if kind.lower() == b"bearer":
        return token.strip()
    if kind.lower() == b"basic":
        # The browser asked the user for it as a password. Any user name is accepted.
        try:
            login = base64.b64decode(token.strip(), validate=True)
        except ValueError:
            return b""
        return login.partition(b":")[2].strip()
    return b""


# The checks below keep web pages from using the service through the browser of an authorized user.
# Nothing else would stop them: a page of any site can make the browser send a form to this machine.
# If the site points its own host name to this machine (DNS rebinding), it can even read the answer.


def require_own_host(host: bytes, own: str) -> None:
    """Raise ProblemError if a request names a host that isn't this service.

    Anyone could point such a host name to this machine.
    """
    try:
        name = urlsplit(f"//{host.decode('latin-1')}").hostname or ""
    except ValueError:
        name = None
    if not host or (name is not None and (name == own.lower() or is_this_machine(name))):
        return
    detail = (
        "the Host of the request is not this machine: ask for localhost or the address given as "
        "--host, or give the service a token (CRAWLDEDUP_TOKEN), with which it accepts any name"
    )
    raise ProblemError("misdirected", 421, detail, headers=CLOSE)


def require_own_page(headers: Mapping[bytes, bytes]) -> None:
    """Raise ProblemError if a page of another site made a browser send the request."""
    if _is_of_own_page(headers):
        return
    detail = (
        "a page of another site sent this request through a browser: send it from a page of the "
        "service, or from a program that sends neither Sec-Fetch-Site nor Origin; a proxy in "
        "front of the service must pass on Host"
    )
    raise ProblemError("cross-site", 403, detail, headers=CLOSE)


def _is_of_own_page(headers: Mapping[bytes, bytes]) -> bool:
    # Browsers only send the first header to this machine and over TLS, and no page can forge it.
    site = headers.get(b"sec-fetch-site", b"")
    if site:
        return site in (b"same-origin", b"none")
    origin = headers.get(b"origin", b"")
    host = headers.get(b"host", b"")
    return not origin or origin.partition(b"://")[2].lower() == host.lower()
