"""Deduplication on a real Spark of two cores, compared with the engine of one machine."""

from __future__ import annotations

import json
import random
from collections import Counter
from typing import TYPE_CHECKING

import pytest

pytest.importorskip(
    "pyspark", reason="the session `spark` of noxfile.py installs pyspark, and fails without it"
)

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from crawldedup import page as read_pages
from crawldedup.demo.site import all_articles
from crawldedup.errors import ConfigurationError, PageError
from crawldedup.index.queries import salted
from crawldedup.key import NO_KEY
from crawldedup.options import Options
from crawldedup.reading.reader import PageReader
from crawldedup.scan.engine import Columns, Goal, PageRow, find_duplicates
from crawldedup.spark import deduplicate
from tests.scan.pages import GOAL, columns_in, in_order, packed, shop

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    Page = tuple[str | None, str | None, int]
    Told = tuple[str, str | None, float | None, str | None]

pytestmark = pytest.mark.timeout(600)

SCHEMA = "url string, text string, rank int"


@pytest.fixture(scope="module")
def spark() -> Iterator[SparkSession]:
    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    builder = builder.config("spark.ui.showConsoleProgress", "false")
    # Small tables: more partitions only take time.
    builder = builder.config("spark.sql.shuffle.partitions", "3").config(
        "spark.driver.bindAddress", "127.0.0.1"
    )
    builder = builder.config("spark.driver.host", "127.0.0.1").config("spark.driver.memory", "1g")
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()


def varied(text: str, changes: int, rng: random.Random) -> str:
    """Return a text in which this many words are replaced."""
    words = text.split()
    for place in rng.sample(range(len(words)), min(changes, len(words))):
        words[place] = f"other{rng.randrange(10**6)}"
    return " ".join(words)


def real_texts() -> list[str]:
    return [article.text for article in all_articles()]


def collection(seed: int) -> list[Page]:
    """Return some hundred pages: texts, their copies near and exact, crowds, short texts, and rows
    with nothing.
    """
    rng = random.Random(seed)
    texts = []
    for text in real_texts():
        texts.append(text)
        texts += [
            varied(text, rng.choice((1, 1, 2, 3, 6, 10, 20)), rng) for _ in range(rng.randrange(4))
        ]
        texts += [text] * rng.randrange(3)
    template = " ".join(f"word{rng.randrange(10**5)}" for _ in range(150))
    texts += [varied(template, 12, rng) for _ in range(150)]
    texts += ["too short", "too short", "a short one, too"]
    rng.shuffle(texts)
    pages: list[Page] = [
        (f"https://e.example/{place}", text, rng.randrange(3)) for place, text in enumerate(texts)
    ]
    return [
        *pages,
        ("https://e.example/null", None, 0),
        ("https://e.example/blank", "  ", 0),
        (None, texts[0], 2),
    ]


def expected(pages: Sequence[Page], *, ranked: bool = False) -> list[Told]:
    """Return the verdicts of the engine of one machine."""
    options, reader = Options(), PageReader(Options())
    goal = Goal(options.similarity, options.recall)
    rows, read = [], []
    told: list[Told] = [("skipped", None, None, "empty")] * len(pages)
    for row, (url, text, rank) in enumerate(pages):
        try:
            page = reader.read_page(read_pages.Page(url or "", text=text or "")).fingerprint
        except PageError:
            continue
        read.append(PageRow(salted(page, "", NO_KEY), rank if ranked else 0))
        rows.append(row)
    columns = Columns.of(read, goal.threshold)
    found = find_duplicates(columns, goal)
    for place, row in enumerate(rows):
        if found.kept[place]:
            told[row] = ("thin" if columns.thin[place] else "new", None, None, None)
        else:
            kind = "exact_duplicate" if found.exact[place] else "near_duplicate"
            told[row] = (
                kind,
                pages[rows[found.original[place]]][0],
                float(found.similarity[place]),
                None,
            )
    return told


def found_in(spark: SparkSession, pages: Sequence[Page], **arguments: object) -> list[Told]:
    """Return the verdicts of Spark, in the order of the pages, which are in several partitions."""
    rows = [(*page, place) for place, page in enumerate(pages)]
    frame = spark.createDataFrame(spark.sparkContext.parallelize(rows, 5), f"{SCHEMA}, place int")
    found = deduplicate(frame, text="text", **arguments).collect()  # type: ignore[arg-type]
    by_place = {row.place: (row.kind, row.kept_url, row.similarity, row.reason) for row in found}
    assert len(found) == len(by_place) == len(pages)
    assert [
        (row.url, row.text, row["rank"]) for row in sorted(found, key=lambda row: row.place)
    ] == list(pages)
    return [by_place[place] for place in range(len(pages))]


