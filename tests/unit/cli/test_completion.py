"""`ostinato completion`: what a shell offers after some words."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from ostinato.cli.parser import build_parser
from tests.unit.cli.conftest import Ostinato

_ASK = """
source /dev/stdin <<'SCRIPT'
{script}
SCRIPT
compopt() {{ COMPREPLY+=("<files>"); }}
COMP_WORDS=({words}); COMP_CWORD=$(( ${{#COMP_WORDS[@]}} - 1 ))
_ostinato; printf '%s\\n' "${{COMPREPLY[@]}}"
"""


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("cre", ["create"]),
        ("sessions li", ["list"]),
        ("sessions list --stu", ["--stuck"]),
        ("create --template work", ["workflow"]),
        ("run desk --mod", ["--model"]),
        ("run ''", ["<files>"]),
        ("run --session ''", ["<files>"]),
        ("completion z", ["zsh"]),
        ("deploy cloud-run --reg", ["--region"]),
    ],
)
def test_bash_completes(ostinato: Ostinato, words: str, expected: list[str]) -> None:
    script = ostinato("completion", "bash").out
    program = _ASK.format(script=script, words=f"ostinato {words}")
    done = subprocess.run(["bash", "-c", program], capture_output=True, text=True)
    assert done.stderr == ""
    assert done.stdout.split() == expected


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_every_command_is_offered(ostinato: Ostinato, shell: str) -> None:
    done = ostinato("completion", shell)
    assert done.code == 0
    for line in build_parser().format_help().splitlines():
        if line.startswith("    ") and line[4] not in " -":
            assert line.split()[0] in done.out
    # `path` is PATH in zsh: a script that sets it breaks the shell.
    assert "local path" not in done.out
    assert done.out.count("'") % 2 == 0
    assert "`ostinato" in done.out.splitlines()[0] + done.out.splitlines()[1]


def test_an_unknown_shell_is_refused(ostinato: Ostinato) -> None:
    assert ostinato("completion", "tcsh").code == 2
