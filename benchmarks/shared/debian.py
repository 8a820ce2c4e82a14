"""Debian packages of documentation, downloaded and unpacked without being installed."""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path

from crawldedup.errors import ConfigurationError


def unpacked(folder: Path, package: str) -> Path:
    """Return the folder with what a package holds.

    Downloads and unpacks it, if it is not there yet.

    Raises ConfigurationError where that does not work.
    """
    if not (folder / package).is_dir():
        folder.mkdir(parents=True, exist_ok=True)
        # apt's own user may not write to a folder of ours; that is no reason for a page of
        # warnings.
        quietly = ["-qq", "-o", "APT::Sandbox::User=root"]
        with tempfile.TemporaryDirectory(dir=folder) as name:
            scratch = Path(name)
            try:
                subprocess.run(["apt-get", "download", *quietly, package], cwd=scratch, check=True)
                (archive,) = scratch.glob(f"{package}_*.deb")
                subprocess.run(["dpkg", "-x", archive, scratch / package], check=True)
            except (OSError, subprocess.CalledProcessError) as error:
                raise ConfigurationError(f"{package} cannot be downloaded ({error})") from error
            (scratch / package).rename(folder / package)
    return folder / package
