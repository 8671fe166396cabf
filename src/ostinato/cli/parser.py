"""The arguments of every command, and what `--help` says about them. Called by main."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

from ..hosting.places import DEFAULT_DB, DEFAULT_USER
from ..version import __version__
from .file_options import add_allow_code, add_generate
from .serve_options import add_mcp, add_serve

_RAW = argparse.RawDescriptionHelpFormatter

_EXAMPLES = """\
examples:
  ostinato create my_agent                     make an agent to start from
  ostinato run my_agent                        talk with it
  ostinato run my_agent "What time is it?"     ask one question
  ostinato run my_agent --session 3f2a91c0     go on with a session
  ostinato sessions list                       see what there is
  ostinato trace 3f2a91c0                      see what took how long in a session
  ostinato worker my_agent                     run what was submitted, until it is stopped
  ostinato models                              see which models can be used
  ostinato serve agents                        serve a folder of agents over HTTP
  ostinato generate my_agent                   write the Python program of an agent in YAML
  ostinato graph my_agent                      draw its workflow, as Mermaid text
  ostinato doctor                              see what is installed and what is missing
"""

_RUN_EXAMPLES = """\
PATH is a folder with agent.py, __init__.py or root_agent.yaml, a Python or YAML file, or a dotted
module; Python defines root_agent (an agent) or app (an App). A file .env in the folder is read
first, for keys.

examples:
  ostinato run my_agent                                talk; /help lists the commands there
  ostinato run my_agent "Pay invoice A-102"            one question
  printf 'first\\nsecond\\n' | ostinato run my_agent     each line of the input is a message
  ostinato run my_agent "..." --jsonl                  events as JSON lines, for programs
  ostinato run my_agent --session ID --approve CALL    say yes to a call that waits
  ostinato run my_agent --session ID --answer CALL '{"status": "done"}'

exit codes: 0 it went well, 1 the run failed, 2 wrong usage, 130 interrupted
"""

_WORKER_EXAMPLES = """\
Messages are submitted with Runner.submit. Any number of workers may run on one store; they run each
message once, those of a session in order, and go on with what a dead worker left. On SIGTERM or
Ctrl-C a worker takes nothing more, gives what runs the grace time, and hands the rest over.

examples:
  ostinato worker my_agent                                        one SQLite file, one machine
  ostinato worker my_agent --db postgresql+asyncpg://user@host/db any number of machines
  ostinato worker my_agent --once                                 run what waits, and end

