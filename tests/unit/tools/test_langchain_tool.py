"""LangchainTool: what the model sees of a tool of LangChain, and how its function is called.

The classes here have the names, attributes and methods of LangChain's, which is not installed.
"""

import threading
from collections.abc import Callable
from typing import Any

import pytest
from pydantic import BaseModel, Field

from ostinato.errors import AgentConfigError
from ostinato.integrations.langchain import LangchainTool as TheSameTool
from ostinato.tools.langchain_tool import LangchainTool
from ostinato.tools.tool_configs import ToolArgsConfig
from tests.unit.tools.contexts import make_context


class BaseTool:
    name = "base"
    description = "A base."
    args_schema: Any = None
    response_format = "content"

    def run(self, tool_input: Any) -> Any:
        raise AssertionError("the function is called directly")


class StructuredTool(BaseTool):
    def __init__(
        self,
        func: Callable[..., Any] | None,
        args_schema: Any,
        coroutine: Callable[..., Any] | None = None,
    ) -> None:
        self.name, self.description = "add", "Adds."
        self.func, self.coroutine, self.args_schema = func, coroutine, args_schema
        self.handle_tool_error: Any = False


class Tool(BaseTool):
    def __init__(self, func: Callable[[str], str]) -> None:
        self.name, self.description, self.func = "echo", "Echoes.", func
        self.coroutine = None


class Place(BaseModel):
    city: str


class Sum(BaseModel):
    """The arguments."""

    a: int = Field(description="The first.")
    b: int = 2
    place: Place | None = None


def add(a: int, b: int, place: Place | None = None) -> Any:
    return {"sum": a + b, "city": place.city if place else None}


async def run(tool: LangchainTool, **args: Any) -> Any:
    return await tool.run_async(args=args, tool_context=make_context())


def parameters(tool: LangchainTool) -> dict[str, Any]:
    declaration = tool._get_declaration()
    assert declaration is not None
    return declaration.parameters_json_schema or {}


async def test_a_structured_tool_takes_what_its_schema_says() -> None:
    tool = LangchainTool(StructuredTool(add, Sum))
    declaration = tool._get_declaration()
    assert declaration is not None
    assert (declaration.name, declaration.description) == ("add", "Adds.")
    assert parameters(tool)["properties"]["a"]["description"] == "The first."
    assert parameters(tool)["required"] == ["a"]
    assert await run(tool, a="1", place={"city": "Oslo"}) == {"sum": 3, "city": "Oslo"}


async def test_wrong_arguments_are_reported_to_the_model() -> None:
    tool = LangchainTool(StructuredTool(add, Sum))
    assert "mandatory input parameters are not present:\na" in (await run(tool))["error"]
    assert "place.city" in (await run(tool, a=1, place={}))["error"]
    assert "a" in (await run(tool, a="x"))["error"]


async def test_an_unknown_argument_is_left_out() -> None:
    class Strict(Sum):
        model_config = {"extra": "forbid"}

    tool = LangchainTool(StructuredTool(add, Strict))
    assert await run(tool, a=1, unknown=2) == {"sum": 3, "city": None}


def test_an_edited_argument_is_checked() -> None:
    tool = LangchainTool(StructuredTool(add, Sum))
    assert tool.find_argument_fault({"a": 1}) == ""
    assert "c is no parameter" in tool.find_argument_fault({"a": 1, "c": 2})


async def test_an_async_structured_tool_is_awaited() -> None:
    async def add_later(**values: Any) -> Any:
        return values

    schema = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}
    tool = LangchainTool(StructuredTool(None, schema, add_later))
    assert await run(tool, a=1, unknown=2) == {"a": 1}
    assert "\na\n" in (await run(tool))["error"]


async def test_a_schema_in_json_checks_and_converts_the_arguments() -> None:
    schema = {
        "type": "object",
        "properties": {"a": {"type": "integer"}, "b": {"$ref": "#/$defs/B"}, "c": True},
        "required": ["a"],
        "$defs": {"B": {"type": "array", "items": {"type": "string"}}},
    }
    tool = LangchainTool(StructuredTool(lambda **values: values, schema))
    assert await run(tool, a="1", b=None, c=3) == {"a": 1, "b": None, "c": 3}
    assert "a is 'x', not of type integer" in (await run(tool, a="x"))["error"]
    assert "b[0] is 1" in (await run(tool, a=1, b=[1]))["error"]
    assert "\na\n" in (await run(tool, b=["x"]))["error"]


class ToolException(Exception):
    """As LangChain names the errors that its tools may handle."""


@pytest.mark.parametrize(
    ("handler", "wanted"),
    [(True, "no such tide"), ("Try later.", "Try later."), (repr, "ToolException('no such tide')")],
)
@pytest.mark.parametrize("is_async", [True, False])
async def test_a_tool_exception_is_told_as_the_tool_says(
    handler: Any, wanted: str, is_async: bool
) -> None:
    def fail(a: int, b: int = 2, place: Place | None = None) -> Any:
        raise ToolException("no such tide")

    async def fail_later(a: int, b: int = 2, place: Place | None = None) -> Any:
        raise ToolException("no such tide")

    made = StructuredTool(None, Sum, fail_later) if is_async else StructuredTool(fail, Sum)
    made.handle_tool_error = handler
    assert await run(LangchainTool(made), a=1) == {"error": wanted}


async def test_other_errors_of_a_tool_are_raised() -> None:
    def fail(a: int, b: int = 2, place: Place | None = None) -> Any:
        raise (ToolException if b == 2 else ValueError)

    made = StructuredTool(fail, Sum)
    made.handle_tool_error = False
    with pytest.raises(ToolException):
        await run(LangchainTool(made), a=1)
    made.handle_tool_error = True
    assert await run(LangchainTool(made), a=1) == {"error": "Tool execution error"}
    with pytest.raises(ValueError):
        await run(LangchainTool(made), a=1, b=3)


