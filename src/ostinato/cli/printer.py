"""Human-readable output of a run, event by event; `run` and `sessions show` use it."""

from __future__ import annotations

from typing import Any

from .. import types
from ..events.event import Event
from ..events.pending import CONFIRMATION, CREDENTIAL
from ..events.request_input import REQUEST_INPUT, TOOL_QUESTION
from ..events.tool_origin import read_tool_origin
from ..events.tool_progress import ToolProgress
from ..models.llm_response import RESTARTED
from .call_view import origin_text
from .escape import label, reveal
from .screen import Screen
from .shorten import (
    SIGN,
    as_json,
    block,
    call_text,
    cut,
    one_line,
    result_text,
    safe,
)

_TRANSFER = "transfer_to_agent"
_COLOURS = ("cyan", "magenta", "green", "blue", "yellow")
_PARENT_KEYS = ("_code_execution_context", "_code_executor")
_RESULT_TITLE = "Code execution result:\n"
_RESULT_LINES = 4
_CODE_LINES = 12
_SOURCE = 60  # characters of a tool's source
_PROGRESS_LINES = 20  # of one call
_PIPED = 160  # characters of a value in a file, where no line is broken


class Printer:
    """Writes events to a screen.

    Args:
      screen: where to.
      verbose: shorten nothing, and show what only developers want to see.
    """

    def __init__(self, screen: Screen, verbose: bool = False) -> None:
        self._screen = screen
        self._verbose = verbose
        self._colours: dict[str, str] = {}
        self._speaker: str | None = None
        self._streamed = ""
        self._kind = ""
        self._last_call: str | None = None
        self._progress: dict[str, list[str]] = {}
        self._approved: dict[str, str] = {}

    @property
    def width(self) -> int:
        """Columns that a line of its own may take."""
        return self._screen.width or _PIPED

    def question(self, text: str) -> None:
        """Show what the user said."""
        self._leave_gap("question")
        lines = block(text, None, None)
        for number, line in enumerate(lines):
            self._screen.line((f"{SIGN} " if not number else "  ", "bold"), (line, "bold"))
        self._speaker = None

    def event(self, event: Event) -> None:
        """Show one event."""
        if event.partial:
            if event.custom_metadata and RESTARTED in event.custom_metadata:
                self._screen.end_text()
                self._streamed = ""
                self.note(("The answer was interrupted; it starts again.", "dim"))
            elif event.branch is None:  # partial texts of parallel agents would mix
                self._show_parts(event)
                self._show_progress(event)
            return
        if event.author == "user":
            self._show_user(event)
        else:
            self._show_parts(event)
        self._streamed = ""
        self._show_effects(event)

    def remember_call(self, call_id: str, name: str, args: dict[str, Any]) -> None:
        """Show a call that a person has approved with these arguments above its result."""
        self._approved[call_id] = call_text(name, args)

    def end_turn(self) -> None:
        """End the current line and forget the speaker."""
        self._screen.end_text()
        self._speaker, self._streamed, self._last_call = None, "", None
        self._progress.clear()

    def apart(self) -> None:
        """Leave a blank line before something that goes to standard error."""
        self.end_turn()
        self._screen.line()
        self._kind = "error"

    def note(self, *pieces: str | tuple[str, str]) -> None:
        """Show a remark of the command."""
        self._leave_gap("note")
        self._screen.line(*pieces)

    def prose(self, text: str, style: str = "") -> None:
        """Show sentences, wrapped between words."""
        self._leave_gap("note")
        self._screen.text(text, style=style)
        self._screen.end_text()

    def section(self, *pieces: str | tuple[str, str]) -> None:
        """Show the first line of a group of remarks, after a blank line."""
        self._leave_gap("section")
        self._kind = "note"
        self._screen.line(*pieces)

    def _leave_gap(self, kind: str) -> None:
        """Leave a blank line if the kind of output changes."""
        self._screen.end_text()
        if self._kind and kind != self._kind:
            self._screen.line()
        self._kind = kind

    def _begin_speaker(self, author: str, kind: str) -> None:
        """Write the author's name if the speaker changes."""
        if author != self._speaker:
            self._leave_gap("speaker")
            self._screen.line((label(author), self._colour_of(author)))
            self._speaker, self._kind, self._last_call = author, kind, None
        elif self._kind == "speaker":
            self._kind = kind
        elif kind != self._kind:
            self._leave_gap(kind)

    def _colour_of(self, author: str) -> str:
        colour = self._colours.setdefault(author, _COLOURS[len(self._colours) % len(_COLOURS)])
        return f"bold {colour}"

    def _show_user(self, event: Event) -> None:
        for part in (event.content.parts if event.content else None) or ():
            if part.text:
                self.question(part.text)
            elif part.function_response is not None:
                self.question(answer_text(part.function_response))
            elif part.inline_data is not None or part.file_data is not None:
                self.question(_file_text(part))

    def _show_parts(self, event: Event) -> None:
        texts = 0
        for part in (event.content.parts if event.content else None) or ():
            if part.text:
                self._show_text(event, part, texts)
                texts += 1
            elif event.partial:
                continue
            elif part.function_call is not None:
                self._show_call(event, part.function_call)
            elif part.function_response is not None:
                self._show_response(event, part.function_response)
            elif part.executable_code is not None:
                self._show_code(event, part.executable_code.code or "", "runs code")
            elif part.code_execution_result is not None:
                self._show_code(event, part.code_execution_result.output or "", "")
            elif part.inline_data is not None or part.file_data is not None:
                self._begin_speaker(event.author, "tool")
                self._screen.line((_file_text(part), "dim"), indent=2)
        if event.error_code and not event.partial:
            self._begin_speaker(event.author, "error")
            self._screen.line(
                (f"{event.error_code}: {event.error_message or ''}".rstrip(": "), "red"), indent=2
            )

    def _show_text(self, event: Event, part: types.Part, texts: int) -> None:
        text, style = part.text or "", "dim italic" if part.thought else ""
        kind = "thought" if part.thought else "text"
        self._last_call = None
        if event.partial:
            self._begin_speaker(event.author, kind)
            self._screen.text(text, indent=2, style=style)
            self._streamed += text
            return
        if self._streamed and self._streamed.startswith(text):
            self._streamed = self._streamed[len(text) :]  # already on the screen
            return
        if self._streamed and text.startswith(self._streamed):
            text, self._streamed = text[len(self._streamed) :], ""
        elif self._streamed or texts:
            self._screen.end_text()  # a callback changed the streamed text: show the final one
            self._streamed = ""
        self._begin_speaker(event.author, kind)
        self._screen.text(text, indent=2, style=style)
        self._screen.end_text()

    def _show_call(self, event: Event, call: types.FunctionCall) -> None:
        if call.name in (CONFIRMATION, CREDENTIAL, _TRANSFER):
            return
        self._begin_speaker(event.author, "tool")
        self._last_call = call.id
        text = call_text(call.name or "?", call.args)
        if call.name == REQUEST_INPUT:
            text = f"asks {as_json((call.args or {}).get('message') or 'for input')}"
        waits = call.id in (event.long_running_tool_ids or ())
        origin = read_tool_origin(event, call.id)
        source = "" if origin is None else f"  {cut(origin_text(origin), _SOURCE)}"
        self._show_title(text, f"{source}{'  (answered later)' if waits else ''}")

    def _show_title(self, title: str, tail: str = "") -> None:
        """Show a call, with a remark behind it."""
        room = self._room_for(4)
        lines = block(title, room, None if self._verbose else _RESULT_LINES)
        if room is None and not self._verbose:
            lines = [cut(lines[0], _PIPED)]
        for number, line in enumerate(lines):
            rest = tail if number == len(lines) - 1 else ""
            self._screen.line(
                ("● " if not number else "  ", "green"), line, (rest, "dim"), indent=2
            )

    def _show_response(self, event: Event, response: types.FunctionResponse) -> None:
        actions = event.actions
        if response.name == _TRANSFER or response.id is None:
            return
        self._begin_speaker(event.author, "tool")
        several = len(event.get_function_responses()) > 1
        title = label(response.name or "?")
        name = f"{title}: " if several else ""
        if response.id in actions.requested_tool_confirmations:
            asked = actions.requested_tool_confirmations[response.id].payload
            is_question = isinstance(asked, dict) and TOOL_QUESTION in asked
            text = "waits for an answer" if is_question else "waits for approval"
            style = "yellow"
        elif response.id in actions.requested_auth_configs:
            text, style = "waits for a credential", "yellow"
        else:
            text = result_text(response.response)
            failed = set(response.response or {}) == {"error"}
            style = "red" if failed else "dim"
        if not several and response.id != self._last_call:
            self._show_title(self._approved.get(response.id, title))
        if text:
            self._write_lines("└ ", f"{name}{text}", style, 4)

    def _show_progress(self, event: Event) -> None:
        """Show how far a call has come: a line for each message, and for each tenth of the way."""
        found = ToolProgress.of(event)
        if found is None:
            return
        share = min(max(found.progress / found.total, 0.0), 1.0) if found.total else None
        step = "" if share is None else f"{int(10 * share) * 10} %"
        text = " ".join(filter(None, (step, one_line(found.message)))) or "working"
        lines = self._progress.setdefault(found.call_id, [])
        if text in lines[-1:] or (len(lines) >= _PROGRESS_LINES and not self._verbose):
            return
        lines.append(text)
        self._begin_speaker(event.author, "tool")
        self._screen.line(("· ", "dim"), (cut(text, self._room_for(6) or _PIPED), "dim"), indent=4)

    def _write_lines(self, sign: str, text: str, style: str, indent: int) -> None:
        room = self._room_for(indent + len(sign))
        if room is None and not self._verbose:
            lines = [cut(one_line(text), _PIPED)]
        else:
            lines = block(text, room, None if self._verbose else _RESULT_LINES)
        for number, line in enumerate(lines):
            start = sign if not number else " " * len(sign)
            self._screen.line((start, "dim"), (line, style), indent=indent)

    def _show_code(self, event: Event, text: str, title: str) -> None:
        self._begin_speaker(event.author, "tool")
        if title:
            self._screen.line(("● ", "green"), title, indent=2)
            if text.strip() in self._streamed:
                return  # already on the screen
        text = text.removeprefix(_RESULT_TITLE)
        most = None if self._verbose else _CODE_LINES
        for line in block(text.strip("\n"), self._room_for(6), most):
            self._screen.line(("│ ", "dim"), (line, "" if title else "dim"), indent=4)

    def _show_effects(self, event: Event) -> None:
        """Show what an event changes."""
        actions = event.actions
        if actions.transfer_to_agent:
            target = actions.transfer_to_agent
            self._leave_gap("transfer")
            self._screen.line(
                (label(event.author), self._colour_of(event.author)),
                (" → ", "dim"),
                (label(target), self._colour_of(target)),
            )
            self._speaker, self._kind = target, "speaker"
        if event.output is not None:
            given = event.output if isinstance(event.output, str) else as_json(event.output)
            paths = event.node_info.output_for or ()
            last = any("/" not in path for path in paths)  # of the workflow itself
            self._show_effect(
                event, label(event.node_name or "output"), f"= {safe(given)}", whole=last
            )
        for key, value in actions.state_delta.items():
            if self._verbose or not key.startswith(_PARENT_KEYS):
                self._show_effect(event, "state", f"{label(key)} {_describe_change(event, value)}")
        for name, number in actions.artifact_delta.items():
            self._show_effect(event, "saved", f"{label(name)} (version {number})")
        if actions.escalate:
            self._show_effect(event, "ends the loop", "")
        if self._verbose and actions.agent_state:
            self._show_effect(event, "checkpoint", as_json(actions.agent_state))

    def _show_effect(self, event: Event, title: str, text: str, *, whole: bool = False) -> None:
        self._screen.end_text()
        if event.author not in ("user", self._speaker):
            self._begin_speaker(event.author, "tool")
        if self._kind == "text":
            self._kind = "tool"
        room = self._room_for(4 + len(title) + 1) or _PIPED
        self._screen.line(
            (title, "yellow"),
            (f" {text if whole or self._verbose else cut(one_line(text), room)}".rstrip(), "dim"),
            indent=4,
        )

    def _room_for(self, indent: int) -> int | None:
        width = self._screen.width
        return None if width is None else max(width - indent, 20)


