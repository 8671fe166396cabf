"""The command `ostinato eval_set`: eval sets, and cases from scenarios."""

from __future__ import annotations

import argparse
import hashlib
import json
from pathlib import Path
from typing import TypeVar

from .. import _clock
from ..errors import OstinatoError
from ..evaluation.conversation_scenarios import ConversationScenarios
from ..evaluation.eval_case import EvalCase, SessionInput
from ..evaluation.json_file import read_json_record
from ..evaluation.storage import open_sets_manager
from .cli_error import USAGE, CliError

_R = TypeVar("_R", ConversationScenarios, SessionInput)


def main(args: argparse.Namespace) -> int:
    """Run `eval_set`; return the exit code."""
    folder = locate_agent(args.agent)
    sets = open_sets_manager(args.eval_storage_uri, str(folder.parent))
    try:
        if args.verb == "create":
            sets.create_eval_set(folder.name, args.eval_set_id)
            print(f"Created the eval set {args.eval_set_id!r} of the app {folder.name!r}.")
            return 0
        scenarios = _read_record(args.scenarios_file, ConversationScenarios)
        session_input = _read_record(args.session_input_file, SessionInput)
        for scenario in scenarios.scenarios:
            text = json.dumps(scenario.model_dump(mode="json"), sort_keys=True)
            eval_id = hashlib.sha256(text.encode()).hexdigest()[:8]
            if sets.get_eval_case(folder.name, args.eval_set_id, eval_id) is not None:
                print(f"The eval set {args.eval_set_id!r} has the case {eval_id!r} already.")
                continue
            case = EvalCase(
                eval_id=eval_id,
                conversation_scenario=scenario,
                session_input=session_input,
                creation_timestamp=_clock.now(),
            )
            sets.add_eval_case(folder.name, args.eval_set_id, case)
            print(f"Added the case {eval_id!r} to the eval set {args.eval_set_id!r}.")
    except (OstinatoError, ValueError) as error:
        raise CliError(str(error), USAGE) from error
    return 0


def _read_record(path: str, kind: type[_R]) -> _R:
    try:
        return read_json_record(Path(path), kind)
    except OSError as error:
        raise CliError(f"{path} cannot be read: {error.strerror}.", USAGE) from error


def locate_agent(path: str) -> Path:
    """Return the folder of an agent.

    Args:
      path: the folder, or a file in it.

    Raises:
      CliError: there is no such folder.
    """
    place = Path(path).expanduser().resolve()
    folder = place.parent if place.is_file() else place
    if not folder.is_dir():
        raise CliError(f"There is no folder {path!r} of an agent.", USAGE)
    return folder


def parse_and_get_evals_to_run(evals_to_run_info: list[str]) -> dict[str, list[str]]:
    """Return the cases to run by file or id of their set; an empty list means all.

    Args:
      evals_to_run_info: texts `SET` or `SET:case1,case2`.

    Raises:
      CliError: a text has a colon and no case behind it.
    """
    found: dict[str, list[str]] = {}
    for text in evals_to_run_info:
        name, colon, cases = text.rpartition(":")
        if not colon or Path(text).is_file():
            name, cases = text, ""
        wanted = [case.strip() for case in cases.split(",") if case.strip()]
        if colon and name != text and not wanted:
            raise CliError(
                f"{text!r} names no case behind the colon. Name one, or leave the colon out for "
                "all cases.",
                USAGE,
            )
        found.setdefault(name, []).extend(wanted)
    return found
