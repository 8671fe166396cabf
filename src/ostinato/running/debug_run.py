"""`Runner.run_debug`: messages and answers as plain lines, for a first look in a script or
notebook.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Sequence

from .._aclosing import Aclosing
from ..events.event import Event


async def debug_run(
    messages: Sequence[str],
    start: Callable[[str], AsyncGenerator[Event, None]],
    *,
    quiet: bool,
    verbose: bool,
) -> list[Event]:
    """Run messages one after another, print what is said, and return all events.

    Args:
      messages: the user's messages.
      start: starts the run of one message.
      quiet: print nothing.
      verbose: print calls and results too.
    """
    collected: list[Event] = []
    for text in messages:
        if not quiet:
            print(f"\nUser > {text}")
        async with Aclosing(start(text)) as events:
            async for event in events:
                collected.append(event)
                if not quiet:
                    _print_event(event, verbose)
    return collected


def _print_event(event: Event, verbose: bool) -> None:
    for part in (event.content.parts if event.content else None) or ():
        if part.text and not part.thought and not event.partial:
            print(f"{event.author} > {part.text}")
        elif verbose and part.function_call is not None:
            print(f"{event.author} > calls {part.function_call.name}({part.function_call.args})")
        elif verbose and part.function_response is not None:
            answer = part.function_response
            print(f"{event.author} > {answer.name} returned {answer.response}")
