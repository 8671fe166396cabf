"""The arguments of `ostinato effects` and `ostinato prove`."""

from __future__ import annotations

import argparse
from typing import Any

from .store_options import add_db, add_filters

_EFFECTS_EXAMPLES = """\
examples:
  ostinato effects 3f2a91c0                      the effects of a session
  ostinato effects --app shop --since 24h        those of an app since yesterday
  ostinato effects --tool pay --in-doubt         those that may have happened twice
  ostinato effects --jsonl > effects.jsonl       export all as JSON lines
  ostinato effects verify --save heads.json      check numbers and hashes, note the newest ones
  ostinato effects verify --against heads.json   also check that the noted ones are still there
  ostinato effects prune --older-than 30d        delete old effects

exit codes: 0 success, 1 the ledger was changed, is damaged, or was pruned since --against, 2 wrong
usage
"""
_PROVE_EXAMPLES = """\
AGENT is what `ostinato run` takes. SCENARIO is a YAML or JSON file: messages and answers of the
user, and what the models say (docs/promises.md describes it).

examples:
  ostinato prove shop payment.yaml               kill a process at every point
  ostinato prove shop payment.yaml --fast        end tasks within one process instead of killing
  ostinato prove shop payment.yaml --json        print the report as JSON

exit codes: 0 every tool does each thing once, 1 one would not, 2 wrong usage, or a scenario that
fails by itself, does something else each time, or names tools, agents or replies that nothing uses
"""


def add_effects(commands: Any) -> None:
    """Add the command `effects`."""
    effects = commands.add_parser(
        "effects",
        help="list what tools did, and verify the list",
        description="List the effects ledger: each tool call that ran, with digests of its "
        "arguments and result, attempts, approval and doubt.",
        epilog=_EFFECTS_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    effects.add_argument(
        "what",
        metavar="SESSION",
        nargs="?",
        help="a session, or the beginning of its id; or `verify` or `prune`",
    )
    effects.add_argument("--tool", metavar="NAME", help="only effects of this tool")
    effects.add_argument(
        "--since",
        metavar="TIME",
        help="only later ones: 90m, 24h, 7d, or a date such as 2026-01-31",
    )
    effects.add_argument("--in-doubt", action="store_true", help="only those that were in doubt")
    effects.add_argument("--limit", metavar="N", type=int, help="list at most N (default: 100)")
    effects.add_argument("--jsonl", action="store_true", help="print all as JSON lines")
    effects.add_argument("--save", metavar="FILE", help="with verify: write the newest hashes")
    effects.add_argument("--against", metavar="FILE", help="with verify: compare with these hashes")
    effects.add_argument(
        "--pruned-ok",
        action="store_true",
        help="with verify --against: accept that old rows were pruned since",
    )
    effects.add_argument(
        "--erased-ok",
        action="store_true",
        help="with verify --against: accept that sessions were deleted since, with their rows",
    )
    effects.add_argument("--older-than", metavar="AGE", help="with prune: how old, such as 90d")
    add_db(effects)
    add_filters(effects)


def add_prove(commands: Any) -> None:
    """Add the command `prove`."""
    prove = commands.add_parser(
        "prove",
        help="kill an agent at every commit point and compare the effects",
        description="Run a scenario once, then once per commit point with the process killed "
        "there and resumed by another one, and report which tool would have acted twice.",
        epilog=_PROVE_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    prove.add_argument("path", metavar="AGENT", help="the agent's folder, file or module")
    prove.add_argument("scenario", metavar="SCENARIO", help="YAML or JSON file of the scenario")
    prove.add_argument("--fast", action="store_true", help="stay in one process: no kills")
    prove.add_argument("--json", action="store_true", help="print the report as JSON")
    prove.add_argument(
        "--points", metavar="N", type=int, default=200, help="kill at most N times (default: 200)"
    )
