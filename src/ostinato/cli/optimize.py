"""The command `ostinato optimize`: a better instruction for a root agent."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from ..errors import (
    AgentConfigError,
    InputValidationError,
    MissingExtraError,
    ModelUnavailableError,
)
from ..evaluation.json_file import read_json_record
from ..evaluation.prompt_optimization import OptimizerConfig, SamplerConfig, optimize_instruction
from ..evaluation.storage import open_sets_manager
from ..hosting.loader import load_agent
from ..hosting.log_setup import log_to_stderr
from .cli_error import USAGE, CliError
from .eval_sets import locate_agent
from .interrupts import run_interruptibly
from .screen import Screen


def main(args: argparse.Namespace) -> int:
    """Run the command; return its exit code."""
    try:
        with log_to_stderr(args.log_level, "text"):
            return _optimize(args)
    except (
        AgentConfigError,
        InputValidationError,
        MissingExtraError,
        ModelUnavailableError,
    ) as error:
        raise CliError(str(error), USAGE) from error
    except OSError as error:
        raise CliError(f"{error.filename} cannot be read: {error.strerror}.", USAGE) from error


def _optimize(args: argparse.Namespace) -> int:
    folder = locate_agent(args.agent)
    sampler = read_json_record(Path(args.sampler_config_file_path), SamplerConfig)
    path = args.optimizer_config_file_path
    optimizer = read_json_record(Path(path), OptimizerConfig) if path else OptimizerConfig()
    loaded = load_agent(str(folder), args.allow_code_from)
    sets = open_sets_manager(None, str(folder.parent))
    work = optimize_instruction(loaded.app or loaded.root, sampler, optimizer, sets)
    found = run_interruptibly(work)
    screen = Screen(sys.stdout)
    screen.line((f"Best of {found.candidates} instructions:", "bold"))
    for line in found.instruction.splitlines():
        screen.line(line, indent=2)
    screen.line(
        (f"Validation cases passed: {found.score:.0%}; before: {found.initial_score:.0%}", "bold")
    )
    return 0
