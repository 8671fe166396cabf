"""The origins of the tools that an event calls, stored with the event."""

from __future__ import annotations

from collections.abc import Mapping

from ....events.event import Event
from ....events.tool_origin import TOOL_ORIGINS, ToolOrigin
from ....tools.base_tool import BaseTool


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
        if tool is None:
            continue
        try:
            depends = type(tool).find_origin is not BaseTool.find_origin  # a call less if not
        except AttributeError:  # the class of a mock has none
            continue
        origin = tool.find_origin(call.args or {}) if depends else tool.tool_origin
        # The tool may be a mock.
        if isinstance(origin, ToolOrigin) and not origin.is_own and call.id:
            found[call.id] = origin.to_json()
            if tool.in_doubt != origin.in_doubt:
                found[call.id]["in_doubt"] = str(tool.in_doubt)
    if found:
        event.custom_metadata = {**(event.custom_metadata or {}), TOOL_ORIGINS: found}
