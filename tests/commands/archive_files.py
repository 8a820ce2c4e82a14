"""Web archives as warcio writes them, record by record, so that tests can damage one."""

from __future__ import annotations

import io
from typing import Any

from warcio.statusandheaders import StatusAndHeaders
from warcio.warcwriter import WARCWriter


def response(url: str, body: bytes, *, status: str = "200 OK", **headers: str) -> dict[str, Any]:
    """Describe a response; the names of its headers are written with _ for -."""
    named = [(name.replace("_", "-"), value) for name, value in ({"Content_Type": "text/html"} | headers).items()]
    made = StatusAndHeaders(status, named, protocol="HTTP/1.1")
    return {"uri": url, "record_type": "response", "payload": io.BytesIO(body), "http_headers": made}


def request(url: str, *, of: str | None = None, id: str | None = None) -> dict[str, Any]:
    made = StatusAndHeaders("GET / HTTP/1.1", [("Host", "e.example")], is_http_request=True)
    return {"uri": url, "record_type": "request", "http_headers": made, "warc_headers_dict": links(of, id)}


def metadata(url: str, *, of: str | None = None, id: str | None = None) -> dict[str, Any]:
    payload = io.BytesIO(b"fetchTimeMs: 7\r\n")
    return {"uri": url, "record_type": "metadata", "payload": payload, "warc_headers_dict": links(of, id)}


def conversion(url: str, text: str) -> dict[str, Any]:
    return {
        "uri": url,
        "record_type": "conversion",
        "payload": io.BytesIO(text.encode()),
        "warc_content_type": "text/plain",
    }


def links(of: str | None = None, id: str | None = None) -> dict[str, str]:
    """Return the headers that name a record, and the one that it was captured with."""
    given = {"WARC-Concurrent-To": of, "WARC-Record-ID": id}
    return {name: f"<urn:uuid:{value}>" for name, value in given.items() if value}


def written(record: dict[str, Any], *, packed: bool) -> bytes:
    """Return the bytes of one record."""
    stream = io.BytesIO()
    writer = WARCWriter(stream, gzip=packed)
    writer.write_record(writer.create_warc_record(**record))
    return stream.getvalue()


def info(*, packed: bool) -> bytes:
    """Return the bytes of a record that describes its archive."""
    stream = io.BytesIO()
    writer = WARCWriter(stream, gzip=packed)
    writer.write_record(writer.create_warcinfo_record("crawl.warc", {"software": "a test"}))
    return stream.getvalue()
