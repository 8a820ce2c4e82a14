"""Web archives as warcio writes them, record by record, so that tests can damage one."""

from __future__ import annotations

import io
from typing import Any

from warcio.statusandheaders import StatusAndHeaders
from warcio.warcwriter import WARCWriter

Record = dict[str, Any]


def _record(
    kind: str, url: str, content: bytes, of: str | None = None, id: str | None = None, **more: Any
) -> Record:
    """Describe a record, with its id, and the id of the one that it was captured with."""
    named = {"WARC-Concurrent-To": of, "WARC-Record-ID": id}
    links = {name: f"<urn:uuid:{value}>" for name, value in named.items() if value}
    return {
        "record_type": kind,
        "uri": url,
        "payload": io.BytesIO(content),
        "warc_headers_dict": links,
        **more,
    }


def response(
    url: str,
    body: bytes,
    *,
    status: str = "200 OK",
    of: str | None = None,
    id: str | None = None,
    **headers: str,
) -> Record:
    """Describe a response; the names of its headers are written with _ for -."""
    named = [
        (name.replace("_", "-"), value)
        for name, value in ({"Content_Type": "text/html"} | headers).items()
    ]
    return _record(
        "response",
        url,
        body,
        of,
        id,
        http_headers=StatusAndHeaders(status, named, protocol="HTTP/1.1"),
    )


def request(url: str, **names: str) -> Record:
    head = StatusAndHeaders("GET / HTTP/1.1", [("Host", "e.example")], is_http_request=True)
    return _record("request", url, b"", **names, http_headers=head)


def metadata(url: str, **names: str) -> Record:
    return _record("metadata", url, b"fetchTimeMs: 7\r\n", **names)


def conversion(url: str, text: str) -> Record:
    return _record("conversion", url, text.encode(), warc_content_type="text/plain")


def written(record: Record | None, *, packed: bool) -> bytes:
    """Return the bytes of a record; None describes its archive."""
    stream = io.BytesIO()
    writer = WARCWriter(stream, gzip=packed)
    if record is None:
        writer.write_record(writer.create_warcinfo_record("crawl.warc", {"software": "a test"}))
    else:
        writer.write_record(writer.create_warc_record(**record))
    return stream.getvalue()
