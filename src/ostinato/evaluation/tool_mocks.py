"""Mocks of tools in an evaluation: from the case, from a recording, or from a function."""

from __future__ import annotations

import copy
import inspect
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

from .._aborted_tool import ABORTS, as_tool_error
from ..agent_files.code_names import CodeNameError, CodeRules
from ..context.context import Context
from ..errors import InputValidationError
from ..plugins.base_plugin import BasePlugin
from ..tools.agent_tool import AgentTool
from ..tools.base_tool import BaseTool
from .arg_matchers import ArgMatch
from .eval_case import Invocation, get_all_tool_calls, get_all_tool_responses
from .eval_config import ToolMockConfig
from .json_file import parse_json, read_text
from .run_observer import current_turn

_FORMAT = 1
_PLUGIN = "ostinato_tool_mocks"
# Tools of the runtime steer the run; they are mocked only if a mock names them.
_STEERING = ("transfer_to_agent", "exit_loop", "finish_task", "set_model_response")


class MissingMockError(InputValidationError):
    """A tool was called for which the case has no mock."""


class MockedCalls:
    """The responses of calls, in order; each is given once.

    Args:
      calls: name, arguments and response of each call; arguments that are None fit any call.
      reuses: whether the last response that fits is given again once all that fit were given.
    """

    def __init__(
        self,
        calls: list[tuple[str, dict[str, Any] | None, dict[str, Any]]],
        *,
        reuses: bool = False,
    ) -> None:
        self._calls = calls
        self._reuses = reuses
        self._used: set[int] = set()

    def find_response(self, name: str, args: dict[str, Any]) -> dict[str, Any] | None:
        """Return the response for a call, or None.

        Args:
          name: the tool.
          args: the arguments. Calls with these arguments are preferred to others that fit.
        """
        fitting = self._find_fitting(name, args)
        unused = [number for number in fitting if number not in self._used]
        if not unused and not (fitting and self._reuses):
            return None
        number = unused[0] if unused else fitting[-1]
        self._used.add(number)
        return copy.deepcopy(self._calls[number][2])

    def count_fitting(self, name: str, args: dict[str, Any]) -> int:
        """Return how many responses fit a call, used or not."""
        return len(self._find_fitting(name, args))

    def _find_fitting(self, name: str, args: dict[str, Any]) -> list[int]:
        return [
            number
            for number, (known, wanted, _) in enumerate(self._calls)
            if known == name and (wanted is None or ArgMatch().matches(args, wanted))
        ]


def find_mock_error(error: BaseException) -> BaseException | None:
    """Return the error of a tool's mock from which an error comes: a MissingMockError, or what the
    mock itself raised. None if the error has another reason.

    Args:
      error: what ended a case; the error of the mock may be its cause, or in a group.
    """
    if isinstance(error, MissingMockError):
        return error
    inner: list[BaseException] = [] if error.__cause__ is None else [error.__cause__]
    inner += getattr(error, "exceptions", ())
    if str(error).startswith(f"Error in plugin '{_PLUGIN}'") and inner:
        return find_mock_error(inner[0]) or inner[0]
    return next((found for one in inner if (found := find_mock_error(one))), None)


def mocks_of_turn(expected: Invocation | None) -> MockedCalls:
    """Return the mocks of an expected turn: its tool responses, with the arguments of the calls
    that they answer.

    Args:
      expected: the turn, or None.
    """
    if expected is None:
        return MockedCalls([])
    data = expected.intermediate_data
    left = list(get_all_tool_calls(data))
    mocked: list[tuple[str, dict[str, Any] | None, dict[str, Any]]] = []
    for answer in get_all_tool_responses(data):
        call = next((c for c in left if answer.id is not None and c.id == answer.id), None)
        call = call or next((c for c in left if _last_name(c.name) == answer.name), None)
        if call is not None:
            left.remove(call)
        args = None if call is None else call.args or {}
        mocked.append(
            (answer.name or _last_name(call.name if call else ""), args, answer.response or {})
        )
    return MockedCalls(mocked)


def _last_name(name: str | None) -> str:
    return (name or "").rpartition("/")[2]


