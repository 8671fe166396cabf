"""The command `ostinato run`: loads the agent, runs turns in a session, prints how to continue."""

from __future__ import annotations

import argparse
import asyncio
import shlex
import sys
from contextlib import redirect_stdout
from dataclasses import dataclass
from importlib import import_module
from typing import Any, TextIO

from .. import types
from ..context.run_config import RunConfig, StreamingMode
from ..errors import InputValidationError, InvalidAnswerError
from ..events.pending import Pending, pending_calls
from ..hosting.command_runners import (
    THROUGH_ALIAS,
    closing_runner,
    read_policy,
    runner_of,
    store_of,
)
from ..hosting.input_answers import read_answer, read_json
from ..hosting.loader import LoadedAgent, load_agent
from ..hosting.places import DEFAULT_USER, Places, traces_file
from ..hosting.stand_in import require_known_model, stand_in, stand_in_line, use_model
from ..hosting.store_address import mask_secrets, parse_store
from ..hosting.stores import Store, keep_spans
from ..runners import Runner
from ..sessions.base_session_service import check_name
from ..sessions.session import Session
from .call_lookup import find_call, is_unique, short_id
from .call_view import Line, said_lines, title_of
from .cli_error import USAGE, CliError
from .escape import exact_json, reveal
from .json_argument import read_object
from .parser import option_words, program_command
from .printer import Printer
from .question_view import draft_of, question_lines
from .run_session import LEAVES, Conversation
from .screen import Screen
from .session_index import check_existing
from .shown import ForPerson, ForProgram
from .store_options import default_db
from .timing import Timing

_WANTED = {
    "approval": "your approval",
    "credential": "a credential, which a terminal asks for",
    "input": "your answer",
    "result": "its result",
}


@dataclass(slots=True)
class _Run:
    """State of one call of the command."""

    args: argparse.Namespace
    loaded: LoadedAgent
    places: Places
    conversation: Conversation
    printer: Printer
    prompt: Any

    async def waiting_message(self) -> types.Content | None:
        """Return the answers of --approve, --reject and --answer, or None without any."""
        args = self.args
        if not (args.approve or args.reject or args.answer):
            return None
        session = await self.conversation.session()
        events = session.events if session is not None else []
        waiting = pending_calls(events)
        edited = read_object(args.args, "--args") if args.args else None
        parts: list[types.Part] = []
        for wanted in args.approve:
            extra = {} if edited is None else {"args": edited}
            one = find_call(waiting, wanted, ("approval",), events)
            if one.payload is not None:
                extra["payload"] = one.payload
            parts.append(one.answer({"confirmed": True, **extra}))
            given = one.args if edited is None else edited
            self.printer.remember_call(one.tool_call_id, one.tool, given)
        no = {"confirmed": False}
        parts += [
            find_call(waiting, wanted, ("approval",), events).answer(no) for wanted in args.reject
        ]
        for wanted, text in args.answer:
            one = find_call(waiting, wanted, ("result", "input"), events)
            parts.append(one.answer(_parse_response(one, text)))
        return types.UserContent(parts=parts)


def main(args: argparse.Namespace) -> int:
    """Run the command; return its exit code."""
    _check_arguments(args)
    out = sys.stdout
    if not args.jsonl:
        return _run_command(args, out)
    with redirect_stdout(sys.stderr):  # prints of the agent's code must not mix with the events
        return _run_command(args, out)


def _check_arguments(args: argparse.Namespace) -> None:
    """Refuse wrong combinations of arguments before the agent is loaded."""
    try:
        check_name("user id", args.user or DEFAULT_USER)
        if args.session is not None:
            check_name("session id", args.session)
    except InputValidationError as error:
        raise CliError(str(error), USAGE) from error
    answers = bool(args.approve or args.reject or args.answer)
    if answers and (args.question or args.resume is not None):
        raise CliError(
            "--approve, --reject and --answer are a turn of their own; omit QUESTION and --resume.",
            USAGE,
        )
    if args.resume is not None and args.question:
        raise CliError("--resume takes no new message; omit QUESTION.", USAGE)
    if args.args and len(args.approve) != 1:
        raise CliError("--args needs exactly one --approve CALL.", USAGE)


