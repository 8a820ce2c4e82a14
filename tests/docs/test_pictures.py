"""Every picture of the documentation is made by a command, is used by a page, and tells what it shows."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree

import pytest

from tests.docs.pages import PAGES, ROOT, SITE

IMAGES = SITE / "images"
PICTURES = sorted(path.name for path in IMAGES.iterdir() if path.suffix != ".py" and path.is_file())
QUICK = ("way", "probes", "crowd")


class Use(NamedTuple):
    """A picture in a page."""

    page: Path
    target: str
    alt: str

    @property
    def path(self) -> Path:
        return (self.page.parent / self.target).resolve()


def uses_in(page: Path) -> list[Use]:
    """Return the pictures of a page, as Markdown has them and as the directives `figure` and `image` have them."""
    text = page.read_text("utf-8")
    found = [Use(page, target, alt) for alt, target in re.findall(r"!\[([^\]]*)\]\(([^)\s]+)\)", text)]
    directive = r"^(`{3,}|:{3,})\{(?:figure|image)\} *(\S+)\n(.*?)^\1"
    for _, target, rest in re.findall(directive, text, re.MULTILINE | re.DOTALL):
        alt = re.search(r"^:alt: *(.*)$", rest, re.MULTILINE)
        found.append(Use(page, target, alt[1] if alt else ""))
    return found


STUDIES = {"cost.svg", "flips.svg", "recall.svg"}
"""Drawn by benchmarks of commit 1edea29, which studied a decision."""

USES = [use for page in PAGES for use in uses_in(page)]


def draw(*arguments: str) -> str:
    command = [sys.executable, "docs/images/draw.py", *arguments]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def commands() -> dict[str, str]:
    """The command of each picture."""
    return dict(line.split(": ", 1) for line in draw("--list").splitlines())


def test_every_picture_has_a_command(commands: dict[str, str]) -> None:
    assert sorted(commands) == [name for name in PICTURES if name not in STUDIES]


def test_the_commands_are_there(commands: dict[str, str]) -> None:
    for name, command in commands.items():
        python, script, *arguments = shlex.split(command)
        assert python == "python"
        source = (ROOT / script).read_text("utf-8")
        if script.startswith("benchmarks/"):
            assert '"--plot"' in source
            assert arguments[-2:] == ["--plot", f"docs/images/{name}"]
        else:
            assert (IMAGES / f"{arguments[0]}.py").is_file()


@pytest.mark.parametrize("picture", PICTURES)
def test_a_page_uses_the_picture(picture: str) -> None:
    assert IMAGES / picture in {use.path for use in USES}


@pytest.mark.parametrize("use", USES, ids=lambda use: f"{use.page.name}-{Path(use.target).name}")
def test_a_picture_of_a_page_exists_and_has_alt_text(use: Use) -> None:
    assert use.path.is_file()
    assert len(use.alt.split()) >= 3


def test_pictures_in_pages_are_found(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("![a b c](x.svg)\n\n```{figure} y.png\n:alt: d e f\n\nwords\n```\n\n:::{image} z.svg\n:::\n")
    assert [use[1:] for use in uses_in(page)] == [("x.svg", "a b c"), ("y.png", "d e f"), ("z.svg", "")]


@pytest.mark.parametrize("picture", [name for name in PICTURES if name.endswith(".svg")])
def test_a_picture_has_no_date(picture: str) -> None:
    """Else drawing it again would change it."""
    assert "dc:date" not in (IMAGES / picture).read_text("utf-8")


@pytest.mark.exhaustive
def test_the_quick_pictures_are_up_to_date(tmp_path: Path) -> None:
    draw(*QUICK, "--to", str(tmp_path))
    for name in QUICK:
        drawn, kept = tmp_path / f"{name}.svg", IMAGES / f"{name}.svg"
        assert texts(drawn) == texts(kept), f"python docs/images/draw.py {name}"


def texts(path: Path) -> list[str]:
    """Return the words and figures of a picture. Their places may depend on the version of matplotlib."""
    return ["".join(each.itertext()) for each in ElementTree.parse(path).iter("{http://www.w3.org/2000/svg}text")]
