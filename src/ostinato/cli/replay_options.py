"""The command-line arguments of `ostinato replay` and `ostinato diff`."""

from __future__ import annotations

import argparse
from typing import Any

from .store_options import add_allow_code, add_db, add_filters

_RAW = argparse.RawDescriptionHelpFormatter

_REPLAY_EXAMPLES = """\
Each recorded invocation runs again with the current agent: the user's messages come from the
log, and a tool call that equals a recorded one gets the recorded result. Another call runs if its
tool only reads. A tool that may have effects never runs: the invocation counts as diverged there,
or a model answers (--mock-model).

examples:
  ostinato replay my_agent --since 7d --sample 200
  ostinato replay my_agent --old main --fail-on "calls>2%,cost>+10%" --markdown replay.md
  ostinato replay my_agent --read-only "get_*" --mock-model gemini-2.5-flash
  ostinato replay my_agent --resume-check        which open invocations would this code park?

gates of --fail-on: same, words, calls, diverged, failed, changed, noise (numbers, or shares with
%); cost, tokens, seconds (changes, such as cost>+10%)

exit codes: 0 passed, 1 a gate failed, 2 could not run, 130 interrupted (results so far are kept)
"""

_DIFF_EXAMPLES = """\
Renders the request of each agent at both commits, names the agents that changed, runs the eval
sets in the agent's folder at both commits, and replays a sample of recorded invocations. The second
commit is the current files if it is left out, as in `main..`.

examples:
  ostinato diff main..HEAD my_agent --markdown diff.md
  ostinato diff main.. my_agent --db sessions.db --since 7d --sample 100 --fail-on "calls>2%"

gates of --fail-on: those of `ostinato replay`, and those of `ostinato eval` with eval_ in front

exit codes: 0 passed, 1 a gate failed, 2 could not run, 130 interrupted
"""


def add_replay(commands: Any) -> None:
    """Add `replay`."""
    command = commands.add_parser(
        "replay",
        help="replay recorded invocations against a changed agent",
        description="Replay recorded invocations against an agent, without repeating any effect.",
        epilog=_REPLAY_EXAMPLES,
        formatter_class=_RAW,
    )
    command.add_argument("agent", metavar="AGENT", help="the agent's folder, file or dotted module")
    add_allow_code(command)
    add_db(command)
    _add_selection(command.add_argument_group("recorded invocations"))
    lanes = command.add_argument_group("run")
    lanes.add_argument(
        "--old",
        metavar="OLD",
        help="run this version of the agent, too: a path, or a Git revision; where it differs from "
        "the recording as well, the change is noise",
    )
    _add_policy(lanes)
    report = command.add_argument_group("report")
    report.add_argument("--json", metavar="FILE", help="write JSON")
    _add_report(report, "failed>0")
    report.add_argument(
        "--resume-check",
        action="store_true",
        help="only list the open invocations that this agent would park",
    )


def add_diff(commands: Any) -> None:
    """Add `diff`."""
    command = commands.add_parser(
        "diff",
        help="compare the behaviour of agents at two commits",
        description="Compare what agents are given and what they do at two commits.",
        epilog=_DIFF_EXAMPLES,
        formatter_class=_RAW,
    )
    command.add_argument("range", metavar="BASE..HEAD", help="the commits")
    command.add_argument(
        "agents", metavar="AGENT", nargs="+", help="folders of agents, within the repository"
    )
    add_allow_code(command)
    command.add_argument("--no-eval", action="store_true", help="do not run the eval sets")
    add_db(command)
    _add_selection(command.add_argument_group("recorded invocations (with --replay)"))
    lanes = command.add_argument_group("run")
    lanes.add_argument("--replay", action="store_true", help="replay recorded invocations")
    _add_policy(lanes)
    _add_report(command.add_argument_group("report"), "failed>0,eval_worse>0")


def _add_selection(chosen: Any) -> None:
    add_filters(chosen)
    chosen.add_argument("--session", metavar="ID", help="only this session")
    chosen.add_argument("--since", metavar="TIME", help="since: an age such as 7d, or a date")
    chosen.add_argument("--until", metavar="TIME", help="until: an age such as 1d, or a date")
    chosen.add_argument(
        "--label",
        metavar="KEY[=VALUE]",
        action="append",
        default=[],
        help="only with this custom metadata (RunConfig.custom_metadata), any value unless one "
        "is given; may be repeated",
    )
    chosen.add_argument("--sample", metavar="N", type=int, help="at most N, chosen at random")
    chosen.add_argument(
        "--seed", metavar="N", type=int, default=0, help="of the choice and of model requests"
    )


def _add_policy(lanes: Any) -> None:
    lanes.add_argument("--model", metavar="NAME", help="model to use in place of the named ones")
    lanes.add_argument(
        "--read-only",
        metavar="NAME",
        action="append",
        default=[],
        help="tools that only read, such as get_*; they may run",
    )
    lanes.add_argument(
        "--mock-model",
        metavar="NAME",
        help="model that answers calls of effect that were not recorded",
    )
    lanes.add_argument(
        "--allow-code",
        action="store_true",
        help="run agents with code executors or code of their own, whose effects are not held back",
    )
    lanes.add_argument(
        "--price",
        metavar="MODEL=IN,OUT",
        action="append",
        default=[],
        help="price of a million tokens of input and of output",
    )
    lanes.add_argument(
        "--parallelism", metavar="N", type=int, default=8, help="invocations at once (default: 8)"
    )


def _add_report(report: Any, gates: str) -> None:
    report.add_argument("--markdown", metavar="FILE", help="write Markdown")
    report.add_argument(
        "--fail-on", metavar="GATES", help=f'when to exit with 1 (default: "{gates}")'
    )
