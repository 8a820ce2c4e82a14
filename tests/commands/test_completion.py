"""The scripts of `crawldedup completion`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.commands.conftest import Run

# Stands for a shell in which these words were typed, and Tab was pressed.
_PRESS_TAB = """
source completion.bash
function=$(complete -p crawldedup | sed 's/.*-F \\([^ ]*\\).*/\\1/')
COMP_WORDS=({words})
COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1))
$function
echo "${{COMPREPLY[@]}}"
"""


@pytest.mark.parametrize(
    ("words", "completed"),
    [
        ("crawldedup expl", "explain"),
        ("crawldedup check --simil", "--similarity"),
        ("crawldedup completion z", "zsh"),
    ],
)
def test_bash_completes_commands_options_and_choices(run: Run, words: str, completed: str) -> None:
    Path("completion.bash").write_text(run("completion bash").out)
    script = _PRESS_TAB.format(words=words)
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.split() == [completed]


@pytest.mark.parametrize(
    ("shell", "line"), [("zsh", "#compdef crawldedup"), ("fish", "complete -c crawldedup")]
)
def test_other_shells_have_scripts(run: Run, shell: str, line: str) -> None:
    said = run(f"completion {shell}")
    assert (said.status, line in said.out) == (0, True)
    assert run(f"completion {shell} --json").values == [
        {"shell": shell, "script": said.out.removesuffix("\n")}
    ]


def test_an_unknown_shell_and_a_missing_package_are_named(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = run("completion pwsh")
    assert (said.status, "choose from" in said.err) == (2, True)
    monkeypatch.setitem(sys.modules, "shtab", None)
    said = run("completion bash")
    assert (said.status, "pip install 'crawldedup[completion]'" in said.err) == (2, True)
