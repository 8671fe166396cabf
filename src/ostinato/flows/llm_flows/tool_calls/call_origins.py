"""The origins of the tools that an event calls: stored with the event, and compared when a call
runs in a later process, whose tool of that name may be another one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from .... import types
from ....context.context import Context
from ....context.invocation import InvocationContext
from ....context.readonly import ReadonlyContext
from ....events.event import Event
from ....events.tool_origin import OWN_TOOL, TOOL_ORIGINS, ToolOrigin, read_tool_origin
from ....tools.base_tool import BaseTool, find_outside_origin
from ....tools.base_toolset import BaseToolset
from ....tools.function_tool import make_rejection
from .tool_bundle import toolsets_of

if TYPE_CHECKING:
    from ....sessions.log.event_log import EventRecord


class RemovedTool(BaseTool):
    """Stands for a tool that the agent does not have, or no longer has.

    Args:
      name: the tool's name.
      origin: where it came from; None if that is not known.
      found: the origin of the other tool that the agent has under that name; None if it has none.
    """

    in_doubt = "at_most_once"  # nothing can run the call again
    asks_first = True  # nothing begins, so that the effects ledger has no row

    def __init__(
        self, name: str, origin: ToolOrigin | None = None, found: ToolOrigin | None = None
    ) -> None:
        super().__init__(name="", description="A tool that does not exist.")
        self.name = name  # set here, because the model may have made up a reserved name
        end = "; the call did not run."
        if found is not None:
            where = describe_other(found, origin)
            end = f": the agent's tool of that name is now one of {where}. The call did not run."
        self._error = f"Tool {describe_tool(name, origin)} is no longer available{end}"

    async def run_async(self, *, args: dict[str, Any], tool_context: Context) -> dict[str, Any]:
        """Return the error of the call."""
        confirmation = tool_context.tool_confirmation
        if confirmation is not None and not confirmation.confirmed:
            return make_rejection(confirmation)
        return {"error": self._error}


def record_origins(event: Event, tools: Mapping[str, BaseTool]) -> None:
    """Record on an event where its calls' tools come from, unless they are the program's own.

    So people and pages see it in the log, also in a process without the agent. A resumed run reads
    there which policy the tool had, as a server may have changed its hints since.

    Args:
      event: the event; its calls have ids.
      tools: tools by name.
    """
    found: dict[str, dict[str, str]] = {}
    for call in event.get_function_calls():
        tool = tools.get(call.name or "")
        origin = None if tool is None else find_outside_origin(tool, call.args or {})
        if tool is not None and origin is not None and call.id:
            found[call.id] = origin.to_json()
            if tool.in_doubt != origin.in_doubt:
                found[call.id]["in_doubt"] = str(tool.in_doubt)
    if found:
        event.custom_metadata = {**(event.custom_metadata or {}), TOOL_ORIGINS: found}


def find_call_origin(call_id: str, record: EventRecord) -> ToolOrigin:
    """Return where the tool of a call came from when the model called it.

    The events of the program's own tools record nothing, nor do those of google-adk and of earlier
    versions: a tool from outside runs none of their open calls.

    Args:
      call_id: the call.
      record: the record that holds it.
    """
    found = None
    if record.has_metadata(TOOL_ORIGINS):
        found = read_tool_origin(record.event(), call_id)
    return found or OWN_TOOL


def describe_tool(name: str, origin: ToolOrigin | None) -> str:
    """Return a tool's name with its source, as errors name it."""
    source = "" if origin is None else origin.source_text
    return f"{name!r} of {source}" if source else repr(name)


def describe_other(found: ToolOrigin, wanted: ToolOrigin | None) -> str:
    """Return where the tool is from that has the name of another one, as errors name it.

    Args:
      found: its origin.
      wanted: the origin of the other one; None if that is not known.
    """
    where = found.source_text or "the program"
    if wanted is None or found.source_text != wanted.source_text:
        return where
    return (
        f"{where} {'under another name' if found.place == wanted.place else 'at another address'}"
    )


def is_other_tool(
    agent: Any, recorded: ToolOrigin, call: types.FunctionCall, tool: BaseTool
) -> bool:
    """Return whether a tool is another one than the tool that was called by its name.

    Args:
      agent: the agent.
      recorded: the origin of the tool that was called; see `find_call_origin`.
      call: the call.
      tool: the tool that the agent has under that name now.
    """
    now = find_outside_origin(tool, call.args or {}) or OWN_TOOL
    if not recorded.is_same_tool(now) or recorded.place != now.place:
        return True
    if recorded.address == now.address:
        return False
    # Its server has other settings now, unless the agent still has that server beside this one.
    return find_source(agent, recorded) is not None


def find_source(agent: Any, origin: ToolOrigin) -> BaseToolset | None:
    """Return the agent's toolset of the server that an origin names, or None."""
    for toolset in toolsets_of(agent.tools):
        if toolset.is_source_of(origin):
            return toolset
    return None


async def is_unreachable(ctx: InvocationContext, agent: Any, origin: ToolOrigin) -> bool:
    """Return whether the agent has the toolset of an origin, and its server cannot be reached."""
    source = find_source(agent, origin)
    if source is None:
        return False
    try:
        await source.get_tools_with_prefix(ReadonlyContext(ctx))
    except Exception:  # boundary: whatever it is, the tools cannot be listed
        return True
    return False


def find_removed(
    ctx: InvocationContext,
    calls: Sequence[types.FunctionCall],
    tools: Mapping[str, BaseTool],
) -> dict[str, RemovedTool]:
    """Return stand-ins for the tools of calls in the log whose names other tools have now.

    Args:
      ctx: the run.
      calls: the calls.
      tools: the agent's tools by name.

    Returns:
      The stand-ins by call id.
    """
    found: dict[str, RemovedTool] = {}
    for call in calls:
        name, call_id = call.name or "", call.id or ""
        tool = tools.get(name)
        record = None if tool is None else ctx.log.find_call(call_id)
        if tool is None or record is None:
            continue
        origin = find_call_origin(call_id, record)
        if is_other_tool(ctx.agent, origin, call, tool):
            other = None
            if not isinstance(tool, RemovedTool):
                other = find_outside_origin(tool, call.args or {}) or OWN_TOOL
            found[call_id] = RemovedTool(name, origin, other)
    return found


def find_own_tools(
    ctx: InvocationContext,
    calls: Sequence[types.FunctionCall],
    tools: Mapping[str, BaseTool],
) -> dict[str, Mapping[str, BaseTool]]:
    """Return, by call id, the tools for those calls that may not run the tool of their name.

    Args:
      ctx: the run.
      calls: the calls.
      tools: the agent's tools by name.
    """
    removed = find_removed(ctx, calls, tools)
    return {call_id: {**tools, tool.name: tool} for call_id, tool in removed.items()}
