"""LangGraphAgent: a compiled LangGraph graph as an agent (extra `langgraph`).

LangGraph and LangChain are imported when such an agent runs.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from typing import Any

from pydantic import SkipValidation, field_validator

from .. import types
from .._aclosing import Aclosing
from ..context.invocation import InvocationContext
from ..context.run_config import StreamingMode
from ..events.event import Event
from ._graph_messages import GraphTurn, answer_fields, find_question, select_conversation
from .base_agent import BaseAgent


class LangGraphAgent(BaseAgent):
    """An agent that runs a compiled LangGraph graph whose state has `messages` (FEATURES row 77).

    The graph's thread is the session. A graph with a checkpointer keeps the conversation and gets
    the user's messages since its last reply; one without gets the whole conversation between the
    user and this agent. The last message is the answer; an `interrupt` is a question to the user,
    and the next message its answer.

    After a crash the run resumes from the graph's last checkpoint.

    Attributes:
      graph: the compiled graph.
      instruction: system message at the beginning of the conversation; it is not a template.
    """

    graph: SkipValidation[Any]
    instruction: str = ""

    @field_validator("graph", mode="after")
    @classmethod
    def _check_graph(cls, value: Any) -> Any:
        if not callable(getattr(value, "ainvoke", None)):
            hint = "; call its `compile()` first" if hasattr(value, "compile") else ""
            raise ValueError(f"graph takes a compiled graph; got {type(value).__name__}{hint}")
        return value

    async def _run_async_impl(self, ctx: InvocationContext) -> AsyncGenerator[Event, None]:
        resume = ctx.run_state.resume
        if resume is not None and resume.take(self.name, ctx.branch).kind == "ended":
            return
        config = {"configurable": {"thread_id": ctx.session.id}}
        try:
            async with Aclosing(self._run_graph(ctx, config)) as events:
                async for event in events:
                    yield event
        except Exception as error:  # boundary: add the place in the agent tree to the error
            error.add_note(
                f"raised by the graph of agent {self.name!r} "
                f"(thread {ctx.session.id!r}, invocation {ctx.invocation_id})"
            )
            raise

    async def _run_graph(
        self, ctx: InvocationContext, config: dict[str, Any]
    ) -> AsyncGenerator[Event, None]:
        """Run the graph on the messages that it lacks, and yield its answer."""
        turn = GraphTurn(
            select_conversation(ctx.session.events, self.name, ctx.branch),
            self.instruction,
            is_resumed=ctx.run_state.is_resumed,
        )
        blocking, given = False, turn.all_messages()
        if getattr(self.graph, "checkpointer", None):
            try:
                snapshot = await self.graph.aget_state(config)
            except NotImplementedError:  # a checkpointer without async methods
                blocking = True
                snapshot = await asyncio.to_thread(self.graph.get_state, config)
            given = turn.new_messages(snapshot)
            if turn.lost_reply is not None:
                yield self._make_event(ctx, answer_fields(turn.lost_reply))
                return
        streams = ctx.run_config is not None and (
            ctx.run_config.streaming_mode is StreamingMode.SSE
        )
        if blocking:
            values = await asyncio.to_thread(self.graph.invoke, given, config)
        elif not streams:
            values = await self.graph.ainvoke(given, config)
        else:
            values: Any = {}
            run = self.graph.astream(given, config, stream_mode=["messages", "values"])
            async with Aclosing(run) as steps:
                async for mode, step in steps:
                    if mode == "values":
                        values = {**values, **step}
                    elif (text := _chunk_text(step[0])) is not None:
                        yield self._make_event(
                            ctx, {"content": _text_content(text), "partial": True}
                        )
        question = find_question(values)
        if question is not None:
            yield self._make_event(ctx, {"content": _text_content(question)})
        else:
            messages = values.get("messages") or [None]
            yield self._make_event(ctx, answer_fields(messages[-1]))

    def _make_event(self, ctx: InvocationContext, fields: dict[str, Any]) -> Event:
        return Event(invocation_id=ctx.invocation_id, author=self.name, branch=ctx.branch, **fields)


def _text_content(text: str) -> types.Content:
    return types.Content(role="model", parts=[types.Part(text=text)])


def _chunk_text(message: Any) -> str | None:
    """Return the text of a streamed chunk; None for a full message or one without text."""
    if not type(message).__name__.endswith("Chunk"):
        return None
    content = answer_fields(message).get("content")
    return content.parts[0].text if content is not None and content.parts else None
