"""ExecuteBashTool: the policy, the confirmation, and the bounds of a command."""

import asyncio
import os
import select
import sys
from pathlib import Path
from typing import Any

import pytest

from ostinato.agents import Agent
from ostinato.auth.tool_confirmation import ToolConfirmation
from ostinato.errors import AgentConfigError
from ostinato.testing import Conversation, ScriptedModel, call
from ostinato.tools import BashToolPolicy, ExecuteBashTool
from tests.loop_time import time_passes
from tests.tools.contexts import make_context

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
    tools = [ExecuteBashTool(workspace=tmp_path)]
    talk = Conversation(Agent(name="root", model=model, tools=tools))
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


@pytest.mark.parametrize("command", ["echo 'a", "''\0", "echo \0"])
async def test_unreadable_commands(command: str, tmp_path: Path) -> None:
    context = make_context()
    tool = ExecuteBashTool(workspace=tmp_path)
    answer = await tool.run_async(args={"command": command}, tool_context=context)
    assert "error" in answer
    assert not context.actions.requested_tool_confirmations


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
    assert names <= {"PATH", "HOME", "TMPDIR", "LANG", "LC_CTYPE"}
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


async def test_files_are_bounded(tmp_path: Path) -> None:
    tool = with_policy(tmp_path, max_file_size_bytes=1000, max_memory_bytes=1 << 30)
    answer = await ask(tool, "sh -c 'head -c 5000 /dev/zero > big'")
    assert answer["returncode"] != 0
    assert sizes(tmp_path) == {"big": 1000}
    assert "could not be started" in (await ask(tool, "no-such-program"))["stderr"]


def test_the_workspace_has_to_be_there(tmp_path: Path) -> None:
    with pytest.raises(AgentConfigError, match="no directory"):
        ExecuteBashTool(workspace=tmp_path / "missing")
