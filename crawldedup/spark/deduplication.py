"""Find the duplicates among the pages of a DataFrame: the steps of `crawldedup.scan`, as joins of DataFrames.

`numbered` gives each page its place in their order. `candidates` pairs the pages that share a key: each key is a row,
and sorting brings equal keys together. `compared` measures the pairs, and `decided` tells in one task which pages are
kept. `tasks` has what is done on Arrow batches.
"""

from collections.abc import Sequence
from functools import partial, reduce
from itertools import accumulate
from typing import Any, Final

from pyspark import StorageLevel
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import BinaryType, StringType

from crawldedup.errors import ConfigurationError
from crawldedup.options import Options
from crawldedup.page import PageReader
from crawldedup.reading.keys import Key
from crawldedup.scan.engine import ROUNDS, Goal
from crawldedup.scan.pairs import CROWD_BITS, MOST_PAGES, key_bits
from crawldedup.search.plan import STORED_BITS
from crawldedup.search.query import TABLES
from crawldedup.spark import tasks
from crawldedup.spark.tasks import BODY, COLUMNS, CROWDED, URL
from crawldedup.verdict import Kind

ID: Final = "_crawldedup_id"
"""The column that names a row of the input."""
SKIPPED: Final = "skipped"
ADDED: Final = ("kind", "kept_url", "similarity", "reason")

_OPTIONS: Final = ("similarity", "recall", "extractor", "content", "min_words", "distinguish", "key")
_ROW_BITS: Final = 33
"""Of `monotonically_increasing_id`: the upper bits hold the partition, the lower ones the row."""
# So many are sent to all executors, in some 100 MB of memory each. More are joined by a shuffle.
_MOST_BROADCAST: Final = 5_000_000
_MOST_BROADCAST_PAIRS: Final = 1_000_000


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
    task = partial(tasks.read_pages, checked, Key(secret), goal, "text" if html is None else "html")
    marked = pages.withColumn(ID, F.monotonically_increasing_id())
    names = {ID: ID, URL: url, **{f"_crawldedup_order_{place}": name for place, name in enumerate(by)}, BODY: body}
    taken = marked.select(*(F.col(_quoted(name)).alias(own) for own, name in names.items()))
    schema = ", ".join(f"`{each.name}` {each.dataType.simpleString()}" for each in taken.drop(BODY).schema.fields)
    read: DataFrame = taken.mapInArrow(task, f"{schema}, {COLUMNS}")
    read = read.orderBy(*[*names][2:-1], ID) if by else read
    # The plan of what was read is short, and of these columns only some are needed at a time.
    read = read.persist(StorageLevel.MEMORY_AND_DISK)
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


def checkpointed(frame: DataFrame) -> DataFrame:
    """Work a DataFrame out, and return it without its plan: plans that hold each other grow beyond all bounds.

    It is written to the checkpoint directory if the session has one, else to the disks of the executors.
    """
    if frame.sparkSession.sparkContext.getCheckpointDir() is not None:
        return frame.checkpoint()
    return frame.localCheckpoint(storageLevel=StorageLevel.DISK_ONLY)


def verdicts_of(read: DataFrame, goal: Goal) -> DataFrame:
    """Return the verdicts of all pages but the new ones: ID, URL and the columns ADDED.

    `read` is persisted, and has ID, URL and what `ReadPages` adds.
    """
    pages, total = numbered(read)
    readable = pages.where("reason is null")
    copies = checkpointed(copies_of(readable))
    copied = checkpointed(copies.select("number"))
    single = among(readable.where("not thin").select("number", "search", "volatility"), copied, "left_anti")
    pairs = candidates(single, goal.similarity).distinct()
    similar = compared(pages, decided(pages, total, pairs, goal), goal, "similarity")
    similar = checkpointed(similar.toDF("number", "kept", "similarity"))
    near_copies = similar.withColumn("kind", F.lit(str(Kind.NEAR_DUPLICATE)))
    verdicts = checkpointed(near_copies.union(_of_copies(copies, similar)))
    originals = checkpointed(verdicts.select(F.col("kept").alias("number")).distinct())
    urls = among(pages.select("number", F.col(URL).alias("kept_url")), originals).withColumnRenamed("number", "kept")
    named = verdicts.join(urls, "kept").drop("kept")
    duplicates = among(pages.select("number", ID, URL), checkpointed(verdicts.select("number"))).join(named, "number")
    thin = among(pages.where("thin").select("number", ID, URL, "reason"), copied, "left_anti")
    kind = F.when(F.col("reason").isNull(), str(Kind.THIN)).otherwise(SKIPPED)
    both = duplicates.unionByName(thin.withColumn("kind", kind), allowMissingColumns=True)
    return both.select(ID, URL, *ADDED)


