"""Checks of what the payload of a person's answer may say to a policy or `require_confirmation`."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from types import CodeType
from typing import Any, cast

from ... import auth
from ...sessions.log.call_requests import REQUEST_CONFIRMATION, original_call_id
from ...sessions.log.event_log import EventRecord
from ...tools.base_tool import BaseTool
from ...tools.function.function_signature import target_of
from ...tools.function_tool import QUESTION
from ...tools.policy.notes import ONCE, read_question_note

_FIELDS = ("grant", "reason", "grants")  # clients send back the list of grants
_FIELDS_OF_TOOL = ("reason",)
_ANSWER = "tool_confirmation"
_PLACE = 'edited arguments go beside \'confirmed\': {"confirmed": true, "args": {...}}'


def is_policy_question(record: EventRecord, question: Mapping[str, Any]) -> bool:
    """Return whether a policy asks by a request for confirmation, and not the tool itself.

    Args:
      record: the request.
      question: its arguments.
    """
    call_id = original_call_id(REQUEST_CONFIRMATION, dict(question))
    return read_question_note(record, call_id) is not None


def find_payload_fault(question: Mapping[str, Any], answer: auth.ToolConfirmation) -> str:
    """Return what is wrong with the payload of an answer, whatever tool is asked about.

    Args:
      question: the arguments of a policy's request.
      answer: the person's answer.

    Returns:
      The fault, such as a grant that the rule does not offer; empty if the payload is right.
    """
    payload: Any = answer.payload
    if not isinstance(payload, dict):
        return ""
    fields = cast("dict[str, Any]", payload)
    if isinstance(fields.get("args"), dict):
        return f"'payload' holds 'args'; {_PLACE}"
    wanted = fields.get("grant", ONCE)
    offered = _read_grants(question)
    if wanted in offered:
        return ""
    if len(offered) == 1:
        return f"'grant' is {wanted!r:.60}, but the rule that asks offers no grants"
    return f"'grant' is {wanted!r:.60}, but the rule that asks offers: {', '.join(offered)}"


def find_unknown_field(
    tool: BaseTool, record: EventRecord, question: Mapping[str, Any], answer: auth.ToolConfirmation
) -> str:
    """Return why a payload says nothing to the policy or tool that asks; empty if it does.

    Only what a policy or `require_confirmation` asks is checked: a tool that asks by itself, or
    whose code reads the answer, may take any payload.

    Args:
      tool: the tool that is asked about.
      record: the request.
      question: its arguments.
      answer: the person's answer.
    """
    payload: Any = answer.payload
    known = _FIELDS if is_policy_question(record, question) else _FIELDS_OF_TOOL
    asked: Any = question.get("toolConfirmation")
    hint: Any = cast("dict[str, Any]", asked).get("hint") if isinstance(asked, dict) else None
    if payload is None or (known is _FIELDS_OF_TOOL and hint != QUESTION.format(tool.name)):
        return ""
    unknown: list[str] = []
    if isinstance(payload, dict):
        unknown = [name for name in cast("dict[str, Any]", payload) if name not in known]
        if not unknown:
            return ""
    if _reads_answer(tool):
        return ""
    if not unknown:
        return f"'payload' is no object; {_PLACE}"
    names, takes = (" and ".join(map(repr, some)) for some in (unknown, known[:2]))
    return f"'payload' holds {names:.200}, but takes only {takes}; {_PLACE}"


def _reads_answer(tool: BaseTool) -> bool:
    """Return whether the program's code of a tool reads the answer: its function, or a class."""
    classes = [one for one in type(tool).__mro__ if not one.__module__.startswith("ostinato.")]
    codes: list[Any] = [one for kind in classes for one in vars(kind).values()]
    return any(_names_answer(one, set()) for one in (*codes, getattr(tool, "func", None)))


def _names_answer(found: Any, seen: set[CodeType]) -> bool:
    """Return whether a function names the answer in its code, or one of its module that it uses."""
    function: Any = inspect.unwrap(target_of(found))
    if not inspect.isfunction(function) or function.__code__ in seen:
        return False
    codes = [function.__code__]
    seen.add(function.__code__)
    for one in codes:
        codes += [inner for inner in one.co_consts if isinstance(inner, CodeType)]
    if any(_ANSWER in one.co_names or _ANSWER in one.co_consts for one in codes):
        return True
    try:
        used = inspect.getclosurevars(function)
    except ValueError:  # a variable has no value yet
        return False
    helpers = [one for one in used.globals.values() if inspect.isfunction(one)]
    near = [one for one in helpers if one.__module__ == function.__module__]
    return any(_names_answer(one, seen) for one in (*used.nonlocals.values(), *near))


def _read_grants(question: Mapping[str, Any]) -> list[Any]:
    """Return the grants that a policy's request offers, `once` first."""
    asked: Any = question.get("toolConfirmation")
    payload: Any = cast("dict[str, Any]", asked).get("payload") if isinstance(asked, dict) else None
    grants: Any = cast("dict[str, Any]", payload).get("grants") if isinstance(payload, dict) else ()
    return list(dict.fromkeys((ONCE, *(cast("list[Any]", grants) or ()))))
