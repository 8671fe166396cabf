"""Validation of final output against the output schema, before a response is committed.

The model gets the errors back and tries again (Spec 2 §3.8).
"""

from __future__ import annotations

from typing import Any

from pydantic import ValidationError

from .... import types
from ...._adk_mode import follows_adk
from ...._log import get_logger
from ....context.invocation import InvocationContext
from ....context.run_config import RunConfig
from ....events.event import REJECTED, Event
from ....models.base_llm import BaseLlm
from ....tools.model_mistake import read_reasons
from ....tools.set_model_response_tool import NAME as SET_MODEL_RESPONSE
from .._output_schema_processor import has_schema_support

logger = get_logger(__name__)


def reject_output(ctx: InvocationContext, event: Event) -> str | None:
    """Mark a final response as rejected if it does not match the agent's output schema.

    Returns:
      The problem; None if the response matches, is not final, or is accepted unchanged.
    """
    if event.error_code or event.interrupted or not event.is_final_response():
        return None
    problem = find_problem(ctx, event)
    if problem is None or _is_accepted_unchanged(ctx, problem):
        return None
    event.custom_metadata = {**(event.custom_metadata or {}), REJECTED: True}
    return problem


def _is_accepted_unchanged(ctx: InvocationContext, problem: str) -> bool:
    """Return whether an output that does not match the schema is the run's answer anyway.

    That holds for programs for google-adk after the last retry; an output key requires a match.
    """
    if not follows_adk() or ctx.agent.output_key:
        return False
    if (
        ctx.run_state.mistakes.get(_mistake_key(ctx), 0)
        < (ctx.run_config or RunConfig()).max_model_retries
    ):
        return False
    logger.warning(
        "The output of agent %r does not match its schema and is returned unchanged: %s",
        ctx.agent.name,
        problem,
    )
    return True


def find_problem(ctx: InvocationContext, event: Event) -> str | None:
    """Return how an event's output violates the schema; None if it does not."""
    parts = (event.content.parts if event.content is not None else None) or ()
    text = "".join(part.text for part in parts if part.text and not part.thought)
    if not text.strip():
        return None
    try:
        ctx.agent.parse_output(text)
    except ValidationError as error:
        problem = "\n".join(read_reasons(error))
    except ValueError as error:  # the schema is not a type, and the text is not JSON
        problem = str(error)
    else:
        ctx.run_state.mistakes.pop(_mistake_key(ctx), None)
        return None
    return problem


def make_correction(ctx: InvocationContext, problem: str) -> Event:
    """Return the event that tells the model what is wrong with its output.

    Args:
      ctx: the run.
      problem: how the output violates the schema.

    Raises:
      ModelRetriesExceededError: too many outputs in a row did not match.
    """
    hint = _hint_at_capabilities(ctx.agent)
    ctx.count_mistake(_mistake_key(ctx), f"{problem.rstrip('.')}. {hint}" if hint else problem)
    by_itself = has_schema_support(ctx.agent)
    how = "with nothing but the JSON" if by_itself else f"by calling `{SET_MODEL_RESPONSE}`"
    text = (
        f"Your answer does not match the schema:\n{problem}\n"
        f"Answer again, {how}. Include every required field with its declared type."
    )
    return Event(
        invocation_id=ctx.invocation_id,
        author=ctx.agent.name,
        branch=ctx.branch,
        content=types.Content(role="user", parts=[types.Part(text=text)]),
        custom_metadata={REJECTED: True},
    )


def _hint_at_capabilities(agent: Any) -> str:
    """Return a hint if only the default of BaseLlm says that a user's model takes the schema."""
    model: BaseLlm = agent.canonical_model
    model_class = type(model)
    if (
        model_class.__module__.partition(".")[0] == "ostinato"
        or model_class.capabilities is not BaseLlm.capabilities
        or not has_schema_support(agent)
    ):
        return ""
    return (
        f"{model_class.__name__} has no `capabilities` of its own, so it is taken to send "
        "config.response_schema to an API that follows it. If it does not, return "
        "ModelCapabilities(structured_output=False) there; the output is then asked for by a tool."
    )


def _mistake_key(ctx: InvocationContext) -> str:
    return f"the output of {ctx.agent.name}"
