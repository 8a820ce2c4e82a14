"""Install, list and import the packages that crawldedup is measured against.

    pip install "crawldedup[bench]"
    python benchmarks/peers.py                  # only for those that cannot be installed beside each other
    python benchmarks/peers.py text-dedup       # 400 MB

Three of them are imported by the one name `simhash`, so an environment holds one of them at a time; text-dedup
demands versions of other packages that nothing else can live with, and is asked for by name because of its size. Run as
a program, this module has pip put each into a folder of its own, `benchmarks/.peers/<package>`, from where
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

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.shared.common import make_parser, run

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import ModuleType

FOLDER = Path(__file__).resolve().parent / ".peers"
OF_ONE_NAME = ("simhash", "simhash-pybind", "python-simhash")
TEXT_DEDUP = "text-dedup"
MODULES = {
    **dict.fromkeys(OF_ONE_NAME, "simhash"),
    TEXT_DEDUP: "text_dedup.minhash",
    **{name: name for name in ("datasketch", "gaoya", "rensa", "trafilatura")},
    "duplicate-url-discarder": "duplicate_url_discarder",
    "scrapy-deltafetch": "scrapy_deltafetch",
}
"""The module of each peer, by package."""
# What its functions import, of the many packages it depends on.
IMPORTED_BY_TEXT_DEDUP = ("bitarray", "click", "click-option-group", "datasets", "ftfy", "psutil", "xxhash")


@dataclass(frozen=True)
class Peer:
    """An imported package."""

    module: ModuleType
    version: str


def load(package: str, module: str = "") -> Peer | None:
    """Import a package's module, by default that of `MODULES`; None if it is not installed."""
    module = module or MODULES[package]
    if package == TEXT_DEDUP:
        # Behind everything else, and for good: what it brings along must not replace what is here.
        behind = str(FOLDER / package)
        if behind not in sys.path:
            sys.path.append(behind)
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


def how_to_install(package: str) -> str:
    """The command for a package that `load` did not find."""
    if package in OF_ONE_NAME:
        return "python benchmarks/peers.py"
    return f"python benchmarks/peers.py {package}" if package == TEXT_DEDUP else f"pip install {package}"


def install(packages: Sequence[str]) -> None:
    """Put each package into its own folder."""
    FOLDER.mkdir(exist_ok=True)
    (FOLDER / ".gitignore").write_text("*\n")
    for package in packages:
        target = FOLDER / package
        into = [sys.executable, "-m", "pip", "install", "--quiet", "--upgrade", "--target", str(target)]
        commands = [[*into, "--no-deps", package]]
        if package == TEXT_DEDUP:
            commands.append([*into, *IMPORTED_BY_TEXT_DEDUP])
        done = all(subprocess.run(command, check=False).returncode == 0 for command in commands)
        print(package, "is in" if done else "could not be installed into", target)


def main(given: Sequence[str]) -> None:
    parser = make_parser(__doc__)
    choices = (*OF_ONE_NAME, TEXT_DEDUP)
    parser.add_argument(
        "packages",
        nargs="*",
        metavar="PACKAGE",
        help=f"of {', '.join(choices)}; without any, all that are named simhash",
    )
    parser.add_argument("--list", action="store_true", help="show which peers are installed, and install nothing")
    arguments = parser.parse_args(given)
    if arguments.list:
        for package, module in MODULES.items():
            peer = load(package, module)
            print(package, peer.version if peer else f"is not installed: {how_to_install(package)}")
        return
    packages = arguments.packages or OF_ONE_NAME
    unknown = set(packages) - set(choices)
    if unknown:
        parser.error(f"there is no {', '.join(sorted(unknown))} here; choose from {', '.join(choices)}")
    install(packages)


if __name__ == "__main__":
    run(main, "--list")
