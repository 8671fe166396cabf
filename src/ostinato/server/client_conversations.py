"""Conversations of other protocols as sessions: begin, continue, and answer their open calls."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any, cast

from .. import _clock, types
from ..errors import AlreadyExistsError, InvalidAnswerError, SessionNotFoundError
from ..events.event import Event
from ..events.pending import Pending
from ..execution.store_access import import_events
from ..hosting.input_answers import (
    as_response,
    check_answer,
    json_or_text,
    open_requests,
    read_answer,
)
from ..sessions.base_session_service import BaseSessionService, check_name
from ..sessions.log.event_log import EventRecord
from ..sessions.session import Session, revision_of
from ..sessions.store.durable_store import Place
from .agents import ServedApp
from .host import Host
from .idempotency import is_accepted, keyed_session_id
from .names import LONGEST_PACKED, check_new_session, check_owner
from .place import check_place, load_outline, load_records
from .problems import invalid_input

Past = Sequence[types.Content]

_IMPORT_POLLS, _IMPORT_PAUSE = 20, 0.05  # seconds between polls


def pack_id(prefix: str, *names: str) -> str:
    """Encode names as one opaque id; `unpack_id` decodes it."""
    data = json.dumps(names, ensure_ascii=False, separators=(",", ":")).encode()
    return prefix + base64.urlsafe_b64encode(data).decode().rstrip("=")


def unpack_id(prefix: str, text: str, count: int) -> list[str] | None:
    """Return the names in an id, or None if `pack_id` did not make it."""
    if not text.startswith(prefix) or len(text) > LONGEST_PACKED:
        return None
    rest = text[len(prefix) :]
    try:
        names: Any = json.loads(base64.urlsafe_b64decode(rest + "=" * (-len(rest) % 4)))
    except (ValueError, RecursionError):
        return None
    if not isinstance(names, list) or len(names) != count:  # pyright: ignore[reportUnknownArgumentType]
        return None
    return names if all(isinstance(one, str) for one in names) else None  # pyright: ignore[reportUnknownVariableType]


async def begin_session(
    host: Host,
    app: ServedApp,
    user: str,
    past: Past = (),
    *,
    session_id: str | None = None,
    state: Mapping[str, Any] | None = None,
) -> Place:
    """Create a session with earlier turns.

    Args:
      host: the server's host.
      app: the app.
      user: the user.
      past: the turns, oldest first; role `user`, or `model` for the agent's answers.
      session_id: its id; None for a new one.
      state: its state.

    Raises:
      OstinatoError: a name is not valid, or the session exists.
    """
    service = host.services.sessions
    check_new_session(session_id)
    session = await service.create_session(
        app_name=app.name,
        user_id=check_name("user id", check_owner("user id", user)),
        session_id=session_id,
        state=dict(state) if state else None,
    )
    await _import_past(service, app, session, past)
    return Place(app.name, user, session.id)


async def _import_past(
    service: BaseSessionService, app: ServedApp, session: Session, past: Past
) -> None:
    invocation = ""
    events: list[Event] = []
    for one in past:
        said = one.role == "user"
        if said or not invocation:
            invocation = f"e-{_clock.new_id()}"
        author = "user" if said else app.runner.agent.name
        events.append(Event(invocation_id=invocation, author=author, content=one))
    await import_events(service, session, events)


async def begin_keyed_session(
    host: Host, app: ServedApp, user: str, key: str, past: Past, before: Place | None = None
) -> Place:
    """Return the session of a request with an idempotency key, the same for each repetition.

    Args:
      host: the server's host.
      app: the app.
      user: the user.
      key: the key.
      past: the earlier turns, as for `begin_session`.
      before: the session of the earlier turns, or None if unknown. The request continues a fork of
        it, so that a repeated request finds the same session in any process.

    Raises:
      OstinatoError: a name is not valid.
      Problem: a call is open in the earlier session, which a fork cannot answer.
    """
    service = host.services.sessions
    place = check_place(Place(app.name, user, keyed_session_id(app.name, user, key)))
    async with host.preparing:
        made = await load_outline(service, place)
        if made is None and before is not None:
            if await load_pending(host, before):
                raise invalid_input(
                    "Calls are open in this conversation. Answer them by their ids, or send text "
                    "without an Idempotency-Key."
                )
            with suppress(AlreadyExistsError):  # another process forked it meanwhile
                await service.fork_session(**before._asdict(), new_session_id=place.session_id)
        else:
            await begin_or_find_session(host, app, place, past)
    return place


async def begin_or_find_session(host: Host, app: ServedApp, place: Place, past: Past) -> None:
    """Create a session with earlier turns, or wait until another request has done so.

    Raises:
      OstinatoError: a name is not valid.
    """
    service = host.services.sessions
    with suppress(AlreadyExistsError):  # another request was faster
        if await load_outline(service, place) is None:
            await begin_session(host, app, place.user_id, past, session_id=place.session_id)
            return
    made = await load_outline(service, place)
    for _ in range(_IMPORT_POLLS):  # another request may be storing the turns
        if not past or made is None or revision_of(made):
            return
        await asyncio.sleep(_IMPORT_PAUSE)
        made = await load_outline(service, place)
    if made is not None and not revision_of(made):  # the other request failed before that
        await _import_past(service, app, made, past)


async def continue_after(
    host: Host, place: Place, invocation: str, key: str | None = None
) -> Place:
    """Return the session that continues after an invocation.

    That is this session, or a fork if it has later invocations. Open calls stay in this session.

    Raises:
      SessionNotFoundError: the session or the invocation does not exist.
    """
    last, newest = await _last_record(host, place, invocation)
    if last is newest:
        return place
    service = host.services.sessions
    source: dict[str, Any] = {**place._asdict(), "at_event": last.id, "close_requests": True}
    if key is None:
        made = await service.fork_session(**source)
        return place._replace(session_id=made.id)
    if await is_accepted(service, place, key):
        return place
    wanted = keyed_session_id(place.app_name, place.user_id, key)
    fork = place._replace(session_id=wanted)
    async with host.preparing:
        if await load_outline(service, fork) is None:
            with suppress(AlreadyExistsError):  # another process forked it meanwhile
                await service.fork_session(**source, new_session_id=wanted)
    return fork


async def check_invocation(host: Host, place: Place, invocation: str) -> None:
    """Check that a session has an invocation.

    Raises:
      SessionNotFoundError: the session or the invocation does not exist.
    """
    await _last_record(host, place, invocation)


async def _last_record(
    host: Host, place: Place, invocation: str
) -> tuple[EventRecord, EventRecord]:
    """Return the last record of an invocation, and the last record of its session."""
    _, records = await load_records(host.services.sessions, place)
    for record in reversed(records):
        if record.invocation_id == invocation:
            return record, records[-1]
    raise SessionNotFoundError("There is no such session, or no such response in it.")


def check_user(given: str | None, user: str) -> None:
    """Check that a session id belongs to the user of the request.

    Raises:
      SessionNotFoundError: the session belongs to another user.
    """
    if given is not None and given != user:
        raise SessionNotFoundError("There is no such session of this user.")


async def load_pending(host: Host, place: Place) -> list[Pending]:
    """Return the calls of a session that wait for an external answer, oldest first."""
    return [one.pending for one in await host.waiting.load_calls(place)]


async def build_answers(
    host: Host, place: Place, answers: Iterable[tuple[str, Any]], where: str
) -> types.Content:
    """Return the message that answers open calls.

    Args:
      host: the server's host.
      place: the session.
      answers: all answers of the request, each with the id of its call.
      where: the field of the request, for the error.

    Raises:
      CallNotOpenError: a call does not exist. A call that was answered before is refused when the
        message runs.
      InvalidAnswerError: two answers are for one call, even if they are equal.
      Problem: the answer to an approval has no decision.
      SessionNotFoundError: the session does not exist.
    """
    parts: dict[str, types.Part] = {}
    for wanted, value in answers:
        one = (await host.waiting.find_call(place, wanted)).pending
        if wanted in parts:
            raise InvalidAnswerError(
                f"{where}: call {wanted!r} ({one.tool}) is answered twice. Send one answer."
            )
        parts[wanted] = one.answer(_call_response(one, value, where))
    return types.Content(role="user", parts=[*parts.values()])


async def build_text_answer(host: Host, place: Place, words: str) -> types.Content | None:
    """Return the message that answers a session's open request for input with a person's text.

    Returns:
      The message, or None if no request for input is open.

    Raises:
      InvalidAnswerError: the text does not match the request's schema.
      Problem: several requests are open.
      SessionNotFoundError: the session does not exist.
    """
    if not words.strip():
        return None
    asked = open_requests(await load_pending(host, place))
    if not asked:
        return None
    if len(asked) > 1:
        questions = "; ".join(f"{one.call.id} asks {one.message!r}" for one in asked)
        raise invalid_input(
            f"Several questions are open, and text alone does not say which one it answers: "
            f"{questions}. Answer each call by its id."
        )
    part = asked[0].answer(read_answer(asked[0], words))
    return types.Content(role="user", parts=[part])


def question_of(pending: Pending) -> str:
    """Return the question of an open call as text."""
    if pending.kind == "input":
        return pending.message or f"{pending.asker or pending.tool} asks for input."
    return pending.hint


def _call_response(pending: Pending, value: Any, where: str) -> dict[str, Any]:
    if pending.kind == "input":
        return _input_response(pending, value)
    is_approval = pending.kind == "approval"
    if isinstance(value, str):
        value = json_or_text(value, unique_keys=is_approval)
    response = as_response(value)
    if is_approval and not isinstance(response.get("confirmed"), bool):
        raise invalid_input(
            f"{where}: answer an approval with "
            '{"confirmed": true} or {"confirmed": false}, and optionally "args" or "payload", each '
            "once."
        )
    return response


def _input_response(pending: Pending, value: Any) -> dict[str, Any]:
    """Return the response to a request for input: parse text, check other values."""
    if isinstance(value, str):
        try:
            parsed: Any = json.loads(value)
        except (ValueError, RecursionError):
            parsed = None
        # In a protocol whose results are text, a client writes `{"result": x}` as text.
        if not (isinstance(parsed, dict) and set(cast("dict[str, Any]", parsed)) == {"result"}):
            return read_answer(pending, value)
        value = cast("dict[str, Any]", parsed)
    response = as_response(value)
    check_answer(pending, response)
    return response
