"""Recognize the format of a file by its name."""

import re
from typing import Final

from crawldedup.commands.packing import GZIP, ZSTANDARD, packed_suffix, unpacked_name

LINES, ARRAY, CSV, PARQUET, ARCHIVE = "JSON lines", "JSON", "CSV", "Parquet", "a web archive"
_FORMS: Final = {
    **dict.fromkeys((".jl", ".jsonl", ".jsonlines", ".ndjson"), LINES),
    ".json": ARRAY,
    ".csv": CSV,
    ".parquet": PARQUET,
    # Those with plain text, which Common Crawl publishes, are archives as well.
    **dict.fromkeys((".warc", ".wet", ".wacz"), ARCHIVE),
}
HTML_SUFFIXES: Final = (".html", ".htm", ".xhtml")
TEXT_SUFFIXES: Final = (".txt", ".text", ".md")


def _suffixes(names: str) -> frozenset[str]:
    return frozenset(f".{name}" for name in names.split())


# In a folder, files with all other names may be pages that a crawler saved under the ends of URLs.
_NEVER_PAGES: Final = _suffixes("""
    7z apk avi avif bin bmp bz2 class css csv doc docx eot epub exe flac flv gif gz ico iso jar jl
    jpeg jpg js json jsonl jsonlines log m4a map mjs mkv mov mp3 mp4 mpeg ndjson o odt ogg otf
    parquet pdf png ppt pptx py rar rpm rss rtf so sqlite svg tar tgz tif tiff ts ttf wacz warc wasm
    wav webm webp wet woff woff2 xls xlsx xz yaml yml zip zst
""")
_SUFFIX: Final = re.compile(r"(\.[a-z]+)$")
# The suffix that `wget` adds to a name that is taken.
_NUMBERED: Final = re.compile(r"(\.[a-z]{1,8})\.\d{1,4}$")
_OTHER_SUFFIX: Final = re.compile(r"\.[a-z0-9]{1,8}$")

_ARC: Final = (
    "ARC files are not supported; `warcio recompress OLD.arc.gz NEW.warc.gz` makes a WARC file"
)
_TABLE: Final = "such tables are not supported; save it as .csv or .parquet"
_FOLDER: Final = "such archives are not supported; unpack it, and name the folder"
_NOT_READ: Final = {
    ".arc": _ARC,
    **dict.fromkeys(
        (".tsv", ".xls", ".xlsx", ".ods", ".arrow", ".feather", ".orc", ".avro"), _TABLE
    ),
    **dict.fromkeys((".tar", ".tgz", ".txz", ".tzst", ".tbz2", ".zip", ".7z", ".rar"), _FOLDER),
    **dict.fromkeys((".mht", ".mhtml"), "such pages are not supported; save it as .html"),
}
_PACKED_ARCHIVE: Final = (
    "web archives can be .warc, .warc.gz or .warc.zst; unpack it, and name the result"
)
_PACKED_AS: Final = ("", GZIP, ZSTANDARD)
"""How web archives may be compressed, member by member."""
_PACKED_TABLE: Final = (
    "Parquet files are compressed inside, so they are only read as .parquet; unpack it"
)


def form_of(name: str) -> str | None:
    """Return the format that a file has according to its name, or None.

    The formats are LINES, ARRAY, CSV, PARQUET and ARCHIVE. The result is None for everything else,
    and for formats that aren't read.
    """
    form = _form_inside(name)
    packed = packed_suffix(name)
    if (form == PARQUET and packed) or (form == ARCHIVE and packed not in _PACKED_AS):
        return None
    return form


def archive_packed_by(packing: str) -> str:
    """Return the format of a web archive, given its compression ("" if it has none)."""
    return f"packed as {packing}, {ARCHIVE}" if packing else ARCHIVE


def packed_archive(name: str) -> str:
    """Return the format of a web archive by its name. A WACZ contains archives in gzip."""
    return archive_packed_by(GZIP if name.lower().endswith(".wacz") else packed_suffix(name))


def _form_inside(name: str) -> str | None:
    suffix = _SUFFIX.search(unpacked_name(name))
    return _FORMS.get(suffix[1]) if suffix else None


def why_not_read(name: str) -> str | None:
    """Return why a file with this name isn't read, and what to do instead, or None."""
    if form_of(name) is None and (form := _form_inside(name)) is not None:
        return _PACKED_TABLE if form == PARQUET else _PACKED_ARCHIVE
    return _NOT_READ.get(suffix_of(name))


def suffix_of(name: str) -> str:
    """Return the suffix of a file name in lower case, or "" if there is none.

    The suffix for a compression doesn't count. For names such as "view.php?id=3" and
    "index.html.1", which crawlers use, it's the suffix before that.
    """
    name = unpacked_name(name.partition("?")[0])
    if numbered := _NUMBERED.search(name):
        return numbered[1]
    suffix = _OTHER_SUFFIX.search(name)
    return suffix[0] if suffix and suffix.start() else ""


def is_text_name(name: str) -> bool:
    """Return whether a file with this name is plain text."""
    return suffix_of(name) in TEXT_SUFFIXES


def may_be_page(name: str) -> bool:
    """Return whether a file with this name may be a page, so it's worth looking into."""
    return suffix_of(name) not in _NEVER_PAGES and why_not_read(name) is None


def is_page_name(name: str) -> bool:
    """Return whether a file with this name is HTML or a text."""
    return suffix_of(name) in HTML_SUFFIXES + TEXT_SUFFIXES
