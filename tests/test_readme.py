"""The README names what there is, all of it, and what it shows to be pasted works."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from scrapy.settings import Settings

from crawldedup.cli.main import main
from crawldedup.scrapy_plugin import DuplicatePageError, policy, signals
from crawldedup.scrapy_plugin.items.text import ItemSettings
from crawldedup.scrapy_plugin.settings import _KNOWN, PREFIX, DedupSettings
from crawldedup.text.extractors import CustomExtractor
from crawldedup.verdict import Kind, Verdict

README = (Path(__file__).parents[1] / "README.md").read_text("utf-8")


def section(title: str) -> str:
    return re.split(rf"^#+ {re.escape(title)}\n", README, flags=re.MULTILINE)[1].partition("\n#")[0]


def rows(title: str) -> str:
    return "\n".join(line for line in section(title).splitlines() if line.startswith("|"))


def code(title: str) -> list[str]:
    return re.findall(r"```python\n(.*?)```", section(title), flags=re.DOTALL)


def test_every_setting_has_a_row_and_no_other() -> None:
    named = re.findall(r"^\|(.*?)\|", rows("Settings"), flags=re.MULTILINE)
    assert sorted(re.findall(rf"{PREFIX}(\w+)", " ".join(named))) == sorted(_KNOWN)


def test_the_defaults_are_those_of_the_code() -> None:
    defaults = DedupSettings()
    for name, shown in re.findall(rf"^\| `{PREFIX}(\w+)` \| (\S+) \|", rows("Settings"), flags=re.MULTILINE):
        if hasattr(defaults, name.lower()) and name not in ("STORE", "WORKERS", "MIN_WORDS"):
            value = getattr(defaults, name.lower())
            expected = "none" if value in (None, ()) else str(value) if not isinstance(value, str) else f'"{value}"'
            assert shown.strip("`") == expected, name


def test_every_key_of_meta_is_told() -> None:
    told = rows("Per request")
    for key in (policy.OVERRIDE_KEY, policy.VERDICT_KEY, *policy._OVERRIDES):
        assert f"`{key}`" in told


def test_every_signal_is_told() -> None:
    for name, value in vars(signals).items():
        if type(value) is object:
            assert f"| `{name}` |" in rows("Signals")


def test_every_reason_to_skip_is_told() -> None:
    source = Path(policy.__file__).read_text("utf-8")
    reasons = set(re.findall(r'return "(\w+)"', source.partition("def reason_to_skip")[2].partition("\ndef ")[0]))
    assert len(reasons) > 5
    for reason in reasons | {"too_large", "too_deep", "too_slow", "binary", "empty", "broken"}:
        assert f"`{reason}`" in rows("Stats")


def test_every_command_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--help"])
    commands = re.findall(r"^    (\w+) ", capsys.readouterr().out, flags=re.MULTILINE)
    assert "migrate" in commands
    for command in commands:
        assert f"crawldedup {command}" in README


@pytest.mark.parametrize("recipe", code("Recipes"))
def test_a_recipe_can_be_pasted(recipe: str) -> None:
    pasted: dict[str, Any] = {}
    exec(recipe, pasted)
    settings = Settings({name: value for name, value in pasted.items() if name.isupper()})
    assert DedupSettings.from_settings(settings) != DedupSettings.from_settings(Settings())
    if f"{PREFIX}ITEM_FIELDS" in settings:
        assert ItemSettings.from_settings(settings).fields


def test_the_errback_hears_of_the_original() -> None:
    (errback,) = code("Per request")
    pasted: dict[str, Any] = {}
    exec(errback, pasted)
    said = []

    class Failure:
        value = DuplicatePageError("a copy", Verdict(Kind.EXACT_DUPLICATE, "https://b/", "https://a/"))
        request = type("Request", (), {"url": "https://b/"})

        def check(self, *kinds: type) -> bool:
            return isinstance(self.value, kinds)

    logger = type("Logger", (), {"info": staticmethod(lambda *words: said.append(words))})
    pasted["on_error"](type("Spider", (), {"logger": logger}), Failure())
    assert said == [("%s repeats %s", "https://b/", "https://a/")]


def test_the_extractor_that_is_shown_is_one() -> None:
    (shown,) = code("An extractor of your own")
    pasted: dict[str, Any] = {}
    exec(f"from __future__ import annotations\n{shown}", pasted)
    assert CustomExtractor("myproject.pages.main_text", pasted["main_text"]).extract("<p>") == ""
