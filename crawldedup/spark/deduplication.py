"""Find the duplicates among the pages of a DataFrame."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypedDict, Unpack, cast

from pyspark import StorageLevel
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import BinaryType, StringType

from crawldedup.errors import ConfigurationError
from crawldedup.options import Options
from crawldedup.page import PageReader
from crawldedup.reading.keys import Key
from crawldedup.scan.decision import Goal
from crawldedup.spark.candidates import candidates
from crawldedup.spark.kept import kept
from crawldedup.spark.numbering import among, copies_of, numbered
from crawldedup.spark.ordering import decided
from crawldedup.spark.reading import BODY, COLUMNS, ID, URL, Reading
from crawldedup.spark.resemblance import Similarities, compared, near
from crawldedup.verdict import Kind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import Column, DataFrame

SKIPPED: Final = "skipped"
ADDED: Final = ("kind", "kept_url", "similarity", "reason")


class ComparingOptions(TypedDict, total=False):
    """The options that say what of pages is compared, and how; see `Options`. `key` is 0 by default: none."""

    similarity: float
    recall: float
    extractor: str
    content: Any
    min_words: int
    distinguish: str
    key: int | bytes


def deduplicate(
    pages: DataFrame,
    *,
    url: str = "url",
    text: str | None = None,
    html: str | None = None,
    order: str | Sequence[str] = (),
    **options: Unpack[ComparingOptions],
) -> DataFrame:
    """Return the pages with the columns `kind`, `kept_url`, `similarity` and `reason`, as of `crawldedup scan`.

    - `kind` is `new`, `near_duplicate`, `exact_duplicate`, `thin` or `skipped`. A thin page has too few words for a
      near duplicate. A skipped one could not be read, and is compared with none.
    - `kept_url` is the URL of the page that is kept of a duplicate's cluster; null for other pages.
    - `similarity` is the similarity of the two, from 0 to 1; null for other pages.
    - `reason` is the `PageError.reason` of a skipped page; null for other pages.

    All but the last join is done at once, so the call takes long. The verdicts stay on disk while the result is used.
    The rows must come in the same order each time that they are read, as those of files do: persist or write others.
    The result raises an error where a row came in another place.

    Args:
        pages: The pages. Rows need no URL, and URLs may repeat.
        url: The name of the column with the URL.
        text: The name of a column of strings to compare, the main text of each page.
        html: The name of a column of strings or binary values to compare, the HTML of each page. Give either `text` or
            `html`.
        order: The names of columns that order the pages, lowest values first; then comes the order of the DataFrame. Of
            copies, the first page is kept.
        **options: The options that say what is compared: `similarity`, `recall`, `extractor`, `content`, `min_words`,
            `distinguish` and `key`. `key` is 0 by default.

    Returns:
        A DataFrame with a row for each row of `pages`.

    Raises:
        ConfigurationError: An option or a column does not fit.

    Example:
        .. code-block:: python

            from crawldedup.spark import deduplicate

            pages = spark.read.parquet("pages.parquet")
            judged = deduplicate(pages, text="text", order=["file", "number"])
            kept = judged.where("kind in ('new', 'thin')").select(*pages.columns)
            kept.write.parquet("kept.parquet")
    """
    by = [order] if isinstance(order, str) else list(order)
    body, is_html = _body(pages, url, text, html, by)
    checked = _checked(options)
    # An extractor that is not installed is refused here, and not by a task.
    PageReader(checked)
    goal = Goal(checked.similarity, checked.recall)
    reading = Reading(checked, is_html, goal, Key(cast("bytes", checked.key)))
    marked = pages.withColumn(ID, F.monotonically_increasing_id())
    # The plan of what was read is short, and of these columns only some are needed at a time.
    read = _read(marked, url, body, by, reading).persist(StorageLevel.MEMORY_AND_DISK)
    try:
        return _joined(marked, url, kept(verdicts_of(read, goal)))
    finally:
        read.unpersist()


def _checked(options: ComparingOptions) -> Options:
    """Return options, checked. Raises ConfigurationError for those that say nothing of how pages are compared."""
    checked = Options.from_values({"key": 0, **options})
    if unfit := options.keys() - ComparingOptions.__annotations__:
        taken = ", ".join(ComparingOptions.__annotations__)
        raise ConfigurationError(f"{', '.join(sorted(unfit))}: deduplicate() takes no such option; it takes {taken}")
    return checked


def _body(pages: DataFrame, url: str, text: str | None, html: str | None, by: Sequence[str]) -> tuple[str, bool]:
    """Return the column to compare, and whether it holds HTML. Raises ConfigurationError."""
    if (text is None) == (html is None):
        raise ConfigurationError("name the column to compare: give either text or html")
    body = cast("str", text if html is None else html)
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
    return body, html is not None


def _read(marked: DataFrame, url: str, body: str, order: Sequence[str], reading: Reading) -> DataFrame:
    """Return the fingerprints of pages in their order."""
    by = {f"_crawldedup_order_{place}": name for place, name in enumerate(order)}
    named = {ID: ID, URL: url, **by, BODY: body}
    taken = marked.select(*(F.col(_quoted(name)).alias(own) for own, name in named.items()))
    others = taken.drop(BODY).schema.fields
    schema = ", ".join(f"`{field.name}` {field.dataType.simpleString()}" for field in others)
    read: DataFrame = taken.mapInArrow(reading, f"{schema}, {COLUMNS}")
    return read.orderBy(*by, ID) if by else read


def verdicts_of(read: DataFrame, goal: Goal) -> DataFrame:
    """Return the verdicts of all pages but the new ones: ID, URL and the columns ADDED.

    `read` is persisted, and has ID, URL and what `Reading` adds.
    """
    pages, total = numbered(read)
    readable = pages.where("reason is null")
    copies = kept(copies_of(readable))
    copied = kept(copies.select("number"))
    single = among(readable.where("not thin").select("number", "search", "volatility"), copied, "left_anti")
    pairs = near(pages, kept(candidates(single, goal.similarity).distinct()), goal.most_verify_bits)
    similar = compared(pages, decided(pages, total, pairs, goal), Similarities(goal))
    similar = kept(similar.toDF("number", "kept", "similarity"))
    told = kept(similar.withColumn("kind", F.lit(str(Kind.NEAR_DUPLICATE))).union(_of_copies(copies, similar)))
    originals = kept(told.select(F.col("kept").alias("number")).distinct())
    urls = among(pages.select("number", F.col(URL).alias("kept_url")), originals).withColumnRenamed("number", "kept")
    named = told.join(urls, "kept").drop("kept")
    dropped = kept(told.select("number"))
    duplicates = among(pages.select("number", ID, URL), dropped).join(named, "number")
    columns = [ID, URL, *ADDED]
    others = among(pages.where("thin").select("number", ID, URL, "reason"), copied, "left_anti")
    kind = F.when(F.col("reason").isNull(), str(Kind.THIN)).otherwise(SKIPPED)
    others = others.withColumns({"kind": kind, "kept_url": _null("string"), "similarity": _null("double")})
    return duplicates.withColumn("reason", _null("string")).select(*columns).union(others.select(*columns))


def _of_copies(copies: DataFrame, similar: DataFrame) -> DataFrame:
    """Return the verdicts of exact copies: that of the first page of their text, if it is a duplicate itself."""
    of_first = similar.withColumnRenamed("number", "first")
    kind = F.when(F.col("kept").isNull(), str(Kind.EXACT_DUPLICATE)).otherwise(str(Kind.NEAR_DUPLICATE))
    return copies.join(of_first, "first", "left").select(
        "number",
        F.coalesce("kept", "first").alias("kept"),
        F.coalesce("similarity", F.lit(1.0)).alias("similarity"),
        kind.alias("kind"),
    )


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


def _null(kind: str) -> Column:
    return F.lit(None).cast(kind)
