"""Parts that judges share: labels, texts for prompts, averages."""

from __future__ import annotations

import enum
import json
from typing import Any

from .. import types
from .app_details import AppDetails
from .eval_case import (
    IntermediateData,
    IntermediateDataType,
    Invocation,
    InvocationEvents,
    get_all_tool_calls_with_responses,
)
from .eval_rubrics import RubricScore
from .evaluator import EvalStatus


@enum.unique
class Label(enum.Enum):
    """The verdict in a judge's answer."""

    TRUE = "true"
    INVALID = "invalid"
    VALID = "valid"
    PARTIALLY_VALID = "partially_valid", "partially valid", "partially"
    ALMOST = "almost"
    FALSE = "false"
    NOT_FOUND = "label field not found"


def read_label(word: str) -> Label:
    """Return VALID, INVALID or NOT_FOUND for a judge's word.

    Args:
      word: such as `valid` or `partially`.
    """
    text = word.strip(" \t\r\n\"'`,.;:[]{}()*").lower()
    if text in (Label.VALID.value, Label.TRUE.value, "yes"):
        return Label.VALID
    negative = (Label.INVALID.value, Label.ALMOST.value, Label.FALSE.value, "no")
    if text in (*negative, *Label.PARTIALLY_VALID.value):
        return Label.INVALID
    return Label.NOT_FOUND


def get_text_from_content(
    content: types.Content | Invocation | None,
    *,
    include_intermediate_responses_in_final: bool = False,
) -> str | None:
    """Return the text of a content, or of an invocation's final response, without thoughts.

    Args:
      content: the content or the invocation.
      include_intermediate_responses_in_final: for an invocation, put what the agent said before
        its final response in front.

    Returns:
      The text; None if there is not one.
    """
    if isinstance(content, Invocation):
        texts = [get_text_from_content(content.final_response)]
        if include_intermediate_responses_in_final:
            texts[:0] = [
                get_text_from_content(one) for one in _intermediate(content.intermediate_data)
            ]
        return "\n".join(filter(None, texts)) or None
    if content is None or not content.parts:
        return None
    return "\n".join(part.text for part in content.parts if part.text and not part.thought)


def _intermediate(data: IntermediateDataType | None) -> list[types.Content | None]:
    if isinstance(data, InvocationEvents):
        return [event.content for event in data.invocation_events]
    if isinstance(data, IntermediateData):
        return [types.Content(parts=parts) for _, parts in data.intermediate_responses]
    return []


def get_eval_status(score: float | None, threshold: float) -> EvalStatus:
    """Return the verdict for a score; NOT_EVALUATED without one."""
    if score is None:
        return EvalStatus.NOT_EVALUATED
    return EvalStatus.PASSED if score >= threshold else EvalStatus.FAILED


def get_average_rubric_score(rubric_scores: list[RubricScore]) -> float | None:
    """Return the mean of the rubrics that have a score, or None."""
    scores = [one.score for one in rubric_scores if one.score is not None]
    return sum(scores) / len(scores) if scores else None


def get_tool_declarations_as_json_str(app_details: AppDetails) -> str:
    """Return the tools of each agent as JSON, for a prompt."""
    tools = {
        name: [_to_json(tool) for tool in declared]
        for name, declared in app_details.get_tools_by_agent_name().items()
    }
    return json.dumps({"tool_declarations": tools}, indent=2, ensure_ascii=False, default=str)


def get_tool_calls_and_responses_as_json_str(
    intermediate_data: IntermediateDataType | None,
) -> str:
    """Return the calls of tools with their responses as JSON, for a prompt."""
    calls = get_all_tool_calls_with_responses(intermediate_data)
    if not calls:
        return "No intermediate steps were taken."
    steps = [
        {
            "step": number,
            "tool_call": _to_json(call),
            "tool_response": _to_json(answer) if answer is not None else "None",
        }
        for number, (call, answer) in enumerate(calls)
    ]
    listed = {"tool_calls_and_response": steps}
    return json.dumps(listed, indent=2, ensure_ascii=False, default=str)


def _to_json(record: Any) -> Any:
    dump = getattr(record, "model_dump", None)
    return dump(mode="json", exclude_none=True) if callable(dump) else record