async def test_a_tool_of_one_input_takes_it_without_a_name() -> None:
    tool = LangchainTool(Tool(lambda text: f"<{text}>"))
    assert parameters(tool)["required"] == ["tool_input"]
    assert await run(tool, tool_input="x") == "<x>"


async def test_a_subclass_is_called_without_what_langchain_injects() -> None:
    class Search(BaseTool):
        name, description = "search", "Searches."

        def _run(self, query: str, limit: int = 3, run_manager: Any = None) -> str:
            """Runs."""
            return f"{query} {limit} {run_manager}"

    tool = LangchainTool(Search())
    assert list(parameters(tool)["properties"]) == ["query", "limit"]
    assert await run(tool, query="tides", limit="5", run_manager="x") == "tides 5 None"


async def test_a_subclass_with_an_async_form_only_is_awaited() -> None:
    class Slow(BaseTool):
        def _run(self, query: str) -> str:
            raise NotImplementedError

        async def _arun(self, query: str) -> str:
            return query.upper()

    assert await run(LangchainTool(Slow()), query="a", other=1) == "A"


async def test_own_async_form_is_awaited_with_checked_arguments() -> None:
    class Both(BaseTool):
        args_schema = Sum

        def _run(self, a: int, b: int = 2, place: Place | None = None) -> str:
            raise RuntimeError("the plain form")

        async def _arun(self, a: int, b: int = 2, place: Place | None = None) -> Any:
            if a < 0:
                raise ValueError("a is negative")
            return [a, b, threading.get_ident()]

    context = make_context(sync_tools="thread")
    tool = LangchainTool(Both())
    found = await tool.run_async(args={"a": "1"}, tool_context=context)
    assert found == [1, 2, threading.get_ident()]
    assert "error" in await run(tool, a="x")
    with pytest.raises(ValueError, match="a is negative"):
        await run(tool, a=-1)


async def test_plain_form_stands_for_an_async_one_that_is_none() -> None:
    class Plain(BaseTool):
        def _run(self, query: str) -> str:
            return query.upper()

        async def _arun(self, query: str) -> str:
            raise NotImplementedError("no async form")

    assert await run(LangchainTool(Plain()), query="a") == "A"


async def test_async_method_of_langchain_itself_is_not_used() -> None:
    async def call_plain(self: Any, query: str) -> str:
        raise AssertionError("LangChain's method")

    base = type("Base", (BaseTool,), {"_arun": call_plain, "__module__": "langchain_core.tools"})
    made = type("Made", (base,), {"_run": lambda self, query: query.upper()})
    assert await run(LangchainTool(made()), query="a") == "A"


async def test_a_tool_that_is_not_implemented_says_so() -> None:
    class Empty:
        def run(self) -> str:
            raise NotImplementedError("later")

    with pytest.raises(NotImplementedError, match="later"):
        await run(LangchainTool(Empty()))


async def test_any_object_with_run_is_a_tool() -> None:
    class Clock:
        def run(self, zone: str) -> str:
            """Tell the time in a zone."""
            return f"noon in {zone}"

    tool = LangchainTool(Clock())
    declaration = tool._get_declaration()
    assert declaration is not None
    assert (declaration.name, declaration.description) == ("run", "Tell the time in a zone.")
    assert await run(tool, zone="Oslo") == "noon in Oslo"


async def test_name_and_description_can_be_overridden() -> None:
    tool = LangchainTool(StructuredTool(add, Sum), name="plus", description="")
    declaration = tool._get_declaration()
    assert declaration is not None
    assert (declaration.name, declaration.description) == ("plus", None)


async def test_of_content_and_artifact_the_content_is_returned() -> None:
    made = StructuredTool(lambda a: ("text", object()), {"properties": {"a": {}}})
    made.response_format = "content_and_artifact"
    assert await run(LangchainTool(made), a=1) == "text"


async def test_a_function_may_receive_the_context() -> None:
    def remember(fact: str, tool_context: Any) -> str:
        return f"{fact} {tool_context.function_call_id}"

    schema = {"properties": {"fact": {}, "tool_context": {}}, "required": ["fact", "tool_context"]}
    tool = LangchainTool(StructuredTool(remember, schema))
    assert list(parameters(tool)["properties"]) == ["fact"]
    assert await run(tool, fact="f") == "f call-1"


async def test_a_plain_function_runs_in_a_worker_thread() -> None:
    tool = LangchainTool(StructuredTool(lambda a: threading.get_ident(), {"properties": {"a": {}}}))
    context = make_context(sync_tools="thread")
    found = await tool.run_async(args={"a": 1}, tool_context=context)
    assert found != threading.get_ident()


def test_what_is_no_tool_is_refused() -> None:
    with pytest.raises(ValueError, match="have a 'run' or '_run' method; object has neither"):
        LangchainTool(object())
    with pytest.raises(AgentConfigError, match="adk_request_credential"):
        LangchainTool(StructuredTool(add, Sum), name="adk_request_credential")
    with pytest.raises(AgentConfigError, match="'add'"):
        LangchainTool(StructuredTool(add, {"properties": []}))


MADE = StructuredTool(add, Sum)


def test_a_file_names_the_tool() -> None:
    config = ToolArgsConfig.model_validate({"tool": f"{__name__}.MADE", "description": "Sums."})
    tool = LangchainTool.from_config(config, "agent.yaml")
    assert (tool.name, tool.description) == ("add", "Sums.")


def test_the_tool_is_at_both_paths() -> None:
    assert TheSameTool is LangchainTool
