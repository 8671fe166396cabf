"""Recorded exchanges: what users sent to a session, and what the agents did with it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from ... import types
from ...events.event import Event
from ...events.node_call import NodeCallRecord, name_path
from ...events.request_input import REQUEST_INPUT
from ...sessions.log.event_log import EventLog, EventRecord, visible_indexes
from ...sessions.log.resume import SEALED
from ..event_conversion import read_final_output

FRAMEWORK_CALLS = "adk_request_"
_TICK = 1e-6  # seconds between events that are put in front of a message

Call = tuple[str, dict[str, Any]]
"""The name and the arguments of a call."""


@dataclass(slots=True)
class Step:
    """The calls of one model response.

    Attributes:
      branch: the branch of the agent, without ids; "" outside of parallel branches.
      calls: the calls.
      place: the path of the agent that called, or of the node of a workflow, without ids.
      is_node: whether a node of a workflow called, and no model.
    """

    branch: str
    calls: list[Call]
    place: str = ""
    is_node: bool = False


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
      is_rewound: whether a rewind hides the message.
    """

    session: RecordedSession
    number: int
    start: int
    messages: list[Event] = field(default_factory=list[Event])
    events: list[Event] = field(default_factory=list[Event])
    segments: list[list[Event]] = field(default_factory=list[list[Event]])
    is_rewound: bool = False

    @property
    def invocation_id(self) -> str:
        """The id of the invocation that the message began."""
        return self.messages[0].invocation_id

    @property
    def history(self) -> list[Event]:
        """Copies of the events before the message."""
        return [one.model_copy(deep=True) for one in self.session.events[: self.start]]

    def list_between(self, number: int, replayed: Sequence[Event]) -> list[Event]:
        """Return copies of the events of other exchanges between two messages of this one.

        The agents read them before they continue. Times follow those of the replay, since a
        compaction names what it covers by times.

        Args:
          number: of the later message, from 1.
          replayed: the events of the replay so far, without the history.
        """
        recorded = self.session.events
        places = {id(event): index for index, event in enumerate(recorded)}
        first, last = (places[id(one)] for one in self.messages[number - 1 : number + 1])
        own = set(map(id, (*self.messages, *self.events)))
        found = [one for one in recorded[first:last] if id(one) not in own and not one.partial]
        known, taken = recorded[self.start : last], set(map(id, found))
        times = [one.timestamp for one in replayed]
        pairs = zip([one.timestamp for one in known if id(one) not in taken], times, strict=False)
        moved = [
            *pairs,
            *((one.timestamp, times[-1] + n * _TICK) for n, one in enumerate(found, 1)),
        ]
        copies = [one.model_copy(deep=True) for one in found]
        for copy in copies:
            copy.timestamp = _move_time(copy.timestamp, moved)
            covered = copy.actions.compaction
            if covered is not None:
                covered.start_timestamp = _move_time(covered.start_timestamp, moved)
                covered.end_timestamp = _move_time(covered.end_timestamp, moved)
        return copies

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
        if self.is_rewound:
            return "it was rewound"
        if not self.events:
            return "it has no answer"
        failure = next((one for one in self.events if one.error_code and not one.content), None)
        if failure is not None:  # before an interruption: an error closes no calls beside it
            message = " ".join((failure.error_message or "").split())
            return f"it failed with {failure.error_code}" + (f": {message:.100}" if message else "")
        if _is_interrupted(self.events):
            return "it was interrupted"
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


