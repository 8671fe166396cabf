"""An event on one line, for lists of events. The prompt's /events shows it."""

from __future__ import annotations

from ..events.event import Event
from ..events.pending import CONFIRMATION, CREDENTIAL
from .printer import answer_text
from .shorten import call_text, one_line, result_text

_ASKS = {CONFIRMATION: "asks for approval", CREDENTIAL: "asks for a credential"}


def event_line(event: Event) -> str:
    """Return what an event says and does, without line breaks."""
    pieces: list[str] = []
    for part in (event.content.parts if event.content else None) or ():
        if part.text:
            pieces.append(part.text)
        elif part.function_call is not None:
            call = part.function_call
            name = call.name or "?"
            pieces.append(_ASKS.get(name) or call_text(name, call.args))
        elif part.function_response is not None:
            answer = part.function_response
            if event.author == "user":
                pieces.append(answer_text(answer))
            else:
                pieces.append(f"{answer.name} gave {result_text(answer.response) or 'nothing'}")
        elif part.executable_code is not None:
            pieces.append("runs code")
        elif part.code_execution_result is not None:
            pieces.append(f"code gave {part.code_execution_result.output}")
        else:
            pieces.append("a file")
    if event.error_code:
        pieces.append(f"{event.error_code}: {event.error_message}")
    pieces += [f"sets {key}" for key in event.actions.state_delta]
    if event.actions.end_of_agent:
        pieces.append("ends")
    if event.actions.agent_state is not None:
        pieces.append("checkpoint")
    return one_line("; ".join(pieces)) or "no content"
