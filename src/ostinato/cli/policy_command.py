"""The command `ostinato policy`: checks policy files, and tries them on recorded sessions."""

from __future__ import annotations

import argparse
import asyncio
import json

from .. import _clock
from ..hosting.loader import load_agent
from ..hosting.store_address import parse_store
from ..tools.policy.dry_run import DryRun, StoppedCall, dry_run
from ..tools.policy.policy import Policy
from ..tools.policy.policy_file import read_policy_file
from ..tools.policy.rule import read_seconds
from .cli_error import FAILED, USAGE, CliError
from .escape import label, reveal
from .policy_agent import AgentFindings, check_agent
from .session_index import existing_store

_OUTCOMES = {
    "deny": "denied",
    "ask": "asked about",
    "limit": "denied over its limit",
    "over": "asked about over its limit",
}


def main(args: argparse.Namespace) -> int:
    """Run the command; return its exit code."""
    return _check(args) if args.verb == "check" else _try(args)


def _check(args: argparse.Namespace) -> int:
    """Read the files, run their tests, and compare their rules with an agent's tools."""
    failed = False
    loaded = None if args.agent is None else load_agent(args.agent, args.allow_code_from)
    for file in args.files:
        found = read_policy_file(file)
        faults = found.run_tests()
        failed = failed or bool(faults)
        for fault in faults:
            print(f"FAILED {label(fault)}")
        passed = f"{len(found.tests) - len(faults)} of {len(found.tests)} tests passed"
        print(f"{label(file)}: {_count(len(found.policy.rules), 'rule')}, {passed}")
        if loaded is not None:
            findings = asyncio.run(check_agent(found.policy, loaded.root))
            failed = failed or bool(findings.faults)
            _report_findings(findings, loaded.root.name)
    return FAILED if failed else 0


def _report_findings(findings: AgentFindings, agent: str) -> None:
    """Write what of a policy fits nothing of an agent tree."""
    for fault in findings.faults:
        print(f"FAILED {label(agent)}: {reveal(fault)}")
    if findings.unknown:
        names = reveal(", ".join(findings.unknown))
        rules = ", ".join(findings.unchecked) or "none"
        print(
            f"The tools of {names} are unknown until they are connected. Rules that may be about "
            f"them and were not checked: {rules}"
        )


def _try(args: argparse.Namespace) -> int:
    """Apply the policy to recorded calls."""
    policy = read_policy_file(args.file).policy
    try:
        since = _clock.now() - read_seconds(args.since)
    except ValueError as error:
        raise CliError(f"--since: {error}.", USAGE) from None

    async def run() -> DryRun:
        async with existing_store(parse_store(args.db)) as store:
            return await dry_run(policy, store, app_name=args.app, user_id=args.user, since=since)

    result = asyncio.run(run())
    if args.json:
        print(json.dumps(result.to_json(), indent=2))
    else:
        _report(result, policy, args)
    return 0


def _report(result: DryRun, policy: Policy, args: argparse.Namespace) -> None:
    calls = _count(result.calls, "call")
    print(
        f"{label(args.file)} would have stopped {len(result.stopped):,} of {calls} in "
        f"{_count(result.sessions, 'session')} since {args.since} ago."
    )
    for (rule, outcome), count in result.count_by_rule().most_common():
        name = "the default" if rule is None else f"rule {rule}"
        print(f"  {count:>7,}  {_OUTCOMES[outcome]}, by {name}")
    if result.unknown_sources and any(rule.source != ("*",) for rule in policy.rules):
        print(
            f"The log does not tell the source of {_count(result.unknown_sources, 'call')}; rules "
            "with `source` take them for calls of functions."
        )
    for one in result.stopped[-args.limit :] if args.limit else ():
        print(_describe(one))
    if result.idle_rules:
        print(f"Fitted no call: {', '.join(result.idle_rules)}")


def _describe(one: StoppedCall) -> str:
    call = one.call
    name = "default" if one.rule is None else one.rule
    words = (call.session_id, call.request.agent, call.request.tool, call.call_id)
    return f"  {one.outcome:<5}  {name}  " + "  ".join(label(word) for word in words)


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