def _run_command(args: argparse.Namespace, out: TextIO) -> int:
    state = read_object(args.state, "--state") if args.state else {}
    timing = Timing(args.began) if args.timing else None
    if timing is not None:
        timing.mark("import", "the command and the runtime")
    loaded = load_agent(args.path, args.allow_code_from)
    if args.model:
        require_known_model(args.model, "--model")
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
        return asyncio.run(_run_agent(args, loaded, state, printer, out))
    timing.mark("load", "the agent")
    timing.import_sdks(loaded.root)
    try:
        return asyncio.run(_run_agent(args, loaded, state, printer, out, timing))
    finally:
        timing.report()


async def _run_agent(
    args: argparse.Namespace,
    loaded: LoadedAgent,
    state: dict[str, Any],
    printer: Printer,
    out: TextIO,
    timing: Timing | None = None,
) -> int:
    if args.resume is not None or args.approve or args.reject or args.answer:
        check_existing(parse_store(args.db))
    sessions, places = store_of(args.db)
    runner = runner_of(loaded, sessions, places, policy=read_policy(args.policy))
    if timing is not None:
        runner.plugin_manager.register_plugin(timing)
    async with keep_spans(traces_file(args.traces, places)), closing_runner(runner, sessions):
        session_id = args.session or await _newest_session_id(args, runner, sessions)
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
        code = await _run_turns(run)
        await _say_how_to_go_on(run)
        return code


async def _newest_session_id(args: argparse.Namespace, runner: Runner, store: Store) -> str | None:
    """Return the newest session if one is to be continued, or None for a new one."""
    if args.resume is None and not (args.approve or args.reject or args.answer):
        return None
    user = args.user or DEFAULT_USER
    found = await store.list_sessions(app_name=runner.app_name, user_id=user, page_size=1)
    if not found.sessions:
        raise CliError(
            f"There is no session of {runner.app_name!r} to continue in {mask_secrets(args.db)}."
        )
    return found.sessions[0].id


async def _run_turns(run: _Run) -> int:
    """Run the turns that the arguments ask for; return the exit code."""
    args, conversation = run.args, run.conversation
    answers = await run.waiting_message()
    if answers is not None:
        code = await conversation.turn(answers)
        return code or await _settle_calls(run)
    if args.resume is not None:
        return await _resume_invocation(run)
    if args.question is not None:
        return await _ask_question(run, args.question)
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
    """Send each line of standard input as a message, until one of them ends the chat."""
    asked = False
    for line in sys.stdin:
        if not line.strip():
            continue
        asked = True
        if line.strip() in LEAVES:
            break
        code = await _ask_question(run, line.strip())
        if code:
            return code
    if not asked:
        raise CliError("The input is empty: give a QUESTION, or one message per line.", USAGE)
    return 0


async def _ask_question(run: _Run, question: str) -> int:
    if not question.strip():
        raise CliError("The question is empty.", USAGE)
    if not run.args.jsonl:
        run.printer.question(question)
    try:
        code = await run.conversation.say(question)
    except InvalidAnswerError as error:
        if run.prompt is None:
            raise CliError(reveal(str(error))) from error
        run.printer.note((reveal(str(error)), "yellow"))
        code = 0
    return code or await _settle_calls(run)


async def _settle_calls(run: _Run) -> int:
    """Ask for the answers that the run waits for, if there is a prompt."""
    if run.prompt is None:
        return 0
    problem = import_module("ostinato.cli.prompt").json_problem
    return await run.conversation.settle(run.prompt, run.printer, problem)


async def _resume_invocation(run: _Run) -> int:
    """Resume the named invocation, or the session's last one if it was interrupted."""
    session = await run.conversation.session()
    if session is None:
        raise CliError(f"There is no session {run.conversation.session_id!r} to resume.")
    wanted: str = run.args.resume
    if not wanted:
        if pending_calls(session.events):
            return await _settle_calls(run)
        last = session.events[-1] if session.events else None
        ended = last is not None and last.author != "user" and last.is_final_response()
        if last is None or (ended and not last.error_code):
            raise CliError(
                f"The last turn of session {session.id} has ended, so there is nothing to resume. "
                "Give a QUESTION to continue, or name an invocation."
            )
        wanted = last.invocation_id
    found = {event.invocation_id for event in session.events}
    matching = [one for one in found if one == wanted] or [
        one for one in found if one.startswith(wanted)
    ]
    if len(matching) != 1:
        fault = "matches more than one invocation" if matching else "is not an invocation"
        is_file = wanted.endswith(".json")
        remedy = " `ostinato sessions import` reads a session from a file." if is_file else ""
        raise CliError(f"{wanted!r} {fault} of session {session.id}.{remedy}")
    code = await run.conversation.turn(invocation_id=matching[0])
    return code or await _settle_calls(run)


