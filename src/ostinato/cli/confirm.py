"""Confirmation at the terminal before data is deleted."""

from __future__ import annotations

import sys

from .failure import USAGE, CliError


def may_delete(question: str, yes: bool) -> bool:
    """Ask for confirmation; return whether the person agrees.

    Args:
      question: ends with a question mark.
      yes: whether `--yes` was given; then the question is skipped.

    Raises:
      CliError: standard input is not a terminal.
    """
    if yes:
        return True
    if not sys.stdin.isatty():
        raise CliError(f"{question} The input is not a terminal; confirm with --yes.", USAGE)
    return input(f"{question} y / n: ").strip().lower() in ("y", "yes")
