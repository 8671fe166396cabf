"""The command-line arguments of `ostinato policy`."""

from __future__ import annotations

import argparse
from typing import Any

from .store_options import add_allow_code, add_db, add_filters

_EXAMPLES = """\
examples:
  ostinato policy check policy.yaml                     check the rules, and run the file's tests
  ostinato policy check policy.yaml --agent my_agent    find rules that fit none of its tools
  ostinato policy dry-run policy.yaml --since 7d        what it would have stopped in a week
  ostinato policy dry-run policy.yaml --since 24h --db postgresql://user@host/database

exit codes: 0 success, 1 the file is no valid policy, a test failed or a rule fits no
tool of --agent, 2 wrong usage
"""


def add_policy_command(commands: Any) -> None:
    """Add the command."""
    policy = commands.add_parser(
        "policy",
        help="check rules about tool calls, or try them on recorded sessions",
        description="Check a policy file, or find out what it would have stopped.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    verbs = policy.add_subparsers(dest="verb", metavar="VERB", required=True)
    check = verbs.add_parser("check", help="check the rules, and run the tests in the file")
    check.add_argument("files", metavar="FILE", nargs="+", help="the policy files")
    check.add_argument(
        "--agent",
        metavar="PATH",
        help="report rules and argument pointers that fit no tool of this agent and those below it",
    )
    add_allow_code(check)
    tried = verbs.add_parser("dry-run", help="apply the rules to the calls of recorded sessions")
    tried.add_argument("file", metavar="FILE", help="the policy file")
    tried.add_argument(
        "--since", metavar="TIME", default="7d", help="how far back, such as 24h (default: 7d)"
    )
    tried.add_argument(
        "--limit",
        metavar="N",
        type=int,
        default=20,
        help="show the newest N calls that it would have stopped; 0 for none (default: 20)",
    )
    tried.add_argument("--json", action="store_true", help="write all of them as JSON")
    add_db(tried)
    add_filters(tried)
