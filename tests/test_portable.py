from __future__ import annotations

import gzip
import hashlib
import io
import json
import os
import random
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crawldedup import Deduplicator, Kind
from crawldedup.errors import PortableFileError, ProfileMismatchError
from crawldedup.files import opened_for_reading, opened_for_writing
from crawldedup.portable import BLOCK_RECORDS, Header, read_index, write_index
from crawldedup.stores.base import Record

if TYPE_CHECKING:
    from tests.stores.backends import Backend

SIGNATURE_BYTES = 32
HEADER = Header("words/1", "news", 64, SIGNATURE_BYTES, 1_700_000_000, 3)

numbers = st.integers(0, 2**64 - 1)
times = st.integers(0, 2**32 - 1)
urls = st.text(max_size=60)
record_lists = st.lists(
    st.builds(
        Record,
        url=urls,
        url_key=numbers,
        search=numbers,
        signature=st.binary(min_size=SIGNATURE_BYTES, max_size=SIGNATURE_BYTES),
        digest=st.integers(0, 2**32 - 1),
        added_at=times,
        seen_at=times,
        copies=st.integers(0, 2**31 - 1),
    ),
    max_size=8,
)


def record(number: int, url: str = "https://example.com/") -> Record:
    bits = hashlib.blake2b(number.to_bytes(4, "big"), digest_size=16 + 4 + SIGNATURE_BYTES).digest()
    return Record(
        url=f"{url}{number}",
        url_key=int.from_bytes(bits[:8], "big"),
        search=int.from_bytes(bits[8:16], "big"),
        signature=bits[20:],
        digest=int.from_bytes(bits[16:20], "big"),
        added_at=1000,
        seen_at=2000,
        copies=3,
    )


def written(records: list[Record], header: Header = HEADER) -> bytes:
    stream = io.BytesIO()
    assert write_index(stream, header, records) == len(records)
    return stream.getvalue()


def read(data: bytes) -> tuple[Header, list[Record]]:
    header, blocks = read_index(io.BytesIO(data), "the file")
    return header, [record for block in blocks for record in block]


def read_until_it_breaks(data: bytes) -> tuple[list[Record], str]:
    found: list[Record] = []
    try:
        for block in read_index(io.BytesIO(data), "the file")[1]:
            found.extend(block)
    except PortableFileError as error:
        return found, str(error)
    return found, ""


def part(checksum_of: bytes, payload: bytes) -> bytes:
    """A block behind what stands in front of it, with a right checksum: an attacker can compute those."""
    block = len(payload).to_bytes(4, "big") + payload
    return block + zlib.crc32(checksum_of + block).to_bytes(4, "big")


def header_line(**changes: Any) -> bytes:
    line = json.loads(written([]).partition(b"\n")[0])
    return (
        json.dumps({name: value for name, value in {**line, **changes}.items() if value is not None}).encode() + b"\n"
    )


