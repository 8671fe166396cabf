"""ExecuteBashTool: the policy, the confirmation, and the bounds of a command."""

import asyncio
import os
import select
import signal
import sys
from pathlib import Path
from typing import Any

import pytest

from ostinato.agents import Agent
from ostinato.auth.tool_confirmation import ToolConfirmation
from ostinato.errors import AgentConfigError
from ostinato.testing import Conversation, ScriptedModel, call
from ostinato.tools import BashToolPolicy, ExecuteBashTool
from tests.support.loop_time import time_passes
from tests.unit.tools.contexts import make_context

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the commands are POSIX")
YES, NO = ToolConfirmation(confirmed=True), ToolConfirmation(confirmed=False)


def sizes(folder: Path) -> dict[str, int]:
    return {path.name: path.stat().st_size for path in folder.iterdir()}


def resolved(folder: Path) -> Path:
    return folder.resolve()


async def ask(tool: ExecuteBashTool, command: Any, answer: Any = YES) -> dict[str, Any]:
    context = make_context(confirmation=answer)
    return await tool.run_async(args={"command": command}, tool_context=context)


def with_policy(workspace: Path, **policy: Any) -> ExecuteBashTool:
    return ExecuteBashTool(workspace=workspace, policy=BashToolPolicy(**policy))


async def test_nothing_runs_before_the_user_has_confirmed(tmp_path: Path) -> None:
    tool = ExecuteBashTool(workspace=tmp_path)
    context = make_context()
    answer = await tool.run_async(args={"command": "touch a"}, tool_context=context)
    assert "requires confirmation" in answer["error"]
    (asked,) = context.actions.requested_tool_confirmations.values()
    assert "touch a" in asked.hint
    assert context.actions.skip_summarization
    assert await ask(tool, "touch a", NO) == {"error": "This tool call is rejected."}
    assert sizes(tmp_path) == {}
    assert (await ask(tool, "touch a"))["returncode"] == 0
    assert sizes(tmp_path) == {"a": 0}


@pytest.mark.spec(146)
async def test_a_run_with_confirmation(tmp_path: Path) -> None:
    model = ScriptedModel([call("execute_bash", command="pwd"), "Done."])
    tool = ExecuteBashTool(workspace=tmp_path)
    talk = Conversation(Agent(name="root", model=model, tools=[tool]))
    await talk.say("Where?")
    (waiting,) = (c for c in talk.pending() if c.name == "adk_request_confirmation")
    await talk.answer(waiting, {"confirmed": True})
    (answer,) = model.requests[1].function_responses
    assert answer.response == {"stdout": f"{resolved(tmp_path)}\n", "stderr": "", "returncode": 0}
    assert talk.text == "Done."


async def test_what_a_command_gives(tmp_path: Path) -> None:
    tool = ExecuteBashTool(workspace=tmp_path)
    script = "echo out; echo err >&2; exit 3"
    assert await ask(tool, f'sh -c "{script}"') == {
        "stdout": "out\n",
        "stderr": "err\n",
        "returncode": 3,
    }
    assert (await ask(tool, "echo 'a b' ; $HOME | c"))["stdout"] == "a b ; $HOME | c\n"
    assert (await ask(tool, "cat"))["stdout"] == "", "it must not wait for input"
    assert "no-such-program could not be started" in (await ask(tool, "no-such-program"))["error"]


@pytest.mark.parametrize("command", [None, "", "  ", 5])
async def test_a_command_is_needed(command: Any, tmp_path: Path) -> None:
    answer = await ask(ExecuteBashTool(workspace=tmp_path), command)
    assert "command" in answer["error"]


@pytest.mark.parametrize("command", ["echo 'a", "''\0", "echo \0", "ls \ud800"])
async def test_unreadable_commands(command: str, tmp_path: Path) -> None:
    context = make_context()
    tool = ExecuteBashTool(workspace=tmp_path)
    answer = await tool.run_async(args={"command": command}, tool_context=context)
    assert "error" in answer
    assert not context.actions.requested_tool_confirmations


async def test_a_long_command_is_refused_before_it_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def split(command: str) -> list[str]:
        raise AssertionError(f"{len(command)} characters are split")

    monkeypatch.setattr("shlex.split", split)
    answer = await ask(ExecuteBashTool(workspace=tmp_path), "ls " + "a" * 64_000)
    assert "more than 64000 characters" in answer["error"]


async def test_the_error_of_a_long_name_is_short(tmp_path: Path) -> None:
    answer = await ask(ExecuteBashTool(workspace=tmp_path), "a" * 60_000)
    assert "could not be started" in answer["error"] and len(answer["error"]) < 300


