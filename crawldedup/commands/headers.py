"""Read the headers of HTTP responses and of records in archives, as leniently as browsers do."""

import re
from collections.abc import Iterable, Iterator
from typing import Any, Final, NamedTuple, Self

LONGEST_HEAD: Final = 1 << 16  # a hundred times as long as those of real archives
_TOKEN: Final = re.compile(r"[!#$%&'*+.^_`|~0-9a-z-]{1,100}/[!#$%&'*+.^_`|~0-9a-z-]{1,100}")
_CHARSET: Final = re.compile(r"""(?:^|;)\s*charset\s*=\s*["']?\s*([^\s"';,]{1,100})""", re.I)
# An odd line may consist of other whitespace.
_BLANK: Final = b" \t\r\n"
_LONGEST_TYPE: Final = 1000
_ANY: Final = "*/*"


class HeadError(Exception):
    """Raised for headers that aren't followed by an empty line."""


class MediaType(NamedTuple):
    """A media type such as "text/html", in lower case, and the label of its encoding, if any."""

    name: str
    charset: str | None


class Headers:
    """The headers of a response or record, in order."""

    def __init__(self, fields: Iterable[tuple[str, str]] = ()) -> None:
        self.fields = list(fields)

    @classmethod
    def read(cls, stream: Any, never: re.Pattern[bytes] | None = None) -> Self:
        """Read the headers at the start of a stream, up to an empty line.

        A line without a colon is ignored, so it doesn't hide the lines after it.

        Args:
            stream: The stream.
            never: A pattern that no line of these headers matches.

        Raises:
            HeadError: There is no empty line, or a line before it matches `never`.
        """
        lines: list[bytes] = []
        size = 0
        while size < LONGEST_HEAD and (line := stream.readline(LONGEST_HEAD)):
            if not line.strip(_BLANK):
                return cls(_fields_of(lines))
            if never is not None and never.fullmatch(line):
                break
            lines.append(line)
            size += len(line)
        raise HeadError("its headers have no end")

    def get(self, name: str) -> str:
        """Return the first value of the header with this name, or "" if there is none."""
        for value in self.get_all(name):
            return value
        return ""

    def get_all(self, name: str) -> list[str]:
        """Return all values of the header with this name."""
        wanted = name.lower()
        return [value for field, value in self.fields if field.lower() == wanted]

    def list_of(self, name: str) -> list[str]:
        """Return the words in a header whose value is a list, in lower case."""
        words = ",".join(self.get_all(name)).lower().split(",")
        return [word.strip() for word in words if word.strip()]

    def without(self, *names: str) -> "Headers":
        """Return a copy without the headers of these names."""
        lower = {name.lower() for name in names}
        return Headers(field for field in self.fields if field[0].lower() not in lower)

    def media_type(self) -> MediaType | None:
        """Return the media type in Content-Type the way browsers read it, or None."""
        found: MediaType | None = None
        for value in ",".join(self.get_all("Content-Type"))[:_LONGEST_TYPE].split(","):
            name = value.partition(";")[0].strip().lower()
            if not _TOKEN.fullmatch(name) or name == _ANY:
                continue
            charset = _CHARSET.search(value.partition(";")[2])
            label = charset[1] if charset else None
            # The last one counts. If it repeats the type, an encoding named before is kept.
            if label is None and found is not None and found.name == name:
                label = found.charset
            found = MediaType(name, label)
        return found


def _fields_of(lines: Iterable[bytes]) -> Iterator[tuple[str, str]]:
    """Yield the names and values of headers. A value may continue on the next line."""
    name = ""
    parts: list[str] = []
    for line in lines:
        text = _decoded(line).rstrip("\r\n")
        if text[:1] in (" ", "\t"):
            # A long value continues on the next line.
            parts.append(text.strip())
            continue
        if name:
            yield name, " ".join(parts)
        before, colon, value = text.partition(":")
        name = before.strip() if colon else ""
        parts = [value.strip()]
    if name:
        yield name, " ".join(parts)


def _decoded(line: bytes) -> str:
    try:
        return line.decode()
    except UnicodeDecodeError:
        # No letter may be lost: two addresses would become one.
        return line.decode("latin-1")
