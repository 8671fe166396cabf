"""Output on a terminal (styled) or in a file (plain), and the confirmation of deletions."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from typing import TextIO

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from .cli_error import USAGE, CliError
from .shorten import SIGN, safe

_PLAIN = {
    "✓": "+",
    "✗": "x",
    "…": "...",
    "→": "->",
    "●": "*",
    "└": "-",
    "·": "-",
    SIGN: ">",
    "│": "|",
    "◆": "!",
}
WIDEST = 100
_FENCE = "```"


class ClosedOutputError(BrokenPipeError):
    """The reader of the output, such as `head`, has exited; what is written later is discarded."""


class _Console(Console):
    """A console that raises a named error if its reader has exited; rich raises SystemExit."""

    def on_broken_pipe(self) -> None:
        """Discard further output.

        Raises:
          ClosedOutputError: always.
        """
        discard_output()
        self.quiet = True
        raise ClosedOutputError from None


def discard_output() -> None:
    """Let standard output discard what is written, so that no later write or flush fails."""
    with suppress(OSError, ValueError):  # it has no file descriptor, as in tests
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, sys.stdout.fileno())
        os.close(null)


class Screen:
    """Output stream for lines and running text.

    Args:
      file: the stream; standard output if None.

    Attributes:
      width: columns per line; None if lines are not wrapped, as in a file.
    """

    def __init__(self, file: TextIO | None = None) -> None:
        stream = file or sys.stdout
        plain = bool(os.environ.get("NO_COLOR")) or not stream.isatty()
        self._console = _Console(
            file=stream,
            color_system=None if plain else "auto",
            markup=False,
            highlight=False,
            emoji=False,
            soft_wrap=True,
        )
        self.width = min(self._console.width, WIDEST) if stream.isatty() else None
        self._ascii = not _can_write(stream.encoding, "".join(_PLAIN))
        self._column = 0
        self._word = ""
        self._indent = 0
        self._style = ""
        self._start = ""  # of the current line, without blanks
        self._fenced = False
        self._waiting: list[str] = []

    def line(self, *pieces: str | tuple[str, str], indent: int = 0) -> None:
        """Write a line of pieces, each a text or a text and its style."""
        self.end_text()
        text = Text(" " * indent)
        for piece in pieces:
            words, style = (piece, "") if isinstance(piece, str) else piece
            text.append(self._replace_signs(safe(words)), style=style)
        self._console.print(text)

    def text(self, words: str, *, indent: int = 0, style: str = "") -> None:
        """Write a piece of running text, wrapped between words."""
        if style != self._style:
            self._flush_word()
            self._flush_buffer()
        self._indent, self._style = indent, style
        for character in self._replace_signs(safe(words)):
            if character == "\n":
                self._flush_word()
                self._buffer_text("\n")
                self._column = 0
                self._end_line()
            elif character in " \t":
                self._flush_word()
                self._word = character
                self._flush_word()
            else:
                self._word += character
                self._start += character if len(self._start) < len(_FENCE) else ""
        if self.width is None:
            self._flush_word()
        self._flush_buffer()

    def end_text(self) -> None:
        """End the line of the running text, if there is one."""
        self._flush_word()
        if self._column:
            self._buffer_text("\n")
            self._column = 0
        self._fenced, self._start = False, ""
        self._flush_buffer()

    def _end_line(self) -> None:
        """Record whether the ended line opened or closed a code block."""
        if self._start == _FENCE:
            self._fenced = not self._fenced
        self._start = ""

    def _flush_word(self) -> None:
        word, self._word = self._word, ""
        if not word:
            return
        length = cell_len(word)
        wraps = self.width is not None and not self._fenced
        full = wraps and self._column + length > (self.width or 0)
        if full and self._column > self._indent:
            self._buffer_text("\n")
            self._column = 0
            if word in " \t":
                return
        if not self._column:
            self._buffer_text(" " * self._indent)
            self._column = self._indent
        self._buffer_text(word)
        self._column += length

    def _buffer_text(self, words: str) -> None:
        self._waiting.append(words)

    def _flush_buffer(self) -> None:
        if self._waiting:
            self._console.print(Text("".join(self._waiting), style=self._style), end="")
            self._waiting.clear()
            self._console.file.flush()

    def _replace_signs(self, words: str) -> str:
        if self._ascii:
            for sign, plain in _PLAIN.items():
                words = words.replace(sign, plain)
        return words


def _can_write(encoding: str | None, signs: str) -> bool:
    try:
        signs.encode(encoding or "utf-8")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def may_delete(question: str, yes: bool) -> bool:
    """Ask for confirmation; return whether the person agrees.

    Args:
      question: ends with a question mark.
      yes: whether `--yes` was given; then the question is skipped.

    Raises:
      CliError: standard input is not a terminal.
    """
    if yes:
        return True
    if not sys.stdin.isatty():
        raise CliError(f"{question} The input is not a terminal; confirm with --yes.", USAGE)
    return input(f"{question} y / n: ").strip().lower() in ("y", "yes")