async def test_a_bound_in_which_nothing_can_start_is_told(tmp_path: Path) -> None:
    answer = await ask(with_policy(tmp_path, max_memory_bytes=1000), "true")
    assert "Traceback" not in answer.get("stderr", "")
    assert answer.get("error") or answer["returncode"] != 0


@pytest.mark.parametrize(
    ("command", "allowed"),
    [
        ("ls", True),
        ("ls -l", True),
        ("'ls' -l", True),
        ("git status -s", True),
        ("lsof", False),
        ("git push", False),
        ("git", False),
        ("env ls", False),
        ("ls | wc", False),
    ],
)
async def test_the_policy_comes_before_the_question(
    command: str, allowed: bool, tmp_path: Path
) -> None:
    tool = with_policy(
        tmp_path, allowed_command_prefixes=("ls", "git status"), blocked_operators=("|", "&&")
    )
    context = make_context()
    answer = await tool.run_async(args={"command": command}, tool_context=context)
    assert bool(context.actions.requested_tool_confirmations) is allowed
    assert ("requires confirmation" in answer["error"]) is allowed
    assert "ls; git status" in tool.description


async def test_the_environment_is_clean(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MODEL_API_KEY", "canary")
    printed = (await ask(ExecuteBashTool(workspace=tmp_path), "env"))["stdout"]
    assert "canary" not in printed
    names = {line.partition("=")[0] for line in printed.splitlines()}
    assert names <= {"PATH", "HOME", "TMPDIR", "LANG", "LC_CTYPE", "OSTINATO_PROCESS"}
    assert f"HOME={resolved(tmp_path)}" in printed


async def test_output_is_cut(tmp_path: Path) -> None:
    tool = with_policy(tmp_path, max_output_bytes=10)
    answer = await ask(tool, "printf 0123456789abcdef")
    assert answer["stdout"].startswith("0123456789\n")
    assert "6 bytes left out" in answer["stdout"]
    assert (await ask(tool, "printf 0123456789"))["stdout"] == "0123456789"


def ends(pid: int) -> bool:
    """Whether a process ends: a kill is done only when the kernel comes to it."""
    try:
        process = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        return bool(select.select([process], [], [], 60)[0])
    finally:
        os.close(process)


needs_pidfd = pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="waits on a pidfd (Linux)")


@needs_pidfd
async def test_a_command_that_takes_too_long_is_ended_with_its_children(tmp_path: Path) -> None:
    tool = with_policy(tmp_path, timeout_seconds=60.0)
    begun = tmp_path / "begun"
    os.mkfifo(begun)
    command = "sh -c 'tail -f /dev/null & echo $!; echo > begun; exec tail -f /dev/null'"
    asking = asyncio.create_task(ask(tool, command))
    await asyncio.to_thread(begun.read_text)
    await time_passes(asking.done)
    answer = await asking
    assert answer["error"] == "Command timed out after 60.0 seconds."
    assert answer["returncode"] == -9
    assert ends(int(answer["stdout"]))


@needs_pidfd
async def test_children_do_not_outlive_a_command(tmp_path: Path) -> None:
    tool = ExecuteBashTool(workspace=tmp_path)
    answer = await ask(tool, "sh -c 'tail -f /dev/null >&- 2>&- & echo $!'")
    assert answer["returncode"] == 0
    assert ends(int(answer["stdout"]))


# A process of a session of its own, whose parent has ended; it holds its output open.
DAEMON = """\
import os, sys
if os.fork():
    sys.exit()
os.setsid()
if os.fork():
    os._exit(0)
print(os.getpid(), flush=True)
open("begun", "w").close()
os.execlp("sleep", "sleep", "600")
"""


def daemon(workspace: Path, then: str = "") -> str:
    """Return a command that starts a daemon, waits until it runs, and does something else."""
    (workspace / "daemon.py").write_text(DAEMON, encoding="utf-8")
    os.mkfifo(workspace / "begun")
    return f"sh -c '{sys.executable} daemon.py; cat begun; {then}'"


def zombies() -> list[str]:
    """Return the children of this process that ended and were never waited for."""
    found: list[str] = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, parent = stat.read_text().rpartition(")")[2].split()[:2]
        except OSError:
            continue
        if state == "Z" and int(parent) == os.getpid():
            found.append(stat.parent.name)
    return found


@needs_pidfd
async def test_a_daemon_ends_with_its_command(tmp_path: Path) -> None:
    before = zombies()
    answer = await ask(with_policy(tmp_path, timeout_seconds=None), daemon(tmp_path))
    assert answer["returncode"] == 0
    assert ends(int(answer["stdout"]))
    assert set(zombies()) <= set(before)


