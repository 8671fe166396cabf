"""The command `ostinato approvals`: lists and answers the calls that wait for a person."""

from __future__ import annotations

import argparse
import asyncio
from datetime import datetime

from ..events.pending import Pending, pending_calls
from ..hosting.command_runners import closing_runner, runner_of
from ..hosting.loader import LoadedAgent, load_agent
from ..hosting.store_address import parse_store
from ..hosting.stores import Store, store_of
from ..sessions.session import Session
from ..sessions.store.durable_store import Place
from . import run
from .call_lookup import find_call, is_meant
from .call_view import call_lines
from .cli_error import USAGE, CliError
from .escape import label
from .parser import parse_arguments
from .printer import Printer
from .screen import Screen
from .session_index import check_existing

_SESSIONS = 1000  # in which an answered call is looked for


def main(args: argparse.Namespace) -> int:
    """Run the command; return its exit code."""
    given = [*args.approve, *args.reject, *(call for call, _ in args.answer)]
    if len(given) > 1:
        raise CliError("Answer one call at a time: --approve, --reject or --answer.", USAGE)
    if args.args and not args.approve:
        raise CliError("--args needs --approve CALL.", USAGE)
    check_existing(parse_store(args.db))
    loaded = load_agent(args.path, args.allow_code_from)
    sessions = asyncio.run(_read_sessions(args, loaded, given))
    if not given:
        return _list_waiting(args, sessions)
    place = f"the session {args.session!r}" if args.session else f"any session of {args.path}"
    if args.user:
        place += f" of the user {args.user!r}"
    return run.main(_as_run(args, _session_of(sessions, given[0], place)))


async def _read_sessions(
    args: argparse.Namespace, loaded: LoadedAgent, given: list[str]
) -> list[Session]:
    """Return the sessions of the app with waiting calls, the newest request first.

    If the given call is not among them, recently changed sessions follow: the call may already be
    answered.
    """
    store, places = store_of(args.db)
    runner = runner_of(loaded, store, places)
    async with closing_runner(runner, store):
        found = await _waiting_places(store, runner.app_name, args.user, args.session)
        sessions = await _load_sessions(store, found)
        if given and not any(_has_call(session, given[0]) for session in sessions):
            listed = await store.list_sessions(
                app_name=runner.app_name, user_id=args.user, page_size=_SESSIONS
            )
            newest = [
                Place(one.app_name, one.user_id, one.id)
                for one in listed.sessions
                if args.session in (None, one.id)
            ]
            sessions += await _load_sessions(
                store, [place for place in newest if place not in found]
            )
    return sessions


async def _load_sessions(store: Store, places: list[Place]) -> list[Session]:
    read = [await store.get_session(**place._asdict()) for place in places]
    return [session for session in read if session is not None]


def _has_call(session: Session, wanted: str) -> bool:
    """Return whether a person means a call that waits in a session."""
    return any(is_meant(one.call.id, wanted) for one in pending_calls(session.events))


async def _waiting_places(
    store: Store, app_name: str, user_id: str | None, session_id: str | None
) -> list[Place]:
    """Return the sessions with open requests, without repeats; of any user and id where None."""
    found: dict[Place, None] = {}
    page = await store.open_requests(app_name, user_id)
    while True:  # until the last page
        found.update(dict.fromkeys(one.place for one in page.requests))
        if page.next is None:
            return [place for place in found if session_id in (None, place.session_id)]
        page = await store.open_requests(app_name, user_id, after=page.next)


def _session_of(sessions: list[Session], wanted: str, place: str) -> Session:
    """Return the session with the call that a person means.

    Args:
      sessions: the sessions that were searched.
      wanted: the call's id, or its beginning.
      place: what was searched, for the error.

    Raises:
      CliError: no call, or one of several sessions, begins so, or the call was already answered.
    """
    kinds = ("approval", "credential", "input", "result")
    waiting = [(session, one) for session in sessions for one in pending_calls(session.events)]
    found = [session for session, one in waiting if one.call.id == wanted]
    found = found or [session for session in sessions if _has_call(session, wanted)]
    if len(found) > 1:
        ids = ", ".join(sorted(label(session.id) for session in found))
        raise CliError(
            f"{wanted!r} fits calls of more than one session. Add --session ID, one of: {ids}, or "
            "give more of the call's id.",
            USAGE,
        )
    events = [event for session in sessions for event in session.events]
    call = find_call([one for _, one in waiting], wanted, kinds, events, place)
    return next(session for session, one in waiting if one is call)


def _as_run(args: argparse.Namespace, session: Session) -> argparse.Namespace:
    """Return the arguments of `ostinato run` that answer a call of a session."""
    words = ["run", args.path, f"--session={session.id}", f"--user={session.user_id}"]
    found = parse_arguments([*words, f"--db={args.db}"])
    found.began, found.allow_code_from = args.began, args.allow_code_from
    found.policy = args.policy
    found.approve, found.reject = args.approve, args.reject
    found.answer, found.args = args.answer, args.args
    return found


def _list_waiting(args: argparse.Namespace, sessions: list[Session]) -> int:
    printer = Printer(Screen())
    number = 0
    for session in sessions:
        times = {event.id: event.timestamp for event in session.events}
        waiting = pending_calls(session.events)
        for one in waiting:
            number += 1
            moment = datetime.fromtimestamp(times[one.event_id]).strftime("%Y-%m-%d %H:%M")
            where = f"session {label(session.id)} of {label(session.user_id)}, since {moment}"
            run.show_waiting(printer, one)
            printer.note((f"  {where}", "dim"))
            for line in _detail_lines(one, printer.width):
                printer.note(*line)
            command = run.approvals_command(args, session, one)
            for way in run.ways_to_answer(command, one, waiting):
                printer.note(f"  {way}")
    if not number:
        printer.note(("No calls are waiting.", "dim"))
    return 0


def _detail_lines(one: Pending, width: int) -> list[tuple[str | tuple[str, str], ...]]:
    """Return the lines that show the call of an approval, and what is said with it."""
    if one.kind == "input":
        return []
    return [*run.hint_lines(one, width), *call_lines(one, width)[0]]
