"""BaseRetrievalTool: a tool that finds texts for a query."""

from __future__ import annotations

from typing import Any

from ... import types
from ..base_tool import BaseTool

_PARAMETERS: dict[str, Any] = {
    "type": "object",
    "properties": {"query": {"type": "string", "description": "The query to retrieve."}},
}


class BaseRetrievalTool(BaseTool):
    """A tool with one argument, `query`; a subclass implements `run_async` (FEATURES row 128)."""

    has_outside_results = True

    def _get_declaration(self) -> types.FunctionDeclaration:
        return types.FunctionDeclaration(
            name=self.name, description=self.description, parameters_json_schema=_PARAMETERS
        )
