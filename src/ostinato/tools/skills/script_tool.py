"""run_skill_script: runs a script of a skill by the code executor or in an environment."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, ClassVar, cast

from ... import types
from ...code_executors.base_code_executor import BaseCodeExecutor
from ...code_executors.code_execution_utils import CodeExecutionInput, CodeExecutionResult, File
from ...events.tool_origin import ToolOrigin
from ...skills.models import Skill
from ...skills.prompt import RUN
from ...skills.shebang import PYTHON, SUFFIXES, read_command
from ...skills.skill_files import normalize_path
from .skill_environment import ScriptCall, SkillEnvironment
from .skill_tools import (
    SKILL_NAME,
    HasCatalog,
    SkillTool,
    count_miss,
    make_error,
    text_parameter,
)

if TYPE_CHECKING:
    from ...context.context import Context as ToolContext

_MARK = "ostinato-skill-script:"
_MAX_OUTPUT = 16_000  # bytes of stdout and of stderr that the model reads
_ARGS: dict[str, Any] = {
    "anyOf": [{"type": "object"}, {"type": "array", "items": {"type": "string"}}],
    "description": "Arguments: an object of long options, or the whole list of arguments; "
    "with a list, give neither short_options nor positional_args.",
}
_SHORT: dict[str, Any] = {"type": "object", "description": "Options with one hyphen, by letter."}
_POSITIONAL: dict[str, Any] = {
    "type": "array",
    "items": {"type": "string"},
    "description": "Arguments behind the options.",
}
_IN_ENVIRONMENT = "Run a script of a skill, in the environment's working directory."
# Runs in the executor. It reports in one line, because executors join stdout and stderr.
_RUNNER = f"""\
import json, os, subprocess, sys, tempfile

job = json.loads(JOB)
command = [sys.executable if word == {PYTHON!r} else word for word in job["command"]]
report = {{"exit_code": None, "error": ""}}
with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
    try:
        report["exit_code"] = subprocess.run(
            command + job["args"], stdin=subprocess.DEVNULL, stdout=out, stderr=err,
            timeout=job["timeout"],
            env=dict(os.environ, OSTINATO_IDEMPOTENCY_KEY=job["key"], PYTHONDONTWRITEBYTECODE="1"),
        ).returncode
    except subprocess.TimeoutExpired:
        report["error"] = "timeout"
    except OSError as error:
        report["error"] = f"{{command[0]}}: {{error.strerror}}"
    for name, file in (("stdout", out), ("stderr", err)):
        size = file.seek(0, 2)
        file.seek(0)
        report[name] = file.read({_MAX_OUTPUT}).decode("utf-8", "replace")
        if size > {_MAX_OUTPUT}:
            report[name] += f"\\n... (cut off; {{size:,}} bytes in all)"
print({_MARK!r} + json.dumps(report, ensure_ascii=True))
"""


class RunSkillScriptTool(SkillTool):
    """Runs a script below `scripts/` with all files of its skill.

    A code executor's working directory holds these files; in an environment they lie in a folder.

    A crash leaves a script in doubt; by default it does not run again, and the model is told so.
    The script finds a key that stays the same when it is run again in OSTINATO_IDEMPOTENCY_KEY.
    """

    tool_name = RUN
    told = "Run a script of a skill. It finds the skill's files in its working directory."
    parameters: ClassVar = {
        "skill_name": SKILL_NAME,
        "file_path": text_parameter("Path of the script, such as scripts/convert.py."),
        "args": _ARGS,
        "short_options": _SHORT,
        "positional_args": _POSITIONAL,
    }
    optional = ("args", "short_options", "positional_args")

    def __init__(self, toolset: HasCatalog) -> None:
        scripts = toolset.catalog.scripts
        told = "" if scripts.environment is None else _IN_ENVIRONMENT
        super().__init__(toolset, description=told, in_doubt=scripts.in_doubt)

    @property
    def tool_origin(self) -> ToolOrigin:
        """Skills; `find_origin` names skill and script."""
        return ToolOrigin("skill", policy=self.in_doubt)

    def find_origin(self, args: dict[str, Any]) -> ToolOrigin:
        """Return the skill and the script that a call runs, by the script's path in the skill."""
        script = f"scripts/{find_script_path(str(args.get('file_path', '')))}"
        return ToolOrigin("skill", str(args.get("skill_name", "")), script, self.in_doubt)

    async def run_async(self, *, args: dict[str, Any], tool_context: ToolContext) -> Any:
        """Return `status`, `stdout` and `stderr` of the script."""
        skill = await self.find_skill(args, tool_context)
        if not isinstance(skill, Skill):
            return skill
        words = build_arguments(args)
        if isinstance(words, dict):
            return words
        if any("\0" in word for word in words):
            return make_error(
                "INVALID_ARGUMENTS",
                "An argument holds a NUL, which no script can get.",
            )
        path = find_script_path(args["file_path"])
        script = skill.resources.get_script(path)
        if script is None:
            return count_miss(tool_context, "Script", args["file_path"], skill)
        command = read_command(path, script.src)
        if command is None:
            known = ", ".join(SUFFIXES)
            return make_error(
                "UNSUPPORTED_SCRIPT_TYPE",
                f"Unsupported script type: '{path}' has no shebang and none of {known}.",
            )
        key = str(tool_context.idempotency_key) if tool_context.function_call_id else ""
        timeout = self.catalog.scripts.timeout
        script_call = ScriptCall(command, f"scripts/{path}", words, timeout, key)
        try:
            answer, files = await self._run(skill, script_call, tool_context)
        except Exception as error:  # boundary: executors are foreign code; an error is an answer
            text = f"Failed to execute script '{args['file_path']}': {type(error).__name__}: "
            return make_error("EXECUTION_ERROR", f"{text}{error}"[:1_000])
        if "error" in answer:
            return answer
        if files:
            answer["output_files"] = [file.name for file in files]
        for file in files if self.catalog.scripts.saves_artifacts else ():
            part = types.Part.from_bytes(data=file.read_bytes(), mime_type=file.mime_type)
            await tool_context.save_artifact(file.name, part)
        return {"skill_name": skill.name, "file_path": args["file_path"], **answer}

    async def _run(
        self, skill: Skill, script: ScriptCall, context: ToolContext
    ) -> tuple[dict[str, Any], list[File]]:
        """Run a script; return how it ended, and the files that it made."""
        environment = self.catalog.scripts.environment
        if environment is not None:
            return await _run_in_environment(environment, skill, script), []
        executor = find_executor(self.catalog.scripts.code_executor, context)
        if executor is None:
            return make_error(
                "NO_CODE_EXECUTOR", "No code executor configured, so no script can be run."
            ), []
        files = [
            File(name, content.encode() if isinstance(content, str) else content)
            for name, content in skill.resources.all_files().items()
        ]
        job = {
            "command": [*script.program, script.path],
            "args": script.args,
            "timeout": script.timeout,
            "key": script.key,
        }
        code = f"JOB = {json.dumps(job)!r}\n{_RUNNER}"
        result = await executor.execute_code_async(
            context.get_invocation_context(), CodeExecutionInput(code, files)
        )
        return _read_report(result, script), result.output_files


