"""Prints the lowest version of each package that pyproject.toml names, as constraints for pip."""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

PROJECT = tomllib.loads(Path("pyproject.toml").read_text(encoding="utf-8"))["project"]
GROUPS = PROJECT["optional-dependencies"]
# The peers of the benchmarks are of any version; the tests do without.
USED = [*PROJECT["dependencies"], *(named for group in GROUPS if group != "bench" for named in GROUPS[group])]

for requirement in USED:
    # Constraints have no extras.
    constraint, floors = re.subn(r">=", "==", re.sub(r"\[.*?\]", "", requirement), count=1)
    if floors:
        print(constraint)
    elif constraint != PROJECT["name"]:
        sys.exit(f"pyproject.toml names no lowest version of {requirement}")
