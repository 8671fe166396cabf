"""LocalEvalSetsManager: eval sets as files beside the agents, and the reading of such files."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, cast

from pydantic import ValidationError

from .. import _clock, types
from .._shared_files import lock_file, replace_file
from ..errors import InputValidationError, NotFoundError
from ._stored_eval_sets import EVAL_SET_FILE_EXTENSION, StoredEvalSets, check_id
from .eval_base_model import ADK_230, is_comment
from .eval_case import EvalCase, IntermediateData, Invocation, SessionInput
from .eval_set import EvalSet, describe_repeated_id
from .evaluation_constants import EvalConstants
from .json_file import explain_problems, parse_json, read_text, suggest_field


def convert_eval_set_to_pydantic_schema(
    eval_set_id: str, eval_set_in_json_format: list[dict[str, Any]]
) -> EvalSet:
    """Return an eval set from the old form of its file.

    Args:
      eval_set_id: id and name of the set.
      eval_set_in_json_format: the cases: `name`, `data` (a list of turns with `query`,
        `expected_tool_use`, `expected_intermediate_agent_responses`, `reference`) and
        `initial_session`.

    Raises:
      InputValidationError: a case or a turn lacks a field, has an unknown one or one of the wrong
        type, or two cases have the same name.
    """
    cases = [
        _convert_case(case, f"case {number} ({_name_of(case, number)})")
        for number, case in enumerate(eval_set_in_json_format, 1)
    ]
    repeated = describe_repeated_id(cases)
    if repeated:
        raise InputValidationError(repeated)
    return EvalSet(
        eval_set_id=eval_set_id,
        name=eval_set_id,
        creation_timestamp=_clock.now(),
        eval_cases=cases,
    )


def _name_of(case: Any, number: int) -> str:
    return str(case.get("name", number)) if isinstance(case, dict) else str(number)  # pyright: ignore[reportUnknownMemberType,reportUnknownArgumentType]


def _convert_case(case: Any, where: str) -> EvalCase:
    _refuse_unknown(case, _CASE_FIELDS, where)
    name = _take(case, "name", str, where)
    turns: list[Any] = _take(case, "data", list, where)
    session: dict[str, Any] = _take(case, "initial_session", dict, where, {})
    _refuse_unknown(session, _SESSION_FIELDS, f"{where}, initial_session")
    return EvalCase(
        eval_id=name,
        conversation=[
            _convert_turn(turn, f"{where}, turn {number}") for number, turn in enumerate(turns, 1)
        ],
        session_input=SessionInput(
            app_name=_take(session, "app_name", str, where, ""),
            user_id=_take(session, "user_id", str, where, ""),
            state=_take(session, "state", dict, where, {}),
        )
        if session
        else None,
        creation_timestamp=_clock.now(),
    )


def _convert_turn(turn: Any, where: str) -> Invocation:
    _refuse_unknown(turn, _TURN_FIELDS, where)
    calls: list[Any] = _take(turn, "expected_tool_use", list, where, [])
    said: list[Any] = _take(turn, "expected_intermediate_agent_responses", list, where, [])
    for call in calls:
        _refuse_unknown(call, _CALL_FIELDS, where)
    for one in said:
        _refuse_unknown(one, _SAID_FIELDS, where)
    responses = [
        types.FunctionResponse(
            name=_take(call, "tool_name", str, where),
            response=_as_response(cast(dict[str, Any], call)["mock_tool_output"]),
        )
        for call in calls
        if isinstance(call, dict) and "mock_tool_output" in call
    ]
    return Invocation(
        invocation_id=_clock.new_id(),
        user_content=_text_content("user", _take(turn, "query", str, where)),
        final_response=_text_content("model", _take(turn, "reference", str, where, "")),
        intermediate_data=IntermediateData(
            tool_uses=[
                types.FunctionCall(
                    name=_take(call, "tool_name", str, where),
                    args=_take(call, "tool_input", dict, where),
                )
                for call in calls
            ],
            tool_responses=responses,
            intermediate_responses=[
                (
                    _take(one, "author", str, where),
                    [types.Part(text=_take(one, "text", str, where))],
                )
                for one in said
            ],
        ),
        creation_timestamp=_clock.now(),
    )


def _as_response(value: Any) -> dict[str, Any]:
    return cast(dict[str, Any], value) if isinstance(value, dict) else {"result": value}


def _text_content(role: str, text: str) -> types.Content:
    return types.Content(role=role, parts=[types.Part(text=text)])


_REQUIRED = object()
_CASE_FIELDS = ("name", "data", "initial_session")
_SESSION_FIELDS = ("state", "app_name", "user_id")
_CALL_FIELDS = (EvalConstants.TOOL_NAME, EvalConstants.TOOL_INPUT, EvalConstants.MOCK_TOOL_OUTPUT)
_SAID_FIELDS = ("author", "text")
_TURN_FIELDS = (
    EvalConstants.QUERY,
    EvalConstants.EXPECTED_TOOL_USE,
    "expected_intermediate_agent_responses",
    EvalConstants.REFERENCE,
    EvalConstants.RESPONSE,  # what an agent had said; google-adk writes it and does not read it
    "actual_tool_use",  # likewise
)


def _refuse_unknown(record: Any, known: Sequence[str], where: str) -> None:
    """Raise InputValidationError for a field that the old form does not have.

    Comments are no unknown fields.
    """
    for name in cast(dict[str, Any], record) if isinstance(record, dict) else ():
        if name not in known and not is_comment(name):
            raise InputValidationError(
                f"{where}: unknown field {name!r}. {suggest_field(name, known)}"
            )


def _take(record: Any, field: str, kind: type, where: str, default: Any = _REQUIRED) -> Any:
    """Return a field of a dict in the old form.

    Raises:
      InputValidationError: it is missing, or of another type.
    """
    if not isinstance(record, dict):
        raise InputValidationError(f"{where}: expected an object, found {type(record).__name__}.")
    value = cast(dict[str, Any], record).get(field, default)
    if value is _REQUIRED:
        raise InputValidationError(f"{where}: the field {field!r} is missing.")
    if not isinstance(value, kind):
        raise InputValidationError(
            f"{where}: the field {field!r} must be a {kind.__name__}, not a {type(value).__name__}."
        )
    return value


def parse_eval_set(text: str, name: str, eval_set_id: str) -> EvalSet:
    """Return the eval set in a JSON text, in the new or one of the old forms.

    Args:
      text: the text.
      name: what to call it in errors, such as the file's path.
      eval_set_id: the id of a set in an old form.

    Raises:
      InputValidationError: it is not JSON, or not an eval set; the message names line and field.
    """
    value = parse_json(text, name)
    if isinstance(value, list):
        cases = cast(list[Any], value)
        if any(isinstance(one, dict) and "query" in one for one in cases):
            cases = [{"name": eval_set_id, "data": cases}]  # the form of `*.test.json`
        try:
            return convert_eval_set_to_pydantic_schema(eval_set_id, cases)
        except InputValidationError as error:
            raise InputValidationError(f"{name}: {error}") from error
    if not isinstance(value, dict):
        raise InputValidationError(
            f"{name} must hold an eval set (a JSON object), not a {type(value).__name__}."
        )
    try:
        return EvalSet.model_validate_json(text.lstrip("\ufeff"))
    except ValidationError as error:
        raise InputValidationError(explain_problems(error, text, name, EvalSet)) from error


def load_eval_set_from_file(eval_set_file_path: str, eval_set_id: str) -> EvalSet:
    """Return the eval set in a file, in the new or one of the old forms.

    Args:
      eval_set_file_path: the file.
      eval_set_id: the id of a set in an old form.

    Raises:
      FileNotFoundError: the file does not exist.
      InputValidationError: it is not an eval set; the message names line and field.
    """
    path = Path(eval_set_file_path)
    return parse_eval_set(read_text(path), str(eval_set_file_path), eval_set_id)


def format_eval_set(eval_set: EvalSet, *, adk: str | None = None) -> str:
    """Return an eval set as the JSON text of its file.

    Args:
      eval_set: the set.
      adk: "2.3.0" leaves out the fields that google-adk 2.3.0 refuses.

    Raises:
      InputValidationError: `adk` is another version.
    """
    if adk not in (None, ADK_230):
        raise InputValidationError(f"adk={adk!r} is not supported; give {ADK_230!r} or None.")
    return eval_set.model_dump_json(
        indent=2,
        exclude_unset=True,
        exclude_defaults=True,
        exclude_none=True,
        context={"adk": adk},
    )


class LocalEvalSetsManager(StoredEvalSets):
    """Eval sets in files `<agents_dir>/<app>/<eval_set_id>.evalset.json`.

    Args:
      agents_dir: the folder of the agents.
    """

    def __init__(self, agents_dir: str) -> None:
        self._agents_dir = agents_dir

    def create_eval_set(self, app_name: str, eval_set_id: str) -> EvalSet:
        """Create an empty set, and the app's folder if it is missing.

        Raises:
          ValueError: the id is invalid, or the set exists.
        """
        self._locate_set(app_name, eval_set_id).parent.mkdir(parents=True, exist_ok=True)
        return super().create_eval_set(app_name, eval_set_id)

    def get_eval_set(self, app_name: str, eval_set_id: str) -> EvalSet | None:
        """Return a set, or None if it does not exist."""
        path = self._locate_set(app_name, eval_set_id)
        if not path.is_file():
            return None
        return load_eval_set_from_file(str(path), eval_set_id)

    def list_eval_sets(self, app_name: str) -> list[str]:
        """Return the ids of the sets of an app, sorted.

        Raises:
          NotFoundError: the app has no folder.
        """
        check_id("App name", app_name, allow=".-")
        try:
            names = os.listdir(Path(self._agents_dir) / app_name)
        except (FileNotFoundError, NotADirectoryError) as error:
            raise _no_folder(app_name) from error
        return sorted(
            name.removesuffix(EVAL_SET_FILE_EXTENSION)
            for name in names
            if name.endswith(EVAL_SET_FILE_EXTENSION)
        )

    def save_eval_set(self, app_name: str, eval_set_id: str, eval_set: EvalSet) -> None:
        """Write a set; the file is replaced at once."""
        path = self._locate_set(app_name, eval_set_id)
        path.parent.mkdir(parents=True, exist_ok=True)
        replace_file(path, format_eval_set(eval_set))

    def lock_eval_set(self, app_name: str, eval_set_id: str) -> AbstractContextManager[None]:
        """Return the lock of a set's file, which holds between threads and processes.

        Raises:
          NotFoundError: the app has no folder.
        """
        path = self._locate_set(app_name, eval_set_id)
        if not path.parent.is_dir():
            raise _no_folder(app_name)
        return lock_file(path)

    def _locate_set(self, app_name: str, eval_set_id: str) -> Path:
        check_id("App name", app_name, allow=".-")
        check_id("Eval Set ID", eval_set_id, allow=".-")
        return Path(self._agents_dir) / app_name / f"{eval_set_id}{EVAL_SET_FILE_EXTENSION}"


def _no_folder(app_name: str) -> NotFoundError:
    return NotFoundError(f"There is no folder of the app {app_name!r}.")