def _move_time(time: float, moved: Sequence[tuple[float, float]]) -> float:
    """Return the time in the replay of what was recorded last before a time; times of the history
    stay."""
    return max((new for old, new in moved if old <= time), default=time)


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
    log = EventLog(EventRecord.of(event) for event in session.events)
    visible = set(visible_indexes(log))
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
                exchange.is_rewound = index not in visible
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
    """Return the calls of each model response, and the call of each tool node.

    Requests to people are not calls of the model. The steps of parallel branches are put one branch
    after the other, so that their order in time does not count; so are those of nodes, which may
    run side by side in one branch.

    Args:
      events: the events of agents.
    """
    by_branch: dict[str, list[Step]] = {}
    by_node: dict[str, list[Step]] = {}
    for event in events:
        node_call = NodeCallRecord.of(event)
        if node_call is not None:
            made = [(node_call.tool, node_call.args)]
            step = Step(name_branch(event.branch or ""), made, node_call.place, is_node=True)
            by_node.setdefault(node_call.path, []).append(step)
        calls: list[Call] = [
            (call.name or "", call.args or {})
            for call in event.get_function_calls()
            if not (call.name or "").startswith(FRAMEWORK_CALLS)
        ]
        if calls:
            branch = event.branch or ""
            by_branch.setdefault(branch, []).append(
                Step(name_branch(branch), calls, place_of_event(event))
            )
    groups = sorted(by_branch.values(), key=lambda steps: (steps[0].branch, _first_key(steps)))
    groups += sorted(by_node.values(), key=lambda steps: (steps[0].place, _first_key(steps)))
    return [step for steps in groups for step in steps]


def place_of_event(event: Event) -> str:
    """Return the path of the agent of an event, without ids; its name if the event has no path.

    Args:
      event: an event of an agent.
    """
    return place_of_agent(event.author, event.node_info.path)


def place_of_agent(name: str, path: str) -> str:
    """Return the path of an agent without ids; its name if it has no path.

    Args:
      name: the agent.
      path: where it runs: segments `name@run_id`, joined by `/`; may be empty.
    """
    place = name_path(path)
    if not place or place == name or place.endswith(f"/{name}"):
        return place or name
    return f"{place}/{name}"


def name_branch(branch: str) -> str:
    """Return a branch without the ids of the calls that began it.

    Args:
      branch: such as `root.helper@adk-1`.
    """
    return ".".join(one.partition("@")[0] for one in branch.split("."))


def have_paths(steps: Sequence[Step]) -> bool:
    """Return whether the steps of agents have paths; those of older recordings have names only.

    Args:
      steps: the steps of a run.
    """
    return any("/" in step.place for step in steps if not step.is_node)


def place_of_step(step: Step, has_paths: bool) -> str:
    """Return where a step is, for comparison with another run.

    Args:
      step: the step.
      has_paths: whether the agents of both runs have paths.
    """
    return step.place if has_paths or step.is_node else step.place.rpartition("/")[2]


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


def read_output(events: Sequence[Event]) -> str:
    """Return the output of a workflow as JSON text, equal for equal outputs; "" without one.

    Of several nodes that end the workflow, the last output of each counts; their order does not.

    Args:
      events: the events of agents.
    """
    found: dict[str, Any] = {}
    for event in events:
        output = read_final_output(event)
        if output is not None:
            plain = " ".join(output.split()) if isinstance(output, str) else output
            found[name_path(event.node_info.path)] = plain
    if not found:
        return ""
    return _to_text(found if len(found) > 1 else next(iter(found.values())))


def call_key(name: str, args: Any) -> str:
    """Return text that is equal for equal calls; 5 and 5.0 are one number in JSON.

    Args:
      name: the name.
      args: the arguments.
    """
    return f"{name} {_to_text(args or {})}"


def _to_text(value: Any) -> str:
    return json.dumps(_unify_numbers(value), sort_keys=True, ensure_ascii=False, default=str)


def _unify_numbers(value: Any) -> Any:
    """Return a value of JSON in which each whole number is an int."""
    if isinstance(value, dict):
        members = cast("dict[Any, Any]", value)
        return {key: _unify_numbers(one) for key, one in members.items()}
    if isinstance(value, list | tuple):
        return [_unify_numbers(one) for one in cast("Sequence[Any]", value)]
    return int(value) if isinstance(value, float) and value.is_integer() else value


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
                if call.name == REQUEST_INPUT:  # its id is another in each run
                    args = {name: value for name, value in args.items() if name != "interruptId"}
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
