"""The command-line arguments of every command, with their help texts."""

from __future__ import annotations

import argparse
import functools
import os
import shlex
import shutil
import sys
from collections.abc import Sequence
from typing import Any

from ..hosting.places import DEFAULT_USER
from ..version import __version__
from .create_options import add_completion, add_create, add_deploy
from .effect_options import add_effects, add_prove
from .eval_options import add_eval, add_eval_set, add_optimize
from .mcp_options import ACTIONS, parse_client_arguments
from .openapi_options import add_openapi
from .policy_options import add_policy_command
from .replay_options import add_diff, add_replay
from .serve_options import add_mcp, add_serve
from .session_test_options import add_conformance, add_session_tests
from .store_options import (
    add_allow_code,
    add_artifacts,
    add_db,
    add_filters,
    add_log,
    add_memory,
    add_policy,
    add_traces,
    default_db,
)

# How the command line is started in the place of an installed google-adk.
_COMPAT = ["-m", "ostinato.compat", "-m", "ostinato"]
_RAW = argparse.RawDescriptionHelpFormatter
_ANSWER = "--answer="
_MARK = "\0"  # no word of a command line holds it

_EXAMPLES = """\
examples:
  ostinato create my_agent                     create an agent to start from
  ostinato create desk --template service      create a project with tests and Dockerfile
  ostinato run my_agent                        chat with it
  ostinato run my_agent "What time is it?"     ask one question
  ostinato run my_agent --session 3f2a91c0     continue a session
  ostinato approvals my_agent                  list calls that wait for a person
  ostinato sessions list                       list the stored sessions
  ostinato trace 3f2a91c0                      show where a session's time went
  ostinato worker my_agent                     run submitted messages until stopped
  ostinato models                              list the models you can use
  ostinato serve agents                        serve a folder of agents over HTTP
  ostinato eval my_agent                       evaluate an agent with its eval sets
  ostinato replay my_agent --since 7d          replay recorded invocations with changed code
  ostinato diff main..HEAD my_agent            compare the agent at two commits
  ostinato openapi list openapi.json           list the tools of an OpenAPI document
  ostinato generate my_agent                   turn a YAML agent into a Python program
  ostinato policy check policy.yaml            check the rules about tool calls
  ostinato graph my_agent                      print its workflow as a Mermaid diagram
  ostinato effects --since 24h                 list what tools did, and how often
  ostinato prove my_agent scenario.yaml        kill it at every commit point and compare
  ostinato deploy docker                       write Dockerfile and compose file
  ostinato erase ann                           erase everything stored about a user
  ostinato docs                                open the documentation
  ostinato docs SessionBusyError               what an error means, and its remedy
  ostinato doctor                              check what is installed and what is missing
  ostinato doctor .agents/skills               check a folder of skills
"""

_RUN_EXAMPLES = """\
PATH is a folder with agent.py, __init__.py or root_agent.yaml, a Python or YAML file, or a dotted
module. A Python module defines root_agent (an agent) or app (an App). Keys are read from a .env
file in the folder.

examples:
  ostinato run my_agent                                chat; /help lists the commands
  ostinato run my_agent "Pay invoice A-102"            ask one question
  printf 'first\\nsecond\\n' | ostinato run my_agent     send each input line as a message
  ostinato run my_agent "..." --jsonl                  print events as JSON lines
  ostinato run my_agent --session ID --approve CALL    approve a waiting call
  ostinato run my_agent --session ID --answer CALL '{"status": "done"}'

exit codes: 0 success, 1 the run failed, 2 wrong usage, 3 the call was already answered,
130 interrupted
"""

_WORKER_EXAMPLES = """\
Runner.submit enqueues messages. Any number of workers may share one store: each message runs once,
the messages of a session run in order, and the invocations of a dead worker are resumed. On SIGTERM
or Ctrl-C a worker stops claiming messages, lets runs finish within the grace period, and hands the
others over.

examples:
  ostinato worker my_agent                                        one SQLite file, one machine
  ostinato worker my_agent --db postgresql://user@host/database   any number of machines
  ostinato worker my_agent --once                                 drain the queue, then exit

exit codes: 0 stopped or nothing left to do, 1 failed, 2 wrong usage
"""


