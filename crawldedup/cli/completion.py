"""Print a script that completes the commands in a shell."""

from __future__ import annotations

from typing import TYPE_CHECKING

from crawldedup.cli.main import parser
from crawldedup.errors import MissingDependencyError

if TYPE_CHECKING:
    from argparse import Namespace

    from crawldedup.commands.output import Output


def run(given: Namespace, output: Output) -> None:
    """Print the script for the shell that is given. Raises MissingDependencyError."""
    try:
        import shtab
    except ImportError as error:
        raise MissingDependencyError("completion needs shtab; install it with: pip install shtab") from error
    script = shtab.complete(parser(), given.shell)
    output.show({"script": script}, script)
