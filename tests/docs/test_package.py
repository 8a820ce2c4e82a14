"""The release: one version everywhere, a description that a package index can show, and a check of the archives."""

from __future__ import annotations

import re
import tomllib
from types import ModuleType

import pytest

import crawldedup
from tests.docs.pages import README, ROOT, module_at

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]


@pytest.fixture(scope="module")
def checker() -> ModuleType:
    return module_at(ROOT / ".ci" / "check_package.py")


def test_the_version_is_the_same_everywhere() -> None:
    newest = re.search(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.MULTILINE)
    assert newest is not None
    assert PROJECT["version"] == crawldedup.__version__ == newest[1]


def test_the_description_has_no_link_that_leads_nowhere() -> None:
    readme = README.read_text("utf-8")
    description = module_at(ROOT / "setup.py").description(readme)
    assert re.findall(r"\]\((?!https?://)", description) == []
    assert "![" not in description
    # Nothing else is gone: the words of links stay.
    kept = re.findall(r"^#.*$", readme, re.MULTILINE) + re.findall(r"(?<!!)\[([^\]]+)\]\(", readme)
    assert kept
    assert [text for text in kept if text not in description] == []


def test_a_link_to_the_web_stays_in_the_description() -> None:
    describe = module_at(ROOT / "setup.py").description
    text = "![a picture](docs/a.svg)\n\nSee [this](https://example.com/), [that](docs/that.md#there) and [x](#here).\n"
    assert describe(text) == "See [this](https://example.com/), that and x.\n"


def test_an_archive_that_lacks_or_adds_a_file_is_refused(checker: ModuleType) -> None:
    package = {f"crawldedup/a{kind}" for kind in checker.KINDS}
    repository = {*package, "tests/test_a.py", "README.md"}
    wheel = {*package, "crawldedup-1.dist-info/METADATA"}
    assert checker.faults_of_wheel(wheel, repository) == []
    assert checker.faults_of_wheel(wheel - {"crawldedup/a.lua"}, repository) == [
        "the wheel lacks crawldedup/a.lua",
        "the wheel holds no file *.lua",
    ]
    (fault,) = checker.faults_of_wheel({*wheel, "tests/test_a.py"}, repository)
    assert fault.startswith("the wheel holds tests/test_a.py")
    sdist = {f"crawldedup-1/{name}" for name in (*repository, "PKG-INFO", "crawldedup.egg-info/SOURCES.txt")}
    assert checker.faults_of_sdist(sdist, repository) == []
    assert checker.faults_of_sdist(sdist - {"crawldedup-1/tests/test_a.py"}, repository) == [
        "the sdist lacks tests/test_a.py"
    ]
    (fault,) = checker.faults_of_sdist({*sdist, "crawldedup-1/notes.txt"}, repository)
    assert fault.startswith("the sdist holds notes.txt")


def test_the_image_has_what_builds_the_package() -> None:
    copied = re.search(r"COPY (.*) \./", (ROOT / "docker-compose.yml").read_text("utf-8"))
    assert copied is not None
    assert set(copied[1].split()) == {"pyproject.toml", "setup.py", "README.md", *PROJECT["license-files"]}
