"""Base of the executors that run a model's code on this machine, each run in a child process."""

from __future__ import annotations

import asyncio
import signal
import tempfile
from abc import abstractmethod
from pathlib import Path
from typing import ClassVar

from pydantic import Field, field_validator

from .._adk_mode import follows_adk
from ..context.invocation import InvocationContext
from ._child import Child, Limits
from ._workspace import Workspace, remove_tree
from .base_code_executor import BaseCodeExecutor
from .code_execution_utils import CodeExecutionInput, CodeExecutionResult

_GRACE_SECONDS = 5.0
_MAX_NOTES = 20  # on files that are not kept


class LocalCodeExecutor(BaseCodeExecutor):
    """Runs Python code in child processes with limits; subclasses say how a child starts.

    Attributes:
      stateful: cannot be True: each run is a process of its own.
      timeout_seconds: wall time of a run, seconds; None for no bound.
      max_memory_bytes: address space of each process of a run, on POSIX; None for no bound.
      max_output_bytes: what is kept of stdout and of stderr, the beginning and the end. Code that
        prints more than 64 times as much is killed.
      max_output_files: number of output files that are kept.
      max_file_bytes: size of the largest output file that is kept, and on POSIX written.
    """

    _is_of_google_adk: ClassVar[bool] = False

    stateful: bool = Field(default=False, frozen=True)
    timeout_seconds: float | None = Field(default=60.0, gt=0)
    max_memory_bytes: int | None = Field(default=4 * 1024**3, gt=0)
    max_output_bytes: int = Field(default=128 * 1024, gt=0)
    max_output_files: int = Field(default=32, ge=0)
    max_file_bytes: int = Field(default=16 * 1024**2, gt=0)

    @field_validator("stateful")
    @classmethod
    def _refuse_state(cls, stateful: bool) -> bool:
        if stateful:
            raise ValueError(
                f"{cls.__name__} cannot be stateful: each run of code is a process of its "
                "own. Have the code keep what it needs in files, or use another executor."
            )
        return stateful

    @field_validator("optimize_data_file")
    @classmethod
    def _refuse_data_files(cls, optimize_data_file: bool) -> bool:
        if optimize_data_file and cls._is_of_google_adk and follows_adk():
            raise ValueError(
                f"Cannot set `optimize_data_file=True` in {cls.__name__} in a program for "
                "google-adk, which refuses it. With `import ostinato` it works."
            )
        return optimize_data_file

    def execute_code(
        self,
        invocation_context: InvocationContext,
        code_execution_input: CodeExecutionInput,
    ) -> CodeExecutionResult:
        """Run the code and wait for it; see the class.

        Raises:
          ValueError: an input file has a name that leads out of the working directory, or its
            content is text but not base64.
        """
        return self._run_child(Child(self._make_limits()), code_execution_input)

    async def execute_code_async(
        self,
        invocation_context: InvocationContext,
        code_execution_input: CodeExecutionInput,
    ) -> CodeExecutionResult:
        """Run the code in a worker thread; kill it if the caller is cancelled."""
        child = Child(self._make_limits())
        work = asyncio.ensure_future(
            asyncio.to_thread(self._run_child, child, code_execution_input)
        )
        # Retrieve the exception, so that asyncio does not warn if the caller was cancelled.
        work.add_done_callback(lambda done: done.cancelled() or done.exception())
        try:
            return await asyncio.shield(work)
        except asyncio.CancelledError:
            child.kill("the run was cancelled")
            # The thread only has to clean up; wait, so that nothing outlives the run.
            await asyncio.wait([work], timeout=_GRACE_SECONDS)
            raise

    def _make_limits(self) -> Limits:
        return Limits(
            seconds=self.timeout_seconds,
            memory_bytes=self.max_memory_bytes,
            output_bytes=self.max_output_bytes,
            files=self.max_output_files,
            file_bytes=self.max_file_bytes,
            total_bytes=self._bound_output_files(),
        )

    def _bound_output_files(self) -> int | None:
        """Return how many bytes all output files may have together; None for no bound."""
        return None

    def _run_child(self, child: Child, wanted: CodeExecutionInput) -> CodeExecutionResult:
        try:
            root = Path(tempfile.mkdtemp(prefix="ostinato-"))
        except OSError as error:
            return _start_failure(error)
        try:
            return self._run_in(root, child, wanted)
        except OSError as error:  # such as no free descriptors, or a full disk
            return _start_failure(error)
        finally:
            remove_tree(root)

    def _run_in(self, root: Path, child: Child, wanted: CodeExecutionInput) -> CodeExecutionResult:
        work_dir, home_dir = root / "work", root / "home"
        work_dir.mkdir()
        home_dir.mkdir()
        workspace = Workspace(work_dir)
        workspace.put(wanted.input_files)
        status, stdout, stderr, fault = self._run_code(child, wanted.code, root)
        reason = fault if fault and child.killed_because is None else None
        reason = reason or _why_failed(status, stderr, child.killed_because)
        if reason is not None:
            return CodeExecutionResult(stdout=stdout, stderr=join_lines(stderr, reason))
        files, notes = workspace.collect(child.limits)
        if notes:
            told = notes[:_MAX_NOTES]
            told += [f"and {len(notes) - len(told)} more"] if len(notes) > len(told) else []
            stderr = join_lines(stderr, "Files not kept: " + ", ".join(told))
        return CodeExecutionResult(stdout=join_lines(stdout, stderr), output_files=files)

    @abstractmethod
    def _run_code(self, child: Child, code: str, root: Path) -> tuple[int, str, str, str]:
        """Run the code in a folder with `work` and `home`.

        Returns:
          Exit status (negative: number of the signal), stdout, stderr, and why it could not be run
          (empty if it was).

        Raises:
          OSError: the child cannot be started.
        """


def _start_failure(error: OSError) -> CodeExecutionResult:
    return CodeExecutionResult(
        stderr=f"Code execution could not be started: {error.strerror or type(error).__name__}."
    )


def _why_failed(status: int, stderr: str, killed_because: str | None) -> str | None:
    """Return why a run failed (empty if stderr says so itself), or None if it succeeded."""
    if killed_because is not None:
        return f"Code execution was stopped: {killed_because}."
    if status < 0:
        return f"Code execution was ended by signal {signal.Signals(-status).name}."
    if status == 1 and stderr:
        return ""
    return f"The code ended with exit status {status}." if status else None


def join_lines(text: str, more: str) -> str:
    """Return both texts, the second on a line of its own."""
    return text + ("\n" if text and more and not text.endswith("\n") else "") + more
