"""`ostinato eval add`: a stored session as a case of an eval set."""

from __future__ import annotations

import argparse
import asyncio
import re
from pathlib import Path

from .. import _clock
from .._shared_files import lock_file, replace_file
from ..errors import InputValidationError
from ..evaluation.eval_set import EvalSet
from ..evaluation.local_eval_sets_manager import format_eval_set, load_eval_set_from_file
from ..evaluation.session_case import make_session_case
from ..hosting.store_address import parse_store
from ..sessions.session import Session
from .cli_error import USAGE, CliError
from .session_index import existing_store, find_session

_EXTENSION = ".evalset.json"


def add_session_case(args: argparse.Namespace) -> int:
    """Add a stored session as a case to an eval set; return the exit code."""
    if len(args.sets) != 1 or not args.to:
        raise CliError("Write: ostinato eval add SESSION --to FILE.", USAGE)
    file = Path(args.to)
    if not file.name.endswith(".json"):
        file = file.with_name(f"{file.name}{_EXTENSION}")
    session = asyncio.run(_load_session(args, args.sets[0]))
    eval_id = args.case_id or re.sub(r"\W", "_", session.id)
    try:
        made = make_session_case(session, eval_id, args.invocation)
    except InputValidationError as error:
        raise CliError(str(error), USAGE) from error
    case = made.case
    try:
        with lock_file(file):
            eval_set = _read_set(file)
            if any(one.eval_id == case.eval_id for one in eval_set.eval_cases):
                raise CliError(
                    f"{file} has a case {case.eval_id!r} already; give another --id.", USAGE
                )
            eval_set.eval_cases.append(case)
            replace_file(file, format_eval_set(eval_set))
    except OSError as error:
        raise CliError(f"{file} cannot be written: {error.strerror}.", USAGE) from error
    print(f"Added the case {case.eval_id!r} with {len(case.conversation or [])} turns to {file}.")
    for loss in made.losses:
        print(f"An evaluation answers no calls: {loss}.")
    return 0


def _read_set(file: Path) -> EvalSet:
    """Return the set of a file, or an empty one for a file that does not exist."""
    if file.is_file():
        return load_eval_set_from_file(str(file), _id_of(file))
    return EvalSet(eval_set_id=_id_of(file), eval_cases=[], creation_timestamp=_clock.now())


def _id_of(file: Path) -> str:
    return re.sub(r"\W", "_", file.name.removesuffix(".json").removesuffix(".evalset"))


async def _load_session(args: argparse.Namespace, wanted: str) -> Session:
    address = parse_store(args.db)
    async with existing_store(address) as store:
        entry = await find_session(store, address, args.app, args.user, wanted)
        session = await store.get_session(
            app_name=entry.app, user_id=entry.user, session_id=entry.id
        )
    if session is None:
        raise CliError(f"Session {wanted} was deleted just now.")
    return session