def _describe_change(event: Event, value: Any) -> str:
    """Return the new value of a state key, or that it was removed."""
    if value is None:
        return "is removed"
    parts = (event.content.parts if event.content else None) or ()
    if isinstance(value, str) and value == "".join(p.text or "" for p in parts if not p.thought):
        return "= this text"
    return f"= {as_json(value)}"


def answer_text(answer: types.FunctionResponse) -> str:
    """Return an answer to a waiting call as text, without credentials."""
    response: dict[str, Any] = answer.response or {}
    if answer.name == CONFIRMATION:
        edited = f" with {as_json(response['args'])}" if "args" in response else ""
        return f"approved{edited}" if response.get("confirmed") else "rejected"
    if answer.name == CREDENTIAL:
        return "gave a credential"
    if answer.name == REQUEST_INPUT:
        return f"answered {as_json(_answer_value(response))}"
    return f"{label(answer.name or '?')}: {result_text(response)}"


def _answer_value(response: dict[str, Any]) -> Any:
    """Return the value in a response: that of `result` if it holds nothing else."""
    return response["result"] if set(response) == {"result"} else response


def _file_text(part: types.Part) -> str:
    if part.inline_data is not None:
        blob = part.inline_data
        size = len(blob.data or b"")
        return f"[{reveal(blob.display_name or blob.mime_type or 'data')}, {size:,} bytes]"
    file = part.file_data
    return f"[{reveal(file.display_name or file.file_uri or 'file')}]" if file else ""