class TestFormat:
    @given(records=record_lists, namespace=st.text(max_size=20))
    def test_what_is_written_is_read(self, records: list[Record], namespace: str) -> None:
        header = Header("a/b/c", namespace, 64, SIGNATURE_BYTES, 5, len(records))
        assert read(written(records, header)) == (header, records)

    @pytest.mark.parametrize("count", [0, 1, BLOCK_RECORDS - 1, BLOCK_RECORDS, 2 * BLOCK_RECORDS + 1])
    def test_no_block_holds_more_than_a_store_takes(self, count: int) -> None:
        records = [record(number) for number in range(count)]
        blocks = list(read_index(io.BytesIO(written(records)), "the file")[1])
        assert [record for block in blocks for record in block] == records
        assert all(0 < len(block) <= BLOCK_RECORDS for block in blocks)

    def test_a_record_takes_68_bytes_beyond_its_url(self) -> None:
        records = [record(number, url="") for number in range(100, 1000)]
        assert len(written(records)) - len(written([])) - 8 == 900 * (68 + 3)

    @pytest.mark.parametrize(
        ("url", "kept"),
        [
            ("https://example.com/\ud800", "https://example.com/?"),
            ("x" * (1 << 20), "x" * (1 << 20)),
            ("x" * 5_000_000, "x" * (1 << 20)),
            ("x" + "ü" * 1_000_000, "x" + "ü" * ((1 << 19) - 1)),
        ],
    )
    def test_strange_urls_do_not_keep_an_index_from_being_written(self, url: str, kept: str) -> None:
        records = [Record(url, 1, 2, bytes(SIGNATURE_BYTES), 3, 4, 5, 6)] * 9
        assert [found.url for found in read(written(records))[1]] == [kept] * 9

    def test_the_header_can_be_read_by_eye(self) -> None:
        line = json.loads(written([record(1)]).partition(b"\n")[0])
        assert line == {
            "format": "crawldedup-index",
            "version": 1,
            "profile": "words/1",
            "namespace": "news",
            "search_bits": 64,
            "signature_bytes": 32,
            "created_at": 1_700_000_000,
            "pages": 3,
        }


RECORDS = [record(number) for number in range(3)]
WHOLE = written(RECORDS)
MANY = [record(number) for number in range(2 * BLOCK_RECORDS + 10)]


class TestDamage:
    def test_a_file_that_ends_early_is_noticed_wherever(self) -> None:
        for length in range(len(WHOLE)):
            found, problem = read_until_it_breaks(WHOLE[:length])
            assert found in ([], RECORDS)
            assert problem.startswith("the file is ")
            if length > WHOLE.index(b"\n"):
                assert f"truncated: it ends after {len(found)} pages" in problem

    @settings(max_examples=300)
    @given(place=st.integers(0, len(WHOLE) - 1), bits=st.integers(1, 255))
    def test_a_byte_that_changed_is_noticed_before_its_record_is_used(self, place: int, bits: int) -> None:
        damaged = bytearray(WHOLE)
        damaged[place] ^= bits
        found, problem = read_until_it_breaks(bytes(damaged))
        assert problem
        assert found in ([], RECORDS)
        assert found == [] or place >= len(WHOLE) - 16

    def test_blocks_that_are_missing_or_changed_places_are_noticed(self) -> None:
        data = written(MANY)
        places = [data.index(b"\n") + 1]
        for _ in range(3):
            places.append(places[-1] + 8 + int.from_bytes(data[places[-1] :][:4], "big"))
        head, one, two, three, end = (data[a:b] for a, b in zip([0, *places], [*places, len(data)], strict=True))
        assert head + one + two + three + end == data
        for wrong, good in [(one + three, 1000), (two + one + three, 0), (one + one + two + three, 1000)]:
            found, problem = read_until_it_breaks(head + wrong + end)
            assert found == MANY[:good]
            assert f"damaged behind its first {good} pages" in problem

    @pytest.mark.parametrize("behind", [b"\0", b"more", WHOLE])
    def test_nothing_may_follow_the_end(self, behind: bytes) -> None:
        found, problem = read_until_it_breaks(WHOLE + behind)
        assert found == RECORDS
        assert "goes on behind its end mark" in problem


