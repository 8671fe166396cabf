"""Answers of a person to what a tool node asked: which of them counts for its next call."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, cast

from ..auth.tool_confirmation import ToolConfirmation
from ..context.context import Context
from ..events.event import Event
from ..events.request_input import DECLINED
from ..events.tool_origin import OWN_TOOL, ToolOrigin
from ..tools.base_tool import BaseTool, find_outside_origin
from .node_errors import ToolNotRunError
from .node_run import NodeRun
from .rehydrate import QUESTION, TOOL_ASKS
from .stored_output import to_json

DOUBT_NUMBER = re.compile(r"r?\d{1,9}")
"""What tells a doubt about a call from its earlier ones, and a question from those before it."""

MOST_QUESTIONS = 5
"""How many questions a person is asked about one call whose arguments change after each."""


def find_answer(ctx: Context, base: str) -> tuple[ToolConfirmation | None, str, str]:
    """Return the newest answer to a call's questions, with its id, and the next question's id."""
    answer: ToolConfirmation | None = None
    answered_id, question_id, asked = "", base, 0
    log, inputs = ctx.get_invocation_context().log, ctx.resume_inputs
    while question_id in inputs:
        given: Any = inputs[question_id]
        fields = cast("dict[str, Any]", given) if isinstance(given, dict) else {"confirmed": given}
        record = log.find_call(question_id)
        metadata = (record.event().custom_metadata if record is not None else None) or {}
        if metadata.get(TOOL_ASKS) == QUESTION:
            answer = ToolConfirmation(confirmed=given != DECLINED, payload=cast("Any", given))
        else:
            answer = ToolConfirmation(
                confirmed=fields.get("confirmed") is True, payload=fields.get("payload")
            )
        asked += 1
        answered_id, question_id = question_id, f"{base}:{asked}"
    if question_id in _list_asked(ctx.node_run):
        answer = None  # asked anew, even if a failure around the node withdrew the question
    return answer, answered_id, question_id


def find_open_doubt(run: NodeRun | None, call_id: str) -> str:
    """Return the doubt about a call that a person was asked about and has not decided, or ''.

    A question that a failure withdrew counts, too.
    """
    prefix = f"{call_id}:"
    asked = [one[len(prefix) :] for one in _list_asked(run) if one.startswith(prefix)]
    found = [one.partition(":")[0] for one in asked]
    return next((one for one in reversed(found) if one != "0" and _is_number(one)), "")


def _list_asked(run: NodeRun | None) -> list[str]:
    """Return the questions of a node that have no answer."""
    past = None if run is None else run.past
    return (
        [] if past is None else [one.call_id for one in past.requests.values() if not one.answered]
    )


def _is_number(text: str) -> bool:
    return DOUBT_NUMBER.fullmatch(text) is not None


def list_decided_doubts(inputs: Mapping[str, Any], call_id: str) -> list[str]:
    """Return the doubts about a call that a person has decided, oldest first."""
    prefix = f"{call_id}:"
    found = [key[len(prefix) :].partition(":")[0] for key in inputs if key.startswith(prefix)]
    return [one for one in found if one != "0" and _is_number(one)]


def failed_since_answer(run: NodeRun | None) -> bool:
    """Return whether a node's tool ran and failed in all attempts since a person answered."""
    past = None if run is None else run.past
    if run is None or past is None:
        return False
    config = run.node.retry_config
    return past.errors - past.unreached >= (1 if config is None else config.attempts)


def was_shown(question: Event, question_id: str, args: dict[str, Any]) -> bool:
    """Return whether a person was asked about the arguments that the tool gets now.

    The input may have changed since: a plugin edited the event that the log has of it.
    """
    for call in question.get_function_calls():
        payload: Any = (call.args or {}).get("payload")
        if call.id == question_id and isinstance(payload, dict):
            return cast("dict[str, Any]", payload).get("args") == to_json(args)
    return False


def check_origin(tool: BaseTool, args: dict[str, Any], asked: ToolOrigin, path: str) -> None:
    """Check that a person was asked about the tool that the node has now.

    Args:
      tool: the tool.
      args: the call's arguments.
      asked: the origin of the tool that asked.
      path: the node.

    Raises:
      ToolNotRunError: another tool asked.
    """
    now = find_outside_origin(tool, args) or OWN_TOOL
    if asked.is_same_tool(now) and asked.place == now.place:
        return
    raise ToolNotRunError(
        f"Tool {tool.name!r} of node {path} was not run: it is one of "
        f"{now.source_text or 'the program'} now, and a person was asked about one of "
        f"{asked.source_text or 'the program'}. Start a new invocation to ask anew."
    )


def check_count(tool: BaseTool, is_last: bool, path: str) -> None:
    """Refuse to ask about a call any more whose arguments change after each approval.

    Raises:
      ToolNotRunError: this was the last question.
    """
    if is_last:
        raise ToolNotRunError(
            f"Tool {tool.name!r} of node {path} was not run: its arguments differed after each of "
            f"{MOST_QUESTIONS} approvals. Let the node before it give the same output each time."
        )
