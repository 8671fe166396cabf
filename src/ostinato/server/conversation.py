"""Conversations of other protocols as sessions: begun with what was said before, continued, and
their waiting calls answered. The facades use it.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn, cast

from .. import _clock, types
from ..errors import SessionNotFoundError
from ..events.event import Event
from ..events.pending import Pending
from ..sessions._durable_store import Place
from ..sessions.base_session_service import check_name
from .agents import ServedApp
from .host import Host
from .place import numbered
from .problems import Problem

Past = Sequence[types.Content]


def packed(prefix: str, *names: str) -> str:
    """Return names as an id that a client carries; `unpacked` reads it."""
    data = json.dumps(names, ensure_ascii=False, separators=(",", ":")).encode()
    return prefix + base64.urlsafe_b64encode(data).decode().rstrip("=")


def unpacked(prefix: str, text: str, count: int) -> list[str] | None:
    """Return the names in an id; None where the id is none of ours."""
    if not text.startswith(prefix):
        return None
    rest = text[len(prefix) :]
    try:
        names: Any = json.loads(base64.urlsafe_b64decode(rest + "=" * (-len(rest) % 4)))
    except (ValueError, RecursionError):
        return None
    if not isinstance(names, list) or len(names) != count:  # pyright: ignore[reportUnknownArgumentType]
        return None
    return names if all(isinstance(one, str) for one in names) else None  # pyright: ignore[reportUnknownVariableType]


async def begin(
    host: Host,
    app: ServedApp,
    user: str,
    past: Past = (),
    *,
    session_id: str | None = None,
    state: Mapping[str, Any] | None = None,
) -> Place:
    """Make a session in which something was said before.

    Args:
      host: the server's.
      app: the app.
      user: the user.
      past: what was said, oldest first; role `user`, or `model` for the agent's answers.
      session_id: its id; made up where None.
      state: its state.

    Raises:
      OstinatoError: a name breaks its rule, or the session exists.
    """
    service = host.services.sessions
    session = await service.create_session(
        app_name=app.name,
        user_id=check_name("user id", user),
        session_id=session_id,
        state=dict(state) if state else None,
    )
    invocation = ""
    for one in past:
        said = one.role == "user"
        if said or not invocation:
            invocation = f"e-{_clock.new_id()}"
        author = "user" if said else app.runner.agent.name
        await service.append_event(
            session, Event(invocation_id=invocation, author=author, content=one)
        )
    return Place(app.name, user, session.id)


async def behind(host: Host, place: Place, invocation: str) -> Place:
    """Return the session that stands behind an invocation: this one, or a fork of it where more
    has been said since.

    Raises:
      SessionNotFoundError: there is no such session, or no such invocation in it.
    """
    _, records = await numbered(host.services.sessions, place)
    last = None
    for record in records:
        if record.invocation_id == invocation:
            last = record
    if last is None:
        raise SessionNotFoundError("There is no such session, or no such response in it.")
    if last is records[-1]:
        return place
    made = await host.services.sessions.fork_session(**place._asdict(), at_event=last.id)
    return Place(place.app_name, place.user_id, made.id)


async def waiting(host: Host, place: Place) -> list[Pending]:
    """Return the calls of a session that wait for somebody outside, oldest first."""
    return [one.pending for one in await host.waiting.of(place)]


async def answering(
    host: Host, place: Place, answers: Mapping[str, Any], where: str
) -> types.Content:
    """Return the message that answers waiting calls.

    Args:
      host: the server's.
      place: the session.
      answers: what each call is answered with, by the id of the call or of its tool's own call.
      where: the field of the request, for the error.

    Raises:
      Problem: no such call waits, or an approval is answered by something else.
      SessionNotFoundError: there is no such session.
    """
    open_calls = await waiting(host, place)
    parts: list[types.Part] = []
    for wanted, value in answers.items():
        for one in open_calls:
            if wanted in (one.call.id, one.tool_call_id):
                parts.append(one.answer(_response(one, value, where)))
                break
        else:
            raise Problem(400, "InputValidationError", f"{where}: no such call waits here.")
    return types.Content(role="user", parts=parts)


def _response(pending: Pending, value: Any, where: str) -> dict[str, Any]:
    if isinstance(value, str):
        try:
            value = json.loads(value, parse_constant=_no_constant)
        except (ValueError, RecursionError):
            pass  # a text is an answer, too
    response = cast("dict[str, Any]", value) if isinstance(value, dict) else {"result": value}
    if pending.kind == "approval" and not isinstance(response.get("confirmed"), bool):
        raise Problem(
            400,
            "InputValidationError",
            f"{where}: an approval is answered by "
            '{"confirmed": true} or {"confirmed": false}, with "args" or "payload" where wanted.',
        )
    return response


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON value")
