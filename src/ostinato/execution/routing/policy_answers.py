"""Checks of a person's answer to a policy's question: what its payload may say."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from ... import auth
from ...sessions.log.call_requests import REQUEST_CONFIRMATION, original_call_id
from ...sessions.log.event_log import EventRecord
from ...tools.base_tool import BaseTool
from ...tools.function_tool import FunctionTool
from ...tools.policy.notes import ONCE, read_question_note

_FIELDS = frozenset(("grant", "grants", "reason"))
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
    tool: BaseTool, question: Mapping[str, Any], answer: auth.ToolConfirmation
) -> str:
    """Return why a payload says nothing to the policy that asks; empty if it does.

    A tool that sees the answer may read a payload of its own, and is not checked. The page of
    google-adk sends the arguments of the call, which say nothing if they are unchanged.

    Args:
      tool: the tool that the policy asks about.
      question: the arguments of the policy's request.
      answer: the person's answer.
    """
    payload: Any = answer.payload
    if payload is None or not isinstance(tool, FunctionTool) or tool.sees_answers:
        return ""
    asked: Any = question.get("originalFunctionCall")
    if isinstance(asked, dict) and payload == cast("dict[str, Any]", asked).get("args"):
        return ""
    if not isinstance(payload, dict):
        return f"'payload' is no object; {_PLACE}"
    unknown = [name for name in cast("dict[str, Any]", payload) if name not in _FIELDS]
    if not unknown:
        return ""
    names = ", ".join(repr(name) for name in unknown)
    return f"'payload' holds {names:.200}, but takes only 'grant' and 'reason'; {_PLACE}"


def _read_grants(question: Mapping[str, Any]) -> list[Any]:
    """Return the grants that a policy's request offers, `once` first."""
    asked: Any = question.get("toolConfirmation")
    payload: Any = cast("dict[str, Any]", asked).get("payload") if isinstance(asked, dict) else None
    grants: Any = cast("dict[str, Any]", payload).get("grants") if isinstance(payload, dict) else ()
    return list(dict.fromkeys((ONCE, *(cast("list[Any]", grants) or ()))))
