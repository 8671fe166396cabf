"""Spans of workflow nodes that a program runs by itself."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from .._optional import need
from .span_attributes import tracer

if TYPE_CHECKING:
    from opentelemetry import context as otel

    from ..context.context import Context
    from ..events.event import Event

_EXTRA = "otel"


@dataclass
class TelemetryContext:
    """The span of a node and the events that belong to it.

    Attributes:
      otel_context: of OpenTelemetry, with the span as the current one.
    """

    otel_context: otel.Context
    _associated_event_ids: list[str] = field(default_factory=list[str])

    def add_event(self, event: Event) -> None:
        """Note in the span that an event belongs to it."""
        self._associated_event_ids.append(event.id)

    @property
    def associated_event_ids(self) -> list[str]:
        """The ids of the events that were added."""
        return self._associated_event_ids


@asynccontextmanager
async def start_as_current_node_span(
    context: Context, node: Any
) -> AsyncGenerator[TelemetryContext]:
    """Open the span of a node for the length of an `async with` block.

    It is called `invoke_workflow NAME` or `invoke_node NAME`; an agent has a span of its own, so
    none is opened for it.

    Args:
      context: the node's context.
      node: a workflow, an agent or another node.
    """
    contexts = need("opentelemetry.context", extra=_EXTRA)
    if hasattr(node, "sub_agents"):
        yield TelemetryContext(contexts.get_current())
        return
    operation = "invoke_workflow" if hasattr(node, "edges") else "invoke_node"
    attributes = {
        "gen_ai.operation.name": operation,
        "gen_ai.conversation.id": context.session.id,
    }
    if operation == "invoke_workflow":
        attributes["gen_ai.workflow.name"] = node.name
    with tracer.start_as_current_span(f"{operation} {node.name}", attributes=attributes) as span:
        noted = TelemetryContext(contexts.get_current())
        try:
            yield noted
        finally:
            if noted.associated_event_ids:
                ids = noted.associated_event_ids
                span.set_attribute("gcp.vertex.agent.associated_event_ids", ids)
