"""Pages from feeds, tables, folders and sitemaps; web archives are in test_archives.py."""

from __future__ import annotations

import gzip
import io
import json
import random
import re
import sys
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scrapy.exporters import CsvItemExporter, JsonItemExporter, JsonLinesItemExporter

from crawldedup.commands import feeds, sources
from crawldedup.commands.feeds import ANY_FIELDS, Fields
from crawldedup.commands.items import refuse
from crawldedup.commands.packing import compressed
from crawldedup.commands.sitemaps import urls_of_sitemap
from crawldedup.commands.sources import readable_sources
from crawldedup.errors import ConfigurationError, MissingDependencyError
from crawldedup.page import Page

ITEMS = [
    {"link": "https://a.example/", "story": 'Grüße,\n"von" hier', "page": "<p>a"},
    {"link": "https://b.example/", "story": "日本語 ]} ,", "page": "<p>b"},
]
OF_STORIES = Fields("link", {"text": "story"})


def read(path: Path, fields: Fields = ANY_FIELDS) -> tuple[list[Page], list[str]]:
    """Return the pages of a file and what was wrong with it."""
    errors: list[Exception] = []
    pages = list(readable_sources([str(path)], errors.append, fields))
    return pages, [str(error).removeprefix(f"{path}, ") for error in errors]


def exported(exporter: Any, items: Any = ITEMS, **options: Any) -> bytes:
    stream = io.BytesIO()
    export = exporter(stream, **options)
    export.start_exporting()
    for item in items:
        export.export_item(item)
    export.finish_exporting()
    return stream.getvalue()


def table(columns: dict[str, Any], path: Path, **options: Any) -> Path:
    pq.write_table(pa.table(columns), path, **options)
    return path


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("feed.jl", exported(JsonLinesItemExporter)),
        ("PAGES.JSONL.GZ", gzip.compress(exported(JsonLinesItemExporter), mtime=0)),
        ("feed.json", exported(JsonItemExporter)),
        ("feed.json.gz", gzip.compress(exported(JsonItemExporter), mtime=0)),
        ("feed.csv", exported(CsvItemExporter)),
        ("feed.csv", exported(CsvItemExporter, encoding="utf-8-sig")),
        ("PAGES.PARQUET", None),
    ],
)
def test_the_fields_of_feeds_are_chosen(tmp_path: Path, name: str, content: bytes | None) -> None:
    path = tmp_path / name
    if content is None:
        table({key: [item[key] for item in ITEMS] for key in ITEMS[0]}, path)
    else:
        path.write_bytes(content)
    assert read(path, OF_STORIES) == (
        [Page(item["link"], text=item["story"]) for item in ITEMS],
        [],
    )
    assert [page.html for page in read(path, Fields("link", {"html": "page"}))[0]] == [
        "<p>a",
        "<p>b",
    ]
    with pytest.raises(
        ConfigurationError,
        match=r'the field "url" contains no text|none of the columns url, html, text',
    ):
        list(readable_sources([str(path)]))
    with pytest.raises(
        ConfigurationError,
        match='no text in the field "html" or "text"; name others with --html-field',
    ):
        list(readable_sources([str(path)], fields=Fields("link")))


LINE = json.dumps({"url": "https://a.example/", "text": "a"})
REFUSED = r" \(none of the first 10 items is a page"
BROKEN = "1: this cannot be read, and neither can the rest: "


