"""The command `ostinato run`: load the agent, open its session, run turns, say how to go on."""

from __future__ import annotations

import argparse
import asyncio
import json
import shlex
import sys
from contextlib import redirect_stdout
from dataclasses import dataclass
from importlib import import_module
from typing import Any, TextIO

from .. import types
from ..context.run_config import RunConfig, StreamingMode
from ..errors import InputValidationError
from ..events.pending import pending_calls
from ..hosting.loader import Loaded, load
from ..hosting.places import DEFAULT_DB, DEFAULT_USER, Places, make_folder, places_of
from ..hosting.services import THROUGH_ALIAS, runner_of
from ..runners import Runner
from ..sessions.base_session_service import check_name
from ..sessions.sqlite_session_service import SqliteSessionService
from ..telemetry.recorder import install
from ..telemetry.span_store import SqliteSpanStore
from .conversation import Conversation
from .failure import USAGE, CliError
from .pending import find, short_id
from .printer import Printer
from .program import program
from .screen import Screen
from .shown import ForPerson, ForProgram
from .stand_in import stand_in, stand_in_line, use_model
from .timing import Timing

_WANTED = {
    "approval": "your approval",
    "credential": "a credential, which a terminal asks for",
    "result": "its result",
}


@dataclass(slots=True)
class _Run:
    """What one call of the command works with."""

    args: argparse.Namespace
    loaded: Loaded
    places: Places
    conversation: Conversation
    printer: Printer
    prompt: Any

    async def waiting_message(self) -> types.Content | None:
        """Return the answers that --approve, --reject and --answer give; None without any."""
        args = self.args
        if not (args.approve or args.reject or args.answer):
            return None
        waiting = await self.conversation.pending()
        edited = _json_object(args.args, "--args") if args.args else None
        parts: list[types.Part] = []
        for wanted in args.approve:
            extra = {} if edited is None else {"args": edited}
            one = find(waiting, wanted, ("approval",))
            if one.payload is not None:
                extra["payload"] = one.payload
            parts.append(one.answer({"confirmed": True, **extra}))
        no = {"confirmed": False}
        parts += [find(waiting, wanted, ("approval",)).answer(no) for wanted in args.reject]
        parts += [
            find(waiting, wanted, ("result",)).answer(_result(text)) for wanted, text in args.answer
        ]
        return types.UserContent(parts=parts)


def main(args: argparse.Namespace) -> int:
    """Run the command; return its exit code."""
    _check(args)
    out = sys.stdout
    if not args.jsonl:
        return _main(args, out)
    with redirect_stdout(sys.stderr):  # what the agent's code prints must not come between
        return _main(args, out)


def _check(args: argparse.Namespace) -> None:
    """Refuse arguments that make no sense before anything is loaded."""
    try:
        check_name("user id", args.user or DEFAULT_USER)
        if args.session is not None:
            check_name("session id", args.session)
    except InputValidationError as error:
        raise CliError(str(error), USAGE) from error
    answers = bool(args.approve or args.reject or args.answer)
    if answers and (args.question or args.resume is not None):
        raise CliError(
            "--approve, --reject and --answer are a turn of their own; leave QUESTION and --resume "
            "out.",
            USAGE,
        )
    if args.resume is not None and args.question:
        raise CliError("--resume goes on without a new message; leave QUESTION out.", USAGE)
    if args.args and len(args.approve) != 1:
        raise CliError("--args goes with one --approve CALL.", USAGE)


def _main(args: argparse.Namespace, out: TextIO) -> int:
    state = _json_object(args.state, "--state") if args.state else {}
    timing = Timing(args.began) if args.timing else None
    if timing is not None:
        timing.mark("import", "the command and the runtime")
    loaded = load(args.path, args.allow_code_from)
    if args.model:
        use_model(loaded.root, args.model)
    printer = Printer(Screen(sys.stderr if args.jsonl else out), args.verbose)
    missing = stand_in(loaded.root)
    if missing:
        printer.prose(stand_in_line(missing), "yellow")
    if loaded.through_alias:
        printer.prose(THROUGH_ALIAS, "yellow")
    if args.verbose and loaded.keys:
        printer.note((f"From .env: {', '.join(loaded.keys)}", "dim"))
    if timing is None:
        return asyncio.run(_run(args, loaded, state, printer, out))
    timing.mark("load", "the agent")
    timing.import_sdks(loaded.root)
    try:
        return asyncio.run(_run(args, loaded, state, printer, out, timing))
    finally:
        timing.report()


async def _run(
    args: argparse.Namespace,
    loaded: Loaded,
    state: dict[str, Any],
    printer: Printer,
    out: TextIO,
    timing: Timing | None = None,
) -> int:
    places = places_of(args.db)
    make_folder(places)
    sessions = SqliteSessionService(places.db)
    runner = runner_of(loaded, sessions, places)
    spans = SqliteSpanStore(places.traces)
    take_out = install(spans)
    if timing is not None:
        runner.plugin_manager.register_plugin(timing)
    try:
        session_id = args.session or await _newest(args, runner)
        if args.jsonl:
            shown = ForProgram(out, loaded.folder, args.verbose)
        else:
            shown = ForPerson(printer, loaded.folder, args.verbose)
        mode = StreamingMode.NONE if args.no_stream else StreamingMode.SSE
        conversation = Conversation(
            runner,
            args.user or DEFAULT_USER,
            session_id,
            state,
            RunConfig(streaming_mode=mode),
            shown,
        )
        prompt = None
        if not args.jsonl and sys.stdin.isatty() and out.isatty():
            prompt = import_module("ostinato.cli.prompt").Prompt(places.history)
        run = _Run(args, loaded, places, conversation, printer, prompt)
        code = await _talk(run)
        await _say_how_to_go_on(run)
        return code
    finally:
        take_out()
        await runner.close()
        await sessions.close()
        await spans.close()


