"""Find the duplicates among the pages of a DataFrame."""

from collections.abc import Sequence
from typing import Any, Final

from pyspark import StorageLevel
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import BinaryType, StringType

from crawldedup.errors import ConfigurationError
from crawldedup.options import Options
from crawldedup.page import PageReader
from crawldedup.reading.keys import Key
from crawldedup.scan.engine import Goal
from crawldedup.spark.tasks import BODY, COLUMNS, URL, ReadPages
from crawldedup.spark.verdicts import ADDED, ID, checkpointed, verdicts_of
from crawldedup.verdict import Kind

_OPTIONS: Final = ("similarity", "recall", "extractor", "content", "min_words", "distinguish", "key")


def deduplicate(
    pages: DataFrame,
    *,
    url: str = "url",
    text: str | None = None,
    html: str | None = None,
    order: str | Sequence[str] = (),
    **options: Any,
) -> DataFrame:
    """Return the pages with the columns `kind`, `kept_url`, `similarity` and `reason`, as of `crawldedup scan`.

    - `kind` is `new`, `near_duplicate`, `exact_duplicate`, `thin` (too few words for a near duplicate) or `skipped`
      (could not be read, and is compared with none).
    - Of a duplicate, `kept_url` is the URL of the page that is kept in its place. `similarity` is how similar the two
      are, from 0 to 1.
    - Of a skipped page, `reason` is the `PageError.reason`.

    All but the last join is done at once, so the call takes long. The verdicts stay on disk while the result is used.
    The rows must come in the same order each time that they are read, as those of files do: persist or write others.
    The result raises an error where a row came in another place.

    Args:
        pages: The pages. Rows need no URL, and URLs may repeat.
        url: The name of the column with the URL.
        text: The name of a column of strings to compare, the main text of each page.
        html: The name of a column of strings or binary values to compare, in place of `text`: the HTML of each page.
        order: The names of columns that order the pages, lowest values first; then comes the order of the DataFrame. Of
            copies, the first page is kept.
        **options: What is compared: `similarity`, `recall`, `extractor`, `content`, `min_words`, `distinguish` and
            `key`, which is 0 by default.

    Raises:
        ConfigurationError: An option or a column does not fit.

    Example:
        .. code-block:: python

            pages = spark.read.parquet("pages.parquet")
            judged = deduplicate(pages, text="text", order=["file", "number"])
            judged.where("kind in ('new', 'thin')").write.parquet("kept.parquet")
    """
    by = [order] if isinstance(order, str) else list(order)
    body = _check_columns(pages, url, text, html, by)
    # Says of a misspelt option which one is meant.
    checked = Options.from_values({"key": 0, **options})
    if unfit := sorted(options.keys() - {*_OPTIONS}):
        taken = ", ".join(_OPTIONS)
        raise ConfigurationError(f"{', '.join(unfit)}: deduplicate() takes no such option; it takes {taken}")
    # An extractor that is not installed is refused here, and not by a task.
    PageReader(checked)
    secret: Any = checked.key
    goal = Goal(checked.similarity, checked.recall)
    task = ReadPages(checked, html is not None, goal, Key(secret))
    marked = pages.withColumn(ID, F.monotonically_increasing_id())
    # The plan of what was read is short, and of these columns only some are needed at a time.
    read = _read(marked, url, body, by, task).persist(StorageLevel.MEMORY_AND_DISK)
    try:
        return _joined(marked, url, checkpointed(verdicts_of(read, goal)))
    finally:
        read.unpersist()


def _check_columns(pages: DataFrame, url: str, text: str | None, html: str | None, by: Sequence[str]) -> str:
    """Return the column to compare. Raises ConfigurationError."""
    body = text if html is None else html
    if body is None or (text is not None and html is not None):
        raise ConfigurationError("name the column to compare: give either text or html")
    types = {field.name: field.dataType for field in pages.schema.fields}
    for name in (url, body, *by):
        if name not in types:
            raise ConfigurationError(f"there is no column {name!r}; the columns: {', '.join(types)}")
    allowed = {url: (StringType,), body: (StringType, BinaryType) if html else (StringType,)}
    for name, kinds in allowed.items():
        if not isinstance(types[name], kinds):
            names = " or ".join(kind.typeName() for kind in kinds)
            raise ConfigurationError(f"the column {name!r} holds {types[name].simpleString()}; it must hold {names}")
    taken = [name for name in (*ADDED, ID) if name in types]
    if taken:
        raise ConfigurationError(f"the columns {', '.join(taken)} are to be added, and are there already: rename them")
    return body


def _read(marked: DataFrame, url: str, body: str, order: Sequence[str], task: ReadPages) -> DataFrame:
    """Return the fingerprints of pages in their order."""
    by = {f"_crawldedup_order_{place}": name for place, name in enumerate(order)}
    named = {ID: ID, URL: url, **by, BODY: body}
    taken = marked.select(*(F.col(_quoted(name)).alias(own) for own, name in named.items()))
    others = taken.drop(BODY).schema.fields
    schema = ", ".join(f"`{field.name}` {field.dataType.simpleString()}" for field in others)
    read: DataFrame = taken.mapInArrow(task, f"{schema}, {COLUMNS}")
    return read.orderBy(*by, ID) if by else read


def _joined(marked: DataFrame, url: str, verdicts: DataFrame) -> DataFrame:
    """Return the input with the verdicts. A row whose URL is not the one that was read raises."""
    is_other = F.col(f"verdicts.{ID}").isNotNull() & ~F.col(f"verdicts.{URL}").eqNullSafe(F.col(_quoted(url)))
    moved = F.raise_error(
        F.lit("the pages came in another order when they were read again: persist or write them before deduplicate()")
    )
    kind = F.when(is_other, moved.cast("string")).otherwise(F.coalesce("kind", F.lit(str(Kind.NEW))))
    rows = marked.join(verdicts.alias("verdicts"), ID, "left")
    given = [F.col(_quoted(name)) for name in marked.columns if name != ID]
    return rows.select(*given, kind.alias("kind"), *ADDED[1:])


def _quoted(name: str) -> str:
    """Return the name of a column for Spark, which takes a dot for a field of it."""
    return "`" + name.replace("`", "``") + "`"
