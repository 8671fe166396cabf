"""How `Runner.run_debug` prints events: plain lines, for a first look in a script or notebook."""

from __future__ import annotations

from .events.event import Event


def print_event(event: Event, verbose: bool) -> None:
    """Print what an event says; with `verbose`, calls and results too."""
    for part in (event.content.parts if event.content else None) or ():
        if part.text and not part.thought and not event.partial:
            print(f"{event.author} > {part.text}")
        elif verbose and part.function_call is not None:
            print(f"{event.author} > calls {part.function_call.name}({part.function_call.args})")
        elif verbose and part.function_response is not None:
            answer = part.function_response
            print(f"{event.author} > {answer.name} returned {answer.response}")
