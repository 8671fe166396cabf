"""Executor that runs a model's code on this machine in a sandbox of the Linux kernel."""

from __future__ import annotations

import math
from functools import partial
from pathlib import Path

from pydantic import Field

from ..processes.sandbox.sandbox import (
    Mechanism,
    Sandbox,
    SandboxLimits,
    SandboxReport,
    check_report,
    open_sandbox,
    probe_sandbox,
)
from ._child import Child
from ._local_code_executor import LocalCodeExecutor

_REQUIRED = ("files", "network", "signals", "memory", "processes", "calls")


class SandboxedLocalCodeExecutor(LocalCodeExecutor):
    """Runs Python code on Linux where it reaches no file, network or process of this machine.

    It needs no container. The sandbox is made by bubblewrap where `bwrap` is installed, else by
    namespaces, else by Landlock alone, each with resource limits and a filter of system calls. The
    code sees the system's programs, this interpreter with its packages, and a folder of its own,
    which starts with the input files; new and changed files of a run that did not fail are its
    output files. The first run logs which protections hold, and fails if one of `required` does
    not. docs/sandboxes.md lists what is promised and what is not.

    Attributes:
      mechanism: how the sandbox is made; None takes the first that works.
      required: protections without which no code runs, of "files", "network", "signals" (to and
        sight of other processes), "memory", "processes", "disk" and "calls". "disk" is the only
        one that Landlock alone cannot give.
      readable_paths: files and folders that the code can read besides, under their own paths. A run
        raises AgentConfigError if one does not exist or holds a socket, which it could talk to.
      max_processes: processes and threads of a run at once.
      max_disk_bytes: all files of a run together; they are kept in memory. The output files that
        are kept have no more bytes together, holes included.
      timeout_seconds, max_memory_bytes, max_output_bytes, max_output_files, max_file_bytes: as for
        UnsafeLocalCodeExecutor. Memory is bounded for each process.
    """

    mechanism: Mechanism | None = None
    required: tuple[str, ...] = _REQUIRED
    readable_paths: tuple[Path, ...] = ()
    max_memory_bytes: int | None = Field(default=1024**3, gt=0)
    max_processes: int = Field(default=32, gt=0)
    max_disk_bytes: int = Field(default=128 * 1024**2, gt=0)

    def describe_sandbox(self) -> SandboxReport:
        """Return which protections hold on this machine, by running a program once.

        Raises:
          AgentConfigError: no mechanism gives all that is required.
        """
        return probe_sandbox(self._open_sandbox().mechanism)

    def _bound_output_files(self) -> int:
        return self.max_disk_bytes

    def _open_sandbox(self) -> Sandbox:
        seconds = self.timeout_seconds
        limits = SandboxLimits(
            memory_bytes=self.max_memory_bytes or 1 << 62,
            processes=self.max_processes,
            disk_bytes=self.max_disk_bytes,
            file_bytes=self.max_file_bytes + 1,  # so that a file that was cut off is noticed
            cpu_seconds=None if seconds is None else math.ceil(seconds) + 1,
        )
        return open_sandbox(
            self.mechanism, limits=limits, readable=self.readable_paths, required=self.required
        )

    def _run_code(self, child: Child, code: str, root: Path) -> tuple[int, str, str, str]:
        sandbox = self._open_sandbox()
        status, stdout, stderr = child.run(
            code,
            work_dir=root / "work",
            home_dir=root / "home",
            wrap=partial(sandbox.wrap, exchange=root),
        )
        report = sandbox.read_report(root)
        fault = check_report(report, stderr)
        return status if report.status is None else report.status, stdout, stderr, fault