async def _run_in_environment(
    environment: SkillEnvironment, skill: Skill, script: ScriptCall
) -> dict[str, Any]:
    ended = await environment.run(skill, script)
    report = {
        "stdout": _shorten(ended.stdout),
        "stderr": _shorten(ended.stderr),
        "exit_code": ended.exit_code,
        "error": "timeout" if ended.timed_out else "",
    }
    answer = _describe_end(report, script)
    return {**answer, "exit_code": ended.exit_code, "timed_out": ended.timed_out}


def _shorten(text: str) -> str:
    data = text.encode("utf-8", "replace")
    if len(data) <= _MAX_OUTPUT:
        return text
    start = data[:_MAX_OUTPUT].decode("utf-8", "replace")
    return f"{start}\n... (cut off; {len(data):,} bytes in all)"


def find_script_path(path: str) -> str:
    """Return a script's path below `scripts/`, however the model writes it."""
    return normalize_path(path).removeprefix("scripts/")


def find_executor(own: BaseCodeExecutor | None, context: Any) -> BaseCodeExecutor | None:
    """Return the executor of a toolset, or that of the agent of a context."""
    return own or getattr(context, "code_executor", None)


def build_arguments(args: dict[str, Any]) -> list[str] | dict[str, Any]:
    """Return the words that a script is called with, or the answer to wrong arguments."""
    options, short = args.get("args"), args.get("short_options")
    positional = args.get("positional_args")
    kinds = (
        ("args", options, (dict, list), "a JSON object (dict) or a list of strings"),
        ("short_options", short, dict, "a JSON object (dict)"),
        ("positional_args", positional, list, "a list of strings"),
    )
    for name, value, kind, wanted in kinds:
        if value is not None and not isinstance(value, kind):
            given = type(value).__name__
            return make_error("INVALID_ARGUMENTS", f"'{name}' must be {wanted}, got {given}.")
    if isinstance(options, list):
        if short or positional:
            return make_error(
                "INVALID_ARGUMENTS",
                "Cannot specify 'short_options' or 'positional_args' when 'args' is a list.",
            )
        return [str(one) for one in cast("list[Any]", options)]
    words: list[str] = []
    for mark, group in (("--", options), ("-", short)):
        for name, value in cast("dict[str, Any]", group or {}).items():
            words += [f"{mark}{name}", str(value)]
    if positional:
        words += ["--", *[str(one) for one in positional]]
    return words


def _read_report(result: CodeExecutionResult, script: ScriptCall) -> dict[str, Any]:
    """Return stdout, stderr and status of a script from what the executor gives back."""
    before, mark, line = result.stdout.rpartition(_MARK)
    try:
        report: dict[str, Any] = json.loads(line.partition("\n")[0]) if mark else {}
    except ValueError:
        report = {}
    if not report:  # the executor ended the run, or is one that makes up its result
        status = "success"
        if result.stderr:
            status = "warning" if result.stdout else "error"
        return {"stdout": result.stdout, "stderr": result.stderr, "status": status}
    return _describe_end({**report, "stdout": before + report["stdout"]}, script)


def _describe_end(report: dict[str, Any], script: ScriptCall) -> dict[str, Any]:
    """Return stdout, stderr and status of a script that was run."""
    stdout, stderr, code = report["stdout"], report["stderr"], report["exit_code"]
    answer = {"stdout": stdout, "stderr": stderr, "status": "success"}
    if report["error"] == "timeout":
        text = f"The script was stopped after {script.timeout} seconds."
        return {**answer, "stderr": _join(stderr, text), "status": "error"}
    if report["error"]:
        text = f"The script could not be started: {report['error']}."
        return {**answer, "stderr": _join(stderr, text), "status": "error"}
    if code:
        return {**answer, "status": "error", "exit_code": code}
    return {**answer, "status": "warning"} if stderr else answer


def _join(text: str, line: str) -> str:
    return f"{text.rstrip()}\n{line}".lstrip()
