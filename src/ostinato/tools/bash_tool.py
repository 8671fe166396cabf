"""ExecuteBashTool: runs a command on this machine after the user has confirmed it."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .. import types
from ..errors import AgentConfigError
from ..processes.captured_run import run_captured
from .base_tool import BaseTool
from .function_tool import UNCONFIRMED, make_rejection
from .model_mistake import missing_arguments

if TYPE_CHECKING:
    from ..context.context import Context as ToolContext

NAME = "execute_bash"
# The user has to read it, and splitting it takes quadratic time.
_MAX_COMMAND = 64_000  # characters
_MAX_SHOWN = 200  # characters of a program's name in an error


@dataclass(frozen=True)
class BashToolPolicy:
    """Which commands may be asked for, and what one may use (RELIABILITY, "unsafe code").

    Attributes:
      allowed_command_prefixes: words a command has to begin with, whole words only; "*" allows all.
      blocked_operators: texts that a command must not contain.
      timeout_seconds: wall time; None for no bound.
      max_memory_bytes: address space of each process, on POSIX; None for no bound.
      max_file_size_bytes: size of any file that is written, on POSIX; None for no bound.
      max_child_processes: processes that the user of this process may have, on POSIX.
      max_output_bytes: what is kept of stdout and of stderr, each; the end of more is left out.
    """

    allowed_command_prefixes: tuple[str, ...] = ("*",)
    blocked_operators: tuple[str, ...] = ()
    timeout_seconds: int | None = 30
    max_memory_bytes: int | None = None
    max_file_size_bytes: int | None = None
    max_child_processes: int | None = None
    max_output_bytes: int = 100_000


class ExecuteBashTool(BaseTool):
    """Runs commands (Spec 1 §10), each only after the user has confirmed it.

    A command is split into words as a shell does it, and run without a shell: `;`, `|`, `>` and
    `$NAME` are plain text, unless the command is a shell itself, as in `bash -c "..."`. It starts
    in the workspace, with an environment of PATH, HOME, TMPDIR, LANG and a mark only, so no key of
    this process is handed to it. Whatever it leaves running, daemons included, is ended with it.
    Outside of Linux, processes that leave its process group are not found; on Linux those are not
    that clear their environment, of a command that also kills its guard.

    It is not a sandbox. A command runs as the same user, so it can leave the workspace and read
    what this user may read, such as the environment of this process in `/proc`, keys included. Run
    this in a container of its own, without keys, wherever that matters.

    Args:
      workspace: directory in which commands start; the current one where None.
      policy: which commands may be asked for, and what they may use.

    Raises:
      AgentConfigError: `workspace` is not a directory.
    """

    has_outside_results = True

    def __init__(
        self, *, workspace: Path | None = None, policy: BashToolPolicy | None = None
    ) -> None:
        self._policy = policy or BashToolPolicy()
        self._workspace = Path(workspace or Path.cwd()).resolve()
        if not self._workspace.is_dir():
            raise AgentConfigError(
                f"ExecuteBashTool: workspace {str(workspace)!r} is no directory; create it first."
            )
        allowed = self._policy.allowed_command_prefixes
        which = (
            "any command" if "*" in allowed else f"commands that begin with: {'; '.join(allowed)}"
        )
        super().__init__(
            name=NAME,
            description=f"Run a command in the workspace, without a shell. Allowed: {which}. "
            "The user confirms each command.",
        )
        self._declaration = types.FunctionDeclaration(
            name=NAME,
            description=self.description,
            parameters_json_schema={
                "type": "object",
                "properties": {"command": {"type": "string", "description": "the command line"}},
                "required": ["command"],
            },
        )

    def _get_declaration(self) -> types.FunctionDeclaration:
        return self._declaration

    async def run_async(self, *, args: dict[str, Any], tool_context: ToolContext) -> Any:
        """Run a command that the user has confirmed.

        Returns:
          A dict with `stdout`, `stderr` and `returncode` (negative: number of the signal), with
          `error` where it could not be run to its end or may not be run.
        """
        command = args.get("command")
        if not isinstance(command, str) or not command.strip():
            return missing_arguments(self.name, ["command"])
        words, refusal = _check_command(command, self._policy)
        if refusal is not None:
            return {"error": refusal}
        answer = tool_context.tool_confirmation
        if answer is None:
            tool_context.request_confirmation(
                hint=f"Please approve or reject the bash command: {command}"
            )
            tool_context.actions.skip_summarization = True
            return {"error": UNCONFIRMED}
        if not answer.confirmed:
            return make_rejection(answer)
        return await _run_command(words, self._workspace, self._policy)


def _check_command(command: str, policy: BashToolPolicy) -> tuple[list[str], str | None]:
    """Return the command's words and why it is refused, or None if it is allowed."""
    if len(command) > _MAX_COMMAND:
        return [], (
            f"The command has more than {_MAX_COMMAND} characters. Write a script to a file and "
            "run that."
        )
    try:
        command.encode()
    except UnicodeEncodeError:
        return [], "The command holds a character that is no Unicode text."
    for operator in policy.blocked_operators:
        if operator in command:
            return [], f"Command contains blocked operator: {operator}"
    try:
        words = shlex.split(command)
    except ValueError as error:
        return [], f"The command cannot be read: {error}."
    if not words or "\0" in command:
        return [], "The command names no program that could be run."
    prefixes = policy.allowed_command_prefixes
    if "*" in prefixes or any(_begins_with(words, prefix) for prefix in prefixes):
        return words, None
    return [], f"Command blocked. Permitted prefixes are: {', '.join(prefixes)}"


def _begins_with(words: list[str], prefix: str) -> bool:
    wanted = shlex.split(prefix)
    return bool(wanted) and words[: len(wanted)] == wanted


async def _run_command(words: list[str], workspace: Path, policy: BashToolPolicy) -> dict[str, Any]:
    """Run a program with its arguments to its end, and end what it leaves running."""
    limits = {
        "RLIMIT_AS": policy.max_memory_bytes,
        "RLIMIT_FSIZE": policy.max_file_size_bytes,
        "RLIMIT_NPROC": policy.max_child_processes,
    }
    try:
        ended = await run_captured(
            words,
            cwd=workspace,
            home=workspace,
            seconds=policy.timeout_seconds,
            output_bytes=policy.max_output_bytes,
            limits={name: value for name, value in limits.items() if value is not None},
        )
    except OSError as error:
        return {"error": f"{words[0][:_MAX_SHOWN]} could not be started: {error.strerror}."}
    result: dict[str, Any] = {
        "stdout": ended.stdout,
        "stderr": ended.stderr,
        "returncode": ended.status,
    }
    if ended.is_timed_out:
        result["error"] = f"Command timed out after {policy.timeout_seconds} seconds."
    return result
