from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from importlib import import_module
from pathlib import Path

import pytest

import crawldedup

PACKAGES = [
    "crawldedup",
    "crawldedup.scrapy_plugin",
]


@pytest.mark.parametrize("name", PACKAGES)
def test_a_package_lists_its_public_names_and_has_them(name: str) -> None:
    package = import_module(name)
    assert [listed for listed in dir(package) if not listed.startswith("__")] == package.__all__
    for public in package.__all__:
        assert getattr(package, public) is not None


def test_a_deduplicator_has_the_members_that_are_documented() -> None:
    members = (
        "accept_profile check check_batch check_many check_with_text clear close deliver explain find "
        "fingerprint forget "
        "from_options heartbeat hosts"
    )
    members += " info key note open options pages scopes session text_of"
    assert [
        name for name in dir(crawldedup.Deduplicator()) if not name.startswith("_")
    ] == members.split()


def test_importing_the_package_or_its_options_does_not_wait_for_numpy() -> None:
    program = "import sys, crawldedup.cli, crawldedup.options; import crawldedup.scrapy_plugin; "
    program += "print({'numpy', 'scrapy'} & {*sys.modules})"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout == "set()\n"


@pytest.mark.parametrize(
    "module", ["crawldedup.adapter", "crawldedup.crawlee", "crawldedup.crawl4ai"]
)
def test_hooks_of_other_crawlers_do_without_scrapy(module: str) -> None:
    program = f"import sys, {module}; print({{'scrapy', 'twisted'}} & {{*sys.modules}})"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout == "set()\n"


@pytest.mark.parametrize(
    ("module", "package", "extra"),
    [
        ("crawldedup.client", "httpx", "client"),
        ("crawldedup.crawlee", "crawlee", "crawlee"),
        ("crawldedup.spark", "pyspark", "spark"),
    ],
)
def test_a_module_without_its_packages_names_the_extra(
    module: str, package: str, extra: str
) -> None:
    program = f"import sys; sys.modules[{package!r}] = None; import {module}"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    *_, last = done.stderr.splitlines()
    assert last.startswith("crawldedup.errors.MissingDependencyError: ")
    assert last.endswith(f"; {module} needs: pip install 'crawldedup[{extra}]'")


def test_the_extras_that_messages_name_exist() -> None:
    source = "".join(path.read_text() for path in Path("crawldedup").rglob("*.py"))
    named = set(re.findall(r"of_extra\(\s*\"(\w+)\"", source))
    named |= set(re.findall(r"'crawldedup\[(\w+)\]", source))
    declared = tomllib.loads(Path("pyproject.toml").read_text())["project"]
    assert named == named & declared["optional-dependencies"].keys()
    assert {"server", "report", "parquet", "zh", "completion"} < named
