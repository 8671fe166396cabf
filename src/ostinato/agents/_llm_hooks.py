"""LlmHooks: the callbacks that an agent has around its model and its tools."""

from typing import Any

from ..context.callbacks import as_list
from ..context.deps import Deps
from ._typed_agent import TypedAgent
from .agent_run_result import Output
from .base_agent import Callback

BeforeModelCallback = Callback | list[Callback]
AfterModelCallback = Callback | list[Callback]
OnModelErrorCallback = Callback | list[Callback]
BeforeToolCallback = Callback | list[Callback]
AfterToolCallback = Callback | list[Callback]
OnToolErrorCallback = Callback | list[Callback]


class LlmHooks(TypedAgent[Deps, Output]):
    """An agent with hooks around its model and its tools; each is one callback or several (Spec 2
    §9.2).
    """

    before_model_callback: Any = None
    after_model_callback: Any = None
    on_model_error_callback: Any = None
    before_tool_callback: Any = None
    after_tool_callback: Any = None
    on_tool_error_callback: Any = None

    @property
    def canonical_before_model_callbacks(self) -> list[Callback]:
        """The before-model callbacks as a list."""
        return as_list(self.before_model_callback)

    @property
    def canonical_after_model_callbacks(self) -> list[Callback]:
        """The after-model callbacks as a list."""
        return as_list(self.after_model_callback)

    @property
    def canonical_on_model_error_callbacks(self) -> list[Callback]:
        """The on-model-error callbacks as a list."""
        return as_list(self.on_model_error_callback)

    @property
    def canonical_before_tool_callbacks(self) -> list[Callback]:
        """The before-tool callbacks as a list."""
        return as_list(self.before_tool_callback)

    @property
    def canonical_after_tool_callbacks(self) -> list[Callback]:
        """The after-tool callbacks as a list."""
        return as_list(self.after_tool_callback)

    @property
    def canonical_on_tool_error_callbacks(self) -> list[Callback]:
        """The on-tool-error callbacks as a list."""
        return as_list(self.on_tool_error_callback)
