"""Find the duplicates among pages that were read: the steps of `crawldedup.scan`, as joins of DataFrames.

`numbered` gives each page its place in their order. `candidates` pairs the pages that share a key: each key is a row,
and sorting brings equal keys together. `compared` measures the pairs, and `decided` tells in one task which pages are
kept.
"""

from collections.abc import Sequence
from functools import reduce
from itertools import accumulate
from typing import Final

from pyspark import StorageLevel
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from crawldedup.errors import ConfigurationError
from crawldedup.scan.engine import ROUNDS, Goal
from crawldedup.scan.pairs import CROWD_BITS, MOST_PAGES, key_bits
from crawldedup.search.plan import STORED_BITS, Table
from crawldedup.search.query import TABLES
from crawldedup.spark.tasks import CROWDED, URL, VERIFY, ComparePairs, DecidePairs, MakeKeys, MakePairs
from crawldedup.verdict import Kind

ID: Final = "_crawldedup_id"
"""The column that names a row of the input."""
SKIPPED: Final = "skipped"
ADDED: Final = ("kind", "kept_url", "similarity", "reason")

_ROW_BITS: Final = 33
"""Of `monotonically_increasing_id`: the upper bits hold the partition, the lower ones the row."""
# So many are sent to all executors, in some 100 MB of memory each. More are joined by a shuffle.
_MOST_BROADCAST: Final = 5_000_000
_MOST_BROADCAST_PAIRS: Final = 1_000_000


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
    pairs = near(pages, checkpointed(candidates(single, goal.similarity).distinct()), goal.most_verify_bits)
    similar = compared(pages, decided(pages, total, pairs, goal), ComparePairs(goal))
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
            runs = checkpointed(_runs(some, table, bits, similarity))
            pairs.append(runs.where(F.col("earlier") != CROWDED))
            crowd = runs.where(F.col("earlier") == CROWDED).select(F.col("later").alias("number")).distinct()
            if (crowd := checkpointed(crowd)).isEmpty():
                break
            some = among(pages, crowd)
            bits += CROWD_BITS
    return reduce(DataFrame.union, pairs)


def _runs(pages: DataFrame, table: Table, bits: int, similarity: float) -> DataFrame:
    keys = pages.mapInArrow(MakeKeys(table, bits, similarity), "key long, search long")
    prefix = F.shiftrightunsigned("key", 64 - bits)
    return keys.repartition(prefix).sortWithinPartitions("key").mapInArrow(MakePairs(bits), "later long, earlier long")


def near(pages: DataFrame, pairs: DataFrame, most_verify: int) -> DataFrame:
    """Return the pairs that differ in at most so many verify bits."""
    others = [f"other_{word}" for word in VERIFY]
    both = pairs.join(_signatures(pages, pairs, "earlier", VERIFY), "earlier")
    both = both.join(_signatures(pages, pairs, "later", others), "later")
    bits = [F.bit_count(F.col(own).bitwiseXOR(F.col(other))) for own, other in zip(VERIFY, others, strict=True)]
    return both.where(sum(bits, F.lit(0)) <= most_verify).select("later", "earlier")


def compared(pages: DataFrame, pairs: DataFrame, measure: ComparePairs) -> DataFrame:
    """Return `later` and `earlier` of pairs, and the `value` of each. `pages` have `number` and what is compared.

    The pairs of a page come together to its steps, which take more room than all else. A page has a bounded number.
    """
    pairs = checkpointed(pairs)
    signed = pairs.join(_signatures(pages, pairs, "earlier", VERIFY), "earlier")
    others = F.collect_list(F.struct("earlier", *VERIFY)).alias("others")
    grouped = signed.groupBy(F.col("later").alias("number")).agg(others)
    grouped = F.broadcast(grouped) if pairs.count() <= _MOST_BROADCAST_PAIRS else grouped
    rows = pages.select("number", *VERIFY, "steps").join(grouped, "number")
    return rows.mapInArrow(measure, "later long, earlier long, value double")


def decided(pages: DataFrame, total: int, pairs: DataFrame, goal: Goal) -> DataFrame:
    """Return the pages that are near duplicates, `later`, each with the page that is kept, `earlier`.

    Pairs that turn out to be wanted are compared, too.
    """
    measured = checkpointed(compared(pages, pairs, ComparePairs(most=goal.crowd.reach)))
    for _ in range(ROUNDS):
        verdicts = checkpointed(_ordered(measured, DecidePairs(total, goal.crowd)))
        wanted = verdicts.where("is_wanted").select("later", "earlier")
        if wanted.isEmpty():
            break
        measured = checkpointed(measured.union(compared(pages, wanted, ComparePairs())))
    else:
        verdicts = _ordered(measured, DecidePairs(total, goal.crowd, presumes=False))
    return verdicts.where("not is_wanted").select("later", "earlier")


def _ordered(measured: DataFrame, task: DecidePairs) -> DataFrame:
    rows = measured.repartition(1).sortWithinPartitions("later")
    return rows.mapInArrow(task, "later long, earlier long, is_wanted boolean")


def _signatures(pages: DataFrame, pairs: DataFrame, side: str, names: Sequence[str]) -> DataFrame:
    """Return the verify bits of the pages on one side of pairs."""
    wanted = checkpointed(pairs.select(F.col(side).alias("number")).distinct())
    return among(pages.select("number", *VERIFY), wanted).toDF(side, *names)


def among(pages: DataFrame, wanted: DataFrame, how: str = "left_semi") -> DataFrame:
    """Return the pages whose `number` is among those wanted, or with `left_anti` the others.

    `wanted` is checkpointed. What is left out is not shuffled, if the numbers are few enough.
    """
    return pages.join(_hinted(wanted), "number", how)


def _hinted(wanted: DataFrame) -> DataFrame:
    return F.broadcast(wanted) if wanted.count() <= _MOST_BROADCAST else wanted
