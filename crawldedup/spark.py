"""Find the duplicates among the pages of a DataFrame: the steps of `crawldedup.scan`, as joins of
DataFrames.

`numbered` gives each page its place in their order. `candidates` pairs the pages that share a key:
each key is a row, and sorting brings equal keys together. `compared` measures the pairs, and
`decided` tells in one task which pages are kept. Below stands what tasks do with Arrow batches, by
numpy. Sorted streams come in batches that may be cut anywhere, and no Python loop runs over pairs,
but for the one that decides in the order of the pages.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial, reduce
from itertools import accumulate
from typing import Any, Final

import numpy as np
import pyarrow as pa
from numpy.typing import DTypeLike, NDArray
from pyspark import StorageLevel
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import BinaryType, StringType

from crawldedup.errors import ConfigurationError, PageError
from crawldedup.fingerprinting.bits import SEARCH_BITS, VERIFY_BITS, Fingerprint, fingerprint
from crawldedup.index.queries import TABLES, salted
from crawldedup.key import Key
from crawldedup.options import Options
from crawldedup.page import Page
from crawldedup.reading.reader import PageReader
from crawldedup.scan import engine
from crawldedup.scan import pairs as pairing
from crawldedup.scan.engine import LAYOUT, Columns, Goal, Resemblances
from crawldedup.scan.pairs import MOST_PAGES, earlier_of, later_of, numbers_in, pack
from crawldedup.search.decision import Crowd
from crawldedup.search.plan import STORED_BITS, Table
from crawldedup.verdict import Kind

Batches = Iterable[pa.RecordBatch]
Rows = Iterator[pa.RecordBatch]

URL: Final = "_crawldedup_url"
BODY: Final = "_crawldedup_body"
COLUMNS: Final = (
    "search long, digest long, verify binary, volatility binary, steps binary, thin boolean, "
    "reason string"
)
CROWDED: Final = (
    -1
)  # In place of the earlier page of a pair: the page is to be compared by longer keys.

_SIGN: Final = np.uint64(1 << 63)
"""Spark sorts signed numbers: with this bit flipped, they come in the order of unsigned ones."""
_KEYS_AT_ONCE: Final = 1 << 20
_PAIRS_AT_ONCE: Final = 1 << 19
_UNREAD: Final = fingerprint("")  # for columns that nothing reads

ID: Final = "_crawldedup_id"  # the column that names a row of the input
ADDED: Final = ("kind", "kept_url", "similarity", "reason")

_OPTIONS: Final = (
    "similarity",
    "recall",
    "extractor",
    "content",
    "min_words",
    "distinguish",
    "key",
)
# Of `monotonically_increasing_id`: the upper bits hold the partition, the lower ones the row.
_ROW_BITS: Final = 33
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
    """Return the pages with the columns `kind`, `kept_url`, `similarity` and `reason`, as of
    `crawldedup scan`.

    - `kind` is `new`, `near_duplicate`, `exact_duplicate`, `thin` (too few words for a near
      duplicate) or `skipped` (could not be read, and is compared with none).
    - Of a duplicate, `kept_url` is the URL of the page that is kept in its place. `similarity` is
      how similar the two are, from 0 to 1.
    - Of a skipped page, `reason` is the `PageError.reason`.

    All but the last join is done at once, so the call takes long. The verdicts stay on disk while
    the result is used. The rows must come in the same order each time that they are read, as those
    of files do: persist or write others. The result raises an error where a row came in another
    place.

    Args:
        pages: The pages. Rows need no URL, and URLs may repeat.
        url: The name of the column with the URL.
        text: The name of a column of strings to compare, the main text of each page.
        html: The name of a column of strings or binary values to compare, in place of `text`: the
            HTML of each page.
        order: The names of columns that order the pages, lowest values first; then comes the order
            of the DataFrame. Of copies, the first page is kept.
        **options: What is compared: `similarity`, `recall`, `extractor`, `content`, `min_words`,
            `distinguish` and `key`, which is 0 by default.

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
        raise ConfigurationError(
            f"{', '.join(unfit)}: deduplicate() takes no such option; it takes {taken}"
        )
    # An extractor that is not installed is refused here, and not by a task.
    PageReader(checked)
    secret: Any = checked.key
    goal = Goal(checked.similarity, checked.recall)
    task = partial(read_pages, checked, Key(secret), goal, "text" if html is None else "html")
    marked = pages.withColumn(ID, F.monotonically_increasing_id())
    names = {
        ID: ID,
        URL: url,
        **{f"_crawldedup_order_{place}": name for place, name in enumerate(by)},
        BODY: body,
    }
    taken = marked.select(*(F.col(_quoted(name)).alias(own) for own, name in names.items()))
    schema = ", ".join(
        f"`{each.name}` {each.dataType.simpleString()}" for each in taken.drop(BODY).schema.fields
    )
    read: DataFrame = taken.mapInArrow(task, f"{schema}, {COLUMNS}")
    # The plan of what was read is short, and of these columns only some are needed at a time.
    read = (read.orderBy(*[*names][2:-1], ID) if by else read).persist(StorageLevel.MEMORY_AND_DISK)
    try:
        return _joined(marked, url, checkpointed(verdicts_of(read, goal)))
    finally:
        read.unpersist()


