from __future__ import annotations

import json

import pytest

from crawldedup.evaluation import MethodDetector, Trial, compare_all, run_trial
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
    assert [url for url, _ in detector.seen] == [document.url for document in CORPUS.documents[:-1]]
    assert (trial.probes_mean, trial.candidates_mean) == (5, 2)
    assert 1 < trial.candidates_p99 <= 9
    assert trial.microseconds >= 0


def test_a_judge_that_breaks_has_not_found_the_page() -> None:
    trial = trial_of(FakeDetector({}, breaks_on=("/near", "/copy")))
    assert (trial.failed, trial.failure) == (2, "RuntimeError: cannot stand /near")
    assert "/near" in [mistake.url for mistake in trial.missed]


def test_a_trial_is_plain_json() -> None:
    trial = trial_of(FakeDetector({"/half": "/first"}))
    told = json.loads(json.dumps(trial.as_dict()))
    assert told["bands"][-1] == {"low": 1.0, "high": 1.0, "pages": 1, "flagged": 0, "share": 0.0}
    assert told["wrong"][0]["url"] == "/half"
    assert told["recall"] == trial.recall


@pytest.mark.parametrize("method", ["two-stage", "brute-force"])
def test_our_methods_find_copies_and_near_duplicates(method: str) -> None:
    trial = run_trial(MethodDetector(method), CORPUS, TRUTH, similarity=0.9)
    assert (trial.recall, trial.missed, trial.wrong, trial.failed) == (1.0, (), (), 0)
    assert trial.thin.flagged == 1
    assert trial.bytes_per_page > 40


def test_our_judge_takes_two_urls_for_two_pages() -> None:
    detector = MethodDetector()
    assert not detector.check("https://a.example/?b=1&a=2", TEXT).flagged
    # The same canonical URL, which a crawl would take for a revisit.
    detection = detector.check("https://a.example/?a=2&b=1#top", TEXT)
    assert (detection.flagged, detection.original, detection.similarity) == (True, "https://a.example/?b=1&a=2", 1.0)


def test_the_judge_is_named_by_method_and_weighting() -> None:
    assert MethodDetector("simhash?distance=3").name == "simhash?distance=3"
    assert MethodDetector("two-stage", "tf").name == "two-stage, tf"
