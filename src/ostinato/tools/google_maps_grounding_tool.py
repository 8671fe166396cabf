"""google_maps_grounding: Gemini grounds its answer in Google Maps."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .. import types
from ..models.llm_request import LlmRequest
from ._model_side_tool import add_model_side_tool
from .base_tool import BaseTool

if TYPE_CHECKING:
    from ..context.context import Context as ToolContext


class GoogleMapsGroundingTool(BaseTool):
    """Lets Gemini ground its answer in Google Maps; on Vertex AI only (Spec 1 §10).

    The service runs it within its answer; nothing runs here.
    """

    def __init__(self) -> None:
        super().__init__(name="google_maps", description="google_maps")

    async def process_llm_request(
        self, *, tool_context: ToolContext, llm_request: LlmRequest
    ) -> None:
        """Add the tool to a request.

        Raises:
          ValueError: the request's model does not take it.
        """
        add_model_side_tool(
            llm_request,
            types.Tool(google_maps=types.GoogleMaps()),
            label="Google Maps grounding",
            in_first="never",
        )


google_maps_grounding = GoogleMapsGroundingTool()
