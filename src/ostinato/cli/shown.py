"""Output of a run: for a person on a screen, or for a program as JSON lines."""

from __future__ import annotations

import sys
import time
import traceback
from pathlib import Path
from typing import TextIO

from ..errors import CallAlreadyAnsweredError, ModelBehaviorError, ModelUnavailableError
from ..events.event import Event
from ..events.model_responses import ModelResponseFilter
from ..hosting.load_failure import message_of, place_of
from .escape import exact_json
from .printer import Printer
from .screen import Screen
from .shorten import safe


class ForPerson:
    """Shows turns on the screen, each with what it took.

    Args:
      printer: writes the events.
      folder: the agent's folder, for errors.
      verbose: tracebacks, and nothing shortened.
    """

    def __init__(self, printer: Printer, folder: Path, verbose: bool) -> None:
        self._printer = printer
        self._folder = folder
        self._verbose = verbose
        self._tally: Tally | None = None
        self._error: Event | None = None

    def begin_turn(self) -> None:
        """Begin to count, and to measure the time."""
        self._tally = Tally()

    def show_event(self, event: Event) -> None:
        """Show an event; a bare error waits until it is clear that the run does not raise it."""
        if self._tally is not None:
            self._tally.count(event)
        if event.error_code and event.content is None:
            self._error = event
            return
        self._printer.event(event)

    def end_turn(self) -> None:
        """Show what the turn took."""
        if self._error is not None:
            self._printer.event(self._error)
        self._printer.end_turn()
        if self._tally is not None:
            self._printer.note((str(self._tally), "dim"))
        self._tally = self._error = None

    def show_failure(self, error: Exception) -> None:
        """Tell the error, on standard error."""
        self._error = None
        self._printer.apart()
        say_error(explain_run(error, self._folder, self._verbose))

    def show_interrupt(self) -> None:
        """Say that the turn is being cancelled."""
        self._printer.note(("Cancelling; press Ctrl-C again to end at once.", "yellow"))


class ForProgram:
    """Writes one event per line, as JSON with camelCase names.

    Args:
      file: where to; everything else goes to standard error.
      folder: the agent's folder, for errors.
      verbose: tracebacks.
    """

    def __init__(self, file: TextIO, folder: Path, verbose: bool) -> None:
        self._file = file
        self._folder = folder
        self._verbose = verbose

    def begin_turn(self) -> None:
        """Nothing is written between turns."""

    def show_event(self, event: Event) -> None:
        """Write an event."""
        self._file.write(event.model_dump_json(by_alias=True, exclude_none=True) + "\n")
        self._file.flush()

    def end_turn(self) -> None:
        """Nothing is written between turns."""

    def show_failure(self, error: Exception) -> None:
        """Tell the error, on standard error."""
        say_error(explain_run(error, self._folder, self._verbose))

    def show_interrupt(self) -> None:
        """Say that the turn is being cancelled."""
        print("Cancelling; press Ctrl-C again to end at once.", file=sys.stderr)


def say_error(text: str) -> None:
    """Write an error to standard error."""
    sys.stdout.flush()
    screen = Screen(sys.stderr)
    screen.text("error: ", style="bold red")
    screen.text(text)
    screen.end_text()


class Tally:
    """Counts the events of one turn; the time runs from when it is made."""

    def __init__(self) -> None:
        self._start = time.perf_counter()
        self._models = self._tools = self._in = self._out = 0
        self._filter = ModelResponseFilter()

    def count(self, event: Event) -> None:
        """Add an event; partial ones count nothing, and transfers are no tool calls."""
        if event.partial or event.author == "user":
            return
        waiting = event.actions.requested_tool_confirmations
        for response in event.get_function_responses():
            if response.name != "transfer_to_agent" and response.id not in waiting:
                self._tools += 1
        if self._filter.is_response(event):
            self._models += 1
        usage = event.usage_metadata
        if usage is not None:
            self._in += usage.prompt_token_count or 0
            self._out += (usage.candidates_token_count or 0) + (usage.thoughts_token_count or 0)

    def __str__(self) -> str:
        pieces: list[str] = []
        if self._models:
            pieces.append(_count_noun(self._models, "model call"))
        if self._tools:
            pieces.append(_count_noun(self._tools, "tool call"))
        if self._in or self._out:
            pieces.append(f"{self._in:,} tokens in, {self._out:,} out")
        seconds = time.perf_counter() - self._start
        pieces.append(f"{seconds:.1f} s" if seconds >= 1 else f"{seconds * 1000:.0f} ms")
        return " · ".join(pieces)


def _count_noun(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


_REMEDIES: tuple[tuple[type[Exception], str], ...] = (
    (ModelUnavailableError, ""),
    (ModelBehaviorError, "Ask again, or give the agent a clearer instruction or another model."),
)


def explain_run(error: Exception, folder: Path, verbose: bool) -> str:
    """Return the text for a run that raised.

    Args:
      error: what it raised.
      folder: the agent's folder, to find the place in the user's code.
      verbose: put the traceback in front.
    """
    text = f"{type(error).__name__}: {message_of(error)}".rstrip(": ")
    pieces = [text if text.endswith((".", "!", "?")) else f"{text}."]
    pieces += [f"{note[:1].upper()}{note[1:]}".rstrip(".") + "." for note in _notes_of(error)]
    where = place_of(error, folder).rstrip(", ")
    if ", line " in where:
        pieces.append(f"Raised at {where}.")
    if isinstance(error, CallAlreadyAnsweredError) and error.answer is not None:
        pieces.append(f"The first answer: {exact_json(error.answer)}.")
    for kind, remedy in _REMEDIES:
        if isinstance(error, kind) and remedy:
            pieces.append(remedy)
    if not verbose:
        pieces.append("--verbose shows the traceback.")
    paragraph = safe(" ".join(pieces))
    if not verbose:
        return paragraph
    return safe("".join(traceback.format_exception(error))) + paragraph


def _notes_of(error: BaseException) -> list[str]:
    return [str(note) for note in getattr(error, "__notes__", ())]
