"""Read the pages of a DataFrame once: from texts or HTML to the columns that are compared."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from crawldedup.errors import PageError
from crawldedup.fingerprinting.fingerprint import SEARCH_BITS, VERIFY_BITS, thin_fingerprint
from crawldedup.page import Page, PageReader
from crawldedup.scan.columns import Columns
from crawldedup.search.query import salted
from crawldedup.spark.arrow import batch, of_matrix

if TYPE_CHECKING:
    from crawldedup.fingerprinting.fingerprint import Fingerprint
    from crawldedup.options import Options
    from crawldedup.reading.keys import Key
    from crawldedup.scan.decision import Goal
    from crawldedup.spark.arrow import Batches, Rows

ID: Final = "_crawldedup_id"
"""The column that names a row of the input."""
URL: Final = "_crawldedup_url"
BODY: Final = "_crawldedup_body"
VERIFY: Final = tuple(f"verify{word}" for word in range(VERIFY_BITS // 64))
"""The columns of the verify bits, a word each: Spark counts the bits of numbers, and not those of bytes."""
COLUMNS: Final = (
    f"search long, {', '.join(f'{word} long' for word in VERIFY)}, digest long, volatility binary, steps binary, "
    "thin boolean, reason string"
)
STEPS: Final = ("uint16", VERIFY_BITS)
VOLATILITY: Final = ("uint8", SEARCH_BITS)
"""The types of the columns of bytes."""
_UNREAD: Final = thin_fingerprint(0, 0)


@dataclass(frozen=True, slots=True)
class Reading:
    """Adds the columns of COLUMNS to batches, in place of BODY. `reason` tells why a page cannot be compared."""

    options: Options
    is_html: bool
    goal: Goal
    key: Key

    def __call__(self, batches: Batches) -> Rows:
        """Yield the batches."""
        reader = PageReader(self.options)
        for rows in batches:
            pages = zip(rows.column(URL).to_pylist(), rows.column(BODY).to_pylist(), strict=True)
            read, reasons = [], []
            for url, body in pages:
                page, reason = self._read(reader, url, body)
                read.append((page, 0))
                reasons.append(reason)
            made = Columns.of(read, self.goal.threshold)
            others = [name for name in rows.schema.names if name != BODY]
            given = {name: rows.column(name) for name in others}
            yield batch(**given, **of_columns(made), reason=pa.array(reasons, pa.string()))

    def _read(self, reader: PageReader, url: str | None, body: Any) -> tuple[Fingerprint, str | None]:
        if body is None:
            return _UNREAD, "empty"
        try:
            page = reader.read_page(Page(url or "", **{"html" if self.is_html else "text": body}), self.key).fingerprint
        except PageError as error:
            return _UNREAD, error.reason
        return salted(page, "", self.key), None


def of_columns(pages: Columns) -> dict[str, Any]:
    """Return the columns of COLUMNS but for the reason."""
    verify = pages.verify.view("int64")
    return {
        "search": pages.search.view("int64"),
        **{name: verify[:, word] for word, name in enumerate(VERIFY)},
        "digest": pages.digest.view("int64"),
        "volatility": of_matrix(pages.volatility),
        "steps": of_matrix(pages.steps),
        "thin": pages.thin,
    }