async def _newest(args: argparse.Namespace, runner: Runner) -> str | None:
    """Return the newest session where one is to go on; None where a new one is wanted."""
    if args.resume is None and not (args.approve or args.reject or args.answer):
        return None
    user = args.user or DEFAULT_USER
    found = await runner.session_service.list_sessions(app_name=runner.app_name, user_id=user)
    if not found.sessions:
        raise CliError(f"There is no session of {runner.app_name!r} to go on with in {args.db}.")
    return found.sessions[0].id


async def _talk(run: _Run) -> int:
    """Do what the arguments ask for; return the exit code."""
    args, conversation = run.args, run.conversation
    answers = await run.waiting_message()
    if answers is not None:
        code = await conversation.turn(answers)
        return code or await _settle(run)
    if args.resume is not None:
        return await _resume(run)
    if args.question is not None:
        return await _ask(run, args.question)
    if run.prompt is not None:
        session = await conversation.session()
        events = f"{len(session.events)} events so far" if session is not None else "new"
        title = f"{run.loaded.app_name} · session {conversation.session_id}, {events} · /help"
        run.printer.note((title, "dim"))
        interactive = import_module("ostinato.cli.interactive").Interactive
        return await interactive(conversation, run.prompt, run.printer).run()
    if sys.stdin.isatty():
        raise CliError(
            "The output is not a terminal, so there is no prompt: give a QUESTION.", USAGE
        )
    return await _ask_lines(run)


async def _ask_lines(run: _Run) -> int:
    """Take each line of the input as a message."""
    asked = False
    for line in sys.stdin:
        if not line.strip():
            continue
        asked = True
        code = await _ask(run, line.strip())
        if code:
            return code
    if not asked:
        raise CliError("The input is empty: give a QUESTION, or one message per line.", USAGE)
    return 0


async def _ask(run: _Run, question: str) -> int:
    if not question.strip():
        raise CliError("The question is empty.", USAGE)
    if not run.args.jsonl:
        run.printer.question(question)
    code = await run.conversation.say(question)
    return code or await _settle(run)


async def _settle(run: _Run) -> int:
    """Ask for what the run waits for, where somebody is there to answer."""
    if run.prompt is None:
        return 0
    problem = import_module("ostinato.cli.prompt").json_problem
    return await run.conversation.settle(run.prompt, run.printer, problem)


async def _resume(run: _Run) -> int:
    """Go on with an invocation: the one named, or the session's last where it was cut off."""
    session = await run.conversation.session()
    if session is None:
        raise CliError(f"There is no session {run.conversation.session_id!r} to resume.")
    wanted: str = run.args.resume
    if not wanted:
        if pending_calls(session.events):
            return await _settle(run)
        last = session.events[-1] if session.events else None
        ended = last is not None and last.author != "user" and last.is_final_response()
        if last is None or (ended and not last.error_code):
            raise CliError(
                f"The last turn of session {session.id} has ended, so there is nothing to resume. "
                "Give a QUESTION to go on, or name an invocation."
            )
        wanted = last.invocation_id
    found = {event.invocation_id for event in session.events}
    matching = [one for one in found if one == wanted] or [
        one for one in found if one.startswith(wanted)
    ]
    if len(matching) != 1:
        fault = "fits more than one invocation" if matching else "is no invocation"
        raise CliError(f"{wanted!r} {fault} of session {session.id}.")
    code = await run.conversation.turn(invocation_id=matching[0])
    return code or await _settle(run)


async def _say_how_to_go_on(run: _Run) -> None:
    """Say what still waits, where the session lies, and how to go on with it."""
    session = await run.conversation.session()
    if session is None:
        return
    command = _command(run)
    printer = run.printer
    waiting = pending_calls(session.events)
    printer.end_turn()
    for one in waiting:
        call = short_id(one, waiting)
        if one.kind == "approval":
            ways = [f"{command} --approve {call}", f"{command} --reject {call}"]
        elif one.kind == "credential":
            ways = [f"{command} --resume"]
        else:
            ways = [f'{command} --answer {call} \'{{"status": "done"}}\'']
        sentence = f" waits for {_WANTED[one.kind]}:"
        printer.section(("◆ ", "bold yellow"), (one.tool, "bold"), sentence)
        for way in ways:
            printer.note(f"  {way}")
    printer.section((f"Session {session.id} is kept in {run.args.db}. Go on with:", "dim"))
    printer.note(f"  {command}")


def _command(run: _Run) -> str:
    """Return the command that goes on with this session."""
    words = ["run", run.args.path, "--session", run.conversation.session_id]
    if run.args.db != DEFAULT_DB:
        words += ["--db", run.args.db]
    if run.args.user not in (None, DEFAULT_USER):
        words += ["--user", run.args.user]
    if run.args.model:
        words += ["--model", run.args.model]
    return f"{program()} {shlex.join(words)}"


def _json_object(text: str, option: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except ValueError as error:
        raise CliError(
            f"{option} takes a JSON object; this is not JSON: {error}.", USAGE
        ) from error
    if not isinstance(value, dict):
        raise CliError(
            f'{option} takes a JSON object such as \'{{"city": "Rome"}}\', not {text[:40]}.', USAGE
        )
    return dict(value)  # pyright: ignore[reportUnknownArgumentType]


def _result(text: str) -> dict[str, Any]:
    """Read the result of a long-running call: a JSON object, or any other text as its `result`."""
    try:
        value: Any = json.loads(text)
    except ValueError:
        value = text
    if isinstance(value, dict):
        return dict(value)  # pyright: ignore[reportUnknownArgumentType]
    return {"result": value}
