"""Extractors that misbehave, for worker processes."""

from __future__ import annotations

import os
import re
import signal
import time
from pathlib import Path


def deadly(html: str) -> str:
    """Kills its process where a page says so, or never comes to an end."""
    text = re.sub("<[^>]*>", " ", html)
    while "endless" in text:
        time.sleep(0.02)
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


def counting(html: str) -> str:
    """Writes down that it was asked for a page of the site."""
    if "Article" in html:
        with Path("reads").open("a") as reads:
            reads.write("page\n")
    return re.sub("<[^>]*>", " ", html)
