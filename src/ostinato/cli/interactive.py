"""The interactive prompt of `ostinato run`: messages and slash commands."""

from __future__ import annotations

import re

from ..errors import InvalidAnswerError
from ..events.event import Event
from ..events.pending import CONFIRMATION, CREDENTIAL, Pending
from ..events.request_input import REQUEST_INPUT
from .escape import label, reveal
from .printer import Printer, answer_text
from .prompt import Prompt, json_problem
from .question_view import question_lines
from .run_session import LEAVES, Conversation
from .shorten import as_json, call_text, cut, one_line, result_text

_HELP = (
    ("/state", "the session's state"),
    ("/events", "the session's events, one per line"),
    ("/help", "this list"),
    ("/quit", "leave; so do exit and Ctrl-D"),
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
        await self._settle_calls()
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
                self._printer.note(("Press Ctrl-C again to exit.", "dim"))
                continue
            warned = False
            if text in LEAVES:
                return 0
            if _COMMAND.fullmatch(text):
                await self._run_command(text)
            elif text:
                await self._send_message(text)

    async def _settle_calls(self) -> None:
        await self._conversation.settle(self._prompt, self._printer, json_problem)

    async def _send_message(self, text: str) -> None:
        """Run a turn on what the person typed, then ask for what it waits for."""
        try:
            await self._conversation.say(text, self._choose_call)
        except InvalidAnswerError as error:
            self._printer.note((reveal(str(error)), "yellow"))
        await self._settle_calls()

    async def _choose_call(self, asked: list[Pending]) -> Pending | None:
        """Ask which of several open questions the words answer."""
        self._printer.note("Several questions are open; which one does this answer?")
        for number, one in enumerate(asked, 1):
            self._printer.note((f"  {number}  ", "bold"), (label(one.asker), "dim"))
            for line in question_lines(one, self._printer.width):
                self._printer.note(*line)
        while True:
            try:
                said = await self._prompt.ask(f"  1 to {len(asked)}: ")
            except (EOFError, KeyboardInterrupt):
                return None
            if said.isdecimal() and 1 <= int(said) <= len(asked):
                return asked[int(said) - 1]

    async def _run_command(self, text: str) -> None:
        if text == "/state":
            await self._show_state()
        elif text == "/events":
            await self._show_events()
        else:
            if text != "/help":
                self._printer.note(f"Unknown command {text}. The commands are:")
            for name, what in _HELP:
                self._printer.note((f"  {name:<9}", "bold"), what)

    async def _show_state(self) -> None:
        session = await self._conversation.session()
        state = session.state if session is not None else {}
        names = {key: label(key) for key in sorted(state)}
        width = max(map(len, names.values()), default=0)
        for key, name in names.items():
            self._printer.note((f"  {name:<{width}}  ", "bold"), as_json(state[key]))
        if not state:
            self._printer.note(("  The state is empty.", "dim"))

    async def _show_events(self) -> None:
        session = await self._conversation.session()
        events = session.events if session is not None else []
        width = max((len(label(event.author)) for event in events), default=0)
        for number, event in enumerate(events, 1):
            start = f"  {number:>3}  {label(event.author):<{width}}  "
            text = cut(event_line(event), max(self._printer.width - len(start), 20))
            self._printer.note((start[:7], "dim"), (start[7:], "bold"), text)
        if not events:
            self._printer.note(("  There are no events yet.", "dim"))


_ASKS = {
    CONFIRMATION: "asks for approval",
    CREDENTIAL: "asks for a credential",
    REQUEST_INPUT: "asks for input",
}


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
                pieces.append(
                    f"{label(answer.name or '?')} gave {result_text(answer.response) or 'nothing'}"
                )
        elif part.executable_code is not None:
            pieces.append("runs code")
        elif part.code_execution_result is not None:
            pieces.append(f"code gave {part.code_execution_result.output}")
        else:
            pieces.append("a file")
    if event.error_code:
        pieces.append(f"{event.error_code}: {event.error_message}")
    pieces += [f"sets {label(key)}" for key in event.actions.state_delta]
    if event.actions.end_of_agent:
        pieces.append("ends")
    if event.actions.agent_state is not None:
        pieces.append("checkpoint")
    return reveal(one_line("; ".join(pieces))) or "no content"
