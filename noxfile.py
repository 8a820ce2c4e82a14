"""Sessions that check the project, each in an environment of its own:

`nox -s tests-3.11`, `nox -l` for all.
"""

from __future__ import annotations

import re
import shutil
import tempfile
import tomllib
from pathlib import Path

import nox

PYTHONS = ["3.11", "3.12", "3.13", "3.14"]

nox.options.sessions = [f"tests-{PYTHONS[0]}", "checks"]


@nox.session(python=PYTHONS)
def tests(session: nox.Session) -> None:
    """Run the test suite; arguments go to pytest."""
    session.install("-q", "-e", ".[test]")
    run_pytest(session)


@nox.session
def checks(session: nox.Session) -> None:
    """Run all checks except the suite.

    These are lint, types, imports, docs, the wheel, tiny benchmarks, and one in six nightly tests.
    They share an environment, because making one takes longer than most of them.
    """
    session.install("-q", "-e", ".[test,bench,docs,openapi]", "build", "twine", "scrapy-lint")
    session.run("ruff", "check", ".")
    session.run("ruff", "format", "--check", ".")
    session.run("codespell")
    session.run("mypy")
    session.run("mypy", "docs/images")
    session.run("lint-imports")
    # The tutorial shows this project.
    with session.chdir("example_project"):
        session.run("scrapy-lint")
    session.run("python", ".ci/print_sizes.py")
    build_docs(session)
    check_package(session)
    run_pytest(session, "benchmarks/tests")
    run_pytest(session, "-m", "nightly", "--one-in", "6")


@nox.session(python=PYTHONS[0])
def nightly(session: nox.Session) -> None:
    """Run the long versions of tests that the suite only runs briefly.

    Sessions for Apache Spark, the lowest versions and the other Pythons follow.
    """
    session.install("-q", "-e", ".[test,openapi]")
    run_pytest(session, "-m", "nightly")
    for name in ("spark", "crawl4ai", "lowest", *(f"tests-{python}" for python in PYTHONS[1:])):
        session.notify(name)


@nox.session(python=PYTHONS[0])
def spark(session: nox.Session) -> None:
    """Run the tests on a real Apache Spark. Other sessions do without it, because it is large.

    Needs Java 17.
    """
    session.install("-q", "-e", ".[test,spark]")
    # Without it, the tests are skipped.
    session.run("python", "-c", "import pyspark, crawldedup.spark")
    run_pytest(session, "-n", "0", "tests/spark")


@nox.session(python=PYTHONS[0])
def crawl4ai(session: nox.Session) -> None:
    """Run the tests of crawl4ai, which pins older versions of packages than others need."""
    session.install(
        "-q",
        "-e",
        ".[crawl4ai]",
        "pytest",
        "pytest-timeout",
        "pytest-xdist",
        "hypothesis",
        "fakeredis",
    )
    session.run("python", "-c", "import crawl4ai")
    run_pytest(session, "-n", "0", "tests/crawl4ai")


@nox.session(python=PYTHONS[0])
def lowest(session: nox.Session) -> None:
    """Run tests with the lowest versions that are supported, of packages and of Redis; arguments go
    to pytest.
    """
    floors = Path(session.create_tmp()) / "floors.txt"
    floors.write_text("\n".join(lowest_versions()))
    session.install("-q", "-c", str(floors), "-e", ".[test]")
    run_pytest(session, OLDEST_REDIS="1")


@nox.session
def docs(session: nox.Session) -> None:
    """Build the documentation site into docs/_build; a warning is an error."""
    session.install("-q", "-e", ".[docs]")
    build_docs(session)


def check_package(session: nox.Session) -> None:
    """Build sdist and wheel, check what they hold and say, install the wheel elsewhere, and run its
    demo.
    """
    with tempfile.TemporaryDirectory() as folder:
        built, empty = Path(folder, "built"), Path(folder, "empty")
        empty.mkdir()
        # By way of an sdist: a build folder in the source tree may hold modules that were removed.
        session.run("python", "-m", "build", "-q", "--outdir", str(built))
        (wheel,), (sdist,) = built.glob("*.whl"), built.glob("*.tar.gz")
        session.run("twine", "check", "--strict", str(sdist), str(wheel))
        files = repository_files(session)
        session.run("python", ".ci/check_package.py", str(wheel), str(sdist), *files, log=False)
        # What twine brings along could stand in for a dependency that the package does not name.
        programs = Path(folder, "environment", "bin")
        session.run("python", "-m", "venv", str(programs.parent))
        session.run(str(programs / "pip"), "install", "-q", str(wheel), external=True)
        with session.chdir(empty):
            session.run(str(programs / "crawldedup"), "demo", external=True)


def repository_files(session: nox.Session) -> list[str]:
    """Return the files of the repository; of a tree without Git, those that nothing generates."""
    if Path(".git").exists():
        tracked = session.run("git", "ls-files", "-z", external=True, silent=True) or ""
        return list(filter(None, tracked.split("\0")))
    found = [path for path in Path().rglob("*") if path.is_file() and not path.match("*.py[cod]")]
    generated = re.compile(
        r"(?:\.(?!ci/|dockerignore|gitignore|pre-commit|readthedocs)|build/|docs/_build/|\w+\.egg-info/)"
    )
    return [str(path) for path in found if not generated.match(str(path)) and "/." not in str(path)]


def build_docs(session: nox.Session) -> None:
    """Build the documentation site, and check the links inside it."""
    # Sphinx keeps pages of source code of an earlier build, which lack what was named since.
    shutil.rmtree("docs/_build", ignore_errors=True)
    session.run("sphinx-build", "-q", "-W", "--keep-going", "-b", "html", "docs", "docs/_build")


def run_pytest(session: nox.Session, *arguments: str, **environment: str) -> None:
    """Run pytest with these arguments and the ones given to nox."""
    # The tests start many processes, each of which would compile the package again.
    session.run(
        "pytest", *arguments, *session.posargs, env={"PYTHONDONTWRITEBYTECODE": "", **environment}
    )


def lowest_versions() -> list[str]:
    """Return a constraint for pip for each package that the tests use.

    Raises ValueError if one has no lower bound.
    """
    project = tomllib.loads(Path("pyproject.toml").read_text(encoding="utf-8"))["project"]
    groups = project["optional-dependencies"]
    # The peers of the benchmarks are of any version, and the tests do without the others.
    left_out = ("bench", "docs", "openapi", "spark", "crawl4ai")
    used = [*project["dependencies"]]
    used += [requirement for name in groups if name not in left_out for requirement in groups[name]]
    constraints = []
    for requirement in used:
        # A constraint has no extras.
        constraint, bounds = re.subn(">=", "==", re.sub(r"\[.*?\]", "", requirement), count=1)
        if bounds:
            constraints.append(constraint)
        elif constraint != project["name"]:
            raise ValueError(f"pyproject.toml names no lowest version of {requirement}")
    return constraints
