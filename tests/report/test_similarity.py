import pytest

from crawldedup.fingerprinting.fingerprint import VERIFY_BITS
from crawldedup.options import Options
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


def test_other_limits_are_those_that_crawls_have(tmp_path: object, report_of: ReportOf) -> None:
    from crawldedup.report.queries import limit_at

    recall = Options().recall
    limits = {similarity: accept_threshold(similarity, VERIFY_BITS, recall) for similarity in (0.8, 0.9, 0.95)}
    for similarity, limit in limits.items():
        assert limit_at(similarity, wanted=0.9, limit=limits[0.9]) == pytest.approx(limit)


def test_without_near_duplicates_there_is_nothing_to_tell(report_of: ReportOf) -> None:
    similarity = report_of({"t": 1, "url": "a", "outcome": "exact", "similarity": 1})["similarity"]
    assert (similarity["bins"], similarity["least"]) == ([], [])