_GENERATE_EXAMPLES = """\
FILE is the agent's YAML file, or a folder with root_agent.yaml. A program in the agent's folder
uses relative imports.

examples:
  ostinato generate my_agent --out my_agent/agent.py        agent.py then replaces the YAML file
  ostinato generate my_agent/root_agent.yaml                print the program
  ostinato generate --schema --out agent.schema.json        write the JSON schema of agent files

exit codes: 0 success, 1 the file does not describe a valid agent, 2 wrong usage
"""


@functools.cache
def build_parser() -> argparse.ArgumentParser:
    """Return the parser of the whole command line."""
    parser = argparse.ArgumentParser(
        prog="ostinato",
        description="Run LLM agents and manage their sessions.",
        epilog=_EXAMPLES,
        formatter_class=_RAW,
    )
    parser.add_argument("--version", action="version", version=f"ostinato {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    _add_run(commands)
    _add_approvals(commands)
    add_create(commands)
    add_deploy(commands)
    _add_sessions(commands)
    _add_trace(commands)
    _add_graph(commands)
    _add_worker(commands)
    add_serve(commands)
    add_mcp(commands)
    add_eval(commands)
    add_eval_set(commands)
    add_replay(commands)
    add_diff(commands)
    add_session_tests(commands)
    add_conformance(commands)
    add_optimize(commands)
    add_openapi(commands)
    add_policy_command(commands)
    _add_generate(commands)
    _add_migrate(commands)
    _add_erase(commands)
    add_effects(commands)
    add_prove(commands)
    _add_models(commands)
    _add_docs(commands)
    doctor = commands.add_parser("doctor", help="check what is installed and what is missing")
    doctor.description = "Check which packages are installed, which keys are set, what is missing."
    doctor.add_argument(
        "skills_dir",
        nargs="?",
        metavar="SKILLS_DIR",
        help="check the skills of this folder (or one skill) strictly instead",
    )
    add_db(doctor)
    add_completion(commands)
    return parser


def parse_arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    """Parse a command line; exit with code 2 if it is wrong."""
    words = list(sys.argv[1:] if argv is None else argv)
    if words[:1] == ["mcp"] and words[1:2] and words[1] in ACTIONS:
        return parse_client_arguments(words[1:])
    parser = build_parser()
    args, rest = parser.parse_known_args(_split_answers(words))
    # argparse consumes both positionals at once and so misses a QUESTION that follows options.
    if args.command == "run" and args.question is None and len(rest) == 1:
        if not rest[0].startswith("-"):
            args.question = rest.pop()
    if getattr(args, "db", "") is None:
        args.db = default_db()
    if rest:
        parser.error(f"unrecognized arguments: {' '.join(rest)}")
    return args


def _split_answers(words: list[str]) -> list[str]:
    """Return a command line in which `--answer=CALL VALUE` is three words, for argparse.

    Of an option with two values it takes neither one behind an equals sign nor one that begins with
    a dash, unless a mark stands before it.
    """
    found: list[str] = []
    is_value = False
    for at, word in enumerate(words):
        if is_value:
            found.append(_MARK + word)
            is_value = False
        elif word == "--":
            return found + words[at:]
        elif word.startswith(_ANSWER) and words[:1] in (["run"], ["approvals"]):
            found += ["--answer", _MARK + word.removeprefix(_ANSWER)]
            is_value = True
        else:
            found.append(word)
    return found


def _unmark(word: str) -> str:
    return word.removeprefix(_MARK)


def option_words(name: str, value: str) -> list[str]:
    """Return the words of an option, as one word if its value looks like another option."""
    return [f"{name}={value}"] if value.startswith("-") else [name, value]


# argparse gives the type of what add_subparsers returns no public name.
_Commands = Any


def _add_run(commands: _Commands) -> None:
    run = commands.add_parser(
        "run",
        help="chat with an agent, or ask it one question",
        description="Chat with an agent, or ask it one question.",
        epilog=_RUN_EXAMPLES,
        formatter_class=_RAW,
    )
    run.add_argument("path", metavar="PATH", help="the agent's folder, file or dotted module")
    add_allow_code(run)
    add_policy(run)
    run.add_argument("question", metavar="QUESTION", nargs="?", help="ask this and exit")
    session = run.add_argument_group("session")
    session.add_argument("--session", metavar="ID", help="create or continue this session")
    session.add_argument(
        "--resume",
        metavar="INVOCATION",
        nargs="?",
        const="",
        help="resume an interrupted invocation; without a value, the last one of the session",
    )
    session.add_argument("--state", metavar="JSON", help="state to set, as a JSON object")
    add_db(session)
    add_traces(session)
    session.add_argument(
        "--user", metavar="ID", help=f"user of the session (default: {DEFAULT_USER})"
    )
    _add_answers(run.add_argument_group("answers to waiting calls"))
    shown = run.add_argument_group("model and output")
    shown.add_argument("--model", metavar="NAME", help="model to use in place of the named ones")
    shown.add_argument(
        "--jsonl", action="store_true", help="print only events, one JSON object per line"
    )
    shown.add_argument(
        "--no-stream", action="store_true", help="print complete responses, not partial ones"
    )
    shown.add_argument(
        "--verbose", "-v", action="store_true", help="do not shorten anything; show tracebacks"
    )
    shown.add_argument(
        "--timing", action="store_true", help="show where the time of the first turn went"
    )


def _add_answers(answers: Any) -> None:
    answers.add_argument(
        "--approve", metavar="CALL", action="append", default=[], help="approve a call"
    )
    answers.add_argument(
        "--reject", metavar="CALL", action="append", default=[], help="reject a call"
    )
    answers.add_argument(
        "--args", metavar="JSON", help="run the approved call with these arguments instead"
    )
    answers.add_argument(
        "--answer",
        metavar=("CALL", "VALUE"),
        nargs=2,
        type=_unmark,
        action="append",
        default=[],
        help="answer a question, or give the result of a long-running call: JSON or text",
    )


def _add_approvals(commands: _Commands) -> None:
    approvals = commands.add_parser(
        "approvals",
        help="list and answer calls that wait for a person",
        description="List the calls that wait for a person in all sessions of an agent: approvals, "
        "questions, credentials and results. With an option, answer one of them.",
        epilog="exit codes: 0 success, 1 the run failed, 2 wrong usage, 3 the call was already "
        "answered",
    )
    approvals.add_argument("path", metavar="PATH", help="the agent's folder, file or module")
    add_allow_code(approvals)
    add_policy(approvals)
    add_db(approvals)
    approvals.add_argument("--user", metavar="ID", help="only sessions of this user")
    approvals.add_argument("--session", metavar="ID", help="only this session")
    _add_answers(approvals)


def _add_graph(commands: _Commands) -> None:
    graph = commands.add_parser(
        "graph",
        help="print a workflow as a diagram",
        description="Print the workflows of an agent as Mermaid diagrams, which Git hosts and "
        "editors render.",
    )
    graph.add_argument("path", metavar="PATH", help="folder, file or dotted module of the agent")


def _add_models(commands: _Commands) -> None:
    models = commands.add_parser(
        "models",
        help="list the model providers, or try a model",
        description="List the model providers: what is installed, which keys are set (names "
        "only), and what is missing.",
    )
    models.add_argument("model", metavar="NAME", nargs="?", help="show what this model can do")
    models.add_argument(
        "--ping", metavar="NAME", help="send this model one tiny request, and show the result"
    )
    models.add_argument("--json", action="store_true", help="write JSON")


def _add_migrate(commands: _Commands) -> None:
    migrate = commands.add_parser(
        "migrate",
        help="copy the sessions of one store into another",
        description="Copy every session of a SQLite file or a database into another store, for "
        "example from SQLite to PostgreSQL, or from google-adk 1 to a new database. Sessions that "
        "the target already has are kept; the source is not changed.",
    )
    migrate.add_argument(
        "--from", dest="source", metavar="DB", required=True, help="store to copy from"
    )
    migrate.add_argument(
        "--to", dest="target", metavar="DB", required=True, help="store to copy to"
    )


def _add_trace(commands: _Commands) -> None:
    trace = commands.add_parser(
        "trace",
        help="show where a session's time went",
        description="Show the runs of a session as a waterfall of agents, model calls and tools.",
    )
    trace.add_argument("id", metavar="SESSION", help="the session, or the beginning of its id")
    trace.add_argument("--invocation", metavar="ID", help="only this invocation")
    add_db(trace)
    add_traces(trace)
    add_filters(trace)


def _add_worker(commands: _Commands) -> None:
    worker = commands.add_parser(
        "worker",
        help="run the messages submitted to an agent",
        description="Run the messages submitted to an agent, and resume those of dead workers.",
        epilog=_WORKER_EXAMPLES,
        formatter_class=_RAW,
    )
    worker.add_argument("path", metavar="PATH", help="the agent's folder, file or dotted module")
    add_allow_code(worker)
    add_policy(worker)
    add_db(worker)
    add_traces(worker)
    worker.add_argument(
        "--concurrency", metavar="N", type=int, default=10, help="invocations at once (default: 10)"
    )
    worker.add_argument(
        "--engine",
        choices=("pool", "dbos"),
        default="pool",
        help="pool needs only the database; dbos adds limits and schedules (default: pool)",
    )
    worker.add_argument(
        "--lease",
        metavar="SECONDS",
        type=float,
        default=10.0,
        help="time after its last heartbeat until others take over its runs (default: 10)",
    )
    worker.add_argument(
        "--grace",
        metavar="SECONDS",
        type=float,
        default=30.0,
        help="time that runs get to finish after SIGTERM (default: 30)",
    )
    worker.add_argument("--once", action="store_true", help="exit when the queue is empty")
    add_log(worker)


def _add_sessions(commands: _Commands) -> None:
    sessions = commands.add_parser(
        "sessions",
        help="list, show, export, import or delete sessions",
        description="Manage the sessions in a SQLite file or a database.",
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
        add_db(verb)
        add_filters(verb)
    listing.add_argument(
        "--stuck", action="store_true", help="list invocations that are no longer retried"
    )
    show.add_argument("--verbose", "-v", action="store_true", help="do not shorten anything")
    export.add_argument("file", metavar="FILE", nargs="?", help="file to write (default: stdout)")
    imported.add_argument("file", metavar="FILE", help="file to read; - for standard input")
    imported.add_argument(
        "--as", dest="as_id", metavar="NEW_ID", help="give the session this id instead of its own"
    )
    listing.add_argument(
        "--limit", metavar="N", type=int, default=100, help="show at most N sessions (default: 100)"
    )
    add_db(imported)
    add_artifacts(delete)
    add_traces(delete)
    delete.add_argument("--yes", action="store_true", help="do not ask for confirmation")


def _add_generate(commands: _Commands) -> None:
    """Add the command `generate`."""
    generate = commands.add_parser(
        "generate",
        help="turn a YAML agent into a Python program",
        description="Write a Python program that does the same as an agent's YAML file.",
        epilog=_GENERATE_EXAMPLES,
        formatter_class=_RAW,
    )
    generate.add_argument("path", metavar="FILE", nargs="?", help="the agent's file or folder")
    generate.add_argument("--out", metavar="FILE", help="file to write (default: stdout)")
    generate.add_argument(
        "--force", action="store_true", help="overwrite a file that `generate` did not write"
    )
    generate.add_argument(
        "--schema", action="store_true", help="write the JSON schema of agent files instead"
    )
    add_allow_code(generate)


def _add_erase(commands: _Commands) -> None:
    """Add the command `erase`."""
    erase = commands.add_parser(
        "erase",
        help="erase everything stored about a user",
        description="Erase everything stored about a user: sessions, state, artifacts, memories "
        "and spans. This cannot be undone. Stop the user's runs first.",
    )
    erase.add_argument("user", metavar="USER", help="the user's id")
    erase.add_argument("--app", metavar="NAME", help="only the data of this app")
    erase.add_argument("--yes", action="store_true", help="do not ask for confirmation")
    add_db(erase)
    add_artifacts(erase)
    add_memory(erase)
    add_traces(erase)


def _add_docs(commands: _Commands) -> None:
    docs = commands.add_parser(
        "docs",
        help="open the documentation, or explain an error",
        description="Serve the built documentation site on this machine and open it in a browser, "
        "until Ctrl-C. With the name of an error class, print its cause and its remedy.",
    )
    docs.add_argument("error", nargs="?", help="error to explain, such as SessionBusyError")
    docs.add_argument("--port", type=int, default=0, help="port to use (default: a free one)")
    docs.add_argument("--no-browser", action="store_true", help="only serve, open no browser")
    docs.add_argument("--where", action="store_true", help="print the site's folder, and exit")


def program_command() -> str:
    """Return the command that runs this program again from here."""
    name = sys.argv[0]
    if sys.orig_argv[: len(sys.orig_argv) - len(sys.argv) + 1][-len(_COMPAT) :] == _COMPAT:
        return f"python {shlex.join(_COMPAT)}"
    if os.path.basename(name) in ("__main__.py", "-m", "-c", ""):
        return "python -m ostinato"
    found = shutil.which("ostinato")
    if found is not None and os.path.realpath(found) == os.path.realpath(name):
        return "ostinato"
    if os.path.basename(name) != "ostinato":
        return "ostinato"  # inside another program, such as a test
    return os.path.relpath(name)
