"""Implementation of `Runner.run_debug`: messages and answers as plain lines."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Sequence

from .. import types
from .._aclosing import Aclosing
from .._log import get_logger
from ..events.event import Event

logger = get_logger(__name__)

_ARGUMENTS, _RESULT = 50, 100  # characters shown


async def debug_run(
    messages: Sequence[str],
    start: Callable[[str], AsyncGenerator[Event, None]],
    *,
    quiet: bool,
    verbose: bool,
) -> list[Event]:
    """Run messages one after another, print the answers, and return all events.

    The messages themselves are logged, as INFO.

    Args:
      messages: the user's messages.
      start: starts the run of one message.
      quiet: print and log nothing.
      verbose: print a line for calls, results, code and data too.
    """
    collected: list[Event] = []
    for text in messages:
        if not quiet:
            logger.info("User > %s", text)
        async with Aclosing(start(text)) as events:
            async for event in events:
                collected.append(event)
                if not quiet:
                    _print_event(event, verbose)
    return collected


def _print_event(event: Event, verbose: bool) -> None:
    said = ""
    for part in (event.content.parts if event.content else None) or ():
        if part.text:
            said += part.text
            continue
        told = _describe_part(part) if verbose else ""
        if told:
            if said:
                print(f"{event.author} > {said}")
            said = ""
            print(f"{event.author} > [{told}]")
    if said:
        print(f"{event.author} > {said}")


def _describe_part(part: types.Part) -> str:
    """Describe a part without text; empty if there is nothing to show."""
    if part.function_call is not None:
        args = _cut_text(part.function_call.args, _ARGUMENTS)
        return f"Calling tool: {part.function_call.name}({args})"
    if part.function_response is not None:
        return f"Tool result: {_cut_text(part.function_response.response, _RESULT)}"
    if part.executable_code is not None:
        return f"Executing {part.executable_code.language or 'code'} code..."
    if part.code_execution_result is not None:
        return f"Code output: {_cut_text(part.code_execution_result.output or '', _RESULT)}"
    if part.inline_data is not None:
        return f"Inline data: {part.inline_data.mime_type or 'data'}"
    if part.file_data is not None:
        return f"File: {part.file_data.file_uri}"
    return ""


def _cut_text(value: object, longest: int) -> str:
    text = str(value)
    return text if len(text) <= longest else f"{text[:longest]}..."