@pytest.mark.parametrize(
    ("name", "content", "pages", "errors"),
    [
        # A bad item is told, and the next one is read.
        (
            "a.jl",
            f'{{\n{LINE}\n\n["b"]\n{LINE}',
            2,
            ["line 1: this is not JSON", "line 4: this is not a JSON object"],
        ),
        (
            "a.json",
            f'[7, {LINE}, {{"url": "b"}}, {LINE}]',
            2,
            ["item 1: ", "item 3: no text in the field.*The fields are: url$"],
        ),
        ("a.csv", "text,url\nno url,\na,a\ntoo short\nc,c\n", 2, ["item 1: ", "item 3: "]),
        # Spreadsheets separate cells by semicolons where numbers have decimal commas.
        ("a.csv", 'url;text\na;"one; two, 3,5"\nb;two\n', 2, []),
        ("a.csv", "url\ttext\na\tone, two; three\nb\ttwo\n", 2, []),
        (
            "a.csv",
            'url;text\na;"one\nb;two\nc;"three"\nd;four\n',
            1,
            ["item 1: a quote is not closed"],
        ),
        ("a.csv", 'url,"a;b",text\na,;;,one\n', 1, []),
        (
            "a.csv",
            f"{','.join('abcdefghijkl')}\n1\n",
            0,
            ["contains no text; name.*The fields are: a, b, c, d, e, f, g, h, i, j, and more"],
        ),
        ("a.csv", f"url,html,text\na,<p>a,\nb,,{'b' * 200_000}\n", 2, []),
        # A quote that is not closed must not swallow the items behind it.
        (
            "a.csv",
            'url,text\na,one\nb,"two\nc,three\n',
            1,
            ["item 2: this cannot be read.*quoted cell"],
        ),
        ("a.csv", 'url,text\na,"one\n\n', 0, [f"item {BROKEN}the file ends within a quoted"]),
        ("a.csv", 'url,text\na,one\nb,"a text that is cut off', 1, ["item 2: this cannot be"]),
        ("a.csv", '"url,text\na,one\nb,two\n', 0, [f"item {BROKEN}the file ends within a"]),
        (
            "a.csv",
            'url,text\na,"one\nb,two\nc,"three"\nd,four\n\ne,say "five"\nf,"six" it is\n',
            3,
            ["item 1: a quote is not closed where its cell ends, so these 3 lines may be"],
        ),
        ("a.csv", '"url","text"\n"a","one\n"b","two"\n"c","three"\n', 1, ["item 1: a quote"]),
        ("a.csv", 'url,text\n\n\na,"one" it is\nb,"two\n\n""lines"""\n\n', 2, []),
        # Of values with one name, the first would get lost.
        ("a.csv", "url,text,text\na,one,two\n", 0, [f"item {BROKEN}there are 2 columns 'text'"]),
        ("a.csv", "url,text,tag,tag\na,one,x,y\n", 1, []),
        (
            "a.jl",
            f'{LINE}\n{{"url": "a", "text": "one", "text": "two", "url": "b"}}\n'
            '{"url": "c", "text": "three", "tag": 1, "tag": 2, "deep": {"url": 1, "url": 2}}',
            2,
            ['line 2: this item has "text" and "url" several times'],
        ),
        (
            "a.json",
            f'[{LINE}, {{"text": "one", "url": "b", "text": "two"}}]',
            1,
            ['item 2: this item has "text" several times'],
        ),
        # Of many, the number is told, and what is no feed is refused.
        ("a.jl", f"{LINE}\n" + "{}\n" * 11, 1, ["line"] * 10 + [": 1 further item without a page"]),
        ("a.jl", "no feed\n" * 10 + LINE, 0, [REFUSED]),
        ("a.jl", "[" * 100_000, 0, [f"line 1: this is not JSON.*{REFUSED}"]),
        (
            "a.jl",
            '{"url": "a", "html": "<p>a", "text": "a"}',
            0,
            ['line 1: the fields "html" and "text" both contain'],
        ),
        # Where nothing more can be read, the reading ends.
        ("a.json", '{"url": 1}', 0, [f"item {BROKEN}it is not an array"]),
        ("a.json", f"[{LINE}, ", 1, ["item 2: this cannot be read"]),
        ("a.csv", 'url,text\nx,"' + "y\n" * 200_000, 0, [f"item {BROKEN}field larger"]),
        ("a.parquet", "PAR1", 0, [f"row {BROKEN}"]),
        ("a.xml", "<rss><channel/></rss>", 0, ["is not a sitemap: it begins with <rss>"]),
        ("a.xml", "", 0, ["is not a sitemap: it is not XML|cannot be read as a sitemap"]),
        (
            "a.xml",
            "no XML at all",
            0,
            ["is not a sitemap: it is not XML|cannot be read as a sitemap"],
        ),
        # A number that Python does not read stands in a field that nobody needs.
        ("a.jl", f'{{"url": "a", "text": "one", "id": {"7" * 5000}}}', 1, []),
        ("a.json", f'[{{"url": "a", "text": "one", "id": -{"7" * 5000}}}]', 1, []),
        (
            "a.jl",
            f'{{"url": {"7" * 5000}, "text": "one"}}',
            0,
            ['line 1: the field "url" contains no'],
        ),
        ("a.xml.gz", "\x1f\x8b\x08broken", 0, ["cannot be read as a sitemap|is not a sitemap"]),
    ],
    ids=lambda value: str(value)[:20],
)
def test_an_error_of_a_source_says_where_it_is(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    content: str,
    pages: int,
    errors: list[str],
) -> None:
    monkeypatch.setattr(feeds, "MOST_BYTES", 300_000)
    (tmp_path / name).write_text(content)
    found, told = read(tmp_path / name)
    assert len(found) == pages
    for error, pattern in zip(told, errors, strict=True):
        assert re.search(pattern, error), error


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_a_line_that_is_too_long_is_left_out_and_told(
    tmp_path: Path, pack: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / ("feed.jl" if pack is bytes else "feed.jl.gz")
    path.write_bytes(pack(f"{LINE}\n{'x' * 950}\n{LINE}\n".encode()))
    for most, number in ((len(LINE) + 2, 2), (len(LINE) + 1, 0)):
        monkeypatch.setattr(feeds, "MOST_BYTES", most)
        pages, errors = read(path)
        assert (len(pages), "must be shorter than" in errors[0]) == (number, True)


def test_an_array_is_read_piece_by_piece_and_its_members_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "feed.json"
    path.write_bytes(
        b"[%b, 1234567890, [], 12]" % exported(JsonItemExporter, indent=2).strip(b"[]\n")
    )
    for block in (*range(1, 20), 1 << 13):
        monkeypatch.setattr(feeds, "_BLOCK", block)
        items = sources.items_of_file(path, None, refuse)
        assert [json.loads(item.raw) for item in items] == [*ITEMS, 1234567890, [], 12]


@pytest.mark.parametrize(
    ("content", "values"),
    [
        # A crawl that is run again appends its array to the one that is there.
        (b"[1,\n2][\n3]\n", [1, 2, 3]),
        (b"[\n\n][\n1, [2]\n]\n\n[3]", [1, [2], 3]),
        (b"\xef\xbb\xbf[1]\xef\xbb\xbf[2]", [1, 2]),
        (b"[1]\n2\n3\n", [1, 2, 3]),
        (b"[1][]", [1]),
        (b"[1]\r\n[2]\r\n", [1, 2]),
        (b'[1] [2, {"a": "][", "b": "\\"]["}]', [1, 2, {"a": "][", "b": '"]['}]),
        (b"[]", []),
    ],
)
def test_a_feed_of_several_arrays_is_read_to_its_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: bytes, values: list[Any]
) -> None:
    path = tmp_path / "feed.json"
    path.write_bytes(content)
    for block in (1, 2, 3, 1 << 13):
        monkeypatch.setattr(feeds, "_BLOCK", block)
        items = sources.items_of_file(path, None, refuse)
        assert [json.loads(item.raw) for item in items] == values


