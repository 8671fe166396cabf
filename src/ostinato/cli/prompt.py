"""Questions at the terminal with prompt_toolkit; only interactive runs import this module."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from prompt_toolkit import PromptSession
from prompt_toolkit.application import get_app
from prompt_toolkit.history import FileHistory, InMemoryHistory
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent

from .._private_files import create_private_file
from ..hosting.input_answers import read_json
from .shorten import SIGN


class Prompt:
    """Questions to a person. Each raises EOFError for Ctrl-D and KeyboardInterrupt for Ctrl-C.

    Args:
      history: file that keeps what was typed at the main prompt; None keeps it in memory.
    """

    def __init__(self, history: Path | None = None) -> None:
        self._history = history
        # Made at the first message: a session writes to the terminal as soon as there is one.
        self._main: PromptSession[str] | None = None

    async def message(self) -> str:
        """Ask for the next message; a pasted text may have several lines."""
        if self._main is None:
            file = self._history
            if file is not None:
                create_private_file(file)
            kept = FileHistory(str(file)) if file is not None else InMemoryHistory()
            self._main = PromptSession(history=kept)
        return await self._main.prompt_async(f"\n{SIGN} ", prompt_continuation="  ")

    async def ask(self, question: str) -> str:
        """Ask for a short answer."""
        session: PromptSession[str] = PromptSession()
        return (await session.prompt_async(question)).strip()

    async def secret(self, question: str) -> str:
        """Ask for something that is not shown while it is typed."""
        session: PromptSession[str] = PromptSession()
        return (await session.prompt_async(question, is_password=True)).strip()

    async def edit(self, text: str, problem: Callable[[str], str]) -> str:
        """Let the person edit a text of several lines.

        Args:
          text: the initial text.
          problem: returns what is wrong with a text, or '' if it is valid.

        Returns:
          The text; Enter accepts it if it is valid, and otherwise starts a new line.
        """
        keys = KeyBindings()

        @keys.add("enter")
        def _(event: KeyPressEvent) -> None:  # pyright: ignore[reportUnusedFunction]
            buffer = event.current_buffer
            if problem(buffer.text):
                buffer.insert_text("\n")
            else:
                buffer.validate_and_handle()

        def below() -> str:
            wrong = problem(get_app().current_buffer.text)
            return f" {wrong}" if wrong else " Enter accepts, Ctrl-C discards the changes"

        session: PromptSession[str] = PromptSession(
            multiline=True, key_bindings=keys, bottom_toolbar=below
        )
        return await session.prompt_async("    ", default=text, prompt_continuation="    ")


def json_problem(text: str) -> str:
    """Return why a text is not a JSON object, or '' if it is one."""
    try:
        value = read_json(text)
    except ValueError as error:
        return f"not JSON yet: {error}"
    return "" if isinstance(value, dict) else "not a JSON object: it has to start with {"
