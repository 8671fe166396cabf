"""Recorded exchanges: what users sent to a session, and what the agents did with it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from ... import types
from ...events.event import Event
from ...sessions.log.resume import SEALED

FRAMEWORK_CALLS = "adk_request_"

Call = tuple[str, dict[str, Any]]
"""The name and the arguments of a call."""


@dataclass(slots=True)
class Step:
    """The calls of one model response.

    Attributes:
      branch: the branch of the agent, without ids; "" outside of parallel branches.
      calls: the calls.
    """

    branch: str
    calls: list[Call]


@dataclass(slots=True)
class RecordedSession:
    """A stored session.

    Attributes:
      app_name, user_id, session_id: its names.
      state: the state with which it began, and the values of its user's and app's keys.
      events: its events.
    """

    app_name: str
    user_id: str
    session_id: str
    state: dict[str, Any]
    events: list[Event]


@dataclass(slots=True)
class Exchange:
    """A message of a user, the answers that its agents asked for, and what the agents did.

    Attributes:
      session: the session.
      number: of the exchange in its session, from 0.
      messages: the user's events: the message first, then the answers to calls of this exchange.
      events: the events of the agents.
      start: index of the first message in the session.
      segments: each message with the events that it caused.
    """

    session: RecordedSession
    number: int
    start: int
    messages: list[Event] = field(default_factory=list[Event])
    events: list[Event] = field(default_factory=list[Event])
    segments: list[list[Event]] = field(default_factory=list[list[Event]])

    @property
    def invocation_id(self) -> str:
        """The id of the invocation that the message began."""
        return self.messages[0].invocation_id

    @property
    def history(self) -> list[Event]:
        """Copies of the events before the message."""
        return [one.model_copy(deep=True) for one in self.session.events[: self.start]]

    def initial_state(self) -> dict[str, Any]:
        """Return the session's state before the message."""
        state = dict(self.session.state)
        for event in self.session.events[: self.start]:
            for key, value in event.actions.state_delta.items():
                if key.startswith("temp:"):
                    continue
                if value is None:
                    state.pop(key, None)
                else:
                    state[key] = value
        return state

    def find_obstacle(self) -> str:
        """Return why the exchange cannot be replayed; "" if it can."""
        if not self.events:
            return "it has no answer"
        if _is_interrupted(self.events):
            return "it was interrupted"
        if any(event.error_code and not event.content for event in self.events):
            return "it ended with an error"
        if any(event.actions.requested_auth_configs for event in self.events):
            return "it asked for credentials"
        return ""

    def has_label(self, label: str) -> bool:
        """Return whether an event's metadata has a label.

        Args:
          label: a key, or `KEY=VALUE`.
        """
        key, given, value = label.partition("=")
        for event in (*self.messages, *self.events):
            found: Any = (event.custom_metadata or {}).get(key)
            if found is not None and (not given or str(found) == value):
                return True
        return False


def _is_interrupted(events: Sequence[Event]) -> bool:
    """Return whether a run ended before its agents had: by a cancellation, a death or an error."""
    if any(SEALED in (event.custom_metadata or {}) for event in events):
        return True
    answered = {one.id for event in events for one in event.get_function_responses()}
    for event in events:
        later = set(event.long_running_tool_ids or ())
        if any(one.id not in answered | later for one in event.get_function_calls()):
            return True
    last: dict[str, Event] = {}
    for event in events:
        if event.content is not None and event.content.parts:
            branch = event.branch or ""
            # What a branch did last does not count once an agent above it went on.
            last = {one: found for one, found in last.items() if not _is_below(one, branch)}
            last[branch] = event
    return any(not _ends_turn(event) for event in last.values())


def _is_below(branch: str, other: str) -> bool:
    return branch != other and (not other or branch.startswith(f"{other}."))


def _ends_turn(event: Event) -> bool:
    actions = event.actions
    asks = actions.requested_tool_confirmations or actions.requested_auth_configs
    return bool(event.is_final_response() or actions.escalate or asks or event.error_code)


