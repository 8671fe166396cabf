"""What has to be true of a session once everything has settled."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Container, Mapping, Sequence
from typing import Any

from ...events.event import Event
from ...events.pending import CONFIRMATION, pending_calls
from ...events.visible_events import visible_events
from ...sessions.log.event_log import FINISH_TASK, is_task_of_graph
from ...sessions.log.resume import RERUN
from ...sessions.store.durable_store import Place
from ...workflow.tool_node import find_asking_call
from .process import Effect, World

Sent = Mapping[str, tuple[Place, asyncio.Task[Any]]]
"""The messages with their sessions and their callers' runs."""
_IN_DOUBT = "was interrupted and may have taken effect already"  # in the question to a person


class SettledSession:
    """Checks a session of a simulation in which nothing happens any more.

    Args:
      world: the world.
      place: the session.
      strict_effects: as for `simulate`.
    """

    def __init__(self, world: World, place: Place, strict_effects: bool) -> None:
        self._world, self._place, self._strict = world, place, strict_effects
        self._report = world.history.report
        self._events = world.history.events.get(place, [])
        parked = world.history.parked
        self._parked_calls = {
            call.id
            for event in self._events
            if event.invocation_id in parked
            for call in event.get_function_calls()
        }

    def check(self, sent: Sent) -> None:
        """Raise InvariantError if something is not as it has to be.

        Args:
          sent: the messages.
        """
        self._check_messages(sent)
        self._check_calls()
        self._check_effects()
        self._check_state()

    def check_effects_alone(self) -> None:
        """Check only what the tools of an agent did that is a tool itself.

        Its session is hidden and ends with the call, which a rewind or a cancellation may cut off.
        """
        self._check_effects()

    def _check_messages(self, sent: Sent) -> None:
        texts = Counter(_text_of(event) for event in self._events if event.author == "user")
        for text, (of, task) in sent.items():
            if of != self._place:
                continue
            if texts[text] > 1:
                raise self._report(f"doubled: message {text!r} is stored {texts[text]} times")
            ended = task.done() and not task.cancelled() and task.exception() is None
            if ended and not texts[text]:
                raise self._report(f"lost: message {text!r} was accepted and is not stored")

    def _check_calls(self) -> None:
        answered = {one.id for event in self._events for one in event.get_function_responses()}
        answered |= self._find_waiting_agents(answered)
        for event in self._events:
            waits = event.long_running_tool_ids or ()
            for call in event.get_function_calls():
                if call.id not in answered | self._parked_calls and call.id not in waits:
                    raise self._report(f"unanswered: call {call.id} of {call.name}")
        rows = self._world.store.rows_of(self._place) - self._find_paused()
        rows -= self._world.history.parked
        if rows:
            raise self._report(f"journal: rows of {sorted(rows)[0]} are left")

        self._check_approvals()

    def _find_waiting_agents(self, answered: set[str | None]) -> set[str | None]:
        """Return the calls of agents that are open as they may be.

        Such an agent, or one that it called, waits for an answer. A task may also have asked the
        user, or its caller has beside it, or it is behind one that has: messages go to the first
        one. A rewind may hide an open call.
        """
        delegates = self._world.delegates
        visible = visible_events(self._events)
        shown = {event.id for event in visible}
        pending = {one.event_id for one in pending_calls(self._events)}
        scopes: dict[str | None, list[Event]] = {}
        for event in visible:
            scopes.setdefault(event.isolation_scope, []).append(event)
        asking = {scope for scope, found in scopes.items() if pending & {one.id for one in found}}
        open_calls = [
            (event, call.id, delegates[event.author, call.name or ""] == "task")
            for event in self._events
            for call in event.get_function_calls()
            if call.id not in answered and (event.author, call.name) in delegates
        ]
        for event, call_id, is_task in reversed(open_calls):  # the inner ones first
            has_asked = is_task and call_id in scopes and _has_asked(scopes[call_id][-1])
            if call_id in asking or has_asked:
                asking |= {call_id, event.isolation_scope}
        found: set[str | None] = set()
        for event, call_id, is_task in open_calls:
            is_over = any(_ends_task(one) for one in scopes.get(call_id, ()))
            near = {event.isolation_scope, *found} if is_task else set[str | None]()
            waits = {call_id, *near} & asking
            if event.id not in shown or (waits and not is_over):
                found.add(call_id)
        return found

    def _find_paused(self) -> set[str]:
        """Return the invocations that waited for a person or a message, whose journals are kept."""
        tasks = {
            call.id: event.invocation_id
            for event in self._events
            for call in event.get_function_calls()
            if self._world.delegates.get((event.author, call.name or "")) == "task"
        }
        left = dict(tasks)  # by the end of the invocation that handed them over
        for event in self._events:
            for one in event.get_function_responses():
                if left.get(one.id) == event.invocation_id:
                    del left[one.id]
        return {*left.values()} | {
            event.invocation_id
            for event in self._events
            if event.long_running_tool_ids or (_is_of_task(event, tasks) and _has_asked(event))
        }

    def _check_approvals(self) -> None:
        """Check that a call whose question was answered has a response since.

        The call of a tool node has none: there, any later event of the node counts.
        """
        asked: dict[str, str] = {}
        unheard: set[str] = set()
        for event in visible_events(self._events):
            asked |= _asked_calls(event)
            for one in event.get_function_responses():
                if event.author == "user" and one.id in asked:
                    unheard.add(asked[one.id])
                unheard.discard(one.id or "")
            unheard.discard(_node_call_of(event))
        for call_id in sorted(unheard - self._parked_calls):
            raise self._report(f"unanswered: no run acted on the answer about call {call_id}")

    def _check_effects(self) -> None:
        events = self._events
        flagged = {i for event in events for i in (event.custom_metadata or {}).get(RERUN, ())}
        told = _doubtful_calls(events)
        marked = flagged | told | self._parked_calls
        calls = {call.id for event in events for call in event.get_function_calls()}
        invocations = {event.invocation_id for event in events}
        # A node whose tool raised runs again when it is resumed.
        errors = _count_node_errors(events)
        approved = _approved_calls(events)
        effects: dict[str, list[Effect]] = {}
        for effect in self._world.effects:
            if effect.session_id == self._place.session_id:
                effects.setdefault(effect.call_id, []).append(effect)
        for call_id, runs in effects.items():
            first = runs[0]
            known = invocations if first.node_of else calls
            if (first.node_of or call_id) not in known:
                raise self._report(f"effect: {first.tool} ran for call {call_id}, not in the log")
            if first.needs_approval and call_id not in approved:
                raise self._report(f"policy: {first.tool} ran without approval of {call_id}")
            if call_id in self._world.history.reopened:
                continue
            repeats = len(runs) - 1 - errors[call_id]
            if repeats > 0 and call_id not in marked and not first.repeatable:
                raise self._report(
                    f"repeated: {first.tool} ran {len(runs)} times for call {call_id}, and no "
                    "event says so"
                )
            # A body that was cut off may not have come to where it reads its key.
            ended = [one for one in runs if one.finished]
            unkeyed = not all(one.read_key for one in ended)
            if not ended and any(one.entered for one in runs):
                unkeyed = not any(one.read_key for one in runs)
            excused = first.repeatable or call_id in told
            if repeats > 0 and unkeyed and not excused and self._strict:
                raise self._report(
                    f"unkeyed: {first.tool} ran {len(runs)} times for one call and reads no key; "
                    "pass on tool_context.idempotency_key, or give the tool check= or in_doubt="
                )

    def _check_state(self) -> None:
        """Check that the stored state is what the events say, and that the session is readable."""
        expected: dict[str, Any] = {}
        for event in self._events:
            for key, value in event.actions.state_delta.items():
                if key.startswith("temp:"):
                    continue
                if value is None:
                    expected.pop(key, None)
                else:
                    expected[key] = value
        stored = self._world.history.read_stored(self._place)
        session = self._world.store.get_session_sync(**self._place._asdict())
        if session is None or [e.id for e in session.events] != [e.id for e in stored]:
            raise self._report(f"readable: {self._place.session_id} does not load as it was stored")
        own = {key for key in expected if ":" not in key}
        for key in sorted(own):
            if session.state.get(key) != expected[key]:
                raise self._report(
                    f"state: {key} is {session.state.get(key)!r} in the store, and the events say "
                    f"{expected[key]!r}"
                )


