"""The command-line arguments of `ostinato eval` and `ostinato eval_set`."""

from __future__ import annotations

import argparse
from typing import Any

from ..hosting.log_setup import LEVELS
from .store_options import add_allow_code, add_db, add_filters

_RAW = argparse.RawDescriptionHelpFormatter

_EVAL_EXAMPLES = """\
AGENT is the agent's folder. SET is a file (*.evalset.json, *.test.json) or the id of a set in the
agent's folder, with the cases to run behind a colon; without any, all sets of the folder run.
Criteria come from --config-file-path, or from test_config.json beside the file.

examples:
  ostinato eval my_agent                                    run all sets of the agent
  ostinato eval my_agent tests/refunds.evalset.json:a,b     run two cases of a file
  ostinato eval my_agent --num-runs 5 --fail-on "pass_rate<90%"
  ostinato eval my_agent --junit eval.xml --markdown eval.md --html eval.html
  ostinato eval my_agent --baseline FILE --fail-on "worse>0"
  ostinato eval add SESSION --to my_agent/refunds.evalset.json    turn a session into a case

gates of --fail-on: failed, errors, flaky, better, worse, gone, pass_rate, cost, tokens, seconds

exit codes: 0 passed; 1 a gate failed, or the agent's code ended the process; 2 no case could be
evaluated, or results could not be written; 130 interrupted (results so far are kept)
"""


def add_eval(commands: Any) -> None:
    """Add `eval`."""
    command = commands.add_parser(
        "eval",
        help="evaluate an agent with eval sets",
        description="Run the cases of eval sets with an agent, and compare what it does with what "
        "is expected. `eval add` turns a stored session into a case.",
        epilog=_EVAL_EXAMPLES,
        formatter_class=_RAW,
    )
    command.add_argument("agent", metavar="AGENT", help="the agent's folder; or `add`")
    command.add_argument("sets", metavar="SET", nargs="*", help="files or ids of eval sets")
    add_allow_code(command)
    command.add_argument(
        "--config-file-path", "--config_file_path", metavar="FILE", help="criteria and settings"
    )
    _add_storage(command)
    _add_runs(command.add_argument_group("runs"))
    _add_reports(command.add_argument_group("report"))
    added = command.add_argument_group("eval add SESSION")
    added.add_argument("--to", metavar="FILE", help="eval set to add the case to; may be new")
    added.add_argument("--id", dest="case_id", metavar="ID", help="id of the case")
    added.add_argument("--invocation", metavar="ID", help="only this invocation of the session")
    add_db(added)
    add_filters(added)


def _add_runs(runs: Any) -> None:
    runs.add_argument(
        "--num-runs", "--num_runs", metavar="N", type=int, default=1, help="runs of each case"
    )
    runs.add_argument(
        "--parallelism", metavar="N", type=int, default=4, help="cases at once (default: 4)"
    )
    runs.add_argument("--seed", metavar="N", type=int, help="seed of the model requests")
    runs.add_argument(
        "--max-tokens", metavar="N", type=int, help="stop when all runs have used these tokens"
    )
    runs.add_argument(
        "--max-cost", metavar="X", type=float, help="stop at this cost; needs prices in the config"
    )
    runs.add_argument(
        "--mock-tools",
        action="store_true",
        help="answer tools with the tool_responses of the case in place of running them",
    )


def _add_reports(report: Any) -> None:
    report.add_argument(
        "--print_detailed_results",
        "--details",
        action="store_true",
        help="print the turns of all cases, not only of those that failed",
    )
    report.add_argument("--junit", metavar="FILE", help="write JUnit XML")
    report.add_argument("--markdown", metavar="FILE", help="write Markdown")
    report.add_argument("--html", metavar="FILE", help="write one HTML page")
    report.add_argument(
        "--baseline",
        metavar="FILE",
        action="append",
        default=[],
        help="compare with the results of an earlier evaluation (*.evalset_result.json)",
    )
    report.add_argument(
        "--fail-on",
        metavar="GATES",
        help='when to exit with 1 (default: "failed>0,errors>0")',
    )


def _add_storage(command: Any) -> None:
    command.add_argument(
        "--eval-storage-uri",
        "--eval_storage_uri",
        metavar="URI",
        help="gs://BUCKET of the eval sets and results (default: files in the agent's folder)",
    )
    command.add_argument(
        "--log-level",
        "--log_level",
        metavar="LEVEL",
        type=str.lower,
        choices=LEVELS,
        default="error",
        help=f"{', '.join(LEVELS[:-1])} or {LEVELS[-1]} (default: error)",
    )
    command.add_argument(
        "--enable-features", "--enable_features", metavar="NAMES", help="features to switch on"
    )
    command.add_argument(
        "--disable-features", "--disable_features", metavar="NAMES", help="features to switch off"
    )


def add_eval_set(commands: Any) -> None:
    """Add `eval_set`."""
    command = commands.add_parser(
        "eval_set", help="create eval sets and add cases", description="Manage eval sets."
    )
    verbs = command.add_subparsers(dest="verb", metavar="VERB", required=True)
    create = verbs.add_parser("create", help="create an empty eval set")
    add = verbs.add_parser("add_eval_case", help="add a case for each scenario of a file")
    for verb in (create, add):
        verb.add_argument("agent", metavar="AGENT", help="the agent's folder")
        verb.add_argument("eval_set_id", metavar="ID", help="the id of the eval set")
        _add_storage(verb)
    add.add_argument(
        "--scenarios-file",
        "--scenarios_file",
        metavar="FILE",
        required=True,
        help="file with the scenarios",
    )
    add.add_argument(
        "--session-input-file",
        "--session_input_file",
        metavar="FILE",
        required=True,
        help="file with the session to begin with",
    )


def add_optimize(commands: Any) -> None:
    """Add `optimize`."""
    command = commands.add_parser(
        "optimize",
        help="improve an agent's instruction with its eval sets",
        description="Improve the instruction of a root agent with GEPA: a model rewrites it, and "
        "eval cases choose. The result is printed; no file is changed. Needs the extra optimize.",
        epilog="exit codes: 0 done, 2 could not run, 130 interrupted",
    )
    command.add_argument("agent", metavar="AGENT", help="the agent's folder")
    command.add_argument(
        "--sampler-config-file-path",
        "--sampler_config_file_path",
        metavar="FILE",
        required=True,
        help="the eval sets, cases and criteria, as JSON",
    )
    command.add_argument(
        "--optimizer-config-file-path",
        "--optimizer_config_file_path",
        metavar="FILE",
        help="the model that rewrites, and limits, as JSON",
    )
    command.add_argument(
        "--log-level",
        "--log_level",
        metavar="LEVEL",
        type=str.lower,
        choices=LEVELS,
        default="error",
        help=f"{', '.join(LEVELS[:-1])} or {LEVELS[-1]} (default: error)",
    )
    add_allow_code(command)