@pytest.mark.parametrize("rest", ["] junk", "]]", "][", "", "]{"])
def test_what_cannot_be_read_behind_an_array_is_told(tmp_path: Path, rest: str) -> None:
    (tmp_path / "feed.json").write_text(f"[{LINE}, {LINE}{rest}")
    pages, (error,) = read(tmp_path / "feed.json")
    assert (len(pages), error[:6]) == (2, "item 3")


CYRILLIC = "дорога вела через старый мост".encode("cp1251")
UTF8_ITEM = json.dumps({"url": "b", "text": "Größe"}, ensure_ascii=False).encode()
OTHER_ITEM = b'{"url": "a", "text": "%b"}' % CYRILLIC


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.jl", UTF8_ITEM + b"\n" + OTHER_ITEM),
        ("a.json", b"[%b,%b]" % (UTF8_ITEM, OTHER_ITEM)),
        ("a.csv", "url,text\nb,Größe\na,".encode() + CYRILLIC),
        ("a.jl.gz", gzip.compress(UTF8_ITEM + b"\n" + OTHER_ITEM)),
        ("a.parquet", b""),
    ],
)
def test_no_letter_of_another_encoding_is_lost_in_silence(
    tmp_path: Path, name: str, content: bytes
) -> None:
    path = tmp_path / name
    if content:
        path.write_bytes(content)
    else:
        table({"url": ["b", "a"], "text": ["Größe".encode(), CYRILLIC]}, path)
    pages, (error,) = read(path)
    assert [page.text for page in pages] == ["Größe"]
    assert re.match(r"(line|item|row) 2: it is not UTF-8", error)
    # `filter` writes it as it came.
    assert len(list(sources.items_of_file(path, ANY_FIELDS, lambda _: None))) == 2


