"""The folder in which a scan collects what it has read, so that one that was killed goes on from there."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO, Final, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from crawldedup.errors import ConfigurationError
from crawldedup.printable import printable
from crawldedup.scan.columns import LAYOUT, Columns
from crawldedup.scan.reading import ReadPages

_FORMAT: Final = 1
_TASK: Final = "scan.json"
_STEPS: Final = "steps.jsonl"
_URLS: Final = "urls"
_URL_ENDS: Final = "url_ends"
_TYPES: Final[dict[str, tuple[Any, tuple[int, ...]]]] = {
    **LAYOUT,
    _URL_ENDS: (np.uint64, ()),
}


class Step(NamedTuple):
    """How far a scan has come: `items` of the source with the number `source` are read, and all of those before it.

    `pages` are in the folder, whose URLs take `url_bytes`. `skipped` counts pages by the reasons, `errors` what could
    not be read of the sources before.
    """

    source: int = 0
    items: int = 0
    pages: int = 0
    url_bytes: int = 0
    errors: int = 0
    skipped: Mapping[str, int] = {}


class ScanFolder:
    """Columns in files, one each, and the steps that were written whole. Raises OSError.

    `task` is what the folder is for: plain values, which must be the same when a scan goes on. Raises
    ConfigurationError for a folder of another scan, or of one at work.
    """

    def __init__(self, path: Path, task: Mapping[str, Any]) -> None:
        self.path = path
        self._files: dict[str, BinaryIO] = {}
        self._whole_steps = 0
        self.step = Step()
        if path.exists() and not path.is_dir():
            raise ConfigurationError(f"{self._shown} is no folder; name one to work in")
        path.mkdir(parents=True, exist_ok=True)
        if not (path / _TASK).exists() and any(path.iterdir()):
            raise ConfigurationError(f"the folder {self._shown} holds something else than a scan; name an empty one")
        self._lock = (path / "lock").open("wb")
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            self._open({"format": _FORMAT, **task})
        except BaseException as error:
            self.close()
            if isinstance(error, BlockingIOError):
                raise ConfigurationError(f"another scan is at work in {self._shown}") from error
            raise

    def _open(self, task: Mapping[str, Any]) -> None:
        known = self.path / _TASK
        if not known.exists():
            part = known.with_suffix(".part")
            part.write_text(json.dumps(task), encoding="ascii")
            part.replace(known)
        elif (changed := _difference(known.read_bytes(), task)) is not None:
            raise ConfigurationError(
                f"the scan in {self._shown} was begun with other {changed}; remove the folder to begin again"
            )
        self.step = self._last_step()
        sizes = {name: self.step.pages * _row_bytes(name) for name in _TYPES} | {_URLS: self.step.url_bytes}
        for name, size in sizes.items():
            file = (self.path / f"{name}.bin").open("ab")
            self._files[name] = file
            if file.tell() < size:
                raise ConfigurationError(f"the scan in {self._shown} is damaged; remove the folder to begin again")
            # What was written behind the last step may be torn.
            file.seek(size)
            file.truncate()
        self._files[_STEPS] = steps = (self.path / _STEPS).open("ab")
        steps.seek(self._whole_steps)
        steps.truncate()

    @property
    def _shown(self) -> str:
        return printable(str(self.path))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the files; another scan may go on."""
        for file in (*self._files.values(), self._lock):
            # What could not be written cannot be flushed; it belongs to no step.
            with contextlib.suppress(OSError):
                file.close()

    def remove(self) -> None:
        """Close the files and remove the folder."""
        self.close()
        shutil.rmtree(self.path)

    def add(self, read: ReadPages, urls: Sequence[str]) -> None:
        """Add pages that were read; they count from the next step on."""
        arrays: dict[str, NDArray[Any]] = read.columns.by_name()
        encoded = [url.encode("utf-8", "surrogatepass") for url in urls]
        ends = self._url_bytes + np.cumsum([len(url) for url in encoded], dtype=np.uint64)
        for name, array in (*arrays.items(), (_URL_ENDS, ends)):
            self._files[name].write(array.tobytes())
        self._files[_URLS].write(b"".join(encoded))

    @property
    def _url_bytes(self) -> int:
        return self._files[_URLS].tell()

    def finish_step(self, source: int, items: int, errors: int, skipped: Mapping[str, int]) -> None:
        """Note that everything up to here is written."""
        for name, file in self._files.items():
            file.flush()
            if name != _STEPS:
                # After a power cut, a step must not count what the disk does not have.
                os.fdatasync(file.fileno())
        pages = self._files["search"].tell() // _row_bytes("search")
        self.step = Step(source, items, pages, self._url_bytes, errors, dict(skipped))
        self._files[_STEPS].write(json.dumps(self.step).encode("ascii") + b"\n")
        self._files[_STEPS].flush()
        os.fdatasync(self._files[_STEPS].fileno())

    def columns(self) -> Columns:
        """Return the columns of all pages, which stay on disk."""
        return Columns(**{name: self.column(name) for name in LAYOUT})

    def column(self, name: str) -> NDArray[Any]:
        """Return one column of all pages, which stays on disk."""
        kind, shape = _TYPES[name]
        if not self.step.pages:
            return np.zeros((0, *shape), kind)
        return np.memmap(self.path / f"{name}.bin", kind, "r", shape=(self.step.pages, *shape))

    def urls(self) -> Urls:
        """Return the URLs of all pages, which stay on disk."""
        text = np.memmap(self.path / f"{_URLS}.bin", np.uint8, "r") if self.step.url_bytes else np.zeros(0, np.uint8)
        return Urls(text, self.column(_URL_ENDS))

    def _last_step(self) -> Step:
        """Return the last step that was written whole, and note where it ends."""
        step = Step()
        with contextlib.suppress(FileNotFoundError), (self.path / _STEPS).open("rb") as lines:
            for line in lines:
                try:
                    step = Step(*json.loads(line))
                except (ValueError, TypeError):
                    break
                self._whole_steps += len(line)
        return step


class Urls:
    """URLs by their rows."""

    def __init__(self, text: NDArray[np.uint8], ends: NDArray[np.uint64]) -> None:
        self._text = text
        self._ends = ends

    def __getitem__(self, row: int) -> str:
        start = int(self._ends[row - 1]) if row else 0
        return self._text[start : int(self._ends[row])].tobytes().decode("utf-8", "surrogatepass")


def _row_bytes(name: str) -> int:
    kind, shape = _TYPES[name]
    return int(np.dtype(kind).itemsize * np.prod(shape, dtype=int))


def _difference(known: bytes, task: Mapping[str, Any]) -> str | None:
    """Return the name of a value that differs; None if all are the same."""
    try:
        values = json.loads(known)
    except ValueError:
        values = {}
    wanted = json.loads(json.dumps(task))
    return next((name for name, value in wanted.items() if values.get(name) != value), None)
