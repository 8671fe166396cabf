"""Bounds of one run of code in a child process. The local executor sets them, the child obeys."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """What one run of code may use.

    Attributes:
      seconds: wall time; None for no bound.
      memory_bytes: address space of each process, on POSIX; None for no bound.
      output_bytes: what is kept of stdout and of stderr; far beyond it the child is killed.
      files: number of output files kept.
      file_bytes: size of an output file that is kept, and on POSIX of any file that is written.
    """

    seconds: float | None
    memory_bytes: int | None
    output_bytes: int
    files: int
    file_bytes: int
