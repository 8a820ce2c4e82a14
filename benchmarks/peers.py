"""The packages crawldedup is measured against.

    pip install "crawldedup[bench]"
    python benchmarks/peers.py          # only for those that cannot be installed beside each other

Three of them are imported by the one name `simhash`, so an environment holds one of them at a time. Run as a
program, this module has pip put each into a folder of its own, `benchmarks/.peers/<package>`, from where
`load` takes it; nothing else is touched.
"""

from __future__ import annotations

import importlib
import subprocess
import sys
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import ModuleType

FOLDER = Path(__file__).resolve().parent / ".peers"
OF_ONE_NAME = ("simhash", "simhash-pybind", "python-simhash")


@dataclass(frozen=True)
class Peer:
    """An imported package."""

    module: ModuleType
    version: str


def load(package: str, module: str) -> Peer | None:
    """Import a package's module; None if it is not installed."""
    if package not in OF_ONE_NAME:
        try:
            return Peer(importlib.import_module(module), metadata.version(package))
        except ImportError:
            return None
    own_folder = FOLDER / package
    found = list(metadata.distributions(name=package, path=[str(own_folder), *sys.path]))
    in_environment = [name for name in OF_ONE_NAME if any(metadata.distributions(name=name))]
    if not own_folder.is_dir() and in_environment != [package]:
        return None
    before = {name for name in sys.modules if name.partition(".")[0] == module}
    for name in before:
        del sys.modules[name]
    sys.path.insert(0, str(own_folder))
    importlib.invalidate_caches()
    try:
        return Peer(importlib.import_module(module), found[0].version)
    except ImportError:
        return None
    finally:
        sys.path.remove(str(own_folder))


def install() -> None:
    """Put each package of the common name into its own folder."""
    FOLDER.mkdir(exist_ok=True)
    (FOLDER / ".gitignore").write_text("*\n")
    for package in OF_ONE_NAME:
        target = FOLDER / package
        command = [
            sys.executable,
            "-m",
            "pip",
            "install",
            "--quiet",
            "--no-deps",
            "--upgrade",
            "--target",
            target,
            package,
        ]
        result = subprocess.run(command, check=False)
        print(package, "is in" if result.returncode == 0 else "could not be installed into", target)


if __name__ == "__main__":
    install()
