"""The browser of tests that need one: Chromium, if the machine has it."""

from __future__ import annotations

import shutil

import pytest

BROWSER = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome", "chrome"))),
    None,
)
needs_browser = pytest.mark.skipif(BROWSER is None, reason="needs Chromium")
