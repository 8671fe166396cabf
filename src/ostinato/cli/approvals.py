"""Asking a person for what a run waits for: approvals and credentials. The run's turns call it."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, Protocol

from .. import types
from ..events.pending import Pending
from .printer import Printer
from .shorten import as_json


class Person(Protocol):
    """Who answers; `prompt.Prompt` in a terminal."""

    async def ask(self, question: str) -> str:
        """Ask for a short answer."""
        ...

    async def secret(self, question: str) -> str:
        """Ask for something that is not shown."""
        ...

    async def edit(self, text: str, problem: Callable[[str], str]) -> str:
        """Let a text be changed until nothing is wrong with it."""
        ...


async def ask_for(
    waiting: list[Pending], person: Person, printer: Printer, problem: Callable[[str], str]
) -> list[types.Part]:
    """Ask for the answers to calls that wait for the person.

    Args:
      problem: says what is wrong with edited arguments.

    Returns:
      The answers; calls that the person passed over (Ctrl-C, Ctrl-D) have none.
    """
    answers: list[types.Part] = []
    for one in waiting:
        try:
            if one.kind == "approval":
                response = await _approval(one, person, printer, problem)
            elif one.kind == "credential":
                response = await _credential(one, person, printer)
            else:
                continue
        except (EOFError, KeyboardInterrupt):
            printer.note((f"{one.tool} is left waiting", "dim"))
            break
        if response is not None:
            answers.append(one.answer(response))
    return answers


async def _approval(
    one: Pending, person: Person, printer: Printer, problem: Callable[[str], str]
) -> dict[str, Any] | None:
    printer.section(("◆ ", "bold yellow"), (one.tool, "bold"), " asks for your approval")
    if one.hint:
        printer.prose(one.hint)
    width = max((len(key) for key in one.args), default=0)
    for key, value in one.args.items():
        printer.note((f"    {key:<{width}}  ", "dim"), as_json(value))
    if one.payload is not None:
        printer.note(("    to fill in  ", "dim"), as_json(one.payload))
    while True:
        choice = (await person.ask("  Run it? y / n / edit: ")).lower()
        if choice in ("y", "yes"):
            return _confirmed(one, one.args, one.payload)
        if choice in ("n", "no"):
            return {"confirmed": False}
        if choice in ("e", "edit"):
            changed = await _edited(one, person, problem)
            if changed is not None:
                return changed
        elif choice:
            printer.note(("  Answer y, n or edit; Ctrl-D leaves it waiting.", "dim"))


def _confirmed(one: Pending, args: dict[str, Any], payload: Any) -> dict[str, Any]:
    answer: dict[str, Any] = {"confirmed": True}
    if args != one.args:
        answer["args"] = args
    if payload is not None:
        answer["payload"] = payload
    return answer


async def _edited(
    one: Pending, person: Person, problem: Callable[[str], str]
) -> dict[str, Any] | None:
    """Let the arguments be edited, or the payload where the tool wants one filled in."""
    fills_in = one.payload is not None
    start: Any = one.payload if fills_in else one.args
    text = json.dumps(start, indent=2, ensure_ascii=False, default=repr)
    try:
        value: Any = json.loads(await person.edit(text, problem))
    except (EOFError, KeyboardInterrupt):
        return None
    return _confirmed(one, one.args, value) if fills_in else _confirmed(one, value, None)


async def _credential(one: Pending, person: Person, printer: Printer) -> dict[str, Any] | None:
    config: dict[str, Any] = dict((one.call.args or {}).get("authConfig") or {})
    scheme: dict[str, Any] = config.get("authScheme") or {}
    kind = str(scheme.get("type") or "")
    printer.section(("◆ ", "bold yellow"), (one.tool, "bold"), " needs a credential")
    if kind == "apiKey":
        where = f" ({scheme.get('name')}, sent in the {scheme.get('in')})"
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
        given, key = await _oauth2(config, kind, person, printer)
    if not key:
        printer.note((f"  Nothing given; {one.tool} is left waiting.", "dim"))
        return None
    return {**config, "exchangedAuthCredential": given}


async def _oauth2(
    config: dict[str, Any], kind: str, person: Person, printer: Printer
) -> tuple[dict[str, Any], str]:
    """Show where to consent, and ask for the address that the user is sent back to."""
    exchanged: dict[str, Any] = dict(config.get("exchangedAuthCredential") or {})
    oauth2: dict[str, Any] = dict(exchanged.get("oauth2") or {})
    question = "  Access token: "
    if oauth2.get("authUri"):
        printer.prose("Sign in here, then paste the address you are sent back to:")
        printer.note(("  ", ""), (str(oauth2["authUri"]), "underline"))
        question = "  Address, or an access token: "
    given = await person.secret(question)
    field = "authResponseUri" if given.startswith(("http://", "https://")) else "accessToken"
    auth_type = "openIdConnect" if kind == "openIdConnect" else "oauth2"
    return {**exchanged, "authType": auth_type, "oauth2": {**oauth2, field: given}}, given
