"""The contents processor: puts the conversation, as this agent sees it, into the request.

It caches one projection (`history/projection.py`) per session, agent and branch. The functions that
take Events serve programs that call them directly (Spec 2 §4).
"""

from __future__ import annotations

from collections.abc import Awaitable, Sequence
from functools import cache
from typing import Any

from pydantic import TypeAdapter

from ... import types
from ...context.invocation import InvocationContext
from ...errors import ModelUnavailableError
from ...events.event import Event
from ...models.llm_request import LlmRequest
from ...sessions.log.event_log import EventLog, EventRecord
from ._base_llm_processor import RequestEdit
from .history import arrangement, visibility
from .history import projection as _history
from .history.projection import Projection
from .history.result_trimming import trim_results
from .history.visibility import View
from .tool_calls.tool_bundle import is_request_exposed


@cache
def _contents_adapter() -> TypeAdapter[list[types.Content]]:
    return TypeAdapter(list[types.Content])


class _ContentLlmRequestProcessor(RequestEdit):
    """Replaces `contents` by the conversation (Spec 2 §3.6)."""

    def edit(
        self, invocation_context: InvocationContext, llm_request: LlmRequest
    ) -> Awaitable[None] | None:
        """Fill in the contents."""
        instructions = llm_request.contents
        keep_ids = _should_keep_ids(invocation_context.agent)
        if invocation_context.services.context_policy is None:
            llm_request.contents = build_contents(invocation_context, keep_ids=keep_ids)
        else:  # results are named by the ids of their calls
            llm_request.contents = build_contents(invocation_context, keep_ids=True)
            trim_results(invocation_context, llm_request, keep_ids)
        run = invocation_context.run_config
        if (run is not None and run.copy_contents) or is_request_exposed(invocation_context):
            llm_request.contents = copy_contents(llm_request.contents)
        if not instructions:
            return None
        return _add_instructions_to_user_content(invocation_context, llm_request, instructions)


request_processor = _ContentLlmRequestProcessor()


def build_contents(ctx: InvocationContext, *, keep_ids: bool = False) -> list[types.Content]:
    """Return a new list of the contents to send to the current agent's model.

    The Contents in it are shared with later requests; `copied` makes editable ones.

    Args:
      ctx: the run.
      keep_ids: whether client-made ids stay in calls and responses.
    """
    log, agent = ctx.log, ctx.agent
    quote = bool(ctx.run_config and ctx.run_config.quote_agents)
    start = 0
    if agent.include_contents == "none":
        start = find_turn_start(log, ctx.branch, agent.name, ctx.isolation_scope)
    scope, path = ctx.isolation_scope, None
    prompts = ctx.run_state.initial_prompts
    prompt = prompts.get(scope or ctx.node_path or "") if prompts else None
    told = [] if prompt is None else [prompt]
    if prompt is not None and scope is None:  # a node of a graph sees its prompt and its own run
        path, start = ctx.node_path, log.start_of(ctx.invocation_id) or 0
        if agent.include_contents == "default" and "include_contents" in agent.model_fields_set:
            view = View(agent.name, ctx.branch, keep_ids, quote, is_nested=ctx.services.is_nested)
            told = [*_read_past(ctx, view, start), prompt]
    view = View(agent.name, ctx.branch, keep_ids, quote, scope, path, ctx.services.is_nested)
    projection = log.views.get(view)
    if projection is None or projection.start != start:
        projection = log.views[view] = Projection(view, start)
    return [*told, *projection.update(log)]


def _read_past(ctx: InvocationContext, view: View, start: int) -> list[types.Content]:
    """Return what the agent of a node sees of the time before its run; built once for a run.

    Args:
      ctx: the node's run.
      view: the agent's view of the whole session.
      start: index of the first record of the invocation.
    """
    log = ctx.log
    run = (ctx.invocation_id, ctx.node_path)
    kept = log.views.get(("past", view))
    if kept is None or kept[0] != run:
        own = (n for n, one in enumerate(log.records[start:], start) if one.path == ctx.node_path)
        past = EventLog(log.records[: next(own, len(log.records))])
        kept = log.views["past", view] = (run, Projection(view).update(past))
    return kept[1]


