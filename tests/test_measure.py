"""`crawldedup bench`: what is found among pages of one's own, against the exact truth."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path
from unittest import mock

import pytest

from crawldedup.cli import main
from crawldedup.literature.bench import METHODS, compare_all
from crawldedup.marks.values import ShownMarks
from crawldedup.measure import DEFAULT, Check, Corpus, Document, Outcome, Trial, methods, run_trial
from crawldedup.options import Options

Capture = pytest.CaptureFixture[str]


def numbered_words(first: int, last: int) -> str:
    """Words without repetition. Two such texts with n words in common share n - 2 shingles."""
    return " ".join(f"w{number}" for number in range(first, last))


def product_page(price: str, text: str) -> str:
    """HTML of a page about a product, whose main text is the one given."""
    offer = {"@type": "Product", "name": "Lamp", "offers": {"price": price, "priceCurrency": "EUR"}}
    head = f'<title>Lamp</title><script type="application/ld+json">{json.dumps(offer)}</script>'
    return f"<html><head>{head}</head><body><article><h1>Lamp</h1><p>{text}.</p></article></body></html>"


def corpus_of(**texts: str) -> Corpus:
    return Corpus("tests", tuple(Document(f"/{name}", text) for name, text in texts.items()))


TEXT = numbered_words(0, 102)  # 100 shingles
CORPUS = corpus_of(
    first=TEXT,
    near=numbered_words(0, 98),  # .96 like the first
    nearer=numbered_words(0, 97),  # .95 like the first, .99 like the near one
    half=numbered_words(0, 77),  # .75 like the first
    close=numbered_words(0, 87),  # .85 like the first
    other=numbered_words(500, 600),
    copy=TEXT,
    thin="a few words",
    thin_copy="a few words",
    nothing="…",
)
SHOP = "https://shop.example"


def product(path: str, price: str, text: str = TEXT) -> Document:
    return Document(f"{SHOP}{path}", text, ShownMarks(data=(("price", price),)))


PRODUCTS = Corpus(
    "products",
    (
        product("/lamp", "19.90"),
        product("/other_lamp", "24.90"),
        product("/lamp_copy", "19.90"),
        product("/large_lamp", "29.90", numbered_words(0, 98)),  # .96 like the others
    ),
)


def trial_of(check: Check, corpus: Corpus = CORPUS, name: str = DEFAULT) -> Trial:
    return run_trial(
        name, check, corpus, compare_all(document.text for document in corpus.documents), 0.9
    )


def flagged(corpus: Corpus = CORPUS, name: str = DEFAULT, **flags: str) -> Trial:
    """Return the trial of a method that flags these pages and names an original for each."""
    return trial_of(lambda document: flags.get(document.url.rpartition("/")[2]), corpus, name)


def urls(outcomes: tuple[Outcome, ...]) -> list[str]:
    return [outcome.url.removeprefix(SHOP) for outcome in outcomes]


def test_pages_are_counted_by_the_best_page_that_was_kept() -> None:
    trial = flagged(near="/first", copy="/first", other="/first", close="/first")
    # To find are the copy, the near one and the nearer one; the close one is near enough to be no
    # mistake.
    assert (trial.to_find, trial.found, trial.recall, trial.between) == (3, 2, 2 / 3, 1)
    assert (urls(trial.missed), urls(trial.false), trial.apart) == (["/nearer"], ["/other"], ())


def test_siblings_are_kept_apart_and_not_missed() -> None:
    trial = flagged(PRODUCTS, lamp_copy="/lamp")
    assert [(page.url, page.nearest) for page in trial.apart] == [
        (f"{SHOP}/other_lamp", f"{SHOP}/lamp"),
        (f"{SHOP}/large_lamp", f"{SHOP}/lamp"),
    ]
    assert (trial.recall, trial.missed, trial.false) == (1.0, (), ())
    assert urls(flagged(PRODUCTS, lamp_copy="/lamp", other_lamp="/lamp").false) == ["/other_lamp"]
    nothing = flagged(PRODUCTS)
    assert (urls(nothing.missed), urls(nothing.apart)) == (
        ["/lamp_copy"],
        ["/other_lamp", "/large_lamp"],
    )
    without = flagged(PRODUCTS, "without marks", lamp_copy="/lamp", other_lamp="/lamp")
    assert (urls(without.missed), without.apart) == (["/large_lamp"], ())


def test_the_default_finds_all_and_keeps_siblings_apart() -> None:
    make = methods(Options(store="memory://", key=0))[DEFAULT]
    trial, products = trial_of(make()), trial_of(make(), PRODUCTS)
    assert (trial.recall, trial.false) == (1.0, ())
    assert (products.recall, products.false, len(products.apart)) == (1.0, (), 2)
    # The same canonical URL, which a crawl would take for a revisit.
    assert trial_of(make(), corpus_of(**{"?b=1&a=2": TEXT, "?a=2&b=1#top": TEXT})).found == 1


@pytest.mark.parametrize("name", METHODS)
def test_methods_of_the_literature_find_copies_and_nothing_else(name: str) -> None:
    trial = trial_of(methods(Options())[name](), name=name)
    assert trial.false == ()
    # A tf-idf that learns weighs the same page otherwise once it has seen more.
    assert "/copy" not in urls(trial.missed) or name.endswith("tf-idf")
    assert trial.found == trial.to_find if name in ("minhash", "brute force") else trial.found


@pytest.fixture
def pages(tmp_path: Path) -> Path:
    texts = {
        "a": numbered_words(0, 102),
        "b": numbered_words(0, 100),
        "c": numbered_words(500, 600),
        "d": "   ",
    }
    path = tmp_path / "pages.jsonl"
    path.write_text(
        "".join(
            json.dumps({"url": f"/{name}", "text": text}) + "\n" for name, text in texts.items()
        )
    )
    return path


def run(capsys: Capture, *arguments: object) -> tuple[int, str, str]:
    status = main(["bench", *map(str, arguments)])
    captured = capsys.readouterr()
    return status, captured.out, captured.err


def test_one_table_compares_all_methods(pages: Path, capsys: Capture) -> None:
    status, out, err = run(capsys, pages)
    assert (status, err) == (0, "")
    about, heading, *rows = out.splitlines()[: 3 + len(METHODS)]
    assert about == "pages.jsonl: 3 pages (left out, 1 unreadable)"
    assert (
        " ".join(heading.split()) == "method to find found % 0.8 to 0.9 false kept apart us a page"
    )
    for name, row in zip([DEFAULT, *METHODS], rows, strict=True):
        assert row.strip().startswith(name)
        assert row.strip().removeprefix(name).split()[:1] == ["1"]
    assert rows[0].split()[:-1] == [DEFAULT, "1", "1", "100", "0", "0"]
    with mock.patch.dict("crawldedup.measure.SLOW", {"brute force": 2}):
        assert (
            "brute force: left out above 2 pages; use --only 'brute force' to measure it"
            in run(capsys, pages)[1]
        )
        assert re.search(
            "\n *brute force +1 +1 +100 ", run(capsys, pages, "--only", "brute force")[1]
        )


def test_the_json_has_what_was_found(tmp_path: Path, capsys: Capture) -> None:
    pages = tmp_path / "pages.jsonl"
    with pages.open("w") as file:
        for number, price in enumerate(["19.90", "24.90", "19.90", "9.90"]):
            html = product_page(price, numbered_words(0, 150))
            file.write(json.dumps({"url": f"{SHOP}/{number}", "html": html}) + "\n")
    status, out, _ = run(
        capsys, pages, "--only", DEFAULT, "--limit", 3, "--similarity", 0.95, "--json"
    )
    report = json.loads(out)
    assert (status, report["corpus"], report["pages"], report["without_words"]) == (
        0,
        "pages.jsonl",
        3,
        0,
    )
    (trial,) = report["trials"]
    assert (trial["method"], trial["recall"], trial["missed"], trial["similarity"]) == (
        DEFAULT,
        1.0,
        [],
        0.95,
    )
    # Pages of other prices are kept apart.
    assert [(page["url"], page["nearest"]) for page in trial["apart"]] == [
        (f"{SHOP}/1", f"{SHOP}/0")
    ]
    assert (trial["found"], trial["missed"], trial["false"]) == (1, [], [])


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("only", "minhsh", "did you mean 'minhash'"),
        ("limit", "0", "--limit is 0"),
        ("similarity", "2", "similarity"),
    ],
)
def test_what_cannot_be_measured_is_said(
    pages: Path, capsys: Capture, option: str, value: str, message: str
) -> None:
    status, _, err = run(capsys, pages, f"--{option}", value)
    assert (status, message in err) == (2, True)


def test_it_reads_every_source_that_scan_reads(tmp_path: Path, capsys: Capture) -> None:
    feed = tmp_path / "feed.csv.gz"
    rows = "".join(
        f"/{name},{numbered_words(first, first + 100)}\n"
        for name, first in [("a", 0), ("b", 0), ("c", 500)]
    )
    feed.write_bytes(gzip.compress(f"link,body\n{rows}".encode()))
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "page.html").write_text(product_page("1", numbered_words(0, 100)))
    status, out, err = run(
        capsys, feed, folder, "--url-field", "link", "--text-field", "body", "--only", DEFAULT,
        "--json",
    )  # fmt: skip
    report = json.loads(out)
    assert (status, err, report["corpus"]) == (0, "", "feed.csv.gz and 1 other")
    assert (report["pages"], report["trials"][0]["to_find"]) == (4, 2)


def test_an_error_points_to_its_own_help(pages: Path, capsys: Capture) -> None:
    with pytest.raises(SystemExit):
        run(capsys, pages, "--body-field", "body")
    assert capsys.readouterr().err == (
        "crawldedup: unrecognized arguments: --body-field body (see crawldedup bench --help)\n"
    )
