"""Executor that runs a model's code on this machine, in a child process with limits.

"Unsafe" as the name says: the child is bounded and gets no variables of ours, but it runs as the
same user, may read and write that user's files and use the network.
"""

from __future__ import annotations

import asyncio
import signal
import tempfile
from pathlib import Path

from pydantic import Field, field_validator

from ..context.invocation import InvocationContext
from ._child import Child
from ._limits import Limits
from ._workspace import Workspace
from .base_code_executor import BaseCodeExecutor
from .code_execution_utils import CodeExecutionInput, CodeExecutionResult

_GRACE_SECONDS = 5.0


class UnsafeLocalCodeExecutor(BaseCodeExecutor):
    """Runs Python code in a child process (Spec 1 §16, FEATURES row 167).

    Each run has a process group, a working directory and an environment of its own, and all of it
    is gone afterwards; processes that the code started are killed with it. Input files lie in the
    working directory, new and changed files of a run that did not fail are its output files. What
    is printed to stderr by code that succeeds counts as output.

    It is no sandbox: the code can reach every file and address that this process can. Let it run
    only what you would run yourself, or put the whole process into a container.

    Attributes:
      stateful: cannot be True: each run is a process of its own.
      timeout_seconds: wall time of a run, seconds; None for no bound.
      max_memory_bytes: address space of each process of a run, on POSIX; None for no bound.
      max_output_bytes: what is kept of stdout and of stderr, the beginning and the end. Code that
        prints more than 64 times as much is killed.
      max_output_files: number of output files that are kept.
      max_file_bytes: size of the largest output file that is kept, and on POSIX written.
    """

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
                "UnsafeLocalCodeExecutor cannot be stateful: each run of code is a process of its "
                "own. Have the code keep what it needs in files, or use another executor."
            )
        return stateful

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
        return self._run(Child(self._limits()), code_execution_input)

    async def execute_code_async(
        self,
        invocation_context: InvocationContext,
        code_execution_input: CodeExecutionInput,
    ) -> CodeExecutionResult:
        """Run the code in a worker thread; where the caller is cancelled, the code is killed."""
        child = Child(self._limits())
        work = asyncio.ensure_future(asyncio.to_thread(self._run, child, code_execution_input))
        try:
            return await asyncio.shield(work)
        except asyncio.CancelledError:
            child.kill("the run was cancelled")
            # The thread has only to clean up now; wait, so that nothing of it outlives the run.
            await asyncio.wait([work], timeout=_GRACE_SECONDS)
            raise

    def _limits(self) -> Limits:
        return Limits(
            seconds=self.timeout_seconds,
            memory_bytes=self.max_memory_bytes,
            output_bytes=self.max_output_bytes,
            files=self.max_output_files,
            file_bytes=self.max_file_bytes,
        )

    def _run(self, child: Child, wanted: CodeExecutionInput) -> CodeExecutionResult:
        with tempfile.TemporaryDirectory(prefix="ostinato-", ignore_cleanup_errors=True) as root:
            work_dir, home_dir = Path(root, "work"), Path(root, "home")
            work_dir.mkdir()
            home_dir.mkdir()
            workspace = Workspace(work_dir)
            workspace.put(wanted.input_files)
            status, stdout, stderr = child.run(wanted.code, work_dir=work_dir, home_dir=home_dir)
            reason = _why_failed(status, stderr, child.killed_because)
            if reason is not None:
                return CodeExecutionResult(stdout=stdout, stderr=_joined(stderr, reason))
            files, notes = workspace.collect(child.limits)
            if notes:
                stderr = _joined(stderr, "Files not kept: " + ", ".join(notes))
            return CodeExecutionResult(stdout=_joined(stdout, stderr), output_files=files)


def _why_failed(status: int, stderr: str, killed_because: str | None) -> str | None:
    """Return why a run failed, empty where stderr says so itself; None where it did not fail."""
    if killed_because is not None:
        return f"Code execution was stopped: {killed_because}."
    if status < 0:
        return f"Code execution was ended by signal {signal.Signals(-status).name}."
    if status == 1 and stderr:
        return ""
    return f"The code ended with exit status {status}." if status else None


def _joined(text: str, more: str) -> str:
    """Return both texts, the second on a line of its own."""
    return text + ("\n" if text and more and not text.endswith("\n") else "") + more
