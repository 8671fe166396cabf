"""google_maps_grounding: Gemini grounds its answer in Google Maps."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .. import types
from .google.model_side_tool import ModelSideTool

if TYPE_CHECKING:
    from ..context.context import Context as ToolContext


class GoogleMapsGroundingTool(ModelSideTool):
    """Grounds Gemini in Google Maps; on Vertex AI only (Spec 1 §10)."""

    label = "Google Maps grounding"
    runs_in_gemini_1 = False

    def __init__(self) -> None:
        super().__init__("google_maps")

    def build_tool(self, context: ToolContext, *, is_gemini_1: bool) -> types.Tool:
        """Return the tool to add to a request."""
        return types.Tool(google_maps=types.GoogleMaps())


google_maps_grounding = GoogleMapsGroundingTool()
