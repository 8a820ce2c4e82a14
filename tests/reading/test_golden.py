"""The texts and marks of known pages: an index must not be continued by other rules without a word.

If a hash here changes, texts of the same pages would meet in one index and differ: change
TEXT_PROFILE with it.
"""

from __future__ import annotations

import importlib.metadata
import os
import subprocess
import sys
from pathlib import Path

import pytest

from crawldedup.options import Options
from crawldedup.reading.extract import TEXT_PROFILE
from crawldedup.reading.reader import PageReader

ROOT = Path(__file__).parents[2]
GOLDEN = ("text11", "33e23179", "0b9fd87d")
READER = """
import contextlib
import mmh3
from crawldedup.demo.site import DemoSite
from crawldedup.errors import PageError
from crawldedup.options import Options
from crawldedup.page import Page
from crawldedup.reading.reader import PageReader

reader, site, texts, marks = PageReader(Options()), DemoSite(), 0, 0
for url in sorted(site.manifest()):
    body = site.reply(url).body
    with contextlib.suppress(PageError):
        content = reader.content(Page("", html=body))
        texts = mmh3.hash(repr((content.text, content.whole)).encode(), texts, signed=False)
        marks = mmh3.hash(repr(content.marks).encode(), marks, signed=False)
print(f"{texts:08x} {marks:08x}")
"""


@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.nightly)])
def test_the_rules_of_a_profile_read_the_same_in_every_process(seed: int) -> None:
    command, environment = (
        [sys.executable, "-c", READER],
        {**os.environ, "PYTHONHASHSEED": str(seed)},
    )
    done = subprocess.run(
        command, env=environment, capture_output=True, text=True, check=True, cwd=ROOT
    )
    assert (TEXT_PROFILE, *done.stdout.split()) == GOLDEN


def test_the_release_of_another_package_is_part_of_the_profile() -> None:
    release = ".".join(importlib.metadata.version("trafilatura").split(".")[:2])
    assert PageReader(Options(extractor="trafilatura")).profile.startswith(
        f"trafilatura-{release}/{TEXT_PROFILE}"
    )
