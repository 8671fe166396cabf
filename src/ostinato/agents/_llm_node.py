"""An agent with a model as a node of a graph: told the input, it gives its last text as output."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from typing import Any

from pydantic import BaseModel

from .. import types
from .._aclosing import Aclosing
from ..context.context import Context
from ..context.delegation import in_scope
from ..events.event import Event
from ..sessions.event_log import scope_of_node
from ..types.content_text import extract_text_from_content
from ..workflow.agent_node import as_node_context, wait_for_answers


async def run_as_node(agent: Any, ctx: Context, node_input: Any) -> AsyncGenerator[Event, None]:
    """Run an agent on a node's input; a chat agent reads the conversation instead.

    A task agent talks with the user until it is done; what it finishes its task with is the output.

    Args:
      agent: the agent.
      ctx: the node's context; its output is set to what the agent's output schema makes of the
        last text.
      node_input: what the agent is told: text, a Content, or any other value as JSON.
    """
    inner = as_node_context(ctx, agent)
    if agent.mode == "task":
        outer = inner.isolation_scope or inner.invocation_id
        inner.isolation_scope = scope_of_node(outer, ctx.node_path)
    told = None if agent.mode == "chat" else _as_content(node_input)
    if told is not None:
        inner.ports.told[inner.isolation_scope or ctx.node_path] = told
    run = in_scope(agent.run_async(inner), inner.isolation_scope)
    async with Aclosing(run) as events:
        async for event in events:
            if agent.mode != "task" and _is_last_word(event, inner.isolation_scope):
                event.node_info.message_as_output = True
                if agent.output_schema is not None:
                    ctx.output = agent.parse_output(extract_text_from_content(event.content))
            yield event
    wait_for_answers(ctx)


def _as_content(node_input: Any) -> types.Content | None:
    if node_input is None:
        return None
    if isinstance(node_input, types.Content):
        return node_input
    if isinstance(node_input, BaseModel):
        node_input = node_input.model_dump(mode="json")
    text = node_input if isinstance(node_input, str) else json.dumps(node_input, default=str)
    return types.Content(role="user", parts=[types.Part(text=text)])


def _is_last_word(event: Event, scope: str | None) -> bool:
    """Tell whether an event is the agent's answer: text that asks for nothing."""
    if event.partial or event.isolation_scope != scope or event.error_code:
        return False
    return (
        bool(extract_text_from_content(event.content).strip())
        and event.is_final_response()
        and not event.get_function_calls()
    )
