"""Every Lua script loads alone, and its head names the parts that it needs and no others."""

from __future__ import annotations

import hashlib
import re
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from crawldedup.stores.redis.client import script_text

if TYPE_CHECKING:
    from tests.servers import RedisServer

FOLDER = Path(str(resources.files("crawldedup.stores.redis"))) / "lua"
# An entry script may have the name of a part.
SCRIPTS = sorted(path.stem for path in FOLDER.glob("*.lua"))
SOURCES = {
    path.relative_to(FOLDER).with_suffix("").as_posix(): path.read_text("utf-8") for path in FOLDER.rglob("*.lua")
}


def parts_of(name: str) -> list[str]:
    head = SOURCES[name].partition("\n")[0]
    assert head.startswith("-- parts: ")
    return [f"lib/{part}" for part in head.removeprefix("-- parts: ").split(", ")]


def code(name: str) -> str:
    """A file without its comments and texts."""
    return re.sub(r"""--[^\n]*|'[^']*'""", " ", SOURCES[name])


def defined(name: str) -> set[str]:
    """What the scripts behind a part can use of it: its local names, and the ones that it assigns anew."""
    found: set[str] = set()
    for names in re.findall(r"(?m)^local (?:function )?(\w+(?:, \w+)*)", code(name)):
        found.update(names.split(", "))
    return found | set(re.findall(r"(?m)^(\w+) = ", code(name)))


def used(name: str) -> set[str]:
    """The names a file takes from elsewhere: not fields, and not what it declares itself."""
    text = code(name)
    own = {own for names in re.findall(r"\b(?:local|for) ((?:\w+, )*\w+)", text) for own in names.split(", ")}
    own |= {own for names in re.findall(r"\bfunction\s*\w*\(([\w, ]*)\)", text) for own in names.split(", ")}
    own |= set(re.findall(r"\blocal function (\w+)", text))
    return set(re.findall(r"(?<![.\w])[A-Za-z_]\w*(?!\w| = )", text)) - own


PARTS = {name: defined(name) for name in SOURCES if name not in SCRIPTS}


@pytest.mark.parametrize("name", SCRIPTS)
def test_every_script_is_loaded_alone(redis_server: RedisServer, name: str) -> None:
    text = script_text(name)
    assert redis_server.client.script_load(text) == hashlib.sha1(text.encode()).hexdigest()


@pytest.mark.parametrize("name", SCRIPTS)
def test_every_part_in_a_head_is_needed_and_none_is_missing(name: str) -> None:
    parts = parts_of(name)
    for place, part in enumerate(parts):
        behind = set().union(*(used(each) for each in (*parts[place + 1 :], name)))
        assert PARTS[part] & (behind | used(name)), f"{part} is not needed"
    for place, each in enumerate((*parts, name)):
        given = set().union(*(PARTS[part] for part in parts[:place]))
        missing = {name for part in PARTS for name in PARTS[part] & used(each)} - given
        assert not missing, f"{each} needs {missing}"


def test_every_part_is_a_part_of_something() -> None:
    assert {part for name in SCRIPTS for part in parts_of(name)} == set(PARTS)
