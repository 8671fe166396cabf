"""Port of planners. The processors of `flows/llm_flows/_nl_planning.py` call it around each model
call.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

from .. import types
from ..context.context import Context
from ..context.readonly import ReadonlyContext
from ..models.llm_request import LlmRequest


class BasePlanner(ABC):
    """Makes an agent plan, by an instruction before the call and by reading the answer after it
    (Spec 1 §15).
    """

    @abstractmethod
    def build_planning_instruction(
        self, readonly_context: ReadonlyContext, llm_request: LlmRequest
    ) -> str | None:
        """Return the text that is appended to the system instruction; None for no text.

        Args:
          readonly_context: the run, read-only.
          llm_request: the request as it stands; not to be changed here.
        """

    @abstractmethod
    def process_planning_response(
        self, callback_context: Context, response_parts: list[types.Part]
    ) -> list[types.Part] | None:
        """Return the parts that replace those of a response; None or none to leave them.

        Args:
          callback_context: the run; state written here is committed before the response.
          response_parts: what the model answered.
        """