@pytest.mark.parametrize("form", [JsonLinesItemExporter, JsonItemExporter, CsvItemExporter])
@pytest.mark.parametrize("is_cut", [True, False])
def test_of_a_compressed_feed_the_items_before_its_end_are_read(
    tmp_path: Path, form: Any, is_cut: bool
) -> None:
    names = {
        JsonLinesItemExporter: "feed.jl.gz",
        JsonItemExporter: "feed.json.gz",
        CsvItemExporter: "feed.csv.gz",
    }
    noise = random.Random(1)
    items = [
        {"url": f"https://e.example/{number}", "text": noise.randbytes(300).hex()}
        for number in range(500)
    ]
    packed = bytearray(gzip.compress(exported(form, items)))
    if is_cut:
        del packed[len(packed) // 2 :]
    else:
        # The checksum of what was read.
        packed[-5] ^= 0xFF
    (tmp_path / names[form]).write_bytes(packed)
    pages, errors = read(tmp_path / names[form])
    assert ["cannot be decompressed any further" in error for error in errors] == [True]
    assert [page.url for page in pages] == [item["url"] for item in items[: len(pages)]]
    assert 240 < len(pages) < 260 if is_cut else len(pages) > 490


def test_a_small_table_that_stands_for_gigabytes_is_read_in_part(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(feeds, "MOST_BYTES", 1 << 20)
    text = pa.array(["one and the same " * 6_000] * 1000).dictionary_encode()
    path = table(
        {"url": list(map(str, range(1000))), "text": text},
        tmp_path / "pages.parquet",
        compression="zstd",
    )
    pages, (error,) = read(path)
    assert (
        len(pages) < 200,
        "it expands to more than 1,000 times the size of its file" in error,
    ) == (
        True,
        True,
    )
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingDependencyError, match=r"pip install 'crawldedup\[parquet\]'"):
        list(readable_sources([str(path)]))


def test_the_error_for_a_folder_without_pages_names_a_feed_in_it(tmp_path: Path) -> None:
    (tmp_path / "picture.png").touch()
    (error,) = read(tmp_path)[1]
    assert ("contains no pages: no .html, " in error, "Name the files" in error) == (True, False)
    (tmp_path / "pages.jsonl.gz").touch()
    (error,) = read(tmp_path)[1]
    assert error.endswith("Name the files that contain pages, such as 'pages.jsonl.gz'")


def test_a_pattern_that_the_shell_did_not_replace_is_explained(tmp_path: Path) -> None:
    (error,) = read(tmp_path / "*.jsonl")[1]
    assert error.endswith("a pattern only works without quotes")


NAMESPACE = 'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"'


def sitemap(*urls: str, kind: str = "urlset", entry: str = "url", of: str = NAMESPACE) -> bytes:
    entries = "".join(
        f"<{entry}><loc> {url}\n</loc><lastmod>2024-01-01</lastmod></{entry}>" for url in urls
    )
    return f'<?xml version="1.0" encoding="UTF-8"?><{kind} {of}>{entries}</{kind}>'.encode()


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        pass


def test_the_pages_of_a_sitemap_are_read_and_a_missing_one_hides_no_other(tmp_path: Path) -> None:
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=tmp_path)) as server:
        Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        site = f"http://127.0.0.1:{server.server_port}"
        contents = {
            "index.xml": sitemap(f"{site}/pages.xml.gz", kind="sitemapindex", entry="sitemap"),
            "pages.xml.gz": gzip.compress(
                sitemap(*(f"{site}/{name}" for name in ("a", "missing", "b")))
            ),
            "loop.xml": sitemap(f"{site}/loop.xml", kind="sitemapindex", entry="sitemap"),
            "a": b"<p>a",
            "b": b"<p>b",
        }
        for name, content in contents.items():
            (tmp_path / name).write_bytes(content)
        errors: list[Exception] = []
        pages = list(readable_sources([f"{site}/index.xml"], errors.append))
        assert [(page.url, page.html) for page in pages] == [
            (f"{site}/a", b"<p>a"),
            (f"{site}/b", b"<p>b"),
        ]
        assert [str(error).partition(" ")[0] for error in errors] == [f"{site}/missing"]
        assert list(urls_of_sitemap(f"{site}/loop.xml", errors.append)) == []
        assert "too many levels deep" in str(errors[-1])
        server.shutdown()


