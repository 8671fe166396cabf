"""Talking with an agent at a prompt: messages, and the commands that start with a slash."""

from __future__ import annotations

import re

from .conversation import Conversation
from .event_line import event_line
from .printer import Printer
from .prompt import Prompt, json_problem
from .shorten import as_json, cut

_HELP = (
    ("/state", "the session's state"),
    ("/events", "the session's events, one per line"),
    ("/help", "this list"),
    ("/quit", "end; Ctrl-D does so too"),
)
_COMMAND = re.compile(r"/[a-z]+")


class Interactive:
    """The prompt loop.

    Args:
      conversation: what is talked in.
      prompt: asks the person.
      printer: shows what the commands find.
    """

    def __init__(self, conversation: Conversation, prompt: Prompt, printer: Printer) -> None:
        self._conversation = conversation
        self._prompt = prompt
        self._printer = printer

    async def run(self) -> int:
        """Ask for messages until the person ends; return the exit code."""
        await self._settle()
        warned = False
        while True:
            try:
                text = (await self._prompt.message()).strip()
            except EOFError:
                return 0
            except KeyboardInterrupt:
                if warned:
                    return 0
                warned = True
                self._printer.note(("Press Ctrl-C again to end, or go on typing.", "dim"))
                continue
            warned = False
            if text in ("/quit", "/exit"):
                return 0
            if _COMMAND.fullmatch(text):
                await self._command(text)
            elif text:
                await self._conversation.say(text)
                await self._settle()

    async def _settle(self) -> None:
        await self._conversation.settle(self._prompt, self._printer, json_problem)

    async def _command(self, text: str) -> None:
        if text == "/state":
            await self._state()
        elif text == "/events":
            await self._events()
        else:
            if text != "/help":
                self._printer.note(f"There is no command {text}; these there are:")
            for name, what in _HELP:
                self._printer.note((f"  {name:<9}", "bold"), what)

    async def _state(self) -> None:
        session = await self._conversation.session()
        state = session.state if session is not None else {}
        width = max(map(len, state), default=0)
        for key, value in sorted(state.items()):
            self._printer.note((f"  {key:<{width}}  ", "bold"), as_json(value))
        if not state:
            self._printer.note(("  The state is empty.", "dim"))

    async def _events(self) -> None:
        session = await self._conversation.session()
        events = session.events if session is not None else []
        width = max((len(event.author) for event in events), default=0)
        for number, event in enumerate(events, 1):
            start = f"  {number:>3}  {event.author:<{width}}  "
            text = cut(event_line(event), max(self._printer.width - len(start), 20))
            self._printer.note((start[:7], "dim"), (start[7:], "bold"), text)
        if not events:
            self._printer.note(("  There are no events yet.", "dim"))
