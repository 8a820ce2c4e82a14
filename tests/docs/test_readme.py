"""The README and the release: its command lines are those that are tested, links lead somewhere,
versions agree.
"""

import re
import tomllib
from itertools import pairwise
from pathlib import Path

import pytest

import crawldedup
from tests.docs.pages import PAGES, PROJECT_PAGES, README, ROOT, anchors_of, blocks, module_at

COMMANDS = [block.code.strip() for block in blocks("sh", pages=[README])]


def rows(page: Path) -> dict[str, list[str]]:
    """Return the cells of the rows of all tables of a page, by the first one."""
    lines = [
        line.strip("|").split("|")
        for line in page.read_text("utf-8").splitlines()
        if line.startswith("|")
    ]
    return {name.strip(): [cell.strip(" *") for cell in cells] for name, *cells in lines}


def test_the_figures_match_the_benchmark() -> None:
    shown, measured = rows(README), rows(ROOT / "docs" / "benchmarks" / "whole_site.md")
    figures = {
        name: [row[2], row[3], row[4], row[8], row[9]]
        for name, row in measured.items()
        if len(row) > 9
    }
    for tool, name in {
        "nothing": "nothing",
        "**crawldedup**": "**crawldedup, `drop-items`, blocks (the defaults)**",
        "URL rules (duplicate-url-discarder)": "duplicate-url-discarder 0.3.0, rules for the site",
        "simhash, k=3": "simhash 2.1.2, k=3 of trafilatura's text",
        "md5 of paragraphs": "md5 of all `<p>`",
    }.items():
        assert shown[tool] == figures[name], tool
    both = [
        figures[f"datasketch 2.0.0, MinHashLSH {least} of trafilatura's text"]
        for least in ("0.9", "0.8")
    ]
    joined = [
        one if one == other == "0" else f"{one} / {other}" for one, other in zip(*both, strict=True)
    ]
    assert shown["datasketch MinHash LSH, 0.9 / 0.8"] == joined


def test_its_command_lines_are_those_of_ci() -> None:
    install = "python3 -m venv .venv && .venv/bin/pip install -q"
    assert COMMANDS[0] == f"{install} . && .venv/bin/crawldedup demo"
    assert COMMANDS[1] == f"{install} -e '.[test]' && .venv/bin/pytest"
    nox = (ROOT / "noxfile.py").read_text("utf-8")
    assert 'session.run(str(programs / "crawldedup"), "demo",' in nox
    assert 'session.install("-q", "-e", ".[test]")\n    run_pytest(session)' in nox
    assert 'session "tests-$python"' in (ROOT / ".ci" / "run").read_text("utf-8")


def test_its_example_prints_what_it_shows(capsys: pytest.CaptureFixture[str]) -> None:
    shown = pairwise(blocks("python", "text", "sh", pages=[README]))
    ((program, output),) = (
        pair for pair in shown if [block.language for block in pair] == ["python", "text"]
    )
    exec(compile(program.code, program.name, "exec"), {})
    assert capsys.readouterr().out == output.code


@pytest.mark.parametrize(
    "page", [*PAGES, *PROJECT_PAGES], ids=lambda page: str(page.relative_to(ROOT))
)
def test_links_lead_to_files_and_their_headings(page: Path) -> None:
    text = page.read_text("utf-8")
    for target, anchor in re.findall(r"\]\((?!\w+:)([^)#\s]*)(?:#([^)\s]*))?\)", text):
        found = page.parent / target if target else page
        assert found.exists(), target
        assert not anchor or anchor in anchors_of(found), f"{target}#{anchor}"
    for target in re.findall(r"\{doc\}`(?:[^`<]*<)?([^`>]+)>?`", text):
        assert (page.parent / f"{target}.md").exists(), target


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_files_that_are_named_exist(page: Path) -> None:
    text = page.read_text("utf-8")
    named = re.findall(
        r"(?<![\w/.])((?:crawldedup|tests|benchmarks|docs)/[\w./-]*\.(?:py|lua|md))", text
    )
    dated = re.findall(r"`(benchmarks/\w+\.py)`\s+of\s+commit\s+\w{7}", text)
    missing = [name for name in named if not (ROOT / name).exists() and name not in dated]
    assert missing == []


PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]


def test_the_version_is_the_same_everywhere() -> None:
    newest = re.search(r"^## (\d\S*)", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.MULTILINE)
    assert newest is not None
    assert PROJECT["version"] == crawldedup.__version__ == newest[1]


def test_the_description_has_no_link_that_leads_nowhere() -> None:
    readme = README.read_text("utf-8")
    description = module_at(ROOT / "setup.py").description(readme)
    assert re.findall(r"\]\((?!https?://)", description) == []
    assert "![" not in description
    # Nothing else is gone: the words of links stay, and links to the web.
    assert set(re.findall(r"(?<!!)\[[^\]]+\]\(https?://[^)]+\)", readme)) <= set(
        re.findall(r"\[[^\]]+\]\([^)]+\)", description)
    )
    kept = re.findall(r"^#.*$", readme, re.MULTILINE) + re.findall(r"(?<!!)\[([^\]]+)\]\(", readme)
    assert kept
    assert [text for text in kept if text not in description] == []


def test_an_archive_that_lacks_or_adds_a_file_is_refused() -> None:
    checker = module_at(ROOT / ".ci" / "check_package.py")
    package = {f"crawldedup/a{kind}" for kind in checker.KINDS}
    repository = {*package, "tests/test_a.py", "README.md"}
    wheel = {*package, "crawldedup-1.dist-info/METADATA"}
    sdist = {
        f"crawldedup-1/{name}"
        for name in (*repository, "PKG-INFO", "crawldedup.egg-info/SOURCES.txt")
    }
    assert (
        checker.faults_of_wheel(wheel, repository)
        == checker.faults_of_sdist(sdist, repository)
        == []
    )
    faults = [
        *checker.faults_of_wheel(wheel - {"crawldedup/a.lua"} | {"tests/test_a.py"}, repository),
        *checker.faults_of_sdist(
            sdist - {"crawldedup-1/tests/test_a.py"} | {"crawldedup-1/notes.txt"}, repository
        ),
    ]
    said = (
        "wheel lacks crawldedup/a.lua",
        "wheel holds tests/test_a.py",
        "wheel holds no file *.lua",
    )
    said += ("sdist lacks tests/test_a.py", "sdist holds notes.txt")
    assert len(faults) == len(said)
    assert all(any(words in fault for fault in faults) for words in said)


def test_the_image_has_what_builds_the_package() -> None:
    copied = re.search(r"COPY (.*) \./", (ROOT / "Dockerfile").read_text("utf-8"))
    assert copied is not None
    assert set(copied[1].split()) == {
        "pyproject.toml",
        "setup.py",
        "README.md",
        *PROJECT["license-files"],
    }
