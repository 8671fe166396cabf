"""The tools of EnvironmentToolset: ExecuteTool, ReadFileTool, EditFileTool and WriteFileTool.

Each answers with a dict: `status` is "ok" or "error", and `error` says what the model can mend.
"""

from __future__ import annotations

import asyncio
import logging
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar
from weakref import WeakKeyDictionary

from ... import types
from ...environment import BaseEnvironment
from ..base_tool import BaseTool

if TYPE_CHECKING:
    from ...context.context import Context as ToolContext

_TIMEOUT_SECONDS = 30
# Lines as those of str.splitlines, one at a time.
_ENDS = r"\n\r\v\f\x1c-\x1e\x85\u2028\u2029"
_LINE = re.compile(rf"[^{_ENDS}]*(?:\r\n|[{_ENDS}])|[^{_ENDS}]+")
_log = logging.getLogger(__name__)


class _EnvironmentTool(BaseTool):
    """A tool over an environment, with text and number parameters; `required` come first."""

    has_outside_results = True

    def __init__(
        self,
        environment: BaseEnvironment,
        *,
        name: str,
        description: str,
        parameters: dict[str, tuple[str, str]],
        required: list[str],
    ) -> None:
        super().__init__(name=name, description=description)
        self._environment = environment
        properties = {
            parameter: {"type": kind, "description": text}
            for parameter, (kind, text) in parameters.items()
        }
        self._declaration = types.FunctionDeclaration(
            name=name,
            description=description,
            parameters_json_schema={
                "type": "object",
                "properties": properties,
                "required": required,
            },
        )

    def _get_declaration(self) -> types.FunctionDeclaration:
        return self._declaration

    async def run_async(self, *, args: dict[str, Any], tool_context: ToolContext) -> dict[str, Any]:
        """Run the tool; a failure of the environment is told to the model."""
        fault = self.find_argument_fault(args)
        if fault:
            return _build_error(fault)
        try:
            return await self._run(args)
        except FileNotFoundError as error:
            missing = args["path"] if "path" in args else error.filename
            return _build_error(f"File not found: {missing}")
        except (OSError, ValueError) as error:
            _log.warning("%s failed in the environment: %s", self.name, error)
            return _build_error(str(error))

    async def _run(self, args: dict[str, Any]) -> dict[str, Any]:
        raise NotImplementedError

    def find_argument_fault(self, args: dict[str, Any]) -> str:
        """Return which required argument is missing or empty, or what else does not fit."""
        needed = {name: args.get(name) for name in self._never_empty}
        missing = next((name for name, value in needed.items() if value in (None, "")), None)
        if missing is not None:
            return f"`{missing}` is required."
        return super().find_argument_fault(args)

    _never_empty: ClassVar[tuple[str, ...]] = ("path",)


class ExecuteTool(_EnvironmentTool):
    """Runs a shell command for at most 30 seconds.

    Args:
      environment: where it runs.
      longest: characters of stdout and of stderr that are told.
    """

    _never_empty = ("command",)

    def __init__(self, environment: BaseEnvironment, longest: int) -> None:
        super().__init__(
            environment,
            name="Execute",
            description="Run a shell command in the environment, such as a program, a build or "
            "tests. To read a file use ReadFile instead, which tells more than cat, head or tail.",
            parameters={
                "command": ("string", "The command line. Chain dependent commands with &&.")
            },
            required=["command"],
        )
        self._longest = longest

    async def _run(self, args: dict[str, Any]) -> dict[str, Any]:
        given = await self._environment.execute(args["command"], timeout=_TIMEOUT_SECONDS)
        answer: dict[str, Any] = {"status": "ok"}
        for name, text in (("stdout", given.stdout), ("stderr", given.stderr)):
            if text:
                answer[name] = _cut(text, self._longest, len(text))
        if given.exit_code:
            answer |= {"status": "error", "exit_code": given.exit_code}
        if given.timed_out:
            answer |= _build_error(f"Command timed out after {_TIMEOUT_SECONDS}s.")
        return answer


