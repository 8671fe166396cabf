"""The command `ostinato effects`: list, export, verify and prune the effects ledger."""

from __future__ import annotations

import argparse
import asyncio
import json
import re
from datetime import datetime
from pathlib import Path
from typing import Any, cast

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from .._clock import now
from .._regular_files import read_regular_file
from ..hosting.store_address import StoreAddress, parse_store
from ..sessions.store.effect_ledger import Effect, EffectFilter, EffectLedger, EffectReport
from .cli_error import USAGE, CliError
from .screen import Screen
from .session_index import existing_store, find_session
from .shorten import safe

_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86_400}
_MAX_BYTES = 256 * 2**20
_PAGE = 1000
_LIMIT = 100
# The options of a list and of each verb; another one would be ignored, and is refused.
_OF_LIST = ("app", "user", "tool", "since", "in_doubt", "limit", "jsonl")
_OF_VERB = {"verify": ("save", "against", "pruned_ok", "erased_ok"), "prune": ("older_than",)}


def main(args: argparse.Namespace) -> int:
    """Run the verb; return the exit code."""
    _check_options(args)
    limit = _LIMIT if args.limit is None else args.limit
    if limit < 1:
        raise CliError(f"--limit has to be 1 or more, not {limit}.", USAGE)
    return asyncio.run(_run_verb(args, parse_store(args.db), limit))


def _check_options(args: argparse.Namespace) -> None:
    """Raise CliError for an option that the verb would ignore."""
    for name in (*_OF_LIST, *(one for names in _OF_VERB.values() for one in names)):
        given = getattr(args, name) not in (None, False)
        if given and name not in _OF_VERB.get(args.what, _OF_LIST):
            option = f"--{name.replace('_', '-')}"
            verb = f"`effects {args.what}`" if args.what in _OF_VERB else "a list of effects"
            whole = ", which takes the whole ledger" if args.what in _OF_VERB else ""
            raise CliError(f"{option} does not apply to {verb}{whole}.", USAGE)


async def _run_verb(args: argparse.Namespace, address: StoreAddress, limit: int) -> int:
    async with existing_store(address) as store:
        if args.what == "verify":
            heads, spans = _read_baseline(args.against)
            return _show_report(
                args, await store.verify_effects(heads, spans, erased_ok=args.erased_ok)
            )
        if args.what == "prune":
            return await _prune(args, store)
        which = EffectFilter(
            args.app,
            args.user,
            since=None if args.since is None else _parse_time("--since", args.since),
            tool=args.tool,
            in_doubt=True if args.in_doubt else None,
        )
        if args.what is not None:
            entry = await find_session(store, address, args.app, args.user, args.what)
            which = which._replace(app_name=entry.app, user_id=entry.user, session_id=entry.id)
        if args.jsonl:
            return await _export(store, which)
        page = await store.effects(which, limit=limit)
    _show_effects(list(page.effects), more=page.next is not None)
    return 0


async def _export(store: EffectLedger, which: EffectFilter) -> int:
    page = await store.effects(which, limit=_PAGE)
    while True:
        for effect in page.effects:
            print(json.dumps(effect.to_json()))
        if page.next is None:
            return 0
        page = await store.effects(which, limit=_PAGE, after=page.next)


async def _prune(args: argparse.Namespace, store: EffectLedger) -> int:
    if args.older_than is None:
        raise CliError("prune needs --older-than, such as 90d.", USAGE)
    before, count = _parse_time("--older-than", args.older_than), 0
    while gone := await store.prune_effects(before=before):
        count += gone
    print(f"Deleted {count} effects.")
    return 0


def _show_effects(effects: list[Effect], more: bool) -> None:
    screen = Screen()
    if not effects:
        screen.line(("No effects found.", "dim"))
    for effect in effects:
        moment = datetime.fromtimestamp(effect.finished).strftime("%Y-%m-%d %H:%M:%S")
        place = f"{effect.place.app_name}/{effect.place.user_id}/{effect.place.session_id}"
        if effect.damaged:
            row = f"row {effect.number} is damaged: {safe(effect.damaged)}"
            screen.line((f"{moment}  ", "dim"), (row, "red"), (f"  {safe(place)}", "dim"))
            continue
        facts = [effect.outcome, f"{(effect.finished - effect.begun) * 1000:.0f} ms"]
        if effect.attempts != 1:
            facts.append(f"{effect.attempts} attempts")
        if effect.in_doubt:
            facts.append(f"in doubt: {effect.resolution}" if effect.resolution else "in doubt")
        if effect.approved_by:
            facts.append(f"approved by {safe(effect.approved_by)}")
        screen.line(
            (f"{moment}  ", "dim"),
            (safe(effect.tool), "bold"),
            (f"  {', '.join(facts)}", ""),
            (f"  {safe(place)}  {safe(effect.agent)}", "dim"),
            (f"  call {safe(effect.call_id)} args {effect.args_digest}", "dim"),
        )
    if more:
        screen.line(("There are more: raise --limit, or export with --jsonl.", "dim"))