exit codes: 0 it was stopped or had nothing left to do, 1 it failed, 2 wrong usage
"""


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of the whole command line."""
    parser = argparse.ArgumentParser(
        prog="ostinato",
        description="Run LLM agents, and look after their sessions.",
        epilog=_EXAMPLES,
        formatter_class=_RAW,
    )
    parser.add_argument("--version", action="version", version=f"ostinato {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    _add_run(commands)
    _add_create(commands)
    _add_sessions(commands)
    _add_trace(commands)
    _add_graph(commands)
    _add_worker(commands)
    add_serve(commands)
    add_mcp(commands)
    add_generate(commands)
    _add_migrate(commands)
    _add_models(commands)
    doctor = commands.add_parser("doctor", help="tell what is installed and what is missing")
    doctor.description = "Tell what is installed, which keys are set and what is missing."
    return parser


def parse(argv: Sequence[str] | None) -> argparse.Namespace:
    """Read a command line; ends the process with code 2 where it makes no sense."""
    parser = build_parser()
    args, rest = parser.parse_known_args(argv)
    # argparse takes both positionals at once, and so does not see a QUESTION that follows options.
    if args.command == "run" and args.question is None and len(rest) == 1:
        if not rest[0].startswith("-"):
            args.question = rest.pop()
    if rest:
        parser.error(f"unrecognized arguments: {' '.join(rest)}")
    return args


# argparse gives the type of what add_subparsers returns no public name.
_Commands = Any


def _add_run(commands: _Commands) -> None:
    run = commands.add_parser(
        "run",
        help="talk with an agent, or ask it one question",
        description="Talk with an agent, or ask it one question.",
        epilog=_RUN_EXAMPLES,
        formatter_class=_RAW,
    )
    run.add_argument("path", metavar="PATH", help="the agent's folder, file or dotted module")
    add_allow_code(run)
    run.add_argument("question", metavar="QUESTION", nargs="?", help="ask this and end")
    session = run.add_argument_group("session")
    session.add_argument("--session", metavar="ID", help="create this session, or go on with it")
    session.add_argument(
        "--resume",
        metavar="INVOCATION",
        nargs="?",
        const="",
        help="go on with an invocation that was cut off; without a value, the session's last",
    )
    session.add_argument("--state", metavar="JSON", help="state to set, as a JSON object")
    _add_store(session, user_help=f"user of the session (default: {DEFAULT_USER})")
    answers = run.add_argument_group("answers to calls that wait")
    answers.add_argument(
        "--approve", metavar="CALL", action="append", default=[], help="say yes to a call"
    )
    answers.add_argument(
        "--reject", metavar="CALL", action="append", default=[], help="say no to a call"
    )
    answers.add_argument(
        "--args", metavar="JSON", help="run the approved call with these arguments instead"
    )
    answers.add_argument(
        "--answer",
        metavar=("CALL", "JSON"),
        nargs=2,
        action="append",
        default=[],
        help="give the result of a long-running call",
    )
    shown = run.add_argument_group("model and output")
    shown.add_argument("--model", metavar="NAME", help="model for all agents that name theirs")
    shown.add_argument(
        "--jsonl", action="store_true", help="write one event per line as JSON, nothing else"
    )
    shown.add_argument(
        "--no-stream", action="store_true", help="show whole responses, not words as they come"
    )
    shown.add_argument(
        "--verbose", "-v", action="store_true", help="shorten nothing; tracebacks with errors"
    )
    shown.add_argument(
        "--timing", action="store_true", help="tell where the time of the first turn went"
    )


def _add_graph(commands: _Commands) -> None:
    graph = commands.add_parser(
        "graph",
        help="write a workflow as a diagram",
        description="Write the graphs of the workflows that an agent is or has, as text in "
        "Mermaid's language, which Git hosts and editors draw.",
    )
    graph.add_argument("path", metavar="PATH", help="folder, file or dotted module of the agent")


def _add_models(commands: _Commands) -> None:
    models = commands.add_parser(
        "models",
        help="list the providers of models, and try one",
        description="List the providers of models: what is installed, which keys are set (names "
        "only), and what is missing.",
    )
    models.add_argument("model", metavar="NAME", nargs="?", help="tell what this model can do")
    models.add_argument(
        "--ping", metavar="NAME", help="send this model one tiny request, and tell how it went"
    )
    models.add_argument("--json", action="store_true", help="write JSON")


def _add_migrate(commands: _Commands) -> None:
    migrate = commands.add_parser(
        "migrate",
        help="copy the sessions of one SQL database into another",
        description="Copy every session of a SQL database into another one, such as those of "
        "google-adk 1 into a new database. What is there already stays; the first is not changed.",
    )
    migrate.add_argument("--from", dest="source", metavar="URL", required=True)
    migrate.add_argument("--to", dest="target", metavar="URL", required=True)


def _add_trace(commands: _Commands) -> None:
    trace = commands.add_parser(
        "trace",
        help="show what took how long in a session",
        description="Show the runs of a session as a waterfall: agents, model calls and tools.",
    )
    trace.add_argument("id", metavar="SESSION", help="the session, or the beginning of its id")
    trace.add_argument("--invocation", metavar="ID", help="only this invocation")
    _add_store(trace, "only sessions of this user", app=True)


def _add_worker(commands: _Commands) -> None:
    worker = commands.add_parser(
        "worker",
        help="run what was submitted for an agent",
        description="Run messages that were submitted for an agent, and what dead workers left.",
        epilog=_WORKER_EXAMPLES,
        formatter_class=_RAW,
    )
    worker.add_argument("path", metavar="PATH", help="the agent's folder, file or dotted module")
    add_allow_code(worker)
    worker.add_argument(
        "--db",
        metavar="DB",
        default=DEFAULT_DB,
        help=f"SQLite file, or URL of a database (default: {DEFAULT_DB})",
    )
    worker.add_argument(
        "--concurrency", metavar="N", type=int, default=10, help="invocations at once (default: 10)"
    )
    worker.add_argument(
        "--engine",
        choices=("pool", "dbos"),
        default="pool",
        help="pool needs nothing but the database; dbos adds limits and schedules (default: pool)",
    )
    worker.add_argument(
        "--lease",
        metavar="SECONDS",
        type=float,
        default=10.0,
        help="others go on with what it ran, so long after it was last heard of (default: 10)",
    )
    worker.add_argument(
        "--grace",
        metavar="SECONDS",
        type=float,
        default=30.0,
        help="how long what runs may go on after SIGTERM (default: 30)",
    )
    worker.add_argument(
        "--once", action="store_true", help="end as soon as there is nothing left to do"
    )


def _add_store(group: Any, user_help: str, app: bool = False) -> None:
    group.add_argument(
        "--db", metavar="FILE", default=DEFAULT_DB, help=f"SQLite file (default: {DEFAULT_DB})"
    )
    if app:
        group.add_argument("--app", metavar="NAME", help="only sessions of this app")
    group.add_argument("--user", metavar="ID", help=user_help)


def _add_create(commands: _Commands) -> None:
    create = commands.add_parser(
        "create",
        help="make the folder of a new agent",
        description="Make a folder with a small working agent to start from.",
    )
    create.add_argument("name", metavar="NAME", help="folder to make; its name is the agent's")
    create.add_argument("--model", metavar="NAME", help="model that the agent names")


def _add_sessions(commands: _Commands) -> None:
    sessions = commands.add_parser(
        "sessions",
        help="list, show, export, import or delete sessions",
        description="Look after the sessions in a SQLite file.",
    )
    verbs = sessions.add_subparsers(dest="verb", metavar="VERB", required=True)
    listing = verbs.add_parser("list", help="list the sessions, newest first")
    show = verbs.add_parser("show", help="print a session as a conversation")
    export = verbs.add_parser("export", help="write a session as JSON")
    imported = verbs.add_parser("import", help="read a session back from JSON")
    delete = verbs.add_parser("delete", help="delete a session")
    for verb in (show, export, delete):
        verb.add_argument("id", metavar="ID", help="the session, or the beginning of its id")
    for verb in (listing, show, export, delete):
        _add_store(verb, "only sessions of this user", app=True)
    listing.add_argument(
        "--stuck", action="store_true", help="list invocations that nobody begins again by itself"
    )
    show.add_argument("--verbose", "-v", action="store_true", help="shorten nothing")
    export.add_argument("file", metavar="FILE", nargs="?", help="file to write (default: stdout)")
    imported.add_argument("file", metavar="FILE", help="file to read; - for the standard input")
    imported.add_argument(
        "--as", dest="as_id", metavar="NEW_ID", help="give the session this id instead of its own"
    )
    imported.add_argument(
        "--db", metavar="FILE", default=DEFAULT_DB, help=f"SQLite file (default: {DEFAULT_DB})"
    )
    delete.add_argument("--yes", action="store_true", help="do not ask")
