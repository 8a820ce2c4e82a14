from __future__ import annotations

import json

import pytest

from crawldedup.evaluation import (
    Corpus,
    Detector,
    Document,
    MethodDetector,
    Mistake,
    Trial,
    compare_all,
    run_trial,
)
from tests.evaluation.fakes import FakeDetector, corpus_of, numbered_words

TEXT = numbered_words(0, 102)  # 100 shingles
CORPUS = corpus_of(
    first=TEXT,
    near=numbered_words(0, 98),  # .96 like the first
    nearer=numbered_words(0, 97),  # .95 like the first, .99 like the near one
    half=numbered_words(0, 77),  # .75 like the first
    other=numbered_words(500, 600),
    copy=TEXT,
    thin="a few words",
    thin_copy="a few words",
    nothing="…",
)
TRUTH = compare_all([document.text for document in CORPUS.documents])


def trial_of(detector: FakeDetector) -> Trial:
    return run_trial(detector, CORPUS, TRUTH, similarity=0.9)


def counts(trial: Trial, *, kept: bool = True) -> dict[tuple[float, float], tuple[int, int]]:
    bands = trial.bands if kept else trial.all_bands
    return {(band.low, band.high): (band.counts.pages, band.counts.flagged) for band in bands if band.counts.pages}


def test_pages_are_counted_by_the_best_page_that_was_kept() -> None:
    trial = trial_of(FakeDetector({"/near": "/first", "/copy": "/first", "/thin_copy": "/thin", "/other": "/first"}))
    assert counts(trial) == {
        (0.0, 0.5): (2, 1),  # the first, and the other, which is flagged for nothing
        (0.7, 0.8): (1, 0),
        (0.95, 0.98): (2, 1),  # the near one, and the nearer one, for the near one was not kept
        (1.0, 1.0): (1, 1),
    }
    assert counts(trial, kept=False) == {
        (0.0, 0.5): (2, 1),
        (0.7, 0.8): (1, 0),
        (0.95, 0.98): (1, 1),
        (0.98, 1.0): (1, 0),
        (1.0, 1.0): (1, 1),
    }
    assert (trial.found.pages, trial.found.flagged) == (3, 2)
    assert trial.recall == pytest.approx(2 / 3)
    assert (trial.thin.pages, trial.thin.flagged) == (2, 1)


def test_mistakes_say_what_they_were_mistaken_for() -> None:
    trial = trial_of(FakeDetector({"/near": "/first", "/half": "/first", "/other": None, "/thin": "/first"}))
    (nearer, copy) = trial.missed
    assert (nearer.url, nearer.words, nearer.nearest) == ("/nearer", 97, "/first")
    assert nearer.exact == pytest.approx(0.95)
    assert (nearer.original, nearer.original_exact, nearer.estimate) == (None, None, None)
    assert (copy.url, copy.exact) == ("/copy", 1.0)
    half, other = trial.wrong
    assert (half.url, half.original, half.estimate) == ("/half", "/first", 0.97)
    assert half.original_exact == pytest.approx(0.75)
    assert (other.url, other.exact, other.nearest, other.original) == ("/other", 0.0, None, None)


def test_a_page_just_below_the_threshold_is_no_mistake() -> None:
    corpus = corpus_of(first=TEXT, close=numbered_words(0, 87))  # .85
    truth = compare_all([document.text for document in corpus.documents])
    trial = run_trial(FakeDetector({"/close": "/first"}), corpus, truth, similarity=0.9)
    assert (trial.wrong, trial.missed, trial.recall) == ((), (), None)


def test_work_is_averaged_and_pages_without_a_word_are_not_shown() -> None:
    detector = FakeDetector({"/copy": "/first"})
    trial = trial_of(detector)
    assert detector.seen == list(CORPUS.documents[:-1])
    assert (trial.probes_mean, trial.candidates_mean) == (5, 2)
    assert 1 < trial.candidates_p99 <= 9
    assert trial.microseconds >= 0


def test_a_judge_that_breaks_has_not_found_the_page() -> None:
    trial = trial_of(FakeDetector({}, breaks_on=("/near", "/copy")))
    assert (trial.failed, trial.failure) == (2, "RuntimeError: cannot stand /near")
    assert "/near" in [mistake.url for mistake in trial.missed]


PRODUCTS = Corpus(
    "products",
    (
        Document("/lamp", TEXT, "price 19.90"),
        Document("/other_lamp", TEXT, "price 24.90"),
        Document("/lamp_copy", TEXT, "price 19.90"),
        Document("/about_lamps", numbered_words(0, 98), ""),  # .96 like the lamps
        Document("/third_lamp", numbered_words(0, 97), "price 29.90"),  # .99 like the page about lamps
        Document("/half", numbered_words(0, 77), "price 9.90"),  # .79 like the third lamp
        Document("/few", "a few words", "price 1"),
        Document("/few_others", "a few words", "price 2"),
    ),
)
PRODUCTS_TRUTH = compare_all([document.text for document in PRODUCTS.documents])


def trial_of_products(detector: Detector) -> Trial:
    return run_trial(detector, PRODUCTS, PRODUCTS_TRUTH, similarity=0.9)


def urls(pages: tuple[Mistake, ...] | None) -> list[str]:
    assert pages is not None
    return [page.url for page in pages]


