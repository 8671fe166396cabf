"""LongRunningFunctionTool: a function that starts something whose result comes later."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import types
from .base_tool import CheckInDoubt, InDoubt
from .function_tool import FunctionTool

_NOTE = (
    "NOTE: This operation takes long. Once it has answered with an interim or pending status, do "
    "not call it again."
)


class LongRunningFunctionTool(FunctionTool):
    """A function whose result the client sends later (Spec 2 §10.2, FEATURES row 136).

    What the function returns at once is an interim result; with None, the model is told
    that the call is pending. The result is a function response in a later message of the user.

    Args:
      func: the function that starts the work.
      require_confirmation: as for FunctionTool.
      timeout: seconds that the start may take, as for FunctionTool.
      parallel: as for FunctionTool.
      in_doubt, check: what becomes of a start that was interrupted, as for BaseTool.
    """

    def __init__(
        self,
        func: Callable[..., Any],
        *,
        require_confirmation: bool | Callable[..., Any] = False,
        timeout: float | None = None,
        parallel: bool = False,
        in_doubt: InDoubt | None = None,
        check: CheckInDoubt | None = None,
    ) -> None:
        super().__init__(
            func,
            require_confirmation=require_confirmation,
            timeout=timeout,
            parallel=parallel,
            in_doubt=in_doubt,
            check=check,
        )
        self.is_long_running = True

    def _declare(self) -> types.FunctionDeclaration:
        declaration = super()._declare()
        declaration.description = f"{self.description}\n\n{_NOTE}" if self.description else _NOTE
        return declaration
