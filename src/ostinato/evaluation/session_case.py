"""A stored session, or one of its turns, as a case of an eval set."""

from __future__ import annotations

from .. import _clock
from ..errors import InputValidationError
from ..sessions.session import Session
from .eval_case import EvalCase, SessionInput
from .event_conversion import has_message
from .storage import convert_session_to_eval_invocations


def make_session_case(session: Session, eval_id: str, invocation_id: str | None = None) -> EvalCase:
    """Return the case of a session, or of one of its turns with what came before it as history.

    Answers to calls are no turns of a case.

    Args:
      session: the session, with all its events.
      eval_id: id of the case.
      invocation_id: id of the invocation of the turn, or how it begins; None for all turns.

    Raises:
      InputValidationError: there is no message to run again, or not exactly one such turn.
    """
    turns = [one for one in convert_session_to_eval_invocations(session) if has_message(one)]
    given = SessionInput(app_name=session.app_name, user_id=session.user_id)
    if invocation_id is not None:
        turns = [one for one in turns if one.invocation_id.startswith(invocation_id)]
        if len(turns) != 1:
            fault = "matches several invocations" if turns else "is not an invocation"
            raise InputValidationError(f"{invocation_id!r} {fault} of session {session.id}.")
        wanted = turns[0].invocation_id
        begins = next(n for n, one in enumerate(session.events) if one.invocation_id == wanted)
        given.events = [event.model_copy(deep=True) for event in session.events[:begins]]
    if not turns:
        raise InputValidationError(f"Session {session.id} has no message to run again.")
    return EvalCase(
        eval_id=eval_id,
        conversation=turns,
        session_input=given,
        creation_timestamp=_clock.now(),
    )