def check_sums(trial: Trial, corpus: Corpus) -> None:
    """Every page is in one band or thin; what is to be found is flagged or missed; what is kept apart is neither."""
    bands = [band.counts for band in trial.bands]
    assert sum(band.pages for band in bands) + trial.thin.pages == len(corpus.documents)
    assert sum(band.counts.pages for band in trial.all_bands) == sum(band.pages for band in bands)
    high = [band.counts for band in trial.bands if band.low >= trial.similarity]
    low = [band.counts for band in trial.bands if band.low < trial.similarity]
    assert sum(band.pages for band in high) == trial.found.pages == trial.found.flagged + len(trial.missed)
    assert sum(band.flagged for band in high) == trial.found.flagged
    assert len(trial.apart or ()) <= sum(band.pages - band.flagged for band in low)


def test_pages_of_other_facts_are_kept_apart_and_not_missed() -> None:
    trial = trial_of_products(FakeDetector({"/lamp_copy": "/lamp"}))
    assert urls(trial.apart) == ["/other_lamp", "/about_lamps", "/third_lamp"]
    assert (trial.recall, trial.missed, trial.wrong) == (1.0, (), ())
    assert counts(trial) == {(0.0, 0.5): (5, 0), (1.0, 1.0): (1, 1)}
    assert counts(trial, kept=False) == counts(trial)
    check_sums(trial, PRODUCTS)


def test_a_page_kept_apart_names_the_nearest_of_other_facts() -> None:
    trial = trial_of_products(FakeDetector({}))
    assert trial.apart is not None
    assert [(page.nearest, round(page.exact, 2)) for page in trial.apart] == [
        ("/lamp", 1.0),
        ("/lamp", 0.96),
        ("/about_lamps", 0.99),
    ]


def test_a_copy_with_equal_facts_is_missed_if_it_is_not_flagged() -> None:
    trial = trial_of_products(FakeDetector({}))
    assert urls(trial.missed) == ["/lamp_copy"]
    assert trial.missed[0].nearest == "/lamp"
    assert trial.recall == 0
    check_sums(trial, PRODUCTS)


def test_a_page_that_is_flagged_for_one_of_other_facts_is_flagged_wrongly() -> None:
    trial = trial_of_products(FakeDetector({"/other_lamp": "/lamp", "/lamp_copy": "/lamp"}))
    (wrong,) = trial.wrong
    assert (wrong.url, wrong.exact, wrong.nearest, wrong.original_exact) == ("/other_lamp", 0.0, None, 1.0)
    assert urls(trial.apart) == ["/about_lamps", "/third_lamp"]
    assert (trial.recall, trial.precision) == (1.0, 0.5)
    check_sums(trial, PRODUCTS)


def test_a_method_without_facts_is_measured_by_the_texts_alone() -> None:
    flags: dict[str, str | None] = {"/other_lamp": "/lamp", "/lamp_copy": "/lamp", "/about_lamps": "/lamp"}
    trial = trial_of_products(FakeDetector(flags, uses_facts=False))
    assert trial.apart is None
    assert (urls(trial.missed), trial.wrong, trial.recall) == (["/third_lamp"], (), 3 / 4)
    check_sums(trial, PRODUCTS)


def test_a_corpus_of_texts_tells_nothing_of_facts() -> None:
    trial = trial_of(FakeDetector({}))
    assert trial.apart is None
    assert trial.as_dict()["apart"] is None


@pytest.mark.parametrize("method", ["two-stage", "brute-force", "simhash", "psm", "minhash"])
def test_our_methods_keep_other_products_apart(method: str) -> None:
    trial = trial_of_products(MethodDetector(method))
    assert urls(trial.apart) == ["/other_lamp", "/about_lamps", "/third_lamp"]
    assert (trial.recall, trial.missed, trial.wrong, trial.failed) == (1.0, (), (), 0)


def test_a_trial_is_plain_json() -> None:
    trial = trial_of(FakeDetector({"/half": "/first"}))
    told = json.loads(json.dumps(trial.as_dict()))
    assert told["bands"][-1] == {"low": 1.0, "high": 1.0, "pages": 1, "flagged": 0, "share": 0.0}
    assert told["wrong"][0]["url"] == "/half"
    assert trial_of_products(FakeDetector({})).as_dict()["apart"][0]["url"] == "/other_lamp"
    assert told["recall"] == trial.recall


@pytest.mark.parametrize("method", ["two-stage", "brute-force"])
def test_our_methods_find_copies_and_near_duplicates(method: str) -> None:
    trial = run_trial(MethodDetector(method), CORPUS, TRUTH, similarity=0.9)
    assert (trial.recall, trial.missed, trial.wrong, trial.failed) == (1.0, (), (), 0)
    assert trial.thin.flagged == 1
    assert trial.bytes_per_page > 40


def test_our_judge_takes_two_urls_for_two_pages() -> None:
    detector = MethodDetector()
    assert not detector.check(Document("https://a.example/?b=1&a=2", TEXT)).flagged
    # The same canonical URL, which a crawl would take for a revisit.
    detection = detector.check(Document("https://a.example/?a=2&b=1#top", TEXT))
    assert (detection.flagged, detection.original, detection.similarity) == (True, "https://a.example/?b=1&a=2", 1.0)


def test_the_judge_is_named_by_method_and_weighting() -> None:
    assert MethodDetector("simhash?distance=3").name == "simhash?distance=3"
    assert MethodDetector("two-stage", "tf").name == "two-stage, tf"