class ToolMocks(BasePlugin):
    """Answers calls of tools in place of the tools.

    Args:
      config: where the answers come from.

    Raises:
      InputValidationError: the function or the recording cannot be loaded.
    """

    def __init__(self, config: ToolMockConfig) -> None:
        super().__init__(name=_PLUGIN)
        self._config = config
        self._function: Callable[..., Any] | None = None
        self._cassette: MockedCalls | None = None
        self._recorded: list[dict[str, Any]] = []
        if config.source == "function":
            try:
                self._function = CodeRules().resolve(config.function or "")
            except CodeNameError as error:
                raise InputValidationError(f"tool_mocks.function: {error}") from error
        elif config.source == "cassette" and not config.record:
            self._cassette = _read_cassette(Path(config.cassette or ""))

    async def before_tool_callback(
        self, *, tool: BaseTool, tool_args: dict[str, Any], tool_context: Context
    ) -> dict[str, Any] | None:
        """Return the mocked response of a call.

        Raises:
          MissingMockError: there is not one, and the tool must not run.
          ToolAbortedError: the mock function ended with SystemExit or its like.
        """
        if self._config.record:
            return None
        try:
            answer = await self._find_answer(tool.name, tool_args)
        except ABORTS as abort:
            what = f"The mock {self._config.function!r} of the tool {tool.name!r}"
            raise as_tool_error(abort, what) from abort
        if answer is not None:
            return answer
        is_hidden = isinstance(tool, AgentTool) and not tool.include_plugins
        runs = (isinstance(tool, AgentTool) and not is_hidden) or tool.name in _STEERING
        if runs or self._config.missing == "run":
            return None
        shown = json.dumps(tool_args, ensure_ascii=False, default=str)[:200]
        why = " Its agent has include_plugins=False, so its own calls cannot be mocked."
        mocks = _mocks_of_now()
        given = mocks.count_fitting(tool.name, tool_args) if self._uses_case() and mocks else 0
        what = f"the {self._config.source} has no mock for this call"
        if given:
            what = f"the mocks of the case for this call were given already ({given})"
        raise MissingMockError(
            f"The tool {tool.name!r} was called with {shown}, and {what}. Add a response, or set "
            '"missing": "run" in tool_mocks.' + (why if is_hidden else "")
        )

    async def after_tool_callback(
        self,
        *,
        tool: BaseTool,
        tool_args: dict[str, Any],
        tool_context: Context,
        result: dict[str, Any],
    ) -> None:
        """Record a call."""
        if self._config.record:
            self._recorded.append({"name": tool.name, "args": tool_args, "response": result})
            self._write_recording()

    def _write_recording(self) -> None:
        document = {"format": _FORMAT, "calls": self._recorded}
        text = json.dumps(document, indent=2, ensure_ascii=False, default=str)
        Path(self._config.cassette or "").write_text(f"{text}\n", encoding="utf-8")

    async def _find_answer(self, name: str, args: dict[str, Any]) -> dict[str, Any] | None:
        if self._function is not None:
            answer = self._function(name, args)
            if inspect.isawaitable(answer):
                answer = await answer
            if answer is None or isinstance(answer, dict):
                return cast("dict[str, Any] | None", answer)
            return {"result": answer}
        if self._cassette is not None:
            return self._cassette.find_response(name, args)
        mocks = _mocks_of_now()
        return None if mocks is None else mocks.find_response(name, args)

    def _uses_case(self) -> bool:
        return self._function is None and self._cassette is None


def _mocks_of_now() -> MockedCalls | None:
    """Return the mocks of the turn that runs."""
    turn = current_turn.get()
    mocks = turn.mocks if turn is not None else None
    return mocks if isinstance(mocks, MockedCalls) else None


def _read_cassette(path: Path) -> MockedCalls:
    """Return the calls of a recording.

    Raises:
      InputValidationError: there is not one, or it has another format.
    """
    try:
        document = parse_json(read_text(path), str(path))
    except FileNotFoundError as error:
        raise InputValidationError(
            f'There is no recording of tools {path}. Make one with "record": true.'
        ) from error
    if not isinstance(document, dict) or cast(Any, document).get("format") != _FORMAT:
        raise InputValidationError(f"{path} is not a recording of tools of format {_FORMAT}.")
    calls = cast(list[dict[str, Any]], document["calls"])
    mocked = [(one["name"], one["args"], one["response"]) for one in calls]
    return MockedCalls(mocked, reuses=True)  # the runs of all cases share it