@pytest.mark.parametrize(
    ("content", "urls", "problem"),
    [
        (sitemap("https://a.example/?a=1&amp;b=ä"), ["https://a.example/?a=1&b=ä"], ""),
        (gzip.compress(sitemap("https://a.example/", of=""), mtime=0), ["https://a.example/"], ""),
        # Members of gzip stand one behind the other.
        (
            gzip.compress(sitemap("https://a.example/")[:90])
            + gzip.compress(sitemap("https://a.example/")[90:]),
            ["https://a.example/"],
            "",
        ),
        (
            sitemap("https://a.example/", "https://b.example/")[:-60],
            ["https://a.example/"],
            "may be read in part",
        ),
        (
            gzip.compress(sitemap("https://a.example/"))[:-6],
            ["https://a.example/"],
            "cannot be decompressed to its end",
        ),
        # No file of this machine is named by others.
        (
            sitemap("/etc/hostname", "-", "file:///etc/hostname", "https://a.example/"),
            ["https://a.example/"],
            "3 URLs left out",
        ),
        # Entities are not expanded.
        (
            b"<!DOCTYPE urlset [<!ENTITY x "
            b'"https://a.example/">]><urlset><url><loc>&x;</loc></url></urlset>',
            [],
            "1 URL left out",
        ),
    ],
)
def test_a_sitemap_may_be_a_file(
    tmp_path: Path, content: bytes, urls: list[str], problem: str
) -> None:
    (tmp_path / "sitemap.xml").write_bytes(content)
    errors: list[Exception] = []
    assert list(urls_of_sitemap(str(tmp_path / "sitemap.xml"), errors.append)) == urls
    assert problem in "".join(map(str, errors))
    assert bool(errors) == bool(problem)


def test_an_answer_that_ends_early_is_told(tmp_path: Path) -> None:
    class Cut(Quiet):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Length", "1000")
            self.end_headers()
            self.wfile.write(b"<p>half a page")

    with ThreadingHTTPServer(("127.0.0.1", 0), Cut) as server:
        Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        errors: list[Exception] = []
        url = f"http://127.0.0.1:{server.server_port}/"
        assert list(readable_sources([url], errors.append)) == []
        assert ["the last 986 bytes are missing" in str(error) for error in errors] == [True]
        server.shutdown()