def _is_of_task(event: Event, tasks: Container[str | None]) -> bool:
    scope, path = event.isolation_scope, event.node_info.path
    return scope is not None and (scope in tasks or is_task_of_graph(scope, path))


def _approved_calls(events: Sequence[Event]) -> set[str]:
    asked: dict[str, str] = {}
    found: set[str] = set()
    for event in events:
        asked |= _asked_calls(event)
        for response in event.get_function_responses():
            answer = response.response or {}
            yes = bool(answer.get("confirmed" if response.name == CONFIRMATION else "result"))
            if event.author == "user" and response.id in asked and yes:
                found.add(asked.get(response.id or "", ""))
    return found


def _asked_calls(event: Event) -> dict[str, str]:
    """Return the tools' calls about which an event asks, by the ids of its questions."""
    asked: dict[str, str] = {}
    for call in event.get_function_calls():
        if call.name == CONFIRMATION:
            original: Any = (call.args or {}).get("originalFunctionCall") or {}
            asked[call.id or ""] = str(original.get("id"))
        elif find_asking_call(call):
            asked[call.id or ""] = find_asking_call(call)
    return asked


def _count_node_errors(events: Sequence[Event]) -> Counter[str]:
    """Return how often each call of a workflow's tool nodes ended with an error in the log."""
    return Counter(
        _node_call_of(event)
        for event in events
        if event.error_code and event.content is None and event.node_info.path
    )


def _node_call_of(event: Event) -> str:
    """Return the id that a call has whose tool is the node of an event."""
    return f"{event.invocation_id}:{event.node_info.path}"


def _doubtful_calls(events: Sequence[Event]) -> set[str]:
    """Return the calls about which a person was told that they may have taken effect already."""
    found: set[str] = set()
    for event in events:
        for call in event.get_function_calls():
            if call.name == CONFIRMATION and _IN_DOUBT in str(call.args):
                original: Any = (call.args or {}).get("originalFunctionCall") or {}
                found.add(str(original.get("id")))
            elif _IN_DOUBT in str(call.args):
                found.add(find_asking_call(call))
    return found


def _has_asked(last: Event) -> bool:
    """Return whether an event of a task leaves the next word to the user; so does an error."""
    is_text = not last.get_function_calls() and bool(_text_of(last))
    return last.author != "user" and (is_text or bool(last.error_code))


def _ends_task(event: Event) -> bool:
    """Return whether an event holds the output of a task."""
    responses = event.get_function_responses()
    return event.output is not None and any(one.name == FINISH_TASK for one in responses)


def _text_of(event: Event) -> str:
    parts = (event.content.parts if event.content else None) or ()
    return "".join(part.text or "" for part in parts)