class ReadFileTool(_EnvironmentTool):
    """Reads lines of a text file and numbers them.

    Args:
      environment: where the file lies.
      longest: characters that are told.
    """

    repeatable = True

    def __init__(self, environment: BaseEnvironment, longest: int) -> None:
        super().__init__(
            environment,
            name="ReadFile",
            description="Read a text file of the environment. Each line comes with its number.",
            parameters={
                "path": ("string", "Path of the file within the environment."),
                "start_line": ("integer", "First line to return, counted from 1; 1 by default."),
                "end_line": ("integer", "Last line to return; the file's last by default."),
            },
            required=["path"],
        )
        self._longest = longest

    async def _run(self, args: dict[str, Any]) -> dict[str, Any]:
        data = await self._environment.read_file(Path(args["path"]))
        first = max(1, args.get("start_line") or 1)
        last = max(first, args.get("end_line") or sys.maxsize)
        # In a thread: it takes seconds for a large file of short lines.
        return await asyncio.to_thread(_number_lines, data, first, last, self._longest)


class EditFileTool(_EnvironmentTool):
    """Replaces a text that stands in a file once.

    Edits run one at a time, so that none is lost where a model makes several in one response.

    Args:
      environment: where the file lies.
    """

    def __init__(self, environment: BaseEnvironment) -> None:
        super().__init__(
            environment,
            name="EditFile",
            description="Replace a text in an existing file of the environment. The old text has "
            "to stand in the file exactly once. To make a new file use WriteFile.",
            parameters={
                "path": ("string", "Path of the file within the environment."),
                "old_string": ("string", "The exact text to replace; not empty."),
                "new_string": ("string", "The text to put in its place."),
            },
            required=["path", "old_string", "new_string"],
        )
        self._locks: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Lock] = (
            WeakKeyDictionary()
        )

    async def _run(self, args: dict[str, Any]) -> dict[str, Any]:
        if not args["old_string"]:
            return _build_error(
                "`old_string` cannot be empty. To create a new file, use WriteFile."
            )
        async with self._locks.setdefault(asyncio.get_running_loop(), asyncio.Lock()):
            return await self._replace(args)

    async def _replace(self, args: dict[str, Any]) -> dict[str, Any]:
        path, old, new = Path(args["path"]), args["old_string"], args["new_string"]
        try:
            text = (await self._environment.read_file(path)).decode()
        except UnicodeDecodeError:
            return _build_error(f"{path} is not a text in UTF-8, so it cannot be edited.")
        if old not in text and "\r\n" in text:  # models write \n, whatever ends the file's lines
            old, new = (part.replace("\n", "\r\n") for part in (old, new))
        found = text.count(old)
        if found == 0:
            return _build_error("`old_string` not found in file. Read the file first.")
        if found > 1:
            return _build_error(
                f"`old_string` appears {found} times. Give more of the text around it."
            )
        await self._environment.write_file(path, text.replace(old, new).encode())
        return {"status": "ok", "message": f"Edited {path}"}


class WriteFileTool(_EnvironmentTool):
    """Makes or overwrites a file.

    Args:
      environment: where the file lies.
    """

    def __init__(self, environment: BaseEnvironment) -> None:
        super().__init__(
            environment,
            name="WriteFile",
            description="Make a file in the environment, or overwrite it as a whole. To change a "
            "part of a file use EditFile.",
            parameters={
                "path": ("string", "Path of the file within the environment."),
                "content": ("string", "All that the file is to hold."),
            },
            required=["path", "content"],
        )

    async def _run(self, args: dict[str, Any]) -> dict[str, Any]:
        await self._environment.write_file(Path(args["path"]), args["content"])
        return {"status": "ok", "message": f"Wrote {args['path']}"}


def _number_lines(data: bytes, first: int, last: int, longest: int) -> dict[str, Any]:
    """Return ReadFile's answer, without a copy of more lines than it tells."""
    shown: list[str] = []
    count = kept = total = 0
    for count, line in enumerate(_LINE.finditer(data.decode("utf-8", "replace")), 1):
        if first <= count <= last:
            mark = f"{count:6d}\t"
            total += len(mark) + line.end() - line.start()
            if kept < longest:
                shown.append(mark + line[0])
                kept = total
    if first > count:
        fault = f"`start_line` {first} exceeds file length ({count} lines)."
        return {**_build_error(fault), "total_lines": count}
    return {"status": "ok", "content": _cut("".join(shown), longest, total)}


def _build_error(why: str) -> dict[str, Any]:
    return {"status": "error", "error": why}


def _cut(text: str, longest: int, total: int) -> str:
    if total <= longest:
        return text
    return f"{text[:longest]}\n... (truncated, {total} total chars)"
