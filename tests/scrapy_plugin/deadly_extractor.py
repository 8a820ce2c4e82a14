"""Extractors that misbehave, for worker processes."""

from __future__ import annotations

import os
import re
import signal
import time
from pathlib import Path


def deadly(html: str) -> str:
    """Kills its process where a page says so."""
    text = re.sub("<[^>]*>", " ", html)
    if "deadly" in text:
        os.kill(os.getpid(), signal.SIGKILL)
    return text


def waiting(html: str) -> str:
    """Says that it works, and waits until it may go on."""
    if "Article" in html:
        Path("reading").write_text(str(os.getpid()))
        while not Path("go on").exists():
            time.sleep(0.02)
    return re.sub("<[^>]*>", " ", html)
