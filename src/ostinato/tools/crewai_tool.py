"""CrewaiTool: a tool of CrewAI as a tool of an agent; CrewAI is not imported here."""

from __future__ import annotations

from typing import Any, Self

from ..agent_files.file_reading import resolve_fully_qualified_name
from .function.schema_tool import SchemaTool
from .tool_configs import BaseToolConfig, ToolArgsConfig


class CrewaiToolConfig(BaseToolConfig):
    """Settings of a CrewaiTool in a file.

    Attributes:
      tool: dotted name of the tool of CrewAI, an object.
      name: what the model calls it by; made of the tool's own if empty.
      description: what the model is told about it; the tool's own if empty.
    """

    tool: str
    name: str = ""
    description: str = ""


class CrewaiTool(SchemaTool):
    """A tool of CrewAI (FEATURES row 141). Its `run` is called in a worker thread.

    Args:
      tool: an object with `run`, `name`, `description` and a pydantic model `args_schema`.
      name: what the model calls it by; if empty, the tool's own in lower case, with underscores
        for spaces.
      description: what the model is told about it; the tool's own if empty.

    Raises:
      ValueError: the tool lacks `run` or `args_schema`.
    """

    def __init__(self, tool: Any, *, name: str, description: str = "") -> None:
        run, schema = getattr(tool, "run", None), getattr(tool, "args_schema", None)
        if not callable(run) or schema is None:
            raise ValueError(
                f"A tool of CrewAI has a method run and an args_schema; {type(tool).__name__} has "
                "not. Wrap another object's method in a FunctionTool."
            )
        super().__init__(
            run,
            name=name or str(getattr(tool, "name", "")).replace(" ", "_").lower(),
            description=description or getattr(tool, "description", ""),
            schema=schema,
        )
        self.tool = tool

    @classmethod
    def from_config(cls, config: ToolArgsConfig, config_abs_path: str) -> Self:
        """Make the tool of a file's settings; see BaseTool."""
        settings = CrewaiToolConfig.model_validate(config.model_dump())
        return cls(
            resolve_fully_qualified_name(settings.tool),
            name=settings.name,
            description=settings.description,
        )
