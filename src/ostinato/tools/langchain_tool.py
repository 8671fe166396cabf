"""LangchainTool: a tool of LangChain as a tool of an agent; LangChain is not imported here."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Self, cast

from pydantic import BaseModel

from ..agent_files.file_reading import resolve_fully_qualified_name
from .function.schema_tool import ArgumentsSchema, SchemaTool
from .tool_configs import BaseToolConfig, ToolArgsConfig

if TYPE_CHECKING:
    from ..context.context import Context as ToolContext

# What LangChain passes to a tool's function by itself.
_INJECTED = ("run_manager", "callbacks", "config")
_SINGLE_INPUT = {"properties": {"tool_input": {"type": "string"}}, "required": ["tool_input"]}


class LangchainToolConfig(BaseToolConfig):
    """Settings of a LangchainTool in a file.

    Attributes:
      tool: dotted name of the tool of LangChain, an object.
      name: what the model calls it by; the tool's own if empty.
      description: what the model is told about it; the tool's own if empty.
    """

    tool: str
    name: str = ""
    description: str = ""


class LangchainTool(SchemaTool):
    """A tool of LangChain (FEATURES row 141).

    Its function is called directly, without LangChain's callbacks. A class's own `_arun` is
    awaited; a plain function runs in a worker thread. Of a tool that answers with content and an
    artifact the model is given the content.

    Args:
      tool: a StructuredTool, a Tool, an instance of a subclass of LangChain's BaseTool, or any
        object with a method `run` or `_run`.
      name: what the model calls it by; the tool's own if None.
      description: what the model is told about it; the tool's own if None.

    Raises:
      ValueError: `tool` has no method `run` or `_run`.
      AgentConfigError: the tool's `args_schema` does not describe an object, or the runtime
        reserves its name.
    """

    def __init__(self, tool: Any, name: str | None = None, description: str | None = None) -> None:
        if not (hasattr(tool, "run") or hasattr(tool, "_run")):
            raise ValueError(
                "Tool must be a Langchain tool, have a 'run' or '_run' method; "
                f"{type(tool).__name__} has neither."
            )
        func = _find_own_arun(tool) or _find_function(tool)
        super().__init__(
            _call_with_one(func) if _is_single_input(tool) else func,
            name=name or getattr(tool, "name", "") or getattr(func, "__name__", ""),
            description=(description if description is not None else _read_description(tool, func)),
            schema=_find_schema(tool),
            injected=_INJECTED,
        )
        self._langchain_tool = tool

    async def run_async(self, *, args: dict[str, Any], tool_context: ToolContext) -> Any:
        """Call the tool's function with the model's arguments.

        Returns:
          What the function returned; or a dict with `error` if an argument is missing or does not
          fit the schema, or if the function raised a ToolException that the tool's
          `handle_tool_error` takes.
        """
        try:
            return await self._run(args, tool_context)
        except Exception as error:  # boundary: the tool says which errors are the model's
            handler: Any = getattr(self._langchain_tool, "handle_tool_error", False)
            if not handler or not _is_tool_exception(error):
                raise
            return {"error": _describe_error(error, handler)}

    async def _run(self, args: dict[str, Any], tool_context: ToolContext) -> Any:
        try:
            result = await super().run_async(args=args, tool_context=tool_context)
        except NotImplementedError:
            # The async form of some tools only raises this.
            if _find_own_arun(self._langchain_tool) is None:
                raise
            result = await self._make_plain().run_async(args=args, tool_context=tool_context)
        has_artifact = (
            getattr(self._langchain_tool, "response_format", "") == "content_and_artifact"
        )
        if has_artifact and isinstance(result, tuple):
            return cast("tuple[Any, ...]", result)[0]
        return result

    def _make_plain(self) -> SchemaTool:
        """Return the tool that calls the plain form."""
        tool = self._langchain_tool
        func = _find_function(tool)
        return SchemaTool(
            _call_with_one(func) if _is_single_input(tool) else func,
            name=self.name,
            description=self.description,
            schema=_find_schema(tool),
            injected=_INJECTED,
        )

    @classmethod
    def from_config(cls, config: ToolArgsConfig, config_abs_path: str) -> Self:
        """Make the tool of a file's settings; see BaseTool."""
        settings = LangchainToolConfig.model_validate(config.model_dump())
        return cls(
            resolve_fully_qualified_name(settings.tool),
            name=settings.name or None,
            description=settings.description or None,
        )


def _is_tool_exception(error: Exception) -> bool:
    return "ToolException" in {kind.__name__ for kind in type(error).__mro__}


def _describe_error(error: Exception, handler: Any) -> Any:
    """Return what a tool's `handle_tool_error` makes of an error, as LangChain reads it."""
    if handler is True:
        return error.args[0] if error.args else "Tool execution error"
    return handler(error) if callable(handler) else str(handler)


def _find_function(tool: Any) -> Callable[..., Any]:
    """Return the function that a tool wraps, or its method that runs it."""
    for name in ("func", "coroutine", "_run", "run"):
        found = getattr(tool, name, None)
        if callable(found):
            return found
    raise ValueError(f"The tool {tool!r} has nothing to call.")


def _find_own_arun(tool: Any) -> Callable[..., Any] | None:
    """Return a tool's async method, unless it is LangChain's, which calls the plain one."""
    for kind in type(tool).__mro__:
        if "_arun" in vars(kind):
            is_own = kind.__module__.partition(".")[0] != "langchain_core"
            return getattr(tool, "_arun", None) if is_own else None
    return None


def _find_schema(tool: Any) -> ArgumentsSchema | None:
    """Return the schema of a tool's arguments, or None if only its function says them."""
    if _is_single_input(tool) and getattr(tool, "args_schema", None) is None:
        return dict(_SINGLE_INPUT)
    # LangChain's own reading: without the arguments that programs inject.
    for name in ("tool_call_schema", "args_schema"):
        found: Any = getattr(tool, name, None)
        if isinstance(found, dict) or (isinstance(found, type) and issubclass(found, BaseModel)):
            return cast("ArgumentsSchema", found)
    return None


def _is_single_input(tool: Any) -> bool:
    """Return whether a tool is LangChain's Tool, whose function takes one value without a name."""
    names = {kind.__name__ for kind in type(tool).__mro__}
    return "Tool" in names and "StructuredTool" not in names and hasattr(tool, "func")


def _call_with_one(func: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that passes its only named argument on without the name."""

    def call(**values: Any) -> Any:
        return func(*values.values())

    return call


def _read_description(tool: Any, func: Callable[..., Any]) -> str:
    return getattr(tool, "description", "") or inspect.getdoc(func) or ""