class TestHostileFiles:
    LINE = header_line()

    @given(data=st.binary(max_size=300))
    def test_anything_else_is_no_index(self, data: bytes) -> None:
        with pytest.raises(PortableFileError, match="not an exported index"):
            read(data)

    @given(data=st.binary(max_size=300))
    def test_anything_behind_a_header_is_an_error(self, data: bytes) -> None:
        found, problem = read_until_it_breaks(self.LINE + data)
        assert (found, bool(problem)) == ([], True)

    @given(payload=st.binary(min_size=1, max_size=400))
    def test_a_block_of_nonsense_is_an_error_or_records_of_the_right_size(self, payload: bytes) -> None:
        found, problem = read_until_it_breaks(self.LINE + part(self.LINE, payload))
        assert problem
        assert sum(68 + len(record.url.encode()) for record in found) in (0, len(payload))

    @pytest.mark.parametrize(
        "line",
        [
            b"",
            b"\n",
            b"[" * 60_000,
            b"{" + b" " * 100_000,
            b"[]",
            b"1" * 10_000,
            b'{"format": "x"}',
            b"\xff\xfe",
            b"null",
        ],
    )
    def test_headers_of_other_files(self, line: bytes) -> None:
        with pytest.raises(PortableFileError, match="the file is not an exported index"):
            read(line)

    @pytest.mark.parametrize(
        ("changes", "said"),
        [
            ({"version": 2}, "has version 2 of the format, and this crawldedup reads versions up to 1; use a newer"),
            ({"version": None}, "no version"),
            ({"version": True}, "no version"),
            ({"version": 0}, "no version"),
            ({"profile": None}, "no profile"),
            ({"profile": ["x"]}, "no profile"),
            ({"profile": "x" * 5000}, "no profile"),
            ({"namespace": 7}, "no namespace"),
            ({"search_bits": "64"}, "no search_bits"),
            ({"signature_bytes": -1}, "no signature_bytes"),
            ({"signature_bytes": 10**30}, "no signature_bytes"),
            ({"created_at": 1.5}, "no created_at"),
            ({"pages": None}, "no pages"),
        ],
    )
    def test_headers_that_lack_something(self, changes: dict[str, Any], said: str) -> None:
        with pytest.raises(PortableFileError, match=said):
            read(header_line(**changes))

    def test_what_a_newer_version_adds_to_the_header_does_not_matter(self) -> None:
        assert read_index(io.BytesIO(header_line(colour="blue")), "the file")[0] == HEADER

    @pytest.mark.parametrize(
        ("line", "payload", "said"),
        [
            (LINE, bytes(10), "something else than records"),
            (LINE, bytes(32) + b"\xff\xff\xff\xff" + bytes(32), "a record is impossible"),
            (LINE, bytes(28) + b"\xff\xff\xff\xff" + bytes(36), "a record is impossible"),
            (LINE, bytes(32) + b"\0\0\0\x02" + bytes(32) + b"\xc3\x28", "not UTF-8"),
            (LINE, bytes(68 * (BLOCK_RECORDS + 1)), "something else than records"),
            (header_line(signature_bytes=2**62), bytes(200), "something else than records"),
        ],
    )
    def test_blocks_with_a_right_checksum(self, line: bytes, payload: bytes, said: str) -> None:
        found, problem = read_until_it_breaks(line + part(line, payload))
        assert found == []
        assert said in problem

    def test_a_block_of_more_than_a_few_megabytes_is_not_even_read(self) -> None:
        _, problem = read_until_it_breaks(self.LINE + b"\xff\xff\xff\xff" + bytes(100))
        assert "a block claims 4294967295 bytes" in problem

    def test_a_wrong_count_is_noticed(self) -> None:
        end = bytes(4) + (7).to_bytes(8, "big")
        data = self.LINE + end + zlib.crc32(self.LINE + end).to_bytes(4, "big")
        assert "its end mark counts 7" in read_until_it_breaks(data)[1]

    def test_a_name_is_shown_escaped(self) -> None:
        with pytest.raises(PortableFileError) as error:
            read_index(io.BytesIO(b""), "\x1b]0;gotcha\x07")
        assert "\x1b" not in str(error.value)


