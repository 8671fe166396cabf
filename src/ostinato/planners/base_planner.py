"""BasePlanner: the port of planners, called around each model call."""

from __future__ import annotations

from abc import ABC, abstractmethod

from .. import types
from ..context.context import Context
from ..context.readonly import ReadonlyContext
from ..models.llm_request import LlmRequest


class BasePlanner(ABC):
    """Makes an agent plan: adds an instruction to requests, processes responses (Spec 1 §15)."""

    @abstractmethod
    def build_planning_instruction(
        self, readonly_context: ReadonlyContext, llm_request: LlmRequest
    ) -> str | None:
        """Return the text to append to the system instruction; None for no text.

        Args:
          readonly_context: the run, read-only.
          llm_request: the request so far; planners must not change it.
        """

    @abstractmethod
    def process_planning_response(
        self, callback_context: Context, response_parts: list[types.Part]
    ) -> list[types.Part] | None:
        """Return the parts that replace those of a response; None or an empty list to keep them.

        Args:
          callback_context: the run; state changes are committed before the response.
          response_parts: the parts of the model's response.
        """