def split_exchanges(session: RecordedSession) -> list[Exchange]:
    """Return the exchanges of a session, in order.

    An answer to a call belongs to the exchange that made the call, also where the answer began an
    invocation of its own.

    Args:
      session: the session.
    """
    exchanges: list[Exchange] = []
    by_invocation: dict[str, Exchange] = {}
    by_call: dict[str, Exchange] = {}
    for index, event in enumerate(session.events):
        if event.partial:
            continue
        if event.author == "user" and not event.node_info.path:
            if not event.content or not event.content.parts:
                continue
            answered = [by_call.get(one.id or "") for one in event.get_function_responses()]
            exchange = answered[0] if answered else by_invocation.get(event.invocation_id)
            if exchange is None:
                exchange = Exchange(session, len(exchanges), index)
                exchanges.append(exchange)
            exchange.messages.append(event)
            exchange.segments.append([event])
            by_invocation[event.invocation_id] = exchange
            continue
        exchange = by_invocation.get(event.invocation_id)
        if exchange is None:
            continue
        exchange.events.append(event)
        exchange.segments[-1].append(event)
        for call in event.get_function_calls():
            if call.id:
                by_call[call.id] = exchange
    return exchanges


def list_steps(events: Sequence[Event]) -> list[Step]:
    """Return the calls of each model response; requests to people are not calls of the model.

    The steps of parallel branches are put one branch after the other, so that their order in time
    does not count.

    Args:
      events: the events of agents.
    """
    by_branch: dict[str, list[Step]] = {}
    for event in events:
        calls: list[Call] = [
            (call.name or "", call.args or {})
            for call in event.get_function_calls()
            if not (call.name or "").startswith(FRAMEWORK_CALLS)
        ]
        if calls:
            branch = event.branch or ""
            by_branch.setdefault(branch, []).append(Step(name_branch(branch), calls))
    groups = sorted(by_branch.values(), key=lambda steps: (steps[0].branch, _first_key(steps)))
    return [step for steps in groups for step in steps]


def name_branch(branch: str) -> str:
    """Return a branch without the ids of the calls that began it.

    Args:
      branch: such as `root.helper@adk-1`.
    """
    return ".".join(one.partition("@")[0] for one in branch.split("."))


def _first_key(steps: list[Step]) -> str:
    return min(call_key(*call) for call in steps[0].calls)


def read_answer(events: Sequence[Event]) -> str:
    """Return the text of the last final response; of parallel branches, that of each branch.

    Args:
      events: the events of agents.
    """
    found: dict[str, str] = {}
    for event in events:
        texts = [
            part.text
            for part in (event.content.parts if event.content else None) or ()
            if part.text and not part.thought
        ]
        if texts and event.is_final_response():
            found[event.branch or ""] = "".join(texts)
    last = found.pop("", None)  # that of the agent that the branches belong to
    if last is not None:
        return last
    return "\n".join(text for _, text in sorted((name_branch(k), v) for k, v in found.items()))


def call_key(name: str, args: Any) -> str:
    """Return text that is equal for equal calls.

    Args:
      name: the name.
      args: the arguments.
    """
    return f"{name} {json.dumps(args or {}, sort_keys=True, ensure_ascii=False, default=str)}"


def list_answer_keys(events: Sequence[Event]) -> dict[str, str]:
    """Return a key for each call that a person could answer, by the call's id.

    Confirmations and credentials are known by the call that they are for.

    Args:
      events: the events of agents.
    """
    found: dict[str, str] = {}
    for event in events:
        for call in event.get_function_calls():
            args: dict[str, Any] = call.args or {}
            original: Any = args.get("originalFunctionCall")
            if (call.name or "").startswith(FRAMEWORK_CALLS) and isinstance(original, dict):
                inner: dict[str, Any] = original  # pyright: ignore[reportUnknownVariableType]
                key = call_key(f"{call.name}:{inner.get('name')}", inner.get("args"))
            else:
                key = call_key(call.name or "", args)
            found[call.id or ""] = key
    return found


def readdress_answers(
    message: types.Content, recorded: dict[str, str], replayed: dict[str, list[str]]
) -> types.Content | None:
    """Return a recorded answer with the ids of the calls that the replay made.

    Args:
      message: the recorded message.
      recorded: keys by recorded call id.
      replayed: ids of the replay's calls by key; an id that is used is taken out.

    Returns:
      None if the replay did not make a call that the message answers.
    """
    content = message.model_copy(deep=True)
    for part in content.parts or ():
        answer = part.function_response
        if answer is None:
            continue
        waiting = replayed.get(recorded.get(answer.id or "", ""), [])
        if not waiting:
            return None
        answer.id = waiting.pop(0)
    return content


def iterate_seconds(exchange: Exchange) -> Iterator[float]:
    """Yield the seconds from each message to the last event that it caused."""
    for segment in exchange.segments:
        yield max(0.0, segment[-1].timestamp - segment[0].timestamp)
