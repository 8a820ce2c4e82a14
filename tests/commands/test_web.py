"""Sitemaps, from files and from a server."""

from __future__ import annotations

import gzip
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import TYPE_CHECKING

import pytest

from crawldedup.commands.sources import readable_sources, urls_of_sitemap
from crawldedup.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

NAMESPACE = 'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"'


def sitemap(*urls: str, kind: str = "urlset", entry: str = "url", of: str = NAMESPACE) -> bytes:
    entries = "".join(f"<{entry}><loc> {url}\n</loc><lastmod>2024-01-01</lastmod></{entry}>" for url in urls)
    return f'<?xml version="1.0" encoding="UTF-8"?><{kind} {of}>{entries}</{kind}>'.encode()


@pytest.fixture
def site() -> Iterator[str]:
    """A server with a sitemap of sitemaps."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            bodies = {
                "/index.xml": sitemap(f"{base}/pages.xml.gz", kind="sitemapindex", entry="sitemap"),
                "/pages.xml.gz": gzip.compress(sitemap(f"{base}/a", f"{base}/missing", f"{base}/b")),
                "/loop.xml": sitemap(f"{base}/loop.xml", kind="sitemapindex", entry="sitemap"),
                "/a": b"<p>a",
                "/b": b"<p>b",
            }
            body = bodies.get(self.path)
            self.send_response(200 if body is not None else 404)
            self.end_headers()
            self.wfile.write(body or b"")

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    base = f"http://127.0.0.1:{server.server_port}"
    Thread(target=server.serve_forever, daemon=True).start()
    yield base
    server.shutdown()
    server.server_close()


def test_the_pages_of_a_sitemap_are_read_and_a_missing_one_hides_no_other(site: str) -> None:
    errors: list[Exception] = []
    pages = list(readable_sources([f"{site}/index.xml"], errors.append))
    assert [(page.url, page.html) for page in pages] == [(f"{site}/a", b"<p>a"), (f"{site}/b", b"<p>b")]
    assert [str(error).partition(" ")[0] for error in errors] == [f"{site}/missing"]
    assert list(urls_of_sitemap(f"{site}/loop.xml")) == []


def test_a_sitemap_may_be_a_file(tmp_path: Path) -> None:
    path = tmp_path / "sitemap.xml"
    urls = ["https://a.example/?a=1&amp;b=2", "https://a.example/ä"]
    for content in (sitemap(*urls), gzip.compress(sitemap(*urls)), sitemap(*urls, of="")):
        path.write_bytes(content)
        assert list(urls_of_sitemap(str(path))) == ["https://a.example/?a=1&b=2", "https://a.example/ä"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "cannot be read as a sitemap"),
        (b"no XML", "cannot be read as a sitemap|is no sitemap"),
        (b"<rss><channel/></rss>", "is no sitemap: it begins with <rss>"),
        (b"\x1f\x8b\x08broken", "cannot be read as a sitemap"),
    ],
)
def test_what_is_no_sitemap_is_refused(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "sitemap.xml"
    path.write_bytes(content)
    with pytest.raises(ConfigurationError, match=message):
        list(urls_of_sitemap(str(path)))


def test_entities_are_not_expanded(tmp_path: Path) -> None:
    path, secret = tmp_path / "sitemap.xml", tmp_path / "secret"
    secret.write_text("https://a.example/secret")
    entity = f'<!DOCTYPE urlset [<!ENTITY x SYSTEM "{secret.as_uri()}">]>'
    path.write_text(f"{entity}<urlset><url><loc>&x;</loc></url></urlset>")
    assert list(urls_of_sitemap(str(path))) == []
