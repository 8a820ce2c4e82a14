"""Pictures whose figures come from a run show what a run gives today."""

from pathlib import Path

from tests.docs.pages import SITE, module_at


def test_the_picture_of_the_problem_shows_the_verdicts_of_today(tmp_path: Path) -> None:
    module_at(SITE / "images" / "problem.py").draw(tmp_path / "problem.svg")
    drawn = (tmp_path / "problem.svg").read_text("utf-8")
    assert drawn == (SITE / "images" / "problem.svg").read_text("utf-8")