def _check_columns(
    pages: DataFrame, url: str, text: str | None, html: str | None, by: Sequence[str]
) -> str:
    body = text if html is None else html
    if body is None or (text is not None and html is not None):
        raise ConfigurationError("name the column to compare: give either text or html")
    types = {field.name: field.dataType for field in pages.schema.fields}
    for name in (url, body, *by):
        if name not in types:
            raise ConfigurationError(
                f"there is no column {name!r}; the columns: {', '.join(types)}"
            )
    allowed = {url: (StringType,), body: (StringType, BinaryType) if html else (StringType,)}
    for name, kinds in allowed.items():
        if not isinstance(types[name], kinds):
            names = " or ".join(kind.typeName() for kind in kinds)
            raise ConfigurationError(
                f"the column {name!r} holds {types[name].simpleString()}; it must hold {names}"
            )
    if taken := [name for name in (*ADDED, ID) if name in types]:
        raise ConfigurationError(
            f"the columns {', '.join(taken)} are to be added, and are there already: rename them"
        )
    return body


def _joined(marked: DataFrame, url: str, verdicts: DataFrame) -> DataFrame:
    """Return the input with the verdicts. A row whose URL is not the one that was read raises."""
    is_other = F.col(f"verdicts.{ID}").isNotNull() & ~F.col(f"verdicts.{URL}").eqNullSafe(
        F.col(_quoted(url))
    )
    moved = F.raise_error(
        F.lit(
            "the pages came in another order when they were read again: persist or write them "
            "before deduplicate()"
        )
    )
    kind = F.when(is_other, moved.cast("string")).otherwise(
        F.coalesce("kind", F.lit(str(Kind.NEW)))
    )
    given = [F.col(_quoted(name)) for name in marked.columns if name != ID]
    return marked.join(verdicts.alias("verdicts"), ID, "left").select(
        *given, kind.alias("kind"), *ADDED[1:]
    )


def _quoted(name: str) -> str:
    """Return the name of a column for Spark, which takes a dot for a field of it."""
    return "`" + name.replace("`", "``") + "`"


def checkpointed(frame: DataFrame) -> DataFrame:
    """Compute a DataFrame, and return it without its plan: plans that hold each other grow beyond
    all bounds.

    It is written to the checkpoint directory if the session has one, else to the disks of the
    executors.
    """
    if frame.sparkSession.sparkContext.getCheckpointDir() is not None:
        return frame.checkpoint()
    return frame.localCheckpoint(storageLevel=StorageLevel.DISK_ONLY)


def verdicts_of(read: DataFrame, goal: Goal) -> DataFrame:
    """Return the verdicts of all pages but the new ones:

    ID, URL and the columns ADDED. What is `read` is persisted.
    """
    pages, total = numbered(read)
    readable = pages.where("reason is null")
    copies = checkpointed(copies_of(readable))
    copied = checkpointed(copies.select("number"))
    single = among(
        readable.where("not thin").select("number", "search", "volatility"), copied, "left_anti"
    )
    pairs = candidates(single, goal.similarity).distinct()
    similar = compared(pages, decided(pages, total, pairs, goal), goal, "similarity")
    similar = checkpointed(similar.toDF("number", "kept", "similarity"))
    near_copies = similar.withColumn("kind", F.lit(str(Kind.NEAR_DUPLICATE)))
    verdicts = checkpointed(near_copies.union(_of_copies(copies, similar)))
    originals = checkpointed(verdicts.select(F.col("kept").alias("number")).distinct())
    urls = among(pages.select("number", F.col(URL).alias("kept_url")), originals).withColumnRenamed(
        "number", "kept"
    )
    named = verdicts.join(urls, "kept").drop("kept")
    duplicates = among(
        pages.select("number", ID, URL), checkpointed(verdicts.select("number"))
    ).join(named, "number")
    thin = among(pages.where("thin").select("number", ID, URL, "reason"), copied, "left_anti")
    kind = F.when(F.col("reason").isNull(), str(Kind.THIN)).otherwise("skipped")
    both = duplicates.unionByName(thin.withColumn("kind", kind), allowMissingColumns=True)
    return both.select(ID, URL, *ADDED)


