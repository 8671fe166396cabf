"""The contents processor: puts the conversation, as this agent sees it, into the request.

The work is done in `_history.py`; this file keeps one projection per session, agent and branch.
The functions that take Events serve programs that call them directly (Spec 2 §4).
"""

from __future__ import annotations

from collections.abc import Awaitable, Sequence
from functools import cache

from pydantic import TypeAdapter

from ... import types
from ...context.invocation import InvocationContext
from ...events.event import Event
from ...models.llm_request import LlmRequest
from ...sessions.event_log import EventLog, EventRecord
from . import _history
from ._base_llm_processor import RequestEdit
from ._history import Projection, View
from ._tool_bundle import hands_out_request


@cache
def _adapter() -> TypeAdapter[list[types.Content]]:
    return TypeAdapter(list[types.Content])


class _ContentLlmRequestProcessor(RequestEdit):
    """Replaces `contents` by the conversation (Spec 2 §3.6)."""

    def edit(
        self, invocation_context: InvocationContext, llm_request: LlmRequest
    ) -> Awaitable[None] | None:
        """Fill in the contents."""
        instructions = llm_request.contents
        llm_request.contents = request_contents(invocation_context)
        run = invocation_context.run_config
        if (run is not None and run.copy_contents) or hands_out_request(invocation_context):
            llm_request.contents = copied(llm_request.contents)
        if not instructions:
            return None
        return _add_instructions_to_user_content(invocation_context, llm_request, instructions)


request_processor = _ContentLlmRequestProcessor()


def request_contents(ctx: InvocationContext, *, keep_ids: bool = False) -> list[types.Content]:
    """Return a fresh list of the contents that the current agent is to be sent.

    The Contents in it are shared with later requests; `copied` gives editable ones.

    Args:
      ctx: the run.
      keep_ids: whether ids made by the client stay in calls and responses.
    """
    log, agent = ctx.log, ctx.agent
    quote = bool(ctx.run_config and ctx.run_config.quote_agents)
    start = 0
    if agent.include_contents == "none":
        start = current_turn_start(log, ctx.branch, agent.name, ctx.isolation_scope)
    scope, path = ctx.isolation_scope, None
    told = ctx.ports.told.get(scope or ctx.node_path or "") if ctx.ports.told else None
    if told is not None and scope is None:  # a node of a graph: it was told its input, and sees
        path, start = ctx.node_path, log.start_of(ctx.invocation_id) or 0  # this one run of it
    view = View(agent.name, ctx.branch, keep_ids, quote, scope, path)
    projection = log.views.get(view)
    if projection is None or projection.start != start:
        projection = log.views[view] = Projection(view, start)
    seen = projection.update(log)
    return list(seen) if told is None else [told, *seen]


def copied(contents: list[types.Content]) -> list[types.Content]:
    """Return a deep copy of contents, for a hook that may edit them."""
    return _adapter().validate_python(_adapter().dump_python(contents))


def current_turn_start(
    log: EventLog, branch: str | None, agent_name: str, scope: str | None = None
) -> int:
    """Index of the newest record that starts a turn: from the user or from another agent.

    An answer to an earlier call does not start a turn, its call would be cut off (Spec 2 §4.2).
    """
    for index in range(len(log.records) - 1, -1, -1):
        record = log.records[index]
        if record.author == agent_name or (record.author == "user" and record.responses):
            continue
        view = View(agent_name, branch, scope=scope)
        if _history.make_entry(record, view, set()) is not None:
            return index
    return 0


async def _add_instructions_to_user_content(
    invocation_context: InvocationContext,
    llm_request: LlmRequest,
    instruction_contents: list[types.Content],
) -> None:
    """Insert instruction contents before the user contents that end the conversation."""
    contents = llm_request.contents
    at = len(contents)
    while at > 0:
        content = contents[at - 1]
        if content.role != "user" or any(p.function_response for p in content.parts or ()):
            break
        at -= 1
    llm_request.contents = [*contents[:at], *instruction_contents, *contents[at:]]


# The names below are given by the specification (Spec 2 §4); programs import them from here.
# pyright: reportUnusedFunction=false


def _log(events: Sequence[Event]) -> EventLog:
    return EventLog(EventRecord.of(e, fallback=repr) for e in events)


def _get_contents(
    current_branch: str | None,
    events: Sequence[Event],
    agent_name: str = "",
    *,
    preserve_function_call_ids: bool = False,
) -> list[types.Content]:
    """Return the contents of events as an agent on a branch sees them (Spec 2 §4.1)."""
    view = View(agent_name, current_branch, preserve_function_call_ids)
    return Projection(view).update(_log(events))


def _get_current_turn_contents(
    current_branch: str | None,
    events: Sequence[Event],
    agent_name: str = "",
    *,
    preserve_function_call_ids: bool = False,
) -> list[types.Content]:
    """Return the contents of the current turn only (Spec 2 §4.2)."""
    start = current_turn_start(_log(events), current_branch, agent_name)
    return _get_contents(
        current_branch,
        events[start:],
        agent_name,
        preserve_function_call_ids=preserve_function_call_ids,
    )


def _is_part_invisible(p: types.Part) -> bool:
    """Tell whether a part does not count as content (Spec 2 §4.3)."""
    return not _history.is_visible_part(p)


def _contains_empty_content(event: Event) -> bool:
    """Tell whether an event has nothing to show to a model (Spec 2 §4.3)."""
    if event.actions.compaction or event.input_transcription or event.output_transcription:
        return False
    content = event.content
    return not (
        content and content.role and any(map(_history.is_visible_part, content.parts or ()))
    )


def _is_event_belongs_to_branch(invocation_branch: str | None, event: Event) -> bool:
    """Tell whether an event is seen on a branch (Spec 2 §4.3)."""
    return _history.belongs_to_branch(invocation_branch, event.branch)


def _should_include_event_in_context(current_branch: str | None, event: Event) -> bool:
    """Tell whether an event counts as context on a branch (Spec 2 §4.1 step 2)."""
    return (
        not _contains_empty_content(event)
        and _is_event_belongs_to_branch(current_branch, event)
        and not _history.is_internal(EventRecord.of(event, fallback=repr))
    )


def _entries(events: Sequence[Event]) -> list[_history.Entry]:
    return [
        _history.Entry(
            event.content or types.Content(),
            frozenset(c.id for c in event.get_function_calls()),
            frozenset(r.id for r in event.get_function_responses()),
            event,
        )
        for event in events
    ]


def _events(entries: Sequence[_history.Entry]) -> list[Event]:
    return [
        e.source
        if e.content is (e.source.content or e.content)
        else e.source.model_copy(update={"content": e.content})
        for e in entries
    ]


def _merge_function_response_events(function_response_events: list[Event]) -> Event:
    """Merge response events into the first (Spec 2 §4.4)."""
    return _events([_history.merge_responses(_entries(function_response_events))])[0]


def _rearrange_events_for_latest_function_response(events: list[Event]) -> list[Event]:
    """Move a response that ends the list next to its call (Spec 2 §4.1 step 6A)."""
    return _events(_history.place_latest_response(_entries(events)))


def _rearrange_events_for_async_function_responses_in_history(events: list[Event]) -> list[Event]:
    """Put the latest response of each call behind it (Spec 2 §4.1 step 6B)."""
    return _events(_history.place_responses(_entries(events)))