class TestFiles:
    DATA = written([record(number) for number in range(50)])

    def stored(self, path: Path) -> bytes:
        with opened_for_reading(path) as (stream, name):
            assert name == str(path)
            return stream.read()

    @pytest.mark.parametrize(("name", "compressed"), [("a.index", False), ("a.index.gz", True), ("A.GZ", True)])
    def test_a_name_that_ends_in_gz_is_compressed(self, tmp_path: Path, name: str, compressed: bool) -> None:
        with opened_for_writing(tmp_path / name) as stream:
            stream.write(self.DATA)
        assert [path.name for path in tmp_path.iterdir()] == [name]
        assert ((tmp_path / name).read_bytes() != self.DATA) is compressed
        assert self.stored(tmp_path / name) == self.DATA

    def test_reading_goes_by_the_contents_not_by_the_name(self, tmp_path: Path) -> None:
        (tmp_path / "plain.gz").write_bytes(self.DATA)
        (tmp_path / "compressed").write_bytes(gzip.compress(self.DATA))
        (tmp_path / "empty.gz").write_bytes(b"")
        assert self.stored(tmp_path / "plain.gz") == self.stored(tmp_path / "compressed") == self.DATA
        assert self.stored(tmp_path / "empty.gz") == b""

    @pytest.mark.parametrize("name", ["a.index", "a.index.gz"])
    def test_a_failure_leaves_what_was_there(self, tmp_path: Path, name: str) -> None:
        def failing() -> Iterator[Record]:
            yield record(1)
            raise OSError("the disk is gone")

        (tmp_path / name).write_bytes(b"last week's")
        with pytest.raises(OSError, match="the disk is gone"), opened_for_writing(tmp_path / name) as stream:
            write_index(stream, HEADER, failing())
        assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {name: b"last week's"}

    def test_a_link_and_a_device_stay_what_they_are(self, tmp_path: Path) -> None:
        (tmp_path / "real").write_bytes(b"old")
        (tmp_path / "link").symlink_to(tmp_path / "real")
        for target in (tmp_path / "link", Path(os.devnull)):
            with opened_for_writing(target) as stream:
                stream.write(b"new")
        assert (tmp_path / "link").is_symlink()
        assert (tmp_path / "real").read_bytes() == b"new"
        assert not Path(os.devnull).is_file()

    def test_a_pipe_without_a_name_is_written_to(self, tmp_path: Path) -> None:
        reader, writer = os.pipe()
        with opened_for_writing(f"/dev/fd/{writer}") as stream:
            stream.write(self.DATA[:1000])
        os.close(writer)
        with os.fdopen(reader, "rb") as pipe:
            assert pipe.read() == self.DATA[:1000]

    def test_of_two_who_write_one_file_at_once_neither_spoils_it(self, tmp_path: Path) -> None:
        target = tmp_path / "a.index"
        (tmp_path / "a.index.part").write_bytes(b"somebody's own")
        with opened_for_writing(target) as slow:
            slow.write(b"slow")
            with opened_for_writing(target) as quick:
                quick.write(b"quick")
            assert target.read_bytes() == b"quick"
        assert target.read_bytes() == b"slow"
        assert {path.name for path in tmp_path.iterdir()} == {"a.index", "a.index.part"}

    def test_a_file_that_is_replaced_stays_as_secret_as_it_was(self, tmp_path: Path) -> None:
        (tmp_path / "a").write_bytes(b"")
        (tmp_path / "a").chmod(0o600)
        with opened_for_writing(tmp_path / "a") as stream:
            stream.write(b"new")
        assert (tmp_path / "a").stat().st_mode & 0o777 == 0o600

    @pytest.mark.parametrize("cut", [2, 3, 40, 200, -1, -9])
    def test_a_compressed_file_that_ends_early(self, tmp_path: Path, cut: int) -> None:
        path = tmp_path / "a.gz"
        path.write_bytes(gzip.compress(self.DATA)[:cut])
        with opened_for_reading(path) as (stream, name), pytest.raises(PortableFileError, match="truncated"):
            for _ in read_index(stream, name)[1]:
                pass

    def test_a_compressed_file_that_is_damaged(self, tmp_path: Path) -> None:
        compressed = bytearray(gzip.compress(self.DATA))
        for place in range(12, len(compressed), 7):
            damaged = bytes(compressed[:place]) + bytes([compressed[place] ^ 255]) + bytes(compressed[place + 1 :])
            (tmp_path / "a.gz").write_bytes(damaged)
            with opened_for_reading(tmp_path / "a.gz") as (stream, name), pytest.raises(PortableFileError):
                for _ in read_index(stream, name)[1]:
                    pass


