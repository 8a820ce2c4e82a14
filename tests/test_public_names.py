from __future__ import annotations

import subprocess
import sys
from importlib import import_module

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
