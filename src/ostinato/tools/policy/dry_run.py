"""Dry runs: what a policy would have stopped of the calls in recorded sessions."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from typing import Any, Literal, cast

from ...sessions.log.event_log import STATE_DELTA, EventRecord
from ...sessions.session import Session, log_of
from ...sessions.state import State
from .conditions import read_key
from .exact_numbers import Number
from .ledger import exceeds, read_amount
from .notes import POLICY
from .policy import Policy, asks_over, order_limits
from .rule import Rule
from .tool_request import ToolRequest
from .tool_source import write_source

_PAGE = 200
_REQUESTS = "adk_request_"
_ORIGINS = "ostinato:tools"  # written by the flow beside calls of servers' and documents' tools
_TRANSFER = "transfer_to_agent"
_FUNCTION = "function"
_OWN_TOOLS = frozenset(("finish_task", "set_model_response"))

Outcome = Literal["deny", "ask", "limit", "over"]


@dataclass(frozen=True, slots=True)
class RecordedCall:
    """A tool call of a recorded session.

    Attributes:
      app_name, user_id, session_id, call_id: names the call.
      time: when the model made it, in seconds since 1970.
      request: the call as rules see it.
      is_assumed: whether the log does not tell the tool's source, so that it counts as a function.
    """

    app_name: str
    user_id: str
    session_id: str
    call_id: str
    time: float
    request: ToolRequest
    is_assumed: bool = False


@dataclass(frozen=True, slots=True)
class StoppedCall:
    """A call that the policy would not have let through at once.

    Attributes:
      call: the call.
      outcome: `deny` or `ask`; `limit` or `over` for one that exceeds a limit that denies or asks.
      rule: the id of the rule; None for the policy's default.
    """

    call: RecordedCall
    outcome: Outcome
    rule: str | None


@dataclass(slots=True)
class DryRun:
    """The result of a dry run.

    Attributes:
      sessions: how many sessions were read.
      calls: how many calls they hold.
      stopped: the calls that the policy would have stopped, oldest first.
      unknown_sources: how many calls have a source that the log does not tell; they count as
        calls of functions.
      idle_rules: the ids of the rules that fit none of the calls.
    """

    sessions: int = 0
    calls: int = 0
    stopped: list[StoppedCall] = field(default_factory=list[StoppedCall])
    unknown_sources: int = 0
    idle_rules: list[str] = field(default_factory=list[str])

    def count_by_rule(self) -> Counter[tuple[str | None, Outcome]]:
        """Return how many calls each rule would have stopped, by rule and outcome."""
        return Counter((one.rule, one.outcome) for one in self.stopped)

    def to_json(self) -> dict[str, Any]:
        """Return the result as JSON, with the place of each stopped call but no arguments."""
        return {
            "sessions": self.sessions,
            "calls": self.calls,
            "unknownSources": self.unknown_sources,
            "idleRules": self.idle_rules,
            "rules": [
                {"rule": rule, "outcome": outcome, "calls": count}
                for (rule, outcome), count in self.count_by_rule().most_common()
            ],
            "stopped": [
                {
                    "app": one.call.app_name,
                    "user": one.call.user_id,
                    "session": one.call.session_id,
                    "call": one.call.call_id,
                    "time": one.call.time,
                    "agent": one.call.request.agent,
                    "tool": one.call.request.tool,
                    "outcome": one.outcome,
                    "rule": one.rule,
                }
                for one in self.stopped
            ],
        }


async def dry_run(
    policy: Policy,
    service: Any,
    *,
    app_name: str | None = None,
    user_id: str | None = None,
    since: float = 0.0,
) -> DryRun:
    """Apply a policy to the calls in recorded sessions, in the order of their times.

    Nothing runs and nothing is stored. Each call that a rule asks about counts as stopped, whatever
    a person would have granted. A call without a recorded source counts as that of a function: the
    log names the sources of servers' and documents' tools, and of skills. Limits count what the
    policy would have let through. State that other sessions wrote, and calls of agents that ran as
    tools, are not in a session's log.

    Args:
      policy: the policy.
      service: a session service whose `list_sessions` takes pages, as Ostinato's do.
      app_name: only sessions of this app; None for all, where the service lists all.
      user_id: only sessions of this user.
      since: only calls made from this time on, in seconds since 1970.
    """
    result = DryRun()
    calls: list[RecordedCall] = []
    async for session in _iterate_sessions(service, app_name, user_id, since):
        result.sessions += 1
        initial: dict[str, Any] = {}
        if hasattr(service, "initial_state"):
            initial = await service.initial_state(session)
        calls += [call for call in read_calls(session, initial) if call.time >= since]
    calls.sort(key=lambda call: call.time)
    result.calls = len(calls)
    result.unknown_sources = sum(call.is_assumed for call in calls)
    counts = _Counts()
    idle = dict.fromkeys(rule.id for rule in policy.rules)
    for call in calls:
        for rule in policy.find_rules(call.request) if idle else ():
            idle.pop(rule.id, None)
        stopped = _judge(policy, call, counts)
        if stopped is not None:
            result.stopped.append(stopped)
    result.idle_rules = [*idle]
    return result


async def _iterate_sessions(
    service: Any, app_name: str | None, user_id: str | None, since: float
) -> AsyncIterator[Session]:
    """Yield the sessions that were changed since a time, loaded."""
    token: str | None = None
    while True:  # until the last page
        page = await service.list_sessions(
            app_name=app_name, user_id=user_id, page_size=_PAGE, page_token=token
        )
        for one in page.sessions:
            if one.last_update_time < since:
                continue
            session = await service.get_session(
                app_name=one.app_name, user_id=one.user_id, session_id=one.id
            )
            if session is not None:  # else deleted meanwhile
                yield session
        token = page.next_page_token
        if token is None:
            return


def read_calls(session: Session, initial: dict[str, Any]) -> Iterator[RecordedCall]:
    """Yield the tool calls of a session, each with the state before it.

    Args:
      session: the session.
      initial: the state with which it was created.
    """
    state = dict(initial)
    decided = _read_decided_sources(session)
    for record in log_of(session).records:
        if record.calls and record.author != "user":
            yield from _read_record(session, record, state, decided)
        if record.kinds & STATE_DELTA:
            state = dict(state)  # earlier calls keep theirs
            for key, value in record.event().actions.state_delta.items():
                if value is None:
                    state.pop(key, None)
                elif not key.startswith(State.TEMP_PREFIX):
                    state[key] = value


def _read_decided_sources(session: Session) -> dict[str, str]:
    """Return the sources of the calls on which a policy decided when they ran, by call id."""
    found: dict[str, str] = {}
    for record in log_of(session).records:
        if not record.responses or not record.has_metadata(POLICY):
            continue
        notes: Any = (record.event().custom_metadata or {}).get(POLICY)
        for call_id, note in cast(
            "dict[str, Any]", notes if isinstance(notes, dict) else {}
        ).items():
            source = read_key(note, "source")
            if isinstance(source, str):
                found[call_id] = source
    return found


def _read_record(
    session: Session, record: EventRecord, state: dict[str, Any], decided: dict[str, str]
) -> Iterator[RecordedCall]:
    """Yield the calls of one record.

    Args:
      session: the session.
      record: the record.
      state: the state before it.
      decided: sources that a policy's decisions name, by call id.
    """
    event = record.event()
    origins: Any = (event.custom_metadata or {}).get(_ORIGINS)
    for call in event.get_function_calls():
        name = call.name or ""
        if name.startswith(_REQUESTS) or name in _OWN_TOOLS:
            continue
        source = decided.get(call.id or "")
        if name == _TRANSFER:
            source = f"agent:{(call.args or {}).get('agent_name', '')}"
        origin: Any = None
        if isinstance(origins, dict):
            origin = cast("dict[str, Any]", origins).get(call.id or "")
        if isinstance(origin, dict):
            fields = cast("dict[str, Any]", origin)
            source = write_source(
                str(fields.get("kind")),
                str(fields.get("source", "")),
                str(fields.get("operation", "")),
            )
        seen = source or _FUNCTION
        request = ToolRequest(name, call.args or {}, record.author, seen, session.user_id, state)
        place = (session.app_name, session.user_id, session.id)
        yield RecordedCall(*place, call.id or "", record.timestamp, request, source is None)


class _Counts:
    """What limits have counted so far: time and amount of each call, by rule and subject."""

    def __init__(self) -> None:
        self._entries: dict[tuple[str, ...], deque[tuple[float, Number]]] = {}

    def allows(self, rule: Rule, call: RecordedCall) -> bool:
        """Return whether a rule's limit lets a call through."""
        limit = rule.limit
        amount = None if limit is None else read_amount(limit.sum, call.request.args)
        if limit is None or amount is None:
            return limit is None
        entries = self._read(rule, call)
        while entries and entries[0][0] <= call.time - limit.seconds:
            entries.popleft()
        if limit.count is not None and len(entries) >= limit.count:
            return False
        return not exceeds(limit, [*(value for _, value in entries), amount])

    def add(self, rule: Rule, call: RecordedCall) -> None:
        """Count a call."""
        amount = None if rule.limit is None else read_amount(rule.limit.sum, call.request.args)
        self._read(rule, call).append((call.time, amount or 0))

    def _read(self, rule: Rule, call: RecordedCall) -> deque[tuple[float, Number]]:
        by = "user" if rule.limit is None else rule.limit.by
        subject = {
            "app": (call.app_name,),
            "user": (call.app_name, call.user_id),
            "session": (call.app_name, call.user_id, call.session_id),
        }[by]
        return self._entries.setdefault((rule.id, *subject), deque())


def _judge(policy: Policy, call: RecordedCall, counts: _Counts) -> StoppedCall | None:
    """Return a call with what would have stopped it, or None."""
    decision = policy.decide(call.request)
    if decision.verdict != "allow":
        rule = None if decision.rule is None else decision.rule.id
        return StoppedCall(call, decision.verdict, rule)
    for rule in order_limits(decision.limits):
        if not counts.allows(rule, call):
            return StoppedCall(call, "over" if asks_over(rule) else "limit", rule.id)
    for rule in decision.limits:
        counts.add(rule, call)
    return None
