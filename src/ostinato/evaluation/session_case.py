"""A stored session, or one of its turns, as a case of an eval set."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from .. import _clock, types
from ..errors import InputValidationError
from ..events.event import Event
from ..events.pending import CONFIRMATION
from ..sessions.session import Session
from .eval_case import EvalCase, Invocation, SessionInput
from .event_conversion import convert_events, has_message, visible_events
from .llm_as_judge_utils import get_text_from_content

_LONGEST = 60  # characters of a message that are shown


@dataclass(slots=True)
class SessionCase:
    """A case made of a session.

    Attributes:
      case: the case.
      losses: for each turn that is not whole, what the case lacks of it.
    """

    case: EvalCase
    losses: list[str]


@dataclass(slots=True)
class _Unanswered:
    """The events of a session up to the first answer to a call in each turn.

    Attributes:
      events: the events.
      answered: names of the calls whose answers are left out, by invocation id of their turn.
    """

    events: list[Event] = field(default_factory=list[Event])
    answered: dict[str, list[str]] = field(default_factory=dict[str, list[str]])


def make_session_case(
    session: Session, eval_id: str, invocation_id: str | None = None
) -> SessionCase:
    """Return the case of a session, or of one of its turns with what came before it as history.

    What a rewind hides is left out.

    A case has no place for answers to calls, such as approvals: a turn ends before the first one.

    Args:
      session: the session, with all its events.
      eval_id: id of the case.
      invocation_id: id of the invocation of the turn, or how it begins; None for all turns.

    Raises:
      InputValidationError: there is no message to run again, or not exactly one such turn.
    """
    events = visible_events(session)
    found = _leave_answers_out(events)
    turns = [one for one in convert_events(found.events) if has_message(one)]
    given = SessionInput(app_name=session.app_name, user_id=session.user_id)
    if invocation_id is not None:
        turns = [one for one in turns if one.invocation_id.startswith(invocation_id)]
        if len(turns) != 1:
            fault = "matches several invocations" if turns else "is not an invocation"
            hidden = {one.invocation_id for one in session.events}
            hidden -= {one.invocation_id for one in events}
            if not turns and any(one.startswith(invocation_id) for one in hidden):
                fault = "was rewound, and no longer counts as an invocation"
            raise InputValidationError(f"{invocation_id!r} {fault} of session {session.id}.")
        wanted = turns[0].invocation_id
        begins = next(n for n, one in enumerate(events) if one.invocation_id == wanted)
        given.events = [event.model_copy(deep=True) for event in events[:begins]]
    if not turns:
        raise InputValidationError(f"Session {session.id} has no message to run again.")
    case = EvalCase(
        eval_id=eval_id,
        conversation=turns,
        session_input=given,
        creation_timestamp=_clock.now(),
    )
    return SessionCase(case, _describe_losses(turns, found.answered))


def _leave_answers_out(events: Sequence[Event]) -> _Unanswered:
    found = _Unanswered()
    calls: dict[str, tuple[str, str]] = {}  # the turn that made a call, and its name
    turns: dict[str, str] = {}  # of invocations that an answer began or continued
    for event in events:
        own = event.invocation_id
        if event.author == "user":
            for response in event.get_function_responses():
                turn, name = calls.get(response.id or "", (own, response.name or ""))
                turn = turns.setdefault(own, turn)
                found.answered.setdefault(turn, []).append(name)
        for call in event.get_function_calls():
            calls[call.id or ""] = turns.get(own, own), _name_of(call)
        if own not in turns:
            found.events.append(_ignore_ids(event))
    return found


def _original_of(call: types.FunctionCall) -> dict[str, Any]:
    """Return the call that a request for an approval is about; empty for other calls."""
    original: Any = (call.args or {}).get("originalFunctionCall")
    is_given = call.name == CONFIRMATION and isinstance(original, dict)
    return cast("dict[str, Any]", original) if is_given else {}


def _name_of(call: types.FunctionCall) -> str:
    return str(_original_of(call).get("name") or call.name or "")


def _ignore_ids(event: Event) -> Event:
    """Return an event whose requests for approvals fit those of another run, with other ids."""
    if not any(map(_original_of, event.get_function_calls())):
        return event
    event = event.model_copy(deep=True)
    for call in event.get_function_calls():
        original = _original_of(call)
        if original:
            original["$ignore"] = ["id"]
    return event


def _describe_losses(turns: Sequence[Invocation], answered: dict[str, list[str]]) -> list[str]:
    losses: list[str] = []
    for number, turn in enumerate(turns, 1):
        names = list(dict.fromkeys(answered.get(turn.invocation_id, ())))
        if names:
            text = (get_text_from_content(turn.user_content) or "")[:_LONGEST]
            losses.append(
                f"turn {number} ({text!r}) ends before the answer to {', '.join(names)}; that "
                "answer and what followed it are left out"
            )
    return losses
