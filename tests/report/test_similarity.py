import pytest

from crawldedup.fingerprinting.fingerprint import VERIFY_BITS
from crawldedup.options import Options
from crawldedup.report.queries import limit_at
from crawldedup.report.render.templates import page_of
from crawldedup.search.model import accept_threshold
from tests.report.conftest import ReportOf
from tests.report.synthetic_journal import THRESHOLD


def test_stricter_similarities_tell_what_they_would_keep_and_looser_ones_nothing(report_of: ReportOf) -> None:
    near = [{"t": 1, "url": str(each), "outcome": "near", "similarity": each / 100} for each in range(86, 100)]
    similarity = report_of(*near)["similarity"]
    assert (similarity["wanted"], similarity["limit"]) == (0.9, THRESHOLD)
    tried = {each["similarity"]: each for each in similarity["what_if"]}
    assert [tried[looser]["kept"] for looser in (0.8, 0.85)] == [None, None]
    assert (tried[0.9]["kept"], tried[0.9]["limit"]) == (0, pytest.approx(THRESHOLD))
    assert tried[0.95]["kept"] == sum(each / 100 < tried[0.95]["limit"] for each in range(86, 100)) > 0
    assert [(each["low"], each["pages"]) for each in similarity["bins"]] == [
        (0.85, 0),
        *((each / 100, 1) for each in range(86, 100)),
    ]


def test_a_looser_similarity_would_drop_what_came_near_enough(report_of: ReportOf) -> None:
    near = {"t": 1, "url": "b", "outcome": "near", "original": "a", "similarity": 0.9}
    below = {"t": 1, "outcome": "new", "rejected_url": "a", "rejected_by": "similarity"}
    given = [number / 100 for number in range(60, 86)]
    report = report_of(near, *({**below, "url": f"{each}", "rejected_similarity": each} for each in given))
    tried = {row["similarity"]: row for row in report["similarity"]["what_if"]}
    assert [tried[similarity]["dropped"] for similarity in (0.9, 0.95)] == [None, None]
    for similarity in (0.8, 0.85):
        assert tried[similarity]["dropped"] == sum(each >= tried[similarity]["limit"] for each in given) > 0
    assert f"At least {tried[0.8]['dropped']} duplicates more." in page_of(report)


def test_other_limits_are_those_that_crawls_have() -> None:
    limits = {wanted: accept_threshold(wanted, VERIFY_BITS, Options().recall) for wanted in (0.8, 0.9, 0.95)}
    for similarity, limit in limits.items():
        assert limit_at(similarity, wanted=0.9, limit=limits[0.9]) == pytest.approx(limit)


def test_without_near_duplicates_there_is_nothing_to_tell(report_of: ReportOf) -> None:
    similarity = report_of({"t": 1, "url": "a", "outcome": "exact", "similarity": 1})["similarity"]
    assert (similarity["bins"], similarity["least"]) == ([], [])