def numbered(pages: DataFrame) -> tuple[DataFrame, int]:
    """Number persisted pages from 0 on; return them, and how many there are.

    Raises ConfigurationError for too many.
    """
    counted = pages.groupBy(F.spark_partition_id().alias("part")).count().collect()
    counts = dict(sorted((row["part"], row["count"]) for row in counted))
    if (total := sum(counts.values())) > MOST_PAGES:
        raise ConfigurationError(
            f"there are {total:,} pages, and at most {MOST_PAGES:,} can be compared at once"
        )
    # The ids of a partition begin at a number of their own.
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
    """Return the `number` of each page that is an exact copy, and the `first` page of its text."""
    texts = pages.select("digest", "number").groupBy("digest")
    shared = checkpointed(
        texts.agg(F.min("number").alias("first"), F.count("*").alias("pages")).where("pages > 1")
    )
    copies = pages.select("digest", "number").join(_hinted(shared), "digest")
    return copies.where("number != first").select("number", "first")


def _of_copies(copies: DataFrame, similar: DataFrame) -> DataFrame:
    """Return the verdicts of exact copies: that of the first page of their text, if it is a
    duplicate itself.
    """
    kind = F.when(F.col("kept").isNull(), str(Kind.EXACT_DUPLICATE)).otherwise(
        str(Kind.NEAR_DUPLICATE)
    )
    return copies.join(similar.withColumnRenamed("number", "first"), "first", "left").select(
        "number",
        F.coalesce("kept", "first").alias("kept"),
        F.coalesce("similarity", F.lit(1.0)).alias("similarity"),
        kind.alias("kind"),
    )


def candidates(pages: DataFrame, similarity: float) -> DataFrame:
    """Return pairs of pages that share a key, `later` and `earlier`; some more than once.

    `pages` have `number`, `search` and `volatility`. Of pages that share theirs with too many,
    longer keys are compared, too.
    """
    pages = checkpointed(pages)
    pairs: list[DataFrame] = []
    for table in TABLES:
        some, bits = pages, pairing.key_bits(pages.count())
        while bits <= STORED_BITS:
            keys = some.mapInArrow(
                partial(make_keys, table, bits, similarity), "key long, search long"
            )
            # The pages that share a key come together, and in order.
            keys = keys.repartition(F.shiftrightunsigned("key", 64 - bits)).sortWithinPartitions(
                "key"
            )
            runs = checkpointed(
                keys.mapInArrow(partial(make_pairs, bits), "later long, earlier long")
            )
            pairs.append(runs.where(F.col("earlier") != CROWDED))
            crowd = (
                runs.where(F.col("earlier") == CROWDED)
                .select(F.col("later").alias("number"))
                .distinct()
            )
            if (crowd := checkpointed(crowd)).isEmpty():
                break
            some = among(pages, crowd)
            bits += pairing.CROWD_BITS
    return reduce(DataFrame.union, pairs)


def compared(pages: DataFrame, pairs: DataFrame, goal: Goal, wanted: str) -> DataFrame:
    """Return `later` and `earlier` of pairs, and the `value` of each (see `compare_pairs`).

    The pairs of a page come together to its steps, which take more room than all else. A page has a
    bounded number.
    """
    pairs = checkpointed(pairs)
    numbers = checkpointed(pairs.select(F.col("earlier").alias("number")).distinct())
    signatures = among(pages.select("number", "verify"), numbers).withColumnRenamed(
        "number", "earlier"
    )
    others = F.collect_list(F.struct("earlier", "verify")).alias("others")
    grouped = pairs.join(signatures, "earlier").groupBy(F.col("later").alias("number")).agg(others)
    grouped = F.broadcast(grouped) if pairs.count() <= _MOST_BROADCAST_PAIRS else grouped
    rows = pages.select("number", "verify", "steps").join(grouped, "number")
    return rows.mapInArrow(
        partial(compare_pairs, goal, wanted), "later long, earlier long, value double"
    )


