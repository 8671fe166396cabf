"""Worktrees of Git commits, for a time."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from ...errors import InputValidationError


def find_repository(path: Path) -> Path:
    """Return the top folder of the repository that holds a path.

    Raises:
      InputValidationError: no repository holds it.
    """
    folder = path if path.is_dir() else path.parent
    return Path(run_git(folder, "rev-parse", "--show-toplevel").strip())


def resolve_revision(repository: Path, revision: str) -> str:
    """Return the commit that a revision names.

    Args:
      repository: a folder of the repository.
      revision: such as `main` or `HEAD~1`.

    Raises:
      InputValidationError: it names no commit.
    """
    words = ["rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}"]
    try:
        return run_git(repository, *words).strip()
    except InputValidationError as error:
        raise InputValidationError(f"{revision!r} names no commit of the repository.") from error


@contextmanager
def check_out(repository: Path, revision: str) -> Generator[Path]:
    """Yield a folder with the files of a commit; it is removed at the end.

    Args:
      repository: a folder of the repository.
      revision: the commit.

    Raises:
      InputValidationError: it names no commit.
    """
    commit = resolve_revision(repository, revision)
    with tempfile.TemporaryDirectory(prefix="ostinato-worktree-") as scratch:
        folder = Path(scratch, "tree")
        run_git(repository, "worktree", "add", "--detach", "--quiet", str(folder), commit)
        try:
            yield folder
        finally:
            run_git(repository, "worktree", "remove", "--force", str(folder))


def run_git(folder: Path, *words: str) -> str:
    """Return what a Git command prints.

    Args:
      folder: where it runs.
      words: its arguments.

    Raises:
      InputValidationError: Git is missing, or the command failed.
    """
    try:
        done = subprocess.run(
            ["git", *words], cwd=folder, capture_output=True, text=True, check=False
        )
    except FileNotFoundError as error:
        raise InputValidationError("Comparing commits needs the program git.") from error
    if done.returncode:
        reason = (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1]
        raise InputValidationError(f"git {words[0]} failed: {reason}")
    return done.stdout
