"""The two ways a run shows itself: on a screen for a person, as JSON lines for a program."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TextIO

from ..events.event import Event
from .printer import Printer
from .run_failure import explain_run
from .screen import Screen
from .tally import Tally


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
        """Start to count."""
        self._tally = Tally()

    def event(self, event: Event) -> None:
        """Show an event; a bare error waits until it is clear that the run does not raise it."""
        self._tally = self._tally or Tally()
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

    def failure(self, error: Exception) -> None:
        """Tell the error, on standard error."""
        self._error = None
        self._printer.apart()
        say_error(explain_run(error, self._folder, self._verbose))

    def interrupted(self) -> None:
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

    def event(self, event: Event) -> None:
        """Write an event."""
        self._file.write(event.model_dump_json(by_alias=True, exclude_none=True) + "\n")
        self._file.flush()

    def end_turn(self) -> None:
        """Nothing is written between turns."""

    def failure(self, error: Exception) -> None:
        """Tell the error, on standard error."""
        say_error(explain_run(error, self._folder, self._verbose))

    def interrupted(self) -> None:
        """Say that the turn is being cancelled."""
        print("Cancelling; press Ctrl-C again to end at once.", file=sys.stderr)


def say_error(text: str) -> None:
    """Write an error to standard error."""
    sys.stdout.flush()
    screen = Screen(sys.stderr)
    screen.text("error: ", style="bold red")
    screen.text(text)
    screen.end_text()
