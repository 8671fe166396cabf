"""Executor that runs a model's code on this machine, in a child process with limits.

It is unsafe: the child gets limits and a clean environment, but it runs as the same user. It can
read and write that user's files, read the environments of that user's processes in `/proc`, and
use the network.
"""

from __future__ import annotations

from pathlib import Path

from ._child import Child
from ._local_code_executor import LocalCodeExecutor


class UnsafeLocalCodeExecutor(LocalCodeExecutor):
    """Runs Python code in a child process (Spec 1 §16, FEATURES row 167).

    Each run has a process group, a working directory and an environment of its own, and all of it
    is gone afterwards; processes that the code started, daemons included, are killed with it
    (outside of Linux, those that left its process group are not found; on Linux, those that cleared
    their environment, of code that also killed its guard). Input files lie in the
    working directory, new and changed files of a run that did not fail are its output files. What
    is printed to stderr by code that succeeds counts as output.

    This is not a sandbox: the code runs as the same user and can reach every file and address that
    this process can. It can also read this process's environment in `/proc`, keys included. Run
    only code that you would run yourself, or run the whole process in a container without keys.

    Attributes:
      stateful: cannot be True: each run is a process of its own.
      timeout_seconds: wall time of a run, seconds; None for no bound.
      max_memory_bytes: address space of each process of a run, on POSIX; None for no bound.
      max_output_bytes: what is kept of stdout and of stderr, the beginning and the end. Code that
        prints more than 64 times as much is killed.
      max_output_files: number of output files that are kept.
      max_file_bytes: size of the largest output file that is kept, and on POSIX written.
    """

    _is_of_google_adk = True

    def _run_code(self, child: Child, code: str, root: Path) -> tuple[int, str, str, str]:
        return (*child.run(code, work_dir=root / "work", home_dir=root / "home"), "")