def _show_report(args: argparse.Namespace, report: EffectReport) -> int:
    screen = Screen()
    screen.line(
        (f"{report.rows} effects of {report.sessions} sessions", "bold"),
        (f", {report.chained} with a hash, {report.trimmed} sessions without their oldest", ""),
    )
    if report.orphaned:
        what = f"{report.orphaned} rows and marks of sessions that the store does not hold"
        screen.line((what, "red"))
    for name in report.erased:
        screen.line(("erased ", "yellow"), (f"session {safe(repr(name))} is not in the store", ""))
    for problem in report.problems:
        screen.line(("changed ", "red"), (safe(problem), ""))
    if report.problems:
        advice = ""
        if report.erased and not args.erased_ok:
            advice = (
                f" {len(report.erased)} sessions are gone; if you deleted them, say --erased-ok."
            )
        raise CliError(
            f"The ledger was changed or is damaged in {len(report.problems)} places.{advice}"
        )
    if report.chained:
        screen.line((f"head {report.head}", "dim"))
        if report.chained < report.rows:
            count = report.rows - report.chained
            what = f"{count} rows have no hash: a change of them is only noticed as damage."
            screen.line((what, "dim"))
    else:
        screen.line(
            ("No row has a hash: only gaps and damage are noticed (see EffectSettings).", "dim")
        )
    if args.save:
        noted = {"rows": report.rows, "heads": report.heads, "spans": report.spans}
        try:
            Path(args.save).write_text(json.dumps(noted, indent=1), "utf-8")
        except OSError as error:
            raise CliError(f"--save {args.save} cannot be written: {error}.", USAGE) from error
    for pruned in report.pruned:
        screen.line(("pruned ", "yellow"), (safe(pruned), ""))
    if report.pruned and not args.pruned_ok:
        raise CliError(
            f"Rows of {len(report.pruned)} sessions were pruned since --against was written. If "
            "that is your retention, say --pruned-ok."
        )
    return 0


class _Baseline(BaseModel):
    """What `verify --save` wrote; earlier versions noted no number of rows."""

    model_config = ConfigDict(extra="forbid")
    rows: int | None = Field(default=None, ge=0)
    heads: dict[str, str]
    spans: dict[str, tuple[int, int]]


def _read_baseline(file: str | None) -> tuple[dict[str, str] | None, dict[str, tuple[int, int]]]:
    """Return the newest hashes and the first and last numbers that `verify --save` noted."""
    if file is None:
        return None, {}
    try:
        found: Any = json.loads(read_regular_file(Path(file), _MAX_BYTES))
    except (OSError, ValueError) as error:
        raise CliError(f"--against {file} cannot be read: {error}.", USAGE) from error
    except RecursionError:
        found = None
    if isinstance(found, dict) and "spans" not in found:
        found = {"heads": cast("dict[str, Any]", found), "spans": {}}  # the first form
    try:
        noted = _Baseline.model_validate(found)
    except ValidationError as error:
        raise CliError(
            f"--against {file} was not written by `effects verify --save`.", USAGE
        ) from error
    if not noted.heads and not noted.spans and noted.rows != 0:
        raise CliError(
            f"--against {file} names no session, so nothing would be compared. Write it again with "
            '`effects verify --save`; one of an empty ledger says "rows": 0.',
            USAGE,
        )
    return noted.heads, noted.spans


def _parse_time(option: str, text: str) -> float:
    """Return seconds since 1970 for an age or a date."""
    if re.fullmatch(r"[0-9]{1,6}[smhd]", text):
        return now() - int(text[:-1]) * _UNITS[text[-1]]
    try:
        return datetime.fromisoformat(text).timestamp()
    except ValueError as error:
        raise CliError(
            f"{option} {text} is no age such as 24h or 7d and no date such as 2026-01-31.", USAGE
        ) from error
