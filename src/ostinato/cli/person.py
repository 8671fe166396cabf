"""Questions to a person for what a run waits for: approvals, credentials and answers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from .. import types
from ..errors import InvalidAnswerError
from ..events.pending import Pending
from ..hosting.input_answers import read_answer, read_json
from .call_view import (
    SAID_LINES,
    Line,
    call_lines,
    call_name,
    said_lines,
    title_of,
)
from .escape import exact_json, label, reveal
from .printer import Printer
from .question_view import (
    answer_problem,
    draft_of,
    question_lines,
    takes_object,
    wanted_text,
)


class Person(Protocol):
    """The person who answers; `prompt.Prompt` in a terminal."""

    async def ask(self, question: str) -> str:
        """Ask for a short answer."""
        ...

    async def secret(self, question: str) -> str:
        """Ask for something that is not shown."""
        ...

    async def edit(self, text: str, problem: Callable[[str], str]) -> str:
        """Let the person edit a text until it is valid."""
        ...


async def ask_for(
    waiting: list[Pending], person: Person, printer: Printer, problem: Callable[[str], str]
) -> list[types.Part]:
    """Ask for the answers to waiting calls.

    Args:
      problem: says what is wrong with edited arguments.

    Returns:
      The answers; calls that the person skipped (Ctrl-C, Ctrl-D) have none.
    """
    answers: list[types.Part] = []
    for one in waiting:
        try:
            if one.kind == "approval":
                response = await _ask_approval(one, person, printer, problem)
            elif one.kind == "credential":
                response = await _ask_credential(one, person, printer)
            elif one.kind == "input":
                response = await _ask_input(one, person, printer)
            else:
                continue
        except (EOFError, KeyboardInterrupt):
            printer.note((f"{title_of(one)} is left waiting", "dim"))
            break
        if response is not None:
            answers.append(one.answer(response))
            if one.kind == "approval" and response["confirmed"]:
                printer.remember_call(one.tool_call_id, one.tool, response.get("args", one.args))
    return answers


async def _ask_approval(
    one: Pending, person: Person, printer: Printer, problem: Callable[[str], str]
) -> dict[str, Any] | None:
    printer.section(("◆ ", "bold yellow"), (call_name(one), "bold"), " asks for your approval")
    whole = False
    while True:
        # Repeat the call above each question, so that earlier output cannot mislead the person.
        cut = _show_call(one, printer, whole=whole)
        whole = False
        ways = "y / n / edit / all" if cut else "y / n / edit"
        choice = (await person.ask(f"  Run it? {ways}: ")).lower()
        if choice in ("y", "yes"):
            return _confirm_call(one, one.args, one.payload)
        if choice in ("n", "no"):
            return {"confirmed": False}
        if choice in ("e", "edit"):
            changed = await _ask_edited_call(one, person, problem)
            if changed is not None:
                return changed
        elif choice in ("a", "all"):
            whole = True
        elif choice:
            printer.note(("  Answer y, n or edit; Ctrl-D leaves it waiting.", "dim"))


def _show_call(one: Pending, printer: Printer, *, whole: bool) -> bool:
    """Show a call with its hint and payload; return whether something was left out."""
    width = printer.width
    lines: list[Line] = []
    if one.hint:
        lines += said_lines("says", exact_json(one.hint), width, whole=whole)
    if one.payload is not None:
        lines += said_lines("to fill in", exact_json(one.payload), width, whole=whole)
    said = len(lines)
    call, cut = call_lines(one, width, whole=whole)
    for line in lines + call:
        printer.note(*line)
    if whole:
        call, cut = call_lines(one, width)
        for line in call:
            printer.note(*line)
    return cut or (said > 0 and not whole and _is_cut(one, width))


def _is_cut(one: Pending, width: int) -> bool:
    """Return whether the hint or the payload has more lines than are shown."""
    whole = said_lines("says", exact_json(one.hint), width, whole=True)
    fill = said_lines("to fill in", exact_json(one.payload), width, whole=True)
    return len(whole) > SAID_LINES or len(fill) > SAID_LINES


async def _ask_input(one: Pending, person: Person, printer: Printer) -> dict[str, Any]:
    """Ask a workflow's question until the answer fits."""
    printer.section(("◆ ", "bold yellow"), (title_of(one), "bold"), " asks you")
    for line in question_lines(one, printer.width):
        printer.note(*line)
    if takes_object(one.response_schema):
        text = exact_json(draft_of(one.response_schema or {}), indent=2)
        while True:
            given = await person.edit(text, lambda words: answer_problem(one, words))
            if not answer_problem(one, given):
                return read_answer(one, given)
    wanted = wanted_text(one.response_schema)
    while True:
        words = await person.ask(f"  Answer{wanted}: ")
        if not words:
            continue
        try:
            return read_answer(one, words)
        except InvalidAnswerError as error:
            printer.note((f"  {reveal(str(error))}", "yellow"))


