"""What the site's directives write: every setting with its default and bounds, every command with its help."""

from __future__ import annotations

import re
from types import ModuleType

import pytest

from crawldedup.cli import parser
from crawldedup.options import Options, options_of
from crawldedup.scrapy_plugin.settings import CrawlOptions, crawl_settings
from tests.docs.pages import SITE, module_at


@pytest.fixture(scope="module")
def generated() -> ModuleType:
    return module_at(SITE / "_ext" / "reference_markdown.py")


def test_every_setting_has_a_section(generated: ModuleType) -> None:
    page = generated.settings_markdown(options_of(CrawlOptions), {"how-to/shop": "Set CRAWLDEDUP_ACTION to drop."})
    assert re.findall("^## (.*)$", page, re.MULTILINE) == list(crawl_settings())
    for name, setting in crawl_settings().items():
        assert f"```{{setting}} {name}\n```\n\n{setting.help}\n" in page
    assert "Default: `\"drop-items\"`. Allowed: 'drop' or 'drop-items' or 'mark'." in page
    assert "Default: `0.9`. Allowed: a number above 0.5 and at most 1." in page
    assert re.findall(r"^See (.*)\.$", page, re.MULTILINE) == ["{doc}`/how-to/shop`"]


def test_every_option_of_the_library_is_listed(generated: ModuleType) -> None:
    listed = generated.options_markdown(options_of(Options))
    assert re.findall(r"^`(\w+)` \(default", listed, re.MULTILINE) == [each.name for each in options_of(Options)]


def test_every_command_has_a_section(generated: ModuleType) -> None:
    titles = re.findall("^## crawldedup (.*)$", generated.commands_markdown(parser()), re.MULTILINE)
    assert {"demo", "check", "explain", "filter", "bench"} <= set(titles)


def test_the_pages_use_the_directives() -> None:
    reference = SITE / "reference"
    settings = "```{dedup-options} crawldedup.scrapy_plugin.settings:CrawlOptions\n:settings:\n```"
    assert settings in (reference / "settings.md").read_text()
    assert "```{dedup-options} crawldedup.options:Options\n```" in (reference / "python.md").read_text()
    assert "```{dedup-commands} crawldedup.cli:parser\n```" in (reference / "commands.md").read_text()
