"""Every Lua script loads alone, and its head names the parts that it needs and no others."""

from __future__ import annotations

import hashlib
from importlib import resources
from pathlib import Path

import pytest

from crawldedup.stores.redis.client import script_text
from tests.servers import RedisServer

FOLDER = Path(str(resources.files("crawldedup.stores.redis"))) / "lua"
# An entry script may have the name of a part.
SCRIPTS = sorted(path.stem for path in FOLDER.glob("*.lua"))


@pytest.mark.parametrize("name", SCRIPTS)
def test_every_script_is_loaded_alone(redis_server: RedisServer, name: str) -> None:
    text = script_text(name)
    assert redis_server.client.script_load(text) == hashlib.sha1(text.encode()).hexdigest()