def decided(pages: DataFrame, total: int, pairs: DataFrame, goal: Goal) -> DataFrame:
    """Return near duplicates, `later`, each with the page that is kept, `earlier`.

    Wanted pairs are compared, too.
    """
    measured = checkpointed(compared(pages, pairs, goal, "near"))
    for presumes in [True] * engine.ROUNDS + [False]:
        rows = measured.repartition(1).sortWithinPartitions("later")
        task = partial(decide_pairs, total, goal.crowd, presumes)
        verdicts = checkpointed(
            rows.mapInArrow(task, "later long, earlier long, is_wanted boolean")
        )
        wanted = verdicts.where("is_wanted").select("later", "earlier")
        if not presumes or wanted.isEmpty():
            break
        measured = checkpointed(measured.union(compared(pages, wanted, goal, "cost")))
    return verdicts.where("not is_wanted").select("later", "earlier")


def among(pages: DataFrame, wanted: DataFrame, how: str = "left_semi") -> DataFrame:
    """Return the pages whose `number` is among those wanted, or with `left_anti` the others.

    `wanted` is checkpointed. If its numbers are few enough, other pages are not shuffled.
    """
    return pages.join(_hinted(wanted), "number", how)


def _hinted(wanted: DataFrame) -> DataFrame:
    return F.broadcast(wanted) if wanted.count() <= _MOST_BROADCAST else wanted


# --- In a task


def matrix(column: pa.Array, kind: DTypeLike, width: int) -> NDArray[Any]:
    """Return a column of bytes without nulls: each row holds `width` items of a type, shape (rows,
    width).
    """
    size = width * np.dtype(kind).itemsize
    fixed = column.cast(pa.binary()).cast(pa.binary(size))
    raw = np.frombuffer(fixed.buffers()[1] or b"", np.uint8)[fixed.offset * size :]
    values: NDArray[Any] = raw[: len(fixed) * size].reshape(-1, size).view(kind)
    return values


def of_matrix(rows: NDArray[Any]) -> pa.Array:
    """Return a column of the bytes of each row."""
    size = rows.shape[1] * rows.itemsize
    raw = pa.py_buffer(np.ascontiguousarray(rows))
    return pa.FixedSizeBinaryArray.from_buffers(pa.binary(size), len(rows), [None, raw]).cast(
        pa.binary()
    )


def batch(**columns: Any) -> pa.RecordBatch:
    """Return a batch of columns by their names."""
    return pa.RecordBatch.from_arrays(
        [pa.array(column) for column in columns.values()], names=list(columns)
    )


def read_pages(options: Options, key: Key, goal: Goal, kind: str, batches: Batches) -> Rows:
    """Add COLUMNS in place of BODY, which is "html" or "text".

    `reason` tells why a page cannot be compared.
    """
    reader = PageReader(options)

    def read(url: str | None, body: Any) -> tuple[Fingerprint, str | None]:
        if body is None:
            return _UNREAD, "empty"
        try:
            return salted(
                reader.read_page(Page(url or "", **{kind: body}), key).fingerprint, "", key
            ), None
        except PageError as error:
            return _UNREAD, error.reason

    for rows in batches:
        pages = list(map(read, rows[URL].to_pylist(), rows[BODY].to_pylist()))
        columns = Columns.of([(fingerprint, 0) for fingerprint, _ in pages], goal.threshold)
        yield batch(
            **{name: rows[name] for name in rows.schema.names if name != BODY},
            **{name: getattr(columns, name).view("int64") for name in ("search", "digest")},
            **{
                name: of_matrix(getattr(columns, name))
                for name in ("verify", "volatility", "steps")
            },
            thin=columns.thin,
            reason=pa.array([reason for _, reason in pages], pa.string()),
        )


def make_keys(table: Table, bits: int, similarity: float, batches: Batches) -> Rows:
    """Make the rows under which pages are filed in a table: packed keys, each with the search bits
    of its page.
    """
    for rows in batches:
        search = np.asarray(rows["search"]).view(np.uint64)
        volatility = matrix(rows["volatility"], "uint8", SEARCH_BITS)
        keys = pairing.keys_of(search, volatility, table, bits=bits, similarity=similarity)
        packed = pack(keys, np.asarray(rows["number"]).astype(np.uint64)[:, None]).ravel()
        yield batch(
            key=(packed ^ _SIGN).view(np.int64),
            search=np.repeat(search, pairing.KEYS_A_TABLE).view(np.int64),
        )