@pytest.mark.parametrize(
    ("content", "number"), [(b"[1, 2]", 1), (f" [\n{LINE}, {LINE}][{LINE}]".encode(), 3)]
)
def test_standard_input_may_be_an_array_of_items(
    monkeypatch: pytest.MonkeyPatch, content: bytes, number: int
) -> None:
    stream = io.TextIOWrapper(io.BufferedReader(io.BytesIO(content)))
    monkeypatch.setattr(sys, "stdin", stream)
    assert len(list(readable_sources(["-"]))) == number


def test_a_text_has_the_title_that_its_item_gives(tmp_path: Path) -> None:
    path = tmp_path / "feed.jl"
    items = [
        {"url": "https://a.example/", "text": "Seals rest.", "title": "Seals", "head": "Bank"},
        {"url": "https://b.example/", "text": "Seals rest.", "title": 7},
        {"url": "https://c.example/", "html": "<p>Seals rest.", "title": "Seals"},
    ]
    path.write_text("".join(f"{json.dumps(item)}\n" for item in items))
    assert [page.title for page in read(path)[0]] == ["Seals", None, None]
    assert read(path, Fields(title="head"))[0][0].title == "Bank"
    columns = {name: [items[0][name]] for name in ("url", "text", "title")}
    (page,) = read(table(columns, tmp_path / "feed.parquet"))[0]
    assert page.title == "Seals"


def test_a_table_with_a_column_twice_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    columns = [pa.array(["a"]), pa.array(["one"]), pa.array(["two"])]
    pq.write_table(pa.Table.from_arrays(columns, names=["url", "text", "text"]), path)
    pages, (error,) = read(path)
    assert (pages, "there are 2 columns 'text'" in error) == ([], True)


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-be"])
@pytest.mark.parametrize("has_mark", [True, False])
@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.csv", "url,text\na,one\n"),
        ("a.json", '[{"url": "a", "text": "one"}]'),
        ("a.jl", '{"url": "a", "text": "one"}\n'),
    ],
)
def test_a_feed_in_a_wide_encoding_is_refused_by_its_name(
    tmp_path: Path, encoding: str, name: str, content: str, has_mark: bool
) -> None:
    plain = encoding if encoding.endswith("e") else f"{encoding}-le"
    mark = "\ufeff" if has_mark else ""
    (tmp_path / name).write_bytes(f"{mark}{content}".encode(plain))
    pages, (error,) = read(tmp_path / name)
    assert pages == []
    expected = encoding[:6] if has_mark else "utf-16"
    assert f"it seems to be {expected.upper()}, and feeds are read in UTF-8" in error
    assert f"iconv -f {expected} -t utf-8" in error


@pytest.mark.parametrize("name", ["pages.jsonl", "pages.csv", "pages.json"])
@pytest.mark.parametrize(
    ("content", "said"),
    [
        (gzip.compress(b"WARC/1.0\r\n"), "by gzip, .* end with .gz, or with .warc.gz if"),
        (compressed(b"WARC/1.0\r\n", ".zst"), "by zstd, .* end with .zst, or with .warc.zst if"),
        (
            compressed(b"[]", ".xz"),
            "by xz, and its name doesn't say so; rename it to end with .xz \\(",
        ),
        (b"WARC/1.0\r\nWARC-Type: response\r\n", "a web archive, .* end with .warc \\("),
    ],
)
def test_what_a_file_is_instead_of_a_feed_is_told(
    tmp_path: Path, name: str, content: bytes, said: str
) -> None:
    (tmp_path / name).write_bytes(content)
    pages, (error,) = read(tmp_path / name)
    assert pages == []
    assert re.search(said, error), error


@pytest.mark.parametrize("in_folder", [False, True])
def test_a_file_whose_reading_fails_is_named(tmp_path: Path, in_folder: bool) -> None:
    broken = tmp_path / "broken.html"
    broken.symlink_to("/proc/self/mem")
    (tmp_path / "good.html").write_text("<p>The boat left at dusk.")
    pages, errors = read(tmp_path if in_folder else broken)
    assert len(pages) == in_folder
    (error,) = errors
    assert "Input/output error" in error
    assert str(broken) in error