def numbered(pages: DataFrame) -> tuple[DataFrame, int]:
    """Return pages with a column `number`, which counts them from 0 in their order, and how many there are.

    `pages` must be persisted. Raises ConfigurationError for more than MOST_PAGES.
    """
    counted = pages.groupBy(F.spark_partition_id().alias("part")).count().collect()
    counts = dict(sorted((row["part"], row["count"]) for row in counted))
    if (total := sum(counts.values())) > MOST_PAGES:
        raise ConfigurationError(f"there are {total:,} pages, and at most {MOST_PAGES:,} can be compared at once")
    # The ids of a partition begin at a number of their own.
    starts = zip(counts, accumulate(counts.values(), initial=0), strict=False)
    offsets = [(part, start - (part << _ROW_BITS)) for part, start in starts] or [(0, 0)]
    table = F.broadcast(pages.sparkSession.createDataFrame(offsets, "part int, offset long"))
    placed = pages.withColumn("place", F.monotonically_increasing_id())
    joined = placed.withColumn("part", F.shiftright("place", _ROW_BITS).cast("int")).join(table, "part")
    return joined.withColumn("number", F.col("place") + F.col("offset")).drop("place", "part", "offset"), total


def copies_of(pages: DataFrame) -> DataFrame:
    """Return the `number` of each page that is an exact copy, and the `first` page of its text."""
    texts = pages.select("digest", "number").groupBy("digest")
    shared = checkpointed(texts.agg(F.min("number").alias("first"), F.count("*").alias("pages")).where("pages > 1"))
    copies = pages.select("digest", "number").join(_hinted(shared), "digest").where("number != first")
    return copies.select("number", "first")


def _of_copies(copies: DataFrame, similar: DataFrame) -> DataFrame:
    """Return the verdicts of exact copies: that of the first page of their text, if it is a duplicate itself."""
    kind = F.when(F.col("kept").isNull(), str(Kind.EXACT_DUPLICATE)).otherwise(str(Kind.NEAR_DUPLICATE))
    return copies.join(similar.withColumnRenamed("number", "first"), "first", "left").select(
        "number",
        F.coalesce("kept", "first").alias("kept"),
        F.coalesce("similarity", F.lit(1.0)).alias("similarity"),
        kind.alias("kind"),
    )


def candidates(pages: DataFrame, similarity: float) -> DataFrame:
    """Return pairs of pages that share a key, `later` and `earlier`; some more than once.

    `pages` have `number`, `search` and `volatility`. Of pages that share theirs with too many, longer keys are
    compared, too.
    """
    pages = checkpointed(pages)
    pairs: list[DataFrame] = []
    for table in TABLES:
        some, bits = pages, key_bits(pages.count())
        while bits <= STORED_BITS:
            keys = some.mapInArrow(partial(tasks.make_keys, table, bits, similarity), "key long, search long")
            # The pages that share a key come together, and in order.
            keys = keys.repartition(F.shiftrightunsigned("key", 64 - bits)).sortWithinPartitions("key")
            runs = checkpointed(keys.mapInArrow(partial(tasks.make_pairs, bits), "later long, earlier long"))
            pairs.append(runs.where(F.col("earlier") != CROWDED))
            crowd = runs.where(F.col("earlier") == CROWDED).select(F.col("later").alias("number")).distinct()
            if (crowd := checkpointed(crowd)).isEmpty():
                break
            some = among(pages, crowd)
            bits += CROWD_BITS
    return reduce(DataFrame.union, pairs)


def compared(pages: DataFrame, pairs: DataFrame, goal: Goal, wanted: str) -> DataFrame:
    """Return `later` and `earlier` of pairs, and the `value` of each (see `compare_pairs`).

    The pairs of a page come together to its steps, which take more room than all else. A page has a bounded number.
    """
    pairs = checkpointed(pairs)
    numbers = checkpointed(pairs.select(F.col("earlier").alias("number")).distinct())
    signatures = among(pages.select("number", "verify"), numbers).withColumnRenamed("number", "earlier")
    others = F.collect_list(F.struct("earlier", "verify")).alias("others")
    grouped = pairs.join(signatures, "earlier").groupBy(F.col("later").alias("number")).agg(others)
    grouped = F.broadcast(grouped) if pairs.count() <= _MOST_BROADCAST_PAIRS else grouped
    rows = pages.select("number", "verify", "steps").join(grouped, "number")
    return rows.mapInArrow(partial(tasks.compare_pairs, goal, wanted), "later long, earlier long, value double")


def decided(pages: DataFrame, total: int, pairs: DataFrame, goal: Goal) -> DataFrame:
    """Return the pages that are near duplicates, `later`, each with the page that is kept, `earlier`.

    Pairs that turn out to be wanted are compared, too.
    """
    measured = checkpointed(compared(pages, pairs, goal, "near"))
    for presumes in [True] * ROUNDS + [False]:
        rows = measured.repartition(1).sortWithinPartitions("later")
        task = partial(tasks.decide_pairs, total, goal.crowd, presumes)
        verdicts = checkpointed(rows.mapInArrow(task, "later long, earlier long, is_wanted boolean"))
        wanted = verdicts.where("is_wanted").select("later", "earlier")
        if not presumes or wanted.isEmpty():
            break
        measured = checkpointed(measured.union(compared(pages, wanted, goal, "cost")))
    return verdicts.where("not is_wanted").select("later", "earlier")


def among(pages: DataFrame, wanted: DataFrame, how: str = "left_semi") -> DataFrame:
    """Return the pages whose `number` is among those wanted, or with `left_anti` the others.

    `wanted` is checkpointed. What is left out is not shuffled, if the numbers are few enough.
    """
    return pages.join(_hinted(wanted), "number", how)


def _hinted(wanted: DataFrame) -> DataFrame:
    return F.broadcast(wanted) if wanted.count() <= _MOST_BROADCAST else wanted
