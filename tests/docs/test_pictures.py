"""Pictures whose figures come from a run show what a run gives today."""

from pathlib import Path

import pytest

from tests.docs.pages import SITE, module_at


@pytest.mark.parametrize("name", ["problem", "way"])
def test_a_picture_shows_the_verdicts_and_bounds_of_today(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Modules of pictures import each other, as they do next to the program that draws them.
    monkeypatch.syspath_prepend(SITE / "images")
    module_at(SITE / "images" / f"{name}.py").draw(tmp_path / f"{name}.svg")
    drawn = (tmp_path / f"{name}.svg").read_text("utf-8")
    assert drawn == (SITE / "images" / f"{name}.svg").read_text("utf-8")