def _confirm_call(one: Pending, args: dict[str, Any], payload: Any) -> dict[str, Any]:
    answer: dict[str, Any] = {"confirmed": True}
    if args != one.args:
        answer["args"] = args
    if payload is not None:
        answer["payload"] = payload
    return answer


async def _ask_edited_call(
    one: Pending, person: Person, problem: Callable[[str], str]
) -> dict[str, Any] | None:
    """Let the person edit the arguments, or the payload if the tool asks for one."""
    fills_in = one.payload is not None
    start: Any = one.payload if fills_in else one.args
    text = exact_json(start, indent=2)
    try:
        value: Any = read_json(await person.edit(text, problem))
    except (EOFError, KeyboardInterrupt):
        return None
    return _confirm_call(one, one.args, value) if fills_in else _confirm_call(one, value, None)


async def _ask_credential(one: Pending, person: Person, printer: Printer) -> dict[str, Any] | None:
    config: dict[str, Any] = dict((one.call.args or {}).get("authConfig") or {})
    scheme: dict[str, Any] = config.get("authScheme") or {}
    kind = str(scheme.get("type") or "")
    printer.section(("◆ ", "bold yellow"), (call_name(one), "bold"), " needs a credential")
    if kind == "apiKey":
        name, place = label(str(scheme.get("name"))), label(str(scheme.get("in")))
        where = f" ({name}, sent in the {place})"
        key = await person.secret(f"  API key{where}: ")
        given: dict[str, Any] = {"authType": "apiKey", "apiKey": key}
    elif kind == "http" and scheme.get("scheme") == "basic":
        key = await person.ask("  User: ")
        password = await person.secret("  Password: ")
        http = {"scheme": "basic", "credentials": {"username": key, "password": password}}
        given = {"authType": "http", "http": http}
    elif kind == "http":
        key = await person.secret("  Token: ")
        http = {"scheme": scheme.get("scheme") or "bearer", "credentials": {"token": key}}
        given = {"authType": "http", "http": http}
    else:
        given, key = await _ask_oauth2(config, kind, person, printer)
    if not key:
        printer.note((f"  Nothing given; {call_name(one)} is left waiting.", "dim"))
        return None
    return {**config, "exchangedAuthCredential": given}


async def _ask_oauth2(
    config: dict[str, Any], kind: str, person: Person, printer: Printer
) -> tuple[dict[str, Any], str]:
    """Show the consent address, and ask for the address of the redirect."""
    exchanged: dict[str, Any] = dict(config.get("exchangedAuthCredential") or {})
    oauth2: dict[str, Any] = dict(exchanged.get("oauth2") or {})
    question = "  Access token: "
    if oauth2.get("authUri"):
        printer.prose("Sign in here, then paste the address you are sent back to:")
        printer.note(("  ", ""), (reveal(str(oauth2["authUri"])), "underline"))
        question = "  Address, or an access token: "
    given = await person.secret(question)
    field = "authResponseUri" if given.startswith(("http://", "https://")) else "accessToken"
    auth_type = "openIdConnect" if kind == "openIdConnect" else "oauth2"
    return {**exchanged, "authType": auth_type, "oauth2": {**oauth2, field: given}}, given
