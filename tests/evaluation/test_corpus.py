from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from crawldedup.errors import ConfigurationError
from crawldedup.evaluation import Document, compare_all, read_corpus, read_ground_truth
from tests.evaluation.fakes import corpus_of, numbered_words, product_page

PARAGRAPH = "The ferry leaves the island at seven in the morning and comes back long after dark, which nobody minds."


@pytest.fixture
def lines(tmp_path: Path) -> Path:
    pages = [
        {"url": "https://a.example/", "text": " one two "},
        {"url": "https://b.example/", "html": f"<title>Ferry</title><article><p>{PARAGRAPH}</p></article>"},
        {"url": "https://a.example/", "text": "again"},
        {"url": "https://c.example/", "text": "   "},
        {"url": "https://d.example/", "text": "last", "other": "fields do not matter"},
    ]
    path = tmp_path / "pages.jsonl"
    path.write_text("\n".join(map(json.dumps, pages)))
    return path


def test_texts_are_those_that_are_fingerprinted(lines: Path) -> None:
    corpus = read_corpus(str(lines), extractor="text")
    assert corpus.name == "pages.jsonl"
    assert [document.url[8] for document in corpus.documents] == ["a", "b", "d"]
    assert corpus.documents[1].text.split() == ["Ferry", *PARAGRAPH.split()]
    assert (corpus.unreadable, corpus.repeated) == (1, 1)


def test_facts_are_those_of_html_alone(tmp_path: Path) -> None:
    text = numbered_words(0, 60)
    pages = [
        {"url": "/lamp", "html": product_page("Lamp", "19.90", text)},
        {"url": "/about", "html": f"<article><p>{text}.</p></article>"},
        {"url": "/text", "text": text},
    ]
    path = tmp_path / "pages.jsonl"
    path.write_text("\n".join(map(json.dumps, pages)))
    lamp, about, plain = read_corpus(str(path)).documents
    assert lamp.facts is not None
    assert "19.9" in lamp.facts
    assert (about.facts, plain.facts) == ("", None)


def test_limit_and_progress(lines: Path) -> None:
    steps: list[None] = []
    corpus = read_corpus(str(lines), limit=1, on_page=lambda: steps.append(None))
    assert corpus.documents == (Document("https://a.example/", "one two"),)
    assert len(steps) == 1


def test_a_folder_is_read_in_the_order_of_its_names(tmp_path: Path) -> None:
    for name in ("b.txt", "a/z.txt", "c.html", "picture.png", "feed.jl", "crawl.warc", "sitemap.xml"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"<p>{PARAGRAPH} {name}</p>" if name.endswith("html") else name)
    corpus = read_corpus(str(tmp_path), extractor="text")
    assert [Path(document.url).name for document in corpus.documents] == ["z.txt", "b.txt", "c.html"]


def test_a_corpus_without_a_page_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "empty.txt").write_text(" ")
    with pytest.raises(ConfigurationError, match="no page that can be read"):
        read_corpus(str(tmp_path))


CORPUS = corpus_of(a=numbered_words(0, 102), b=numbered_words(0, 98), c="other words than those", d="…")


def write_pairs(path: Path, *pairs: object) -> Path:
    content = "\n".join(map(json.dumps, pairs))
    path.write_bytes(gzip.compress(content.encode()) if path.suffix == ".gz" else content.encode())
    return path


@pytest.mark.parametrize("name", ["pairs.jsonl", "pairs.jsonl.gz"])
def test_a_truth_from_a_file_is_the_same_truth(tmp_path: Path, name: str) -> None:
    elsewhere = {"a": "/a", "b": "/of another part", "j3": 0.5}
    path = write_pairs(tmp_path / name, {"a": "/b", "b": "/a", "j3": 0.96}, elsewhere)
    read, computed = read_ground_truth(path, CORPUS), compare_all([document.text for document in CORPUS.documents])
    kept = [True] * 4
    assert read.best_earlier(kept).tolist() == computed.best_earlier(kept).tolist() == [0, 0.96, 0, 0]
    assert read.pages_without_words == computed.pages_without_words == 1
    assert read.word_counts.tolist() == computed.word_counts.tolist()


@pytest.mark.parametrize(
    ("pair", "message"),
    [
        ({"a": "/a", "b": "/b"}, "line 1: a pair is an object"),
        ({"a": "/a", "b": "/b", "j3": 1.5}, "line 1: j3 is 1.5"),
        ({"a": "/x", "b": "/y", "j3": 0.6}, "no pair of pages of tests"),
    ],
)
def test_files_of_another_form_are_refused(tmp_path: Path, pair: object, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        read_ground_truth(write_pairs(tmp_path / "pairs.jsonl", pair), CORPUS)
