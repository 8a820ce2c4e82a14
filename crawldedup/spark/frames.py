"""Find duplicates with joins of DataFrames. This is the part that runs in Spark's driver.

`numbered` gives each page its place in their order. `candidates` pairs the pages that share a key:
each key is a row, and sorting brings equal keys together. `compared` measures the pairs, and
`decided` finds out in one task which pages are kept. `crawldedup.spark.tasks` has the functions
that the executors run.
"""

from collections.abc import Mapping, Sequence
from functools import partial, reduce
from itertools import accumulate
from typing import Any, Final, NamedTuple, TypedDict, Unpack

from pyspark import StorageLevel
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import BinaryType, StringType

from crawldedup.errors import ConfigurationError
from crawldedup.index.queries import TABLES
from crawldedup.key import Key
from crawldedup.options import Options
from crawldedup.reading.reader import PageReader
from crawldedup.scan import engine
from crawldedup.scan import pairs as pairing
from crawldedup.scan.engine import Goal
from crawldedup.scan.pairs import MOST_PAGES
from crawldedup.search.plan import STORED_BITS
from crawldedup.spark.tasks import (
    BODY,
    COLUMNS,
    COMPARED,
    CROWDED,
    URL,
    compare_pairs,
    decide_pairs,
    make_exact_pairs,
    make_keys,
    make_pairs,
    read_pages,
)
from crawldedup.verdict import Kind

ID: Final = "_crawldedup_id"  # the column that names a row of the input
ADDED: Final = ("kind", "kept_url", "similarity", "reason")

# In `monotonically_increasing_id`, the upper bits hold the partition, and the lower ones the row.
_ROW_BITS: Final = 33
# Up to this many are sent to all executors, about 100 MB for each. More are joined by a shuffle.
_MOST_BROADCAST: Final = 5_000_000
_MOST_BROADCAST_PAIRS: Final = 1_000_000


class SparkOptionValues(TypedDict, total=False):
    """The options that apply to a DataFrame, by keyword: those about what is compared, and how.

    `Options` describes and checks them.
    """

    similarity: float
    recall: float
    extractor: str
    content: str | Mapping[str, str] | None
    min_words: int
    distinguish: str
    ignore_marks: str | Mapping[str, Sequence[str]] | None
    key: int | bytes | None


_OPTIONS: Final = tuple(SparkOptionValues.__annotations__)


class _Columns(NamedTuple):
    """The names of the columns in the user's DataFrame that contain the pages."""

    url: str
    body: str
    is_html: bool
    order: Sequence[str]


def deduplicate(
    pages: DataFrame,
    *,
    url: str = "url",
    text: str | None = None,
    html: str | None = None,
    order: str | Sequence[str] = (),
    **options: Unpack[SparkOptionValues],
) -> DataFrame:
    """Return the pages with the columns `kind`, `kept_url`, `similarity` and `reason`.

    The verdicts are those of `crawldedup scan`:

    - `kind` is `new`, `near_duplicate`, `exact_duplicate`, `thin` (too few words for a near
      duplicate) or `skipped` (could not be read, and is compared with no page).
    - For a duplicate, `kept_url` is the URL of the page that is kept instead. `similarity` is how
      similar the two are, from 0 to 1.
    - For a skipped page, `reason` is the `PageError.reason`.

    Everything except the last join is computed at once, so the call takes long. The verdicts stay
    on disk while the result is used. The rows must come in the same order each time they are read,
    like the rows of files. If yours don't, persist or write them first. If a row comes in a
    different place, the result raises an error.

    Args:
        pages: The pages. Rows need no URL, and URLs may repeat.
        url: The name of the column with the URL.
        text: The name of a column of strings to compare: the main text of each page.
        html: The name of a column of strings or binary values to compare instead of `text`: the
            HTML of each page.
        order: The names of columns that order the pages, lowest values first. Equal rows come in
            the order of the DataFrame. The first of several copies is kept.
        **options: The options `similarity`, `recall`, `extractor`, `content`, `min_words`,
            `distinguish`, `ignore_marks` and `key`, which is 0 by default.

    Returns:
        The rows of the DataFrame with the four columns, which are added to its own.

    Raises:
        ConfigurationError: An option is not allowed, or a column doesn't have the right type.

    Example:
        .. code-block:: python

            pages = spark.read.parquet("pages.parquet")
            judged = deduplicate(pages, text="text", order=["file", "number"])
            judged.where("kind in ('new', 'thin')").write.parquet("kept.parquet")
    """
    columns = _check_columns(pages, url, text, html, order)
    checked = _check_options(options)
    goal = Goal(checked.similarity, checked.recall)
    marked = pages.withColumn(ID, F.monotonically_increasing_id())
    # The plan of the pages is short, and only some of these columns are needed at a time.
    read = _read(marked, columns, checked, goal).persist(StorageLevel.MEMORY_AND_DISK)
    try:
        return _joined(marked, url, checkpointed(verdicts_of(read, goal)))
    finally:
        read.unpersist()


