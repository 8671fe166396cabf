"""Tools of live runs: streaming tools, the tool that stops them, and the end of a task."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import TYPE_CHECKING, Any

from .... import types
from ...._aborted_tool import ABORTS, as_tool_error
from ...._aclosing import Aclosing
from ....context.invocation import InvocationContext
from ....context.live_records import ActiveStreamingTool
from ....context.live_request_queue import LiveRequest, LiveRequestQueue
from ....models.llm_request import LlmRequest
from ....tools.base_tool import BaseTool

if TYPE_CHECKING:
    from ....context.context import Context as ToolContext

STOP_STREAMING = "stop_streaming"
TASK_COMPLETED = "task_completed"

_PENDING = "The function is running asynchronously and the results are pending."
_WHEN_DONE = (
    f"Once you have done what the user asked of you, as your description says, call the function "
    f"`{TASK_COMPLETED}`, so that the next agent can take over. Say nothing else with that call."
)


class StreamingTools:
    """The streaming tools of a live run (Spec 1 §17).

    Args:
      ctx: the run.
      group: runs their tasks.
      send: stores a tool's message and sends it to the model.
    """

    def __init__(
        self,
        ctx: InvocationContext,
        group: asyncio.TaskGroup,
        send: Callable[[types.Content], Awaitable[None]],
    ) -> None:
        self._ctx = ctx
        self._group = group
        self._send = send
        if ctx.active_streaming_tools is None:
            ctx.active_streaming_tools = {}
        self._active: dict[str, ActiveStreamingTool] = ctx.active_streaming_tools

    def input_of(self, tool: str) -> LiveRequestQueue:
        """Return the queue from which a tool reads the user's requests from now on."""
        entry = self._active.setdefault(tool, ActiveStreamingTool())
        entry.stream = entry.stream or LiveRequestQueue()
        return entry.stream

    def forward_request(self, request: LiveRequest) -> None:
        """Pass a request of the user on to the tools that listen."""
        for entry in self._active.values():
            if entry.stream is not None:
                entry.stream.send(request)

    def start(self, tool: str, results: AsyncGenerator[Any, None]) -> dict[str, Any]:
        """Send each of a tool's results to the model as it comes; return the call's response."""
        entry = self._active.setdefault(tool, ActiveStreamingTool())
        if entry.task is not None and not entry.task.done():
            return {"error": f"{tool} is running already; call {STOP_STREAMING} to end it first."}
        entry.task = self._group.create_task(self._run(tool, results))
        return {"status": _PENDING}

    async def stop(self, tool: str) -> dict[str, Any]:
        """Stop a tool; return the call's response."""
        entry = self._active.get(tool)
        if entry is None or entry.task is None or entry.task.done():
            return {"status": f"No active streaming function named {tool} found"}
        entry.task.cancel()
        await asyncio.wait([entry.task])
        return {"status": f"Successfully stopped streaming function {tool}"}

    def cancel(self) -> None:
        """Cancel all tools; their group waits for them."""
        for entry in self._active.values():
            if entry.task is not None:
                entry.task.cancel()

    async def _run(self, tool: str, results: AsyncGenerator[Any, None]) -> None:
        try:
            async with Aclosing(results) as stream:
                async for result in stream:
                    await self._send_text(f"Function {tool} returned: {result}")
        except (*ABORTS, Exception) as raised:  # boundary: the model may get a tool's error
            ordinary = isinstance(raised, Exception)
            error = raised if ordinary else as_tool_error(raised, f"Tool {tool!r}")
            if self._ctx.services.tool_errors != "feedback":
                error.add_note(
                    f"raised by streaming tool {tool!r} of agent {self._ctx.agent.name!r} "
                    f"(invocation {self._ctx.invocation_id})"
                )
                raise error from error.__cause__
            await self._send_text(f"Function {tool} failed: {type(error).__name__}: {error}")
        finally:
            self._active.pop(tool, None)

    async def _send_text(self, text: str) -> None:
        await self._send(types.Content(role="user", parts=[types.Part(text=text)]))


class StopStreaming(BaseTool):
    """Runs `stop_streaming`; the user's function of that name only describes it to the model.

    Args:
      streams: the tools that it can stop.
    """

    repeatable = True

    def __init__(self, streams: StreamingTools) -> None:
        super().__init__(name=STOP_STREAMING, description="Stops a streaming function.")
        self._streams = streams

    async def run_async(self, *, args: dict[str, Any], tool_context: ToolContext) -> Any:
        """Stop the function named by the model."""
        return await self._streams.stop(str(args.get("function_name")))


class TaskCompleted(BaseTool):
    """Lets the model of an agent in a sequence signal that its task is done."""

    repeatable = True

    def __init__(self) -> None:
        super().__init__(
            name=TASK_COMPLETED,
            description="Signals that the agent has completed the user's question or task.",
        )

    def _get_declaration(self) -> types.FunctionDeclaration:
        return types.FunctionDeclaration(name=self.name, description=self.description)

    async def process_llm_request(
        self, *, tool_context: ToolContext, llm_request: LlmRequest
    ) -> None:
        """Add the tool and the instruction for it."""
        llm_request.append_tools([self])
        llm_request.append_instructions([_WHEN_DONE])

    async def run_async(self, *, args: dict[str, Any], tool_context: ToolContext) -> Any:
        """Return the response to the call; the flow then ends the agent."""
        return "Task completion signaled."
