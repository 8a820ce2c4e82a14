"""Check the files in a wheel and an sdist: `python .ci/check_package.py WHEEL SDIST FILE ...`.

FILE stands for each file of the repository. The wheel contains the package with its data, and
nothing else. The sdist contains the repository, so the tests can be run from it. This only needs
the standard library.
"""

from __future__ import annotations

import sys
import tarfile
import zipfile
from pathlib import Path, PurePosixPath

PACKAGE = "crawldedup/"
# One kind of data each, so that an empty list of files doesn't pass.
KINDS = {".py", ".typed", ".lua", ".html", ".json", ".jsonl", ".txt", ".css", ".js"}


def missing_kinds(files: set[str]) -> set[str]:
    """Return the kinds of files that the package has and these names lack."""
    return KINDS - {PurePosixPath(name).suffix or PurePosixPath(name).name for name in files}


def faults_of_wheel(held: set[str], repository: set[str]) -> list[str]:
    """Return what is wrong with the files of a wheel, a sentence each."""
    wanted = {name for name in repository if name.startswith(PACKAGE)}
    own = {name for name in held if ".dist-info/" not in name}
    faults = [f"the wheel lacks {name}" for name in sorted(wanted - own)]
    faults += [
        f"the wheel holds {name}, which is no file of the package" for name in sorted(own - wanted)
    ]
    return faults + [f"the wheel holds no file *{kind}" for kind in sorted(missing_kinds(own))]


def faults_of_sdist(held: set[str], repository: set[str]) -> list[str]:
    """Return what is wrong with the files of an sdist, a sentence each; what setuptools adds is
    not.
    """
    files = {name.partition("/")[2] for name in held}
    added = {"PKG-INFO", "setup.cfg"}
    surplus = {name for name in files - repository - added if ".egg-info" not in name}
    faults = [f"the sdist lacks {name}" for name in sorted(repository - files)]
    return faults + [
        f"the sdist holds {name}, which is not in the repository" for name in sorted(surplus)
    ]


def main(wheel: str, sdist: str, *repository: str) -> int:
    """Print what is wrong with both, and return the exit status."""
    # A file that is removed and not committed yet is in no archive.
    files = {name for name in repository if Path(name).is_file()}
    with zipfile.ZipFile(wheel) as archive:
        faults = faults_of_wheel(
            {name for name in archive.namelist() if not name.endswith("/")}, files
        )
    with tarfile.open(sdist) as archive:
        faults += faults_of_sdist({member.name for member in archive if member.isfile()}, files)
    print(
        "\n".join(faults) or f"the wheel and the sdist hold what they must, of {len(files):,} files"
    )
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