def text(seed: int, edits: int = 0) -> str:
    """A page of its own, or one near it."""
    words = random.Random(seed).choices(VOCABULARY, k=300)
    for number in range(edits):
        words[(number + 1) * 90] = f"edit{number}"
    return " ".join(words)


VOCABULARY = ["".join(random.Random(number).choices("abdeiklmnorstu", k=6)) for number in range(3000)]
SEEN = [(f"https://site{number % 5}.example/{number}", text(number)) for number in range(120)]


def index_of(url: str, **options: Any) -> Deduplicator:
    dedup = Deduplicator(url, scope="site", **options)
    for page, content in SEEN:
        dedup.check(page, text=content)
    dedup.check("https://site1.example/copy", text=SEEN[1][1])
    dedup.check("https://site0.example/thin", text="hardly any words")
    return dedup


def answers(dedup: Deduplicator) -> list[Any]:
    """What an index knows, by every kind of question; the last ones change it."""
    asked = [(page, text(number, edits=2)) for number, (page, _) in enumerate(SEEN[:40])]
    asked += [("https://site0.example/", "hardly any words"), ("https://site1.example/", "hardly any words")]
    found = [[(match.url, match.similarity, match.copies) for match in dedup.find(text=t, url=u)] for u, t in asked]
    checked = [dedup.check(f"{url}?new", text=content) for url, content in asked] + [
        dedup.check(url, text=content) for url, content in SEEN[60:70]
    ]
    return [found, [(verdict.kind, verdict.original, verdict.similarity, verdict.copies) for verdict in checked]]