def make_pairs(bits: int, batches: Batches) -> Rows:
    """Pair the pages of sorted rows that share the leading bits of a key.

    Memory holds the longest run.
    """
    for rows in _whole_groups(
        batches, lambda rows: np.asarray(rows["key"]) >> 64 - bits, _KEYS_AT_ONCE
    ):
        packed = np.asarray(rows["key"]).view(np.uint64) ^ _SIGN
        # Small numbers in place of those of the pages, in the same order, find the search bits.
        pages, first, small = np.unique(numbers_in(packed), return_index=True, return_inverse=True)
        search = np.asarray(rows["search"]).view(np.uint64)[first]
        near = partial(
            pairing.near_pairs,
            search,
            np.zeros((len(pages), 1), np.uint64),
            engine.MOST_SEARCH_BITS,
            0,
        )
        names = pages.astype(np.int64)
        for pairs in pairing.candidate_pairs(pack(packed, small.astype(np.uint64)), bits, near):
            yield batch(later=names[later_of(pairs)], earlier=names[earlier_of(pairs)])
        crowd = pairing.crowded(packed, bits).astype(np.int64)
        yield batch(later=crowd, earlier=np.full(len(crowd), CROWDED))


def compare_pairs(goal: Goal, wanted: str, batches: Batches) -> Rows:
    """Compare each later page with the earlier ones of its group: `value` is the "cost", or the
    "similarity".

    Wanted "near", it is the cost of the pairs that are worth a decision, the nearest of each page.
    """
    for rows in batches:
        others = rows["others"].flatten()
        later = np.repeat(np.arange(len(rows)), np.asarray(rows["others"].value_lengths()))
        earlier = len(rows) + np.arange(len(others))
        names = np.concatenate((np.asarray(rows["number"]), np.asarray(others.field("earlier"))))
        signatures = [
            matrix(column, "uint8", VERIFY_BITS // 8)
            for column in (rows["verify"], others.field("verify"))
        ]
        # Of the steps, those of the later pages suffice; nothing else is compared.
        columns: dict[str, Any] = {name: np.empty(0, kind) for name, kind in LAYOUT.items()}
        columns |= {
            "verify": np.concatenate(signatures),
            "steps": matrix(rows["steps"], "uint16", VERIFY_BITS),
        }
        pages = Columns(**columns)
        if wanted == "similarity":
            value = engine.similarities_of(pages, later, earlier, goal.threshold)
            yield batch(later=names[later], earlier=names[earlier], value=value)
            continue
        costs = engine.costs_of(pages, later, earlier)
        pairs = Resemblances(names[later], names[earlier], costs)
        if wanted == "near":
            bits = np.bitwise_count(pages.verify[later] ^ pages.verify[earlier]).sum(axis=1)
            is_near = (costs <= goal.crowd.reach) & (bits <= goal.most_verify_bits)
            pairs = Resemblances(
                names[later[is_near]], names[earlier[is_near]], costs[is_near]
            ).nearest()
        yield batch(later=pairs.later, earlier=pairs.earlier, value=pairs.costs.astype(np.float64))


def decide_pairs(pages: int, crowd: Crowd, presumes: bool, batches: Batches) -> Rows:
    """Decide about pages of sorted pairs: yield the wanted pairs and the near duplicates.

    Memory holds all verdicts.
    """
    order = engine.Order(pages, crowd)
    for rows in _whole_groups(batches, lambda rows: np.asarray(rows["later"]), _PAIRS_AT_ONCE):
        later, earlier, costs = (np.asarray(rows[name]) for name in ("later", "earlier", "value"))
        wanted = order.decide(
            Resemblances(later, earlier, costs.astype(np.int64)), presumes=presumes
        )
        yield batch(
            later=later_of(wanted),
            earlier=earlier_of(wanted),
            is_wanted=np.ones(len(wanted), np.bool_),
        )
    near = np.flatnonzero(order.original != np.arange(pages))
    yield batch(later=near, earlier=order.original[near], is_wanted=np.zeros(len(near), np.bool_))


def _whole_groups(
    batches: Batches, group_of: Callable[[pa.Table], NDArray[np.int64]], at_once: int
) -> Iterator[pa.Table]:
    """Yield the rows of sorted batches, many groups at once, none of them cut.

    `group_of` names the group of each.
    """
    parts: list[pa.Table] = []
    waiting = 0
    for rows in batches:
        parts.append(pa.Table.from_batches([rows]))
        waiting += len(rows)
        if waiting < at_once:
            continue
        joined = pa.concat_tables(parts)
        groups = group_of(joined)
        end = int(np.searchsorted(groups, groups[-1]))
        if end:
            yield joined.slice(0, end)
        parts = [joined.slice(end)]
        # A group that goes on is joined anew each time it has doubled.
        waiting = len(joined) - end if end else 0
    if parts:
        yield pa.concat_tables(parts)