@needs_pidfd
async def test_a_daemon_does_not_outlive_the_time_of_its_command(tmp_path: Path) -> None:
    begun = tmp_path / "waits"
    os.mkfifo(begun)
    tool = with_policy(tmp_path, timeout_seconds=60.0)
    command = daemon(tmp_path, "echo > waits; exec tail -f /dev/null")
    asking = asyncio.create_task(ask(tool, command))
    await asyncio.to_thread(begun.read_text)
    await time_passes(asking.done)
    answer = await asking
    assert answer["error"] == "Command timed out after 60.0 seconds."
    assert ends(int(answer["stdout"]))


@needs_pidfd
async def test_cancelling_ends_a_command_with_its_daemons(tmp_path: Path) -> None:
    begun = tmp_path / "waits"
    os.mkfifo(begun)
    command = daemon(tmp_path, "echo $$ > waits; exec tail -f /dev/null")
    asking = asyncio.create_task(ask(with_policy(tmp_path, timeout_seconds=None), command))
    pid = int(await asyncio.to_thread(begun.read_text))
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    assert ends(pid)


@needs_pidfd
async def test_a_command_may_end_its_guard(tmp_path: Path) -> None:
    tool = with_policy(tmp_path, timeout_seconds=None)
    command = "sh -c 'tail -f /dev/null & echo $!; echo $$; kill -9 $PPID; wait'"
    answer = await ask(tool, command)
    assert answer["returncode"] == -9
    for pid in answer["stdout"].split():
        assert ends(int(pid))


@needs_pidfd
async def test_a_daemon_does_not_outlive_a_guard_that_its_command_kills(tmp_path: Path) -> None:
    tool = with_policy(tmp_path, timeout_seconds=None)
    answer = await ask(tool, daemon(tmp_path, "kill -9 $PPID; tail -f /dev/null"))
    assert answer["returncode"] == -9
    assert ends(int(answer["stdout"]))


@needs_pidfd
@pytest.mark.parametrize("name", ["QUIT", "USR1", "USR2", "ALRM", "SEGV", "PIPE", "TERM"])
async def test_a_signal_to_the_guard_leaves_no_daemon(tmp_path: Path, name: str) -> None:
    tool = with_policy(tmp_path, timeout_seconds=None)
    answer = await ask(tool, daemon(tmp_path, f"kill -{name} $PPID; exit 3"))
    assert answer["returncode"] == 3 or (name, answer["returncode"]) == ("TERM", -9)
    assert ends(int(answer["stdout"]))


async def test_a_command_starts_with_default_signals(tmp_path: Path) -> None:
    answer = await ask(ExecuteBashTool(workspace=tmp_path), "sh -c 'kill -USR1 $$'")
    assert answer["returncode"] == -signal.SIGUSR1


@needs_pidfd
async def test_a_command_may_stop_its_guard(tmp_path: Path) -> None:
    begun = tmp_path / "begun"
    os.mkfifo(begun)
    tool = with_policy(tmp_path, timeout_seconds=60.0)
    command = "sh -c 'tail -f /dev/null & echo $!; kill -STOP $PPID; echo > begun; wait'"
    asking = asyncio.create_task(ask(tool, command))
    await asyncio.to_thread(begun.read_text)
    await time_passes(asking.done)
    answer = await asking
    assert answer["error"] == "Command timed out after 60.0 seconds."
    assert ends(int(answer["stdout"]))


async def test_a_command_that_prints_without_end_is_ended(tmp_path: Path) -> None:
    begun = tmp_path / "begun"
    os.mkfifo(begun)
    tool = with_policy(tmp_path, timeout_seconds=60.0, max_output_bytes=10)
    asking = asyncio.create_task(ask(tool, "sh -c 'echo > begun; exec yes'"))
    await asyncio.to_thread(begun.read_text)
    await time_passes(asking.done)
    answer = await asking
    assert answer["returncode"] == -9
    assert len(answer["stdout"]) < 100


async def test_pipes_break_as_in_a_shell(tmp_path: Path) -> None:
    answer = await ask(ExecuteBashTool(workspace=tmp_path), "sh -c 'yes | head -n 1'")
    assert answer == {"stdout": "y\n", "stderr": "", "returncode": 0}


async def test_files_are_bounded(tmp_path: Path) -> None:
    tool = with_policy(tmp_path, max_file_size_bytes=1000, max_memory_bytes=1 << 30)
    answer = await ask(tool, "sh -c 'head -c 5000 /dev/zero > big'")
    assert answer["returncode"] != 0
    assert sizes(tmp_path) == {"big": 1000}
    assert "could not be started" in (await ask(tool, "no-such-program"))["error"]


def test_the_workspace_has_to_be_there(tmp_path: Path) -> None:
    with pytest.raises(AgentConfigError, match="no directory"):
        ExecuteBashTool(workspace=tmp_path / "missing")