def test_verdicts_are_those_of_the_engine_of_one_machine(spark: SparkSession) -> None:
    pages = collection(1)
    found = found_in(spark, pages)
    assert found == expected(pages)
    kinds = Counter(kind for kind, *_ in found)
    assert kinds.keys() == {"new", "near_duplicate", "exact_duplicate", "thin", "skipped"}
    assert kinds["near_duplicate"] > 20


def test_columns_can_decide_the_order(spark: SparkSession) -> None:
    pages = collection(2)
    by_rank = found_in(spark, pages, order="rank")
    assert by_rank == expected(pages, ranked=True)
    assert by_rank != expected(pages)


def test_a_crowd_and_many_copies_end_in_bounded_work(spark: SparkSession) -> None:
    """One template on half of the pages, and one page many times, under one URL."""
    rng = random.Random(3)
    template = [f"word{rng.randrange(10**5)}" for _ in range(60)]
    crowd = [
        " ".join([*template, *(f"own{rng.randrange(10**7)}" for _ in range(60))])
        for _ in range(700)
    ]
    texts = [*crowd, *[crowd[0]] * 2000, *real_texts()]
    pages: list[Page] = [("https://e.example/same", text, 0) for text in texts]
    found = found_in(spark, pages)
    assert found == expected(pages)
    assert Counter(kind for kind, *_ in found)["exact_duplicate"] >= 2000


def test_html_is_read_and_other_columns_stay(spark: SparkSession) -> None:
    text = real_texts()[0]
    html = [
        f"<html><body><article><p>{text}</p></article></body></html>",
        f"<html><body><p>{text}</p></body></html>",
    ]
    rows = [(each.encode(), "it's", place, f"u{place}") for place, each in enumerate(html)]
    frame = spark.createDataFrame(
        rows, "`the.html` binary, `a``b` string, place int, `the url` string"
    )
    found = (
        deduplicate(frame, url="the url", html="the.html", order=["place"])
        .orderBy("place")
        .collect()
    )
    assert [(row["a`b"], row.kind, row.kept_url) for row in found] == [
        ("it's", "new", None),
        ("it's", "exact_duplicate", "u0"),
    ]


def test_siblings_are_told_apart_as_by_a_scan(spark: SparkSession) -> None:
    pages = shop(3, pages=100)
    rows = [(page.url, page.html, place) for place, page in enumerate(pages)]
    frame = spark.createDataFrame(rows, "url string, html string, place int").repartition(4)
    found = deduplicate(frame, html="html", order="place").orderBy("place").collect()
    judged = find_duplicates(in_order(columns_in(packed(pages))), GOAL)
    expected = [
        None if judged.kept[row] else pages[original].url
        for row, original in enumerate(judged.original.tolist())
    ]
    assert [row.kept_url for row in found] == expected
    assert [row.kind == "exact_duplicate" for row in found] == judged.exact.tolist()
    assert 20 < judged.kept.sum() < 60


def test_rows_that_come_in_another_order_are_noticed(spark: SparkSession, tmp_path: Path) -> None:
    lines = [json.dumps({"url": url, "text": real_texts()[0]}) for url in ("a", "b")]
    file = tmp_path / "pages.json"
    file.write_text("\n".join(lines), "utf-8")
    result = deduplicate(spark.read.schema(SCHEMA).json(str(file)), text="text")
    file.write_text("\n".join(reversed(lines)), "utf-8")
    with pytest.raises(PySparkException, match="the pages came in a different order"):
        result.collect()


def test_a_checkpoint_directory_is_used(spark: SparkSession, tmp_path: Path) -> None:
    text = real_texts()[0]
    frame = spark.createDataFrame([("a", text, 0), ("b", text, 0)], SCHEMA).coalesce(1)
    spark.sparkContext.setCheckpointDir(str(tmp_path))
    try:
        found = deduplicate(frame, text="text")
    finally:
        spark.sparkContext._jsc.sc().setCheckpointDir(None)
    assert [row.kind for row in found.orderBy("url").collect()] == ["new", "exact_duplicate"]
    assert list(tmp_path.rglob("part-*"))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"text": "text", "html": "text"}, "give either text or html"),
        ({"text": "rank"}, "the column 'rank' holds int; it must hold string"),
        ({"text": "text", "order": ["date"]}, "there is no column 'date'"),
        ({"text": "text", "similarty": 0.8}, "did you mean 'similarity'"),
        ({"text": "text", "ttl": "3d"}, "ttl"),
    ],
)
def test_what_does_not_fit_is_refused(
    spark: SparkSession, arguments: dict[str, object], message: str
) -> None:
    with pytest.raises(ConfigurationError, match=message):
        deduplicate(spark.createDataFrame([], SCHEMA), **arguments)  # type: ignore[arg-type]
