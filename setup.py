"""Give the package the README as its description, without what a package index cannot show."""

from __future__ import annotations

import re
from pathlib import Path

from setuptools import setup


def description(readme: str) -> str:
    """Return a README without its pictures and its links to files, which lead nowhere from a
    package index.
    """
    without_pictures = re.sub(r"^!\[[^\]]*\]\([^)]*\)\n+", "", readme, flags=re.MULTILINE)
    return re.sub(r"\[([^\]]*)\]\((?!https?://|mailto:)[^)]*\)", r"\1", without_pictures)


if __name__ == "__main__":
    setup(
        long_description=description(
            Path(__file__).with_name("README.md").read_text(encoding="utf-8")
        ),
        long_description_content_type="text/markdown",
    )
