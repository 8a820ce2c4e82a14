"""Crawl the Debian installation guides of five architectures, in English and Japanese, and compare with the truth.

    python benchmarks/debian_guides.py

Downloads the five packages with `apt-get download` (nothing is installed), unpacks their HTML into a folder, and
runs `crawldedup demo --dir` on it: a local web server, a Scrapy crawl with the add-on, and the exact Jaccard
similarities of all the texts to compare with. The guides of two architectures differ in a few words, a paragraph
or a chapter, so there are near duplicates of every degree.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.shared.common import make_parser, run

if TYPE_CHECKING:
    from collections.abc import Sequence

ARCHITECTURES = ("amd64", "arm64", "armhf", "i386", "s390x")
LANGUAGES = ("en", "ja")


def fetch(folder: Path) -> Path:
    """The folder with the guides' HTML; downloads and unpacks what is not there yet."""
    html = folder / "html"
    for architecture in ARCHITECTURES:
        package = f"installation-guide-{architecture}"
        if (html / architecture).is_dir():
            continue
        print(f"downloading {package}", file=sys.stderr)
        # apt's own user may not write to a folder of ours; that is no reason for a page of warnings.
        quietly = ["-qq", "-o", "APT::Sandbox::User=root"]
        subprocess.run(["apt-get", "download", *quietly, package], cwd=folder, check=True)
        (archive,) = folder.glob(f"{package}_*.deb")
        with tempfile.TemporaryDirectory(dir=folder) as unpacked:
            subprocess.run(["dpkg", "-x", archive, unpacked], check=True)
            for language in LANGUAGES:
                source = Path(unpacked, "usr/share/doc", package, language)
                shutil.copytree(source, html / architecture / language, symlinks=True)
    return html


def main(given: Sequence[str]) -> int:
    parser = make_parser(__doc__)
    parser.add_argument("--data", type=Path, help="where to keep the packages (default: a temporary folder)")
    arguments, passed_on = parser.parse_known_args(given)
    with tempfile.TemporaryDirectory() as temporary:
        folder = arguments.data or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        html = fetch(folder.absolute())
        command = [sys.executable, "-m", "crawldedup.cli", "demo", "--dir", str(html), *passed_on]
        return subprocess.run(command, check=False).returncode


if __name__ == "__main__":
    run(main, "--data GUIDES --no-exact")