async def _say_how_to_go_on(run: _Run) -> None:
    """Print the calls that wait, where the session is stored, and how to continue it."""
    session = await run.conversation.session()
    if session is None:
        return
    command = _continue_command(run)
    printer = run.printer
    waiting = pending_calls(session.events)
    printer.end_turn()
    for one in waiting:
        show_waiting(printer, one)
        for line in hint_lines(one, printer.width):
            printer.note(*line)
        for way in ways_to_answer(command, one, waiting, resume=command):
            printer.note(f"  {way}")
    printer.section(
        (f"Session {session.id} is stored in {mask_secrets(run.args.db)}. Continue with:", "dim")
    )
    printer.note(f"  {command}")


def show_waiting(printer: Printer, one: Pending) -> None:
    """Show a waiting call, and the question of a request for input."""
    printer.section(
        ("◆ ", "bold yellow"), (title_of(one), "bold"), f" waits for {_WANTED[one.kind]}:"
    )
    for line in question_lines(one, printer.width) if one.kind == "input" else ():
        printer.note(*line)


def hint_lines(one: Pending, width: int) -> list[Line]:
    """Return the lines with what is said to the person who approves, such as a rule's message."""
    if one.kind == "input" or not one.hint:
        return []
    return said_lines("says", exact_json(one.hint), width)


def ways_to_answer(
    command: str, one: Pending, waiting: list[Pending], resume: str = ""
) -> list[str]:
    """Return the commands that answer a call.

    Args:
      command: the command that takes `--approve`, `--reject` and `--answer`.
      one: the call.
      waiting: the calls of its session that wait.
      resume: the command that asks for a credential at a terminal.
    """
    call = reveal(short_id(one, waiting))

    def option(name: str) -> str:
        return f"{command} {shlex.join(option_words(name, call))}"

    if one.kind == "approval":
        return [option("--approve"), option("--reject")]
    if one.kind == "credential":
        return [f"{resume} --resume"] if resume else []
    value = _value_to_fill_in(one) if one.kind == "input" else '\'{"status": "done"}\''
    return [f"{option('--answer')} {value}"]


def _value_to_fill_in(one: Pending) -> str:
    """Return the answer's place in a command: the fields of the question's schema, else `VALUE`."""
    draft = draft_of(one.response_schema or {})
    return shlex.quote(exact_json(draft)) if isinstance(draft, dict) and draft else "VALUE"


def approvals_command(args: argparse.Namespace, session: Session, one: Pending) -> str:
    """Return the command that answers a call; it names the session if others may have that id."""
    words = ["approvals", args.path, *option_words("--user", session.user_id)]
    if not is_unique(one.call.id or ""):
        words += option_words("--session", session.id)
    words += _policy_words(args)
    if args.db != default_db():
        words += ["--db", mask_secrets(args.db)]
    return f"{program_command()} {shlex.join(words)}"


def _policy_words(args: argparse.Namespace) -> list[str]:
    """Return the option that names the same policy."""
    return ["--policy", args.policy] if args.policy else []


def _continue_command(run: _Run) -> str:
    """Return the command that continues this session."""
    words = ["run", run.args.path, *option_words("--session", run.conversation.session_id)]
    words += _policy_words(run.args)
    if run.args.db != default_db():
        words += ["--db", mask_secrets(run.args.db)]
    if run.args.user not in (None, DEFAULT_USER):
        words += option_words("--user", run.args.user)
    if run.args.model:
        words += ["--model", run.args.model]
    return f"{program_command()} {shlex.join(words)}"


def _parse_response(one: Pending, text: str) -> dict[str, Any]:
    """Parse the value of --answer for a call.

    Raises:
      CliError: the value does not fit the call.
    """
    if one.kind != "input":
        return _parse_result(text)
    try:
        return read_answer(one, text)
    except InvalidAnswerError as error:
        raise CliError(reveal(str(error))) from error


def _parse_result(text: str) -> dict[str, Any]:
    """Parse the result of a long-running call: a JSON object, or any text as its `result`.

    Raises:
      CliError: it is an object that has a key twice, and so contradicts itself.
    """
    try:
        value = read_json(text, unique_keys=False)
    except ValueError:
        return {"result": text}
    return read_object(text, "--answer") if isinstance(value, dict) else {"result": value}
