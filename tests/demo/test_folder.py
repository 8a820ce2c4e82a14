"""Serving a directory: as it is, and nothing from outside of it."""

from __future__ import annotations

import os
import urllib.error
import urllib.request
from http.client import HTTPConnection
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import pytest

from crawldedup.demo.folder import FolderSite
from crawldedup.demo.server import Reply, serving
from crawldedup.errors import ConfigurationError

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def folder(tmp_path: Path) -> FolderSite:
    (tmp_path / "secret.html").write_text("secret")
    root = tmp_path / "site"
    (root / "sub dir").mkdir(parents=True)
    (root / "plain").mkdir()
    (root / "index.html").write_text("front")
    (root / "sub dir" / "index.htm").write_text("inner")
    (root / "50% & more?.html").write_text("odd name")
    (root / "page.xhtml").write_text("xhtml")
    (root / "plain" / "style.css").write_text("css")
    (root / "noext").write_bytes(b"\0")
    (root / "out.html").symlink_to(tmp_path / "secret.html")
    (root / "in.html").symlink_to(root / "index.html")
    (root / "loop.html").symlink_to(root / "loop.html")
    (root / "up").symlink_to(tmp_path)
    os.mkfifo(root / "pipe.html")
    return FolderSite(root)


def test_every_html_file_inside_is_a_start(folder: FolderSite) -> None:
    assert folder.start_paths == [
        "/50%25%20%26%20more%3F.html",
        "/in.html",
        "/index.html",
        "/page.xhtml",
        "/sub%20dir/index.htm",
    ]
    assert [folder.reply(path).status for path in folder.start_paths] == [200] * 5


@pytest.mark.parametrize(
    ("target", "body", "content_type"),
    [
        ("/", b"front", "text/html"),
        ("/?a=b", b"front", "text/html"),
        ("/sub%20dir/", b"inner", "text/html"),
        ("/page.xhtml", b"xhtml", "application/xhtml+xml"),
        ("/plain/style.css", b"css", "text/css"),
        ("/noext", b"\0", "application/octet-stream"),
        ("/sub%20dir/../index.html", b"front", "text/html"),
    ],
)
def test_files_are_served_as_they_are(folder: FolderSite, target: str, body: bytes, content_type: str) -> None:
    reply = folder.reply(target)
    assert (reply.status, reply.body, reply.content_type) == (200, body, content_type)


def test_a_directory_without_its_slash_is_redirected(folder: FolderSite) -> None:
    assert folder.reply("/sub%20dir?x=1") == Reply(b"", status=301, headers={"Location": "/sub%20dir/"})
    assert folder.reply("//sub%20dir").headers == {"Location": "/sub%20dir/"}


@pytest.mark.parametrize(
    "target",
    [
        "/../secret.html",
        "/%2e%2e/secret.html",
        "/..%2fsecret.html",
        "/sub%20dir/../../secret.html",
        "/out.html",
        "/up/secret.html",
        "/up/",
        "/loop.html",
        "/pipe.html",
        "/plain/",
        "/none.html",
        "/a%00b.html",
        "/" + "x" * 5000,
        "/%ff%fe.html",
        "//etc/passwd",
        "/%2fetc/passwd",
        "/index.html/",
        "",
        "*",
    ],
)
def test_nothing_else_is_served(folder: FolderSite, target: str) -> None:
    reply = folder.reply(target)
    assert b"secret" not in reply.body
    assert reply.status in (200, 404)
    assert reply.status == 404 or reply.body == b"front"


def test_names_that_are_no_utf8_can_be_asked_for(tmp_path: Path) -> None:
    (tmp_path / os.fsdecode(b"caf\xe9.html")).write_text("coffee")
    site = FolderSite(tmp_path)
    assert site.start_paths == ["/caf%E9.html"]
    assert site.reply(site.start_paths[0]).body == b"coffee"


@pytest.mark.parametrize("name", ["missing", "empty", "file"])
def test_what_is_no_directory_of_html_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigurationError, match=name):
        FolderSite(tmp_path / name)


def test_the_server_answers_over_http(folder: FolderSite) -> None:
    with serving(folder) as base_url:
        with urllib.request.urlopen(f"{base_url}/sub%20dir") as response:
            assert (response.read(), response.url) == (b"inner", f"{base_url}/sub%20dir/")
        connection = HTTPConnection(urlsplit(base_url).netloc)
        for method, body in [("HEAD", b""), ("GET", b"front"), ("GET", b"front")]:
            connection.request(method, "/")
            answer = connection.getresponse()
            assert (answer.status, answer.getheader("Content-Length"), answer.read()) == (200, "5", body)
        connection.close()
    with pytest.raises(urllib.error.URLError):
        urllib.request.urlopen(base_url, timeout=1)