def _check_columns(
    pages: DataFrame,
    url: str,
    text: str | None,
    html: str | None,
    order: str | Sequence[str],
) -> _Columns:
    """Check the names of the user's columns, and return them.

    Raises ConfigurationError if one of them is wrong.
    """
    body = text if html is None else html
    if body is None or (text is not None and html is not None):
        raise ConfigurationError("name the column to compare: give either text or html")
    columns = _Columns(
        url,
        body,
        is_html=html is not None,
        order=[order] if isinstance(order, str) else list(order),
    )
    types = {field.name: field.dataType for field in pages.schema.fields}
    for name in (url, body, *columns.order):
        if name not in types:
            raise ConfigurationError(
                f"there is no column {name!r}; the columns are {', '.join(types)}"
            )
    allowed = {url: (StringType,), body: (StringType, BinaryType) if html else (StringType,)}
    for name, kinds in allowed.items():
        if not isinstance(types[name], kinds):
            names = " or ".join(kind.typeName() for kind in kinds)
            raise ConfigurationError(
                f"the column {name!r} holds {types[name].simpleString()}; it must hold {names}"
            )
    taken = [name for name in (*ADDED, ID) if name in types]
    if taken:
        raise ConfigurationError(
            f"the columns {', '.join(taken)} are added to the result, but already exist: rename "
            "them"
        )
    return columns


def _check_options(values: SparkOptionValues) -> Options:
    """Check the user's options, and return all options.

    Raises ConfigurationError if one of them is not allowed.
    """
    # If the name of an option is misspelled, this error says which one is meant.
    options = Options.from_values({"key": 0, **values})
    unfit = sorted(values.keys() - {*_OPTIONS})
    if unfit:
        raise ConfigurationError(
            f"{', '.join(unfit)}: deduplicate() takes no such option; it takes "
            f"{', '.join(_OPTIONS)}"
        )
    # An extractor that isn't installed is rejected here, not in a task.
    PageReader(options)
    return options


def _read(marked: DataFrame, columns: _Columns, options: Options, goal: Goal) -> DataFrame:
    """Read the pages, and return their ID, URL and COLUMNS, in their order."""
    order = {f"_crawldedup_order_{place}": name for place, name in enumerate(columns.order)}
    names = {ID: ID, URL: columns.url, **order, BODY: columns.body}
    taken = marked.select([F.col(_quoted(name)).alias(alias) for alias, name in names.items()])
    types = [
        f"`{field.name}` {field.dataType.simpleString()}"
        for field in taken.drop(BODY).schema.fields
    ]
    secret: Any = options.key
    kind = "html" if columns.is_html else "text"
    task = partial(read_pages, options, Key(secret), goal, kind)
    read: DataFrame = taken.mapInArrow(task, f"{', '.join(types)}, {COLUMNS}")
    return read.orderBy(*order, ID) if order else read


def _joined(marked: DataFrame, url: str, verdicts: DataFrame) -> DataFrame:
    """Add the verdicts to the user's DataFrame.

    A row raises an error if its URL isn't the one that was read at this place.
    """
    is_other = F.col(f"verdicts.{ID}").isNotNull() & ~F.col(f"verdicts.{URL}").eqNullSafe(
        F.col(_quoted(url))
    )
    moved = F.raise_error(
        F.lit(
            "the pages came in a different order when they were read again: persist or write "
            "them before deduplicate()"
        )
    )
    kind = F.when(is_other, moved.cast("string")).otherwise(
        F.coalesce("kind", F.lit(str(Kind.NEW)))
    )
    columns = [F.col(_quoted(name)) for name in marked.columns if name != ID]
    joined = marked.join(verdicts.alias("verdicts"), ID, "left")
    return joined.select(*columns, kind.alias("kind"), "kept_url", "similarity", "reason")


def _quoted(name: str) -> str:
    """Quote the name of a column, because Spark takes a dot for a field of it."""
    return "`" + name.replace("`", "``") + "`"


def checkpointed(frame: DataFrame) -> DataFrame:
    """Compute a DataFrame, and return the result, which no longer depends on its plan.

    Nested plans would grow without limit. The rows are written to the checkpoint directory if the
    session has one, or else to the disks of the executors.
    """
    if frame.sparkSession.sparkContext.getCheckpointDir() is not None:
        return frame.checkpoint()
    return frame.localCheckpoint(storageLevel=StorageLevel.DISK_ONLY)


