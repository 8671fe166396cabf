"""The check of an agent's final output against its output schema. What breaks it goes back to the
model (Spec 2 §3.8). The loop uses it before it commits a response.
"""

from __future__ import annotations

from pydantic import ValidationError

from ... import types
from ...context.invocation import InvocationContext
from ...events.event import REJECTED, Event
from ...tools.model_mistake import reasons
from ...tools.set_model_response_tool import NAME as SET_MODEL_RESPONSE


def reject_output(ctx: InvocationContext, event: Event) -> str | None:
    """Mark a final response as rejected where it does not fit the agent's output schema.

    Returns:
      What is wrong with it; None where it fits, or is none.
    """
    if event.error_code or event.interrupted or not event.is_final_response():
        return None
    parts = (event.content.parts if event.content is not None else None) or ()
    text = "".join(part.text for part in parts if part.text and not part.thought)
    if not text.strip():
        return None
    try:
        ctx.agent.parse_output(text)
    except ValidationError as error:
        problem = "\n".join(reasons(error))
    except ValueError as error:  # of a schema that is no type; its text is no JSON
        problem = str(error)
    else:
        ctx.ports.mistakes.pop(_kind(ctx), None)
        return None
    event.custom_metadata = {**(event.custom_metadata or {}), REJECTED: True}
    return problem


def correction(ctx: InvocationContext, problem: str, by_tool: bool) -> Event:
    """Return the event that tells the model what was wrong with its output.

    Args:
      ctx: the run.
      problem: what was.
      by_tool: whether the output is to be given through `set_model_response`.

    Raises:
      ModelRetriesExceededError: it broke the schema more often in a row than is allowed.
    """
    ctx.count_mistake(_kind(ctx), problem)
    how = f"by calling `{SET_MODEL_RESPONSE}`" if by_tool else "with nothing but the JSON"
    text = (
        f"Your answer was not accepted, as it does not fit the schema:\n{problem}\n"
        f"Answer once more, {how}: every required field, each of its declared type."
    )
    return Event(
        invocation_id=ctx.invocation_id,
        author=ctx.agent.name,
        branch=ctx.branch,
        content=types.Content(role="user", parts=[types.Part(text=text)]),
        custom_metadata={REJECTED: True},
    )


def _kind(ctx: InvocationContext) -> str:
    return f"the output of {ctx.agent.name}"
