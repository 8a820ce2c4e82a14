from crawldedup.report.render.templates import page_of
from tests.report.conftest import ReportOf
from tests.report.synthetic_journal import Line


def copy(name: str, original: str, *, replaces: bool = False) -> Line:
    return {"t": 1, "url": name, "outcome": "near", "similarity": 0.9, "original": original, "replaces": replaces}


def test_a_page_that_replaces_another_takes_its_cluster_over(report_of: ReportOf) -> None:
    lines = [
        copy("b", "a"),
        copy("e", "a"),
        copy("c", "a", replaces=True),
        copy("d", "c"),
        copy("e", "c", replaces=True),
        copy("f", "e"),
    ]
    report = report_of(*lines, copy("y", "x"))
    assert [(cluster["kept"], cluster["near"] + cluster["exact"]) for cluster in report["clusters"]] == [
        ("e", 5),
        ("x", 1),
    ]
    members = [(member["url"], member["original"], member["action"]) for member in report["clusters"][0]["members"]]
    assert members == [("a", "c", "replaced"), ("b", "a", ""), ("c", "e", "replaced"), ("d", "c", ""), ("f", "e", "")]
    assert 'replaced by <span class="url" dir="ltr">e</span>' in page_of(report)
    assert (report["totals"]["clusters"], report["totals"]["replaced"]) == (2, 2)


def test_pages_that_replace_each_other_end_and_copies_of_unknown_pages_are_in_no_cluster(report_of: ReportOf) -> None:
    lines = [copy("a", "b", replaces=True), copy("b", "a", replaces=True), copy("c", "c", replaces=True)]
    report = report_of(*lines, {"t": 1, "url": "d", "outcome": "exact"})
    assert sum(cluster["near"] + cluster["exact"] for cluster in report["clusters"]) == 3
    assert report["totals"]["counts"]["exact"] == 1


def test_only_the_largest_clusters_are_shown(report_of: ReportOf) -> None:
    report = report_of(*(copy(f"{number}-{one}", f"{number}") for number in range(60) for one in range(number % 3 + 1)))
    assert [cluster["near"] + cluster["exact"] for cluster in report["clusters"]] == [3] * 20 + [2] * 20 + [1] * 10
    assert report["totals"]["clusters"] == 60