def _should_keep_ids(agent: Any) -> bool:
    """Return whether an agent's model matches results to calls by id."""
    try:
        model = agent.canonical_model
    except (AttributeError, ModelUnavailableError):  # the call itself will raise it
        return False
    return getattr(model, "pairs_calls_by_id", False) is True  # a mock's would be a mock


def copy_contents(contents: list[types.Content]) -> list[types.Content]:
    """Return a deep copy of contents, for a hook that may edit them."""
    return _contents_adapter().validate_python(_contents_adapter().dump_python(contents))


def find_turn_start(
    log: EventLog, branch: str | None, agent_name: str, scope: str | None = None
) -> int:
    """Return the index of the newest record that starts a turn: of the user or another agent.

    A response to an earlier call does not start a turn, because it needs its call (Spec 2 §4.2).
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
    """Insert instruction contents before the user contents at the end of the conversation."""
    contents = llm_request.contents
    at = len(contents)
    while at > 0:
        content = contents[at - 1]
        if content.role != "user" or any(p.function_response for p in content.parts or ()):
            break
        at -= 1
    llm_request.contents = [*contents[:at], *instruction_contents, *contents[at:]]


# The specification gives the names below (Spec 2 §4); programs import them from here.
# pyright: reportUnusedFunction=false


def _make_log(events: Sequence[Event]) -> EventLog:
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
    return Projection(view).update(_make_log(events))


def _get_current_turn_contents(
    current_branch: str | None,
    events: Sequence[Event],
    agent_name: str = "",
    *,
    preserve_function_call_ids: bool = False,
) -> list[types.Content]:
    """Return the contents of the current turn only (Spec 2 §4.2)."""
    start = find_turn_start(_make_log(events), current_branch, agent_name)
    return _get_contents(
        current_branch,
        events[start:],
        agent_name,
        preserve_function_call_ids=preserve_function_call_ids,
    )


def _is_part_invisible(p: types.Part) -> bool:
    """Return whether a part does not count as content (Spec 2 §4.3)."""
    return not visibility.is_visible_part(p)


def _contains_empty_content(event: Event) -> bool:
    """Return whether an event has nothing to show to a model (Spec 2 §4.3)."""
    if event.actions.compaction or event.input_transcription or event.output_transcription:
        return False
    content = event.content
    return not (
        content and content.role and any(map(visibility.is_visible_part, content.parts or ()))
    )


def _is_event_belongs_to_branch(invocation_branch: str | None, event: Event) -> bool:
    """Return whether an event is visible on a branch (Spec 2 §4.3)."""
    return visibility.belongs_to_branch(invocation_branch, event.branch)


def _should_include_event_in_context(current_branch: str | None, event: Event) -> bool:
    """Return whether an event counts as context on a branch (Spec 2 §4.1 step 2)."""
    return (
        not _contains_empty_content(event)
        and _is_event_belongs_to_branch(current_branch, event)
        and not visibility.is_internal(EventRecord.of(event, fallback=repr))
    )


def _make_entries(events: Sequence[Event]) -> list[arrangement.ContentEntry]:
    return [
        arrangement.ContentEntry(
            event.content or types.Content(),
            frozenset(c.id for c in event.get_function_calls()),
            frozenset(r.id for r in event.get_function_responses()),
            event,
        )
        for event in events
    ]


def _entry_events(entries: Sequence[arrangement.ContentEntry]) -> list[Event]:
    return [
        e.source
        if e.content is (e.source.content or e.content)
        else e.source.model_copy(update={"content": e.content})
        for e in entries
    ]


def _merge_function_response_events(function_response_events: list[Event]) -> Event:
    """Merge response events into the first (Spec 2 §4.4)."""
    return _entry_events([arrangement.merge_responses(_make_entries(function_response_events))])[0]


def _rearrange_events_for_latest_function_response(events: list[Event]) -> list[Event]:
    """Move a response that ends the list next to its call (Spec 2 §4.1 step 6A)."""
    return _entry_events(arrangement.place_latest_response(_make_entries(events)))


def _rearrange_events_for_async_function_responses_in_history(events: list[Event]) -> list[Event]:
    """Put the latest response of each call directly after it (Spec 2 §4.1 step 6B)."""
    return _entry_events(arrangement.place_responses(_make_entries(events)))