class TestMoving:
    def test_an_index_answers_alike_wherever_it_is_taken(self, backends: list[Backend], tmp_path: Path) -> None:
        with index_of("memory://") as first:
            first.export_to(tmp_path / "0.gz")
            expected = answers(first)
        assert {kind for kind, *_ in expected[1]} == {
            Kind.NEAR_DUPLICATE,
            Kind.EXACT_DUPLICATE,
            Kind.THIN,
            Kind.REVISIT,
        }
        for number, backend in enumerate(backends):
            with Deduplicator(backend.url, scope="site", namespace="moved") as dedup:
                moved = dedup.import_from(tmp_path / f"{number}.gz")
                assert (moved.pages, moved.added, dedup.info().pages) == (121, 121, 121)
                assert dedup.export_to(tmp_path / f"{number + 1}.gz") == 121
                assert answers(dedup) == expected
        assert self.records(tmp_path / "0.gz") == self.records(tmp_path / f"{len(backends)}.gz")

    def records(self, path: Path) -> list[Record]:
        with opened_for_reading(path) as (stream, name):
            return [record for block in read_index(stream, name)[1] for record in block]

    def test_what_is_known_is_left_as_it_is(self, store_url: str, tmp_path: Path) -> None:
        with index_of("memory://") as first:
            first.export_to(tmp_path / "a")
        with Deduplicator(store_url, scope="site") as dedup:
            url, content = SEEN[7]
            dedup.check(url, text="now it says something else")
            dedup.check("https://site3.example/mine", text=text(999))
            first_time, again = dedup.import_from(tmp_path / "a"), dedup.import_from(tmp_path / "a")
            assert [(moved.pages, moved.added) for moved in (first_time, again)] == [(121, 120), (121, 0)]
            assert dedup.info().pages == 122
            assert dedup.find(text=content, url=url) == []

    def test_an_index_is_copied_without_a_file(self, store_url: str) -> None:
        with index_of("memory://") as first, Deduplicator(store_url, scope="site", namespace="b") as second:
            told: list[tuple[int, int]] = []
            moved = first.copy_to(second, progress=lambda done, total: told.append((done, total)))
            assert (moved.pages, moved.added) == (121, 121)
            assert told[-1] == (121, 121)
            assert answers(first) == answers(second)

    def test_progress_is_told(self, tmp_path: Path) -> None:
        told: list[tuple[int, int]] = []
        with index_of("memory://") as dedup:
            dedup.export_to(tmp_path / "a", progress=lambda done, total: told.append((done, total)))
            Deduplicator(scope="site").import_from(
                tmp_path / "a", progress=lambda done, total: told.append((done, total))
            )
        assert told == [(121, 121), (121, 121)]

    def test_streams_may_take_the_place_of_files(self) -> None:
        stream = io.BytesIO()
        with index_of("memory://") as dedup:
            dedup.export_to(stream)
        assert Deduplicator().import_from(io.BytesIO(stream.getvalue())).added == 121
        assert Deduplicator().import_from(io.BytesIO(gzip.compress(stream.getvalue()))).added == 121

    def test_another_profile_is_refused_with_both_named_before_anything_is_opened(self, tmp_path: Path) -> None:
        with index_of("memory://", extractor="text") as dedup:
            dedup.export_to(tmp_path / "a")
            other = Deduplicator(f"sqlite:///{tmp_path}/other.sqlite")
            for move in (lambda: other.import_from(tmp_path / "a"), lambda: dedup.copy_to(other)):
                with pytest.raises(ProfileMismatchError, match=r"'text/.*'trafilatura/"):
                    move()
        assert [path.name for path in tmp_path.iterdir()] == ["a"]

    def test_a_header_that_contradicts_its_profile(self, tmp_path: Path) -> None:
        with Deduplicator() as dedup:
            header = Header(dedup.info().profile, "x", 64, 16, 5, 0)
            (tmp_path / "a").write_bytes(written([], header))
            with pytest.raises(PortableFileError, match="contradicts its profile"):
                dedup.import_from(tmp_path / "a")

    def test_of_a_truncated_file_the_rest_can_be_added_later(self, tmp_path: Path) -> None:
        records = [record(number) for number in range(2500)]
        dedup = Deduplicator()
        data = written(records, Header(dedup.info().profile, "x", 64, 32, 5, 2500))
        with pytest.raises(PortableFileError, match="ends after 1000 pages"):
            dedup.import_from(io.BytesIO(data[: len(data) // 2]))
        assert dedup.info().pages == 1000
        assert dedup.import_from(io.BytesIO(data)).added == 1500

    def test_a_crawl_goes_on_while_its_index_is_written_and_read(self, store_url: str) -> None:
        stream = io.BytesIO()
        with Deduplicator(store_url) as dedup:
            many = [record(number) for number in range(2500)]
            data = written(many, Header(dedup.info().profile, "x", 64, 32, 5, len(many)))

            def crawl(done: int, _: int) -> None:
                assert dedup.check(f"https://new.example/{done}", text=text(done)).kind is Kind.NEW
                assert dedup.check(f"https://new.example/{done}", text=text(done)).kind is Kind.REVISIT

            assert dedup.import_from(io.BytesIO(data), progress=crawl).added == 2500
            dedup.clear()
            dedup.import_from(io.BytesIO(data))
            dedup.export_to(stream, progress=crawl)
            found = {page.url_key: page for page in read(stream.getvalue())[1]}
            assert [found[page.url_key] for page in many] == many
            assert dedup.import_from(io.BytesIO(stream.getvalue())).added == 0

    def test_a_file_that_cannot_be_read_or_written_is_an_os_error(self, tmp_path: Path) -> None:
        with pytest.raises(FileNotFoundError):
            Deduplicator().import_from(tmp_path / "none")
        with pytest.raises(FileNotFoundError):
            Deduplicator().export_to(tmp_path / "none" / "a")
        with pytest.raises(OSError, match=r"directory"):
            Deduplicator().import_from(tmp_path)
