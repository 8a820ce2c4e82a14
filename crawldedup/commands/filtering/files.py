"""Check which files `crawldedup filter` may read and write, before it begins."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from crawldedup.commands.filtering.target import check_target
from crawldedup.commands.reading.entries import ARCHIVE, LINES, form_of
from crawldedup.errors import ConfigurationError

STANDARD: Final = "-"
_ENDINGS: Final = "it must end in .jsonl, .json, .csv or .warc, all of them perhaps with .gz, or in .parquet"


@dataclass(frozen=True, slots=True)
class Files:
    """Names of files to read and to write; "-" is standard input or output. Raises ConfigurationError."""

    inputs: tuple[str, ...]
    target: str
    dropped: str | None = None
    force: bool = False

    def __post_init__(self) -> None:
        """Check what is read, and that nothing is written over it."""
        forms = [_input_form(name) for name in self.inputs]
        if self.inputs.count(STANDARD) > 1:
            raise ConfigurationError("standard input can be read only once")
        if len({form == ARCHIVE for form in (self.form, *forms)}) > 1:
            raise ConfigurationError("web archives go to web archives alone, and feeds to feeds")
        if self.target == self.dropped == STANDARD:
            raise ConfigurationError("--output and --dropped both name standard output")
        read = [Path(name) for name in self.inputs if name != STANDARD]
        written = [Path(name) for name in (self.target, self.dropped) if name and name != STANDARD]
        if len({path.resolve() for path in written}) < len(written):
            raise ConfigurationError(f"--output and --dropped both name {self.target!r}")
        for path in written:
            check_target(path, read, force=self.force)

    @property
    def form(self) -> str:
        """The form of what is written."""
        form = LINES if self.target == STANDARD else form_of(self.target)
        if form is None:
            raise ConfigurationError(f"--output is {self.target!r}, whose name tells no form: {_ENDINGS}")
        return form


def _input_form(name: str) -> str:
    if name == STANDARD:
        return LINES
    if Path(name).is_dir():
        raise ConfigurationError(f"{name!r} is a folder; filter reads feeds and web archives")
    if not Path(name).is_file():
        raise ConfigurationError(f"{name!r} is no file; use - for JSON lines from standard input")
    form = form_of(name)
    if form is None:
        raise ConfigurationError(f"{name!r} is neither a feed nor a web archive by its name: {_ENDINGS}")
    return form
