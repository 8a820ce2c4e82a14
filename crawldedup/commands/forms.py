"""Which files hold what, by their names."""

import re
from typing import Final

from crawldedup.commands.packing import GZIP, packed_suffix, unpacked_name

LINES, ARRAY, CSV, PARQUET, ARCHIVE = "JSON lines", "JSON", "CSV", "Parquet", "a web archive"
_FORMS: Final = {
    **dict.fromkeys((".jl", ".jsonl", ".jsonlines", ".ndjson"), LINES),
    ".json": ARRAY,
    ".csv": CSV,
    ".parquet": PARQUET,
    # Those of plain text, as Common Crawl publishes them, are archives, too.
    **dict.fromkeys((".warc", ".wet", ".wacz"), ARCHIVE),
}
HTML_SUFFIXES: Final = (".html", ".htm", ".xhtml")
TEXT_SUFFIXES: Final = (".txt", ".text", ".md")
# Files that servers make pages with. A crawler saves the pages under these names.
DYNAMIC_SUFFIXES: Final = (".shtml", ".php", ".asp", ".aspx", ".jsp", ".cgi", ".cfm", ".do", "")
_SUFFIX: Final = re.compile(r"(\.[a-z]+)$")
# What `wget` puts behind a name that is taken.
_NUMBERED: Final = re.compile(r"(\.[a-z]{1,8})\.\d{1,4}$")
_OTHER_SUFFIX: Final = re.compile(r"\.[a-z0-9]{1,8}$")

_ARC: Final = "ARC files are not read; `warcio recompress OLD.arc.gz NEW.warc.gz` makes a WARC file"
_TABLE: Final = "such tables are not read; save it as .csv or .parquet"
_FOLDER: Final = "such archives are not read; unpack it, and name the folder"
_NOT_READ: Final = {
    ".arc": _ARC,
    **dict.fromkeys((".tsv", ".xls", ".xlsx", ".ods"), _TABLE),
    **dict.fromkeys((".tar", ".tgz", ".txz", ".tzst", ".tbz2", ".zip", ".7z", ".rar"), _FOLDER),
    **dict.fromkeys((".mht", ".mhtml"), "such pages are not read; save it as .html"),
}
_PACKED_ARCHIVE: Final = (
    "web archives are read as .warc and .warc.gz; unpack it, and name what comes out"
)
_PACKED_TABLE: Final = "Parquet compresses by itself, and is read as .parquet; unpack it"


def form_of(name: str) -> str | None:
    """Return what a file holds, by its name:

    LINES, ARRAY, CSV, PARQUET or ARCHIVE; None for anything else, and for what is not read.
    """
    form = _form_inside(name)
    packed = packed_suffix(name)
    if (form == PARQUET and packed) or (form == ARCHIVE and packed not in ("", GZIP)):
        return None
    return form


def _form_inside(name: str) -> str | None:
    suffix = _SUFFIX.search(unpacked_name(name))
    return _FORMS.get(suffix[1]) if suffix else None


def why_not_read(name: str) -> str | None:
    """Return why a file of this name is not read, and what to do; None if it is."""
    if form_of(name) is None and (form := _form_inside(name)) is not None:
        return _PACKED_TABLE if form == PARQUET else _PACKED_ARCHIVE
    return _NOT_READ.get(suffix_of(name))


def suffix_of(name: str) -> str:
    """Return what a file name ends with, in lower case and without the end that tells how it is
    compressed; "" if there is nothing like that.

    Of "view.php?id=3" and "index.html.1", which crawlers save, it is what stands before.
    """
    name = unpacked_name(name.partition("?")[0])
    if numbered := _NUMBERED.search(name):
        return numbered[1]
    suffix = _OTHER_SUFFIX.search(name)
    return suffix[0] if suffix and suffix.start() else ""


def is_text_name(name: str) -> bool:
    """Return whether a file of this name holds a plain text."""
    return suffix_of(name) in TEXT_SUFFIXES


def is_page_name(name: str) -> bool:
    """Return whether a file of this name holds a page of HTML, or a text."""
    return suffix_of(name) in HTML_SUFFIXES + TEXT_SUFFIXES