def verdicts_of(read: DataFrame, goal: Goal) -> DataFrame:
    """Decide about all pages, and return the verdicts except for new pages.

    They have the columns ID, URL and ADDED. The DataFrame `read` is persisted. Raises
    ConfigurationError if there are too many pages.
    """
    pages, total = numbered(read)
    readable = pages.where("reason is null")
    repeated = checkpointed(copies_of(readable))
    # Without marks, the verdict on the first of several copies applies to all of them.
    copies = checkpointed(repeated.where("not has_marks").select("number", "first"))
    single = among(readable, checkpointed(repeated.select("number")), "left_anti")
    judged = among(readable, checkpointed(copies.select("number")), "left_anti")
    near = candidates(
        single.where("not thin").select("number", "search", "volatility"), goal.similarity
    )
    pairs = near.union(namesakes(judged, single)).distinct()
    similar = compared(pages, decided(pages, total, pairs, goal), goal, "similarity")
    kind = F.when(F.col("is_exact"), str(Kind.EXACT_DUPLICATE)).otherwise(str(Kind.NEAR_DUPLICATE))
    similar = checkpointed(
        similar.select(
            F.col("later").alias("number"),
            F.col("earlier").alias("kept"),
            F.when(F.col("is_exact"), 1.0).otherwise(F.col("value")).alias("similarity"),
            kind.alias("kind"),
        )
    )
    verdicts = checkpointed(similar.union(_of_copies(copies, similar)))
    originals = checkpointed(verdicts.select(F.col("kept").alias("number")).distinct())
    urls = among(pages.select("number", F.col(URL).alias("kept_url")), originals).withColumnRenamed(
        "number", "kept"
    )
    named = verdicts.join(urls, "kept").drop("kept")
    known = checkpointed(verdicts.select("number"))
    duplicates = among(pages.select("number", ID, URL), known).join(named, "number")
    thin = among(pages.where("thin").select("number", ID, URL, "reason"), known, "left_anti")
    kind = F.when(F.col("reason").isNull(), str(Kind.THIN)).otherwise("skipped")
    both = duplicates.unionByName(thin.withColumn("kind", kind), allowMissingColumns=True)
    return both.select(ID, URL, *ADDED)


def numbered(pages: DataFrame) -> tuple[DataFrame, int]:
    """Number the pages from 0, and return them with their count. The pages must be persisted.

    Raises ConfigurationError if there are too many.
    """
    counted = pages.groupBy(F.spark_partition_id().alias("part")).count().collect()
    counts = dict(sorted((row["part"], row["count"]) for row in counted))
    total = sum(counts.values())
    if total > MOST_PAGES:
        raise ConfigurationError(
            f"there are {total:,} pages, and at most {MOST_PAGES:,} can be compared at once"
        )
    # The ids of each partition begin at a different number.
    starts = zip(counts, accumulate(counts.values(), initial=0), strict=False)
    offsets = [(part, start - (part << _ROW_BITS)) for part, start in starts] or [(0, 0)]
    table = F.broadcast(pages.sparkSession.createDataFrame(offsets, "part int, offset long"))
    placed = pages.withColumn("place", F.monotonically_increasing_id())
    joined = placed.withColumn("part", F.shiftright("place", _ROW_BITS).cast("int")).join(
        table, "part"
    )
    return joined.withColumn("number", F.col("place") + F.col("offset")).drop(
        "place", "part", "offset"
    ), total


def copies_of(pages: DataFrame) -> DataFrame:
    """Find the pages whose text and marks are those of an earlier page.

    The columns are the `number` of each page, the `first` page with that text and these marks, and
    `has_marks`.
    """
    texts = pages.select("twin", "number").groupBy("twin")
    shared = checkpointed(
        texts.agg(F.min("number").alias("first"), F.count("*").alias("pages")).where("pages > 1")
    )
    copies = pages.select("twin", "digest", "number").join(_hinted(shared), "twin")
    has_marks = (F.col("twin") != F.col("digest")).alias("has_marks")
    return copies.where("number != first").select("number", "first", has_marks)


def _of_copies(copies: DataFrame, similar: DataFrame) -> DataFrame:
    """Derive the verdicts of exact copies without marks.

    If the first page with their text is a duplicate itself, its verdict applies to them.
    """
    return copies.join(similar.withColumnRenamed("number", "first"), "first", "left").select(
        "number",
        F.coalesce("kept", "first").alias("kept"),
        F.coalesce("similarity", F.lit(1.0)).alias("similarity"),
        F.coalesce("kind", F.lit(str(Kind.EXACT_DUPLICATE))).alias("kind"),
    )


