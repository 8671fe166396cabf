"""What callers and plugins pass to a run: metadata, state changes and changed events."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .. import types
from ..context.callbacks import plugin_answer
from ..context.invocation import InvocationContext
from ..context.run_config import RunConfig
from ..errors import InputValidationError, NothingToResumeError, StateSchemaError
from ..events.event import Event, NodeInfo
from ..events.event_actions import EventActions
from ..events.pending import EDITED_CALLS
from ..sessions.log.event_log import visible_indexes
from ..sessions.log.history import is_imported
from ..sessions.session import Session, copy_state, log_of
from ..sessions.state import SCOPED_PREFIXES, check_mapping, check_state
from ..sessions.store.keyed_requests import REQUEST_DIGEST
from ..types.record_template import shallow_copy

RESERVED_METADATA = "ostinato:"
"""Start of the keys of custom metadata that only the runtime writes."""


def check_run_config(config: Any) -> None:
    """Check that settings of a run are a RunConfig whose metadata has no key of the runtime.

    Args:
      config: what the caller gave; no settings are fine.

    Raises:
      InputValidationError: they are something else, or a key is the runtime's.
    """
    if config is None:
        return
    if not hasattr(config, "custom_metadata"):
        raise InputValidationError(
            f"run_config takes a RunConfig; got {type(config).__name__}: {config!r:.80}"
        )
    metadata: Mapping[str, Any] | None = config.custom_metadata
    for key in metadata or ():
        if key.startswith(RESERVED_METADATA) and key != REQUEST_DIGEST:
            raise InputValidationError(
                f"custom_metadata key {key!r} is reserved for the runtime; choose one that does "
                f"not start with {RESERVED_METADATA!r}."
            )


def check_resumable(session: Session, invocation_id: str, *, has_message: bool) -> None:
    """Check that an invocation can be resumed by its id.

    Args:
      session: the session.
      invocation_id: the invocation.
      has_message: whether a message resumes it; the check of its answers tells what is withdrawn.

    Raises:
      NothingToResumeError: the session has no such invocation, it was imported, or a rewind hides
        it.
    """
    log = log_of(session)
    start = log.start_of(invocation_id)
    if start is None:
        raise NothingToResumeError(
            f"Invocation {invocation_id!r} is not in session {session.id!r}: there is nothing to "
            "resume. To start a new invocation, leave invocation_id out."
        )
    if any(is_imported(record) for record in log.invocation(invocation_id)):
        raise NothingToResumeError(
            f"Invocation {invocation_id!r} of session {session.id!r} is imported history, which is "
            "never resumed. Send a message instead."
        )
    if not has_message and start not in visible_indexes(log, start):
        raise NothingToResumeError(
            f"Invocation {invocation_id!r} of session {session.id!r} was rewound: its calls would "
            "run again. Send its message anew instead."
        )


def check_state_delta(agent: Any, state_delta: dict[str, Any] | None) -> None:
    """Check a caller's state changes against the schema of the root.

    Args:
      agent: the root agent, or the agent that stands for a root node.
      state_delta: the changes.

    Raises:
      InputValidationError: a key is not declared, or its value does not fit.
    """
    if not state_delta:
        return
    check_mapping("state_delta", state_delta)
    schema = getattr(getattr(agent, "root_node", agent), "state_schema", None)
    if schema is None:
        return
    try:
        check_state(schema, state_delta)
    except StateSchemaError as error:
        raise InputValidationError(f"The state_delta was refused. {error}") from error


def copy_checked_state(event: Event) -> dict[str, Any]:
    """Return a copy of the state changes that a schema may bind."""
    delta = event.actions.state_delta
    return copy_state({k: v for k, v in delta.items() if not k.startswith(SCOPED_PREFIXES)})


def complete_changed_event(ctx: InvocationContext, changed: Event, event: Event) -> Event:
    """Return a plugin's event with the identity, call ids and unset fields of the original.

    Args:
      ctx: the run, which notes the calls that the plugin has changed.
      changed: the plugin's event.
      event: the event that it replaces.
    """
    original = vars(event)
    for name, value in vars(changed).items():
        if name in original and name not in changed.model_fields_set and _is_unset(value):
            setattr(changed, name, original[name])
    changed.id, changed.invocation_id = event.id, event.invocation_id
    changed.timestamp, changed.author = event.timestamp, changed.author or event.author
    own, calls = event.get_function_calls(), changed.get_function_calls()
    if len(own) == len(calls):
        for before, call in zip(own, calls, strict=True):
            call.id = before.id  # the run knows the call by it
    _note_edited_calls(ctx, event, changed)
    return changed


def _note_edited_calls(ctx: InvocationContext, event: Event, recorded: Event) -> None:
    """Note the calls that a plugin changed, for the request to a person and for a resume.

    The run executes the model's calls. After an approval or a crash, it executes the recorded ones.

    Args:
      ctx: the run.
      event: the event as the run has it.
      recorded: the event that the log gets; its custom metadata names the changed calls.
    """
    if event.partial:
        return
    own = {call.id: call for call in event.get_function_calls()}
    edited: dict[str, types.FunctionCall] = {}
    for call in recorded.get_function_calls():
        before = own.get(call.id)
        if call.id and before is not None:
            if (call.name, call.args or {}) != (before.name, before.args or {}):
                edited[call.id] = call
    if edited:
        ctx.run_state.edited_calls = {**(ctx.run_state.edited_calls or {}), **edited}
        metadata = recorded.custom_metadata or {}
        recorded.custom_metadata = {**metadata, EDITED_CALLS: [*edited]}


def _is_unset(value: Any) -> bool:
    if isinstance(value, EventActions):
        return value.is_empty()
    return not value.path if isinstance(value, NodeInfo) else value is None


def check_edited_state(ctx: InvocationContext, event: Event, before: dict[str, Any]) -> None:
    """Check a plugin's changes of an event's state delta against the schema of its author.

    Args:
      ctx: the run.
      event: the event after the plugin.
      before: the result of `copy_checked_state` before the plugin.

    Raises:
      StateSchemaError: a key is not declared, or its value does not fit.
    """
    after = copy_checked_state(event)
    edited = {k: v for k, v in after.items() if k not in before or before[k] != v}
    if not edited:
        return
    author = ctx.agent.root_agent.find_agent(event.author) or ctx.agent
    schema = shallow_copy(ctx, agent=author).state_schema
    if schema is None:  # the agent of a graph has the schema on its root node
        schema = getattr(getattr(author, "root_node", None), "state_schema", None)
    if schema is not None:
        check_state(schema, edited)


async def apply_event_hooks(
    ctx: InvocationContext, event: Event, config: RunConfig | None
) -> Event:
    """Let plugins change an event, and return the one that counts."""
    if config is not None and config.custom_metadata:
        event.custom_metadata = {**(event.custom_metadata or {}), **config.custom_metadata}
    if not ctx.plugin_manager.overrides("on_event_callback"):
        return event
    delta = copy_checked_state(event)
    changed = await plugin_answer(
        ctx.plugin_manager.run_on_event_callback(invocation_context=ctx, event=event),
        Event,
        "on_event_callback",
        ctx.agent.name,
    )
    if changed is not None and changed is not event:
        event = complete_changed_event(ctx, changed, event)
    check_edited_state(ctx, event, delta)
    return event