def namesakes(judged: DataFrame, single: DataFrame) -> DataFrame:
    """Pair the pages that have the same twin key, digest, identity or address.

    As in `engine.namesakes`, a page is paired with the first page of its key and with a few pages
    before it, as `later` and `earlier`. Some pairs come twice.

    Args:
        judged: The pages to decide about. They are paired with one another.
        single: The first page with each combination of text and marks. They are paired with one
            another as well, but not by their twin keys.
    """
    sources = [(name, pages) for name in engine.SHARED for pages in (judged, single)]
    rows = [
        pages.where(F.col(name) != 0).select(
            F.xxhash64(F.lit(place), F.col(name)).alias("key"), "number"
        )
        for place, (name, pages) in enumerate([("twin", judged), *sources])
    ]
    keys = reduce(DataFrame.union, rows).repartition("key").sortWithinPartitions("key")
    return keys.mapInArrow(make_exact_pairs, "later long, earlier long")


def candidates(pages: DataFrame, similarity: float) -> DataFrame:
    """Pair the pages that may be near duplicates, because they share a search key.

    The pairs are `later` and `earlier`, and some come twice. The pages have the columns `number`,
    `search` and `volatility`. If too many pages share a key, their longer keys are compared as
    well.
    """
    pages = checkpointed(pages)
    pairs: list[DataFrame] = []
    for table in TABLES:
        some = pages
        bits = pairing.key_bits(pages.count())
        while bits <= STORED_BITS:
            keys = some.mapInArrow(
                partial(make_keys, table, bits, similarity), "key long, search long"
            )
            # Pages that share a key are next to each other, and in order.
            keys = keys.repartition(F.shiftrightunsigned("key", 64 - bits))
            keys = keys.sortWithinPartitions("key")
            runs = checkpointed(
                keys.mapInArrow(partial(make_pairs, bits), "later long, earlier long")
            )
            pairs.append(runs.where(F.col("earlier") != CROWDED))
            crowd = runs.where(F.col("earlier") == CROWDED)
            crowd = checkpointed(crowd.select(F.col("later").alias("number")).distinct())
            if crowd.isEmpty():
                break
            some = among(pages, crowd)
            bits += pairing.CROWD_BITS
    return reduce(DataFrame.union, pairs)


def compared(pages: DataFrame, pairs: DataFrame, goal: Goal, wanted: str) -> DataFrame:
    """Compare the pages of each pair, and return the pairs with `value` and `is_exact`.

    These are described at `compare_pairs`. The pairs of a page are brought to the page's steps,
    because these take more room than everything else. The number of pairs of a page is limited.
    """
    pairs = checkpointed(pairs)
    numbers = checkpointed(pairs.select(F.col("earlier").alias("number")).distinct())
    signatures = among(pages.select("number", *COMPARED), numbers).withColumnRenamed(
        "number", "earlier"
    )
    others = F.collect_list(F.struct("earlier", *COMPARED)).alias("others")
    grouped = pairs.join(signatures, "earlier").groupBy(F.col("later").alias("number")).agg(others)
    grouped = F.broadcast(grouped) if pairs.count() <= _MOST_BROADCAST_PAIRS else grouped
    rows = pages.select("number", *COMPARED, "steps").join(grouped, "number")
    return rows.mapInArrow(
        partial(compare_pairs, goal, wanted),
        "later long, earlier long, value double, is_exact boolean",
    )


def decided(pages: DataFrame, total: int, pairs: DataFrame, goal: Goal) -> DataFrame:
    """Decide which pages are duplicates, and return each (`later`) with its kept page (`earlier`).

    If a decision needs more pairs, they are compared as well.
    """
    measured = checkpointed(compared(pages, pairs, goal, "near"))
    for presumes in [True] * engine.ROUNDS + [False]:
        rows = _with_marks(pages, measured).repartition(1).sortWithinPartitions("later")
        task = partial(decide_pairs, total, goal.crowd, presumes)
        verdicts = checkpointed(
            rows.mapInArrow(task, "later long, earlier long, is_wanted boolean")
        )
        wanted = verdicts.where("is_wanted").select("later", "earlier")
        if not presumes or wanted.isEmpty():
            break
        measured = checkpointed(measured.union(compared(pages, wanted, goal, "cost")))
    return verdicts.where("not is_wanted").select("later", "earlier")


def _with_marks(pages: DataFrame, pairs: DataFrame) -> DataFrame:
    """Add the marks of both pages to each pair."""
    for name in ("later", "earlier"):
        marks = pages.select(F.col("number").alias(name), F.col("marks").alias(f"{name}_marks"))
        pairs = pairs.join(marks, name)
    return pairs


def among(pages: DataFrame, wanted: DataFrame, how: str = "left_semi") -> DataFrame:
    """Select the pages whose `number` is in `wanted` or, with `left_anti`, all other pages.

    `wanted` is checkpointed. If it is small enough, other pages aren't shuffled.
    """
    return pages.join(_hinted(wanted), "number", how)


def _hinted(wanted: DataFrame) -> DataFrame:
    return F.broadcast(wanted) if wanted.count() <= _MOST_BROADCAST else wanted
