"""AgentTool: what the agent is told, and what of its run goes on with the response."""

from collections.abc import AsyncGenerator, Iterable
from types import SimpleNamespace
from typing import Any
from unittest.mock import MagicMock

import pytest
from pydantic import BaseModel

from ostinato import types
from ostinato.agents import Agent
from ostinato.context.context import Context
from ostinato.events.event import Event
from ostinato.events.event_actions import EventActions
from ostinato.models.llm_request import LlmRequest
from ostinato.testing import FunctionModel, ScriptedModel, call
from ostinato.tools import FunctionTool, agent_tool
from ostinato.tools.agent_tool import AgentTool
from ostinato.tools.model_mistake import ModelMistake
from tests.support.optionals import present
from tests.unit.tools.contexts import make_context


class Order(BaseModel):
    dish: str
    count: int = 1
    note: str | None = None


class Bill(BaseModel):
    total: int
    tip: int | None = None


class WithModel(SimpleNamespace):
    """An agent that answers by itself; its model cannot be built, and nobody needs it here."""

    @property
    def canonical_model(self) -> Any:
        raise AssertionError("the model was built")


def make_agent(name: str = "cook", **fields: Any) -> Any:
    """Return something with an agent's name and a model."""
    base = {"name": name, "description": "Cooks.", "sub_agents": []}
    return WithModel(**{**base, **fields})


def cook() -> Agent:
    """Return an agent that says its table, from the state, and what it was asked."""

    def answer(request: LlmRequest) -> str:
        table = str(request.config.system_instruction).partition("Table ")[2][0]
        return f"At {table}: {request.contents[-1].parts[0].text}"  # pyright: ignore

    return Agent(
        name="cook", model=FunctionModel(answer), instruction="Table {table}", output_key="said"
    )


@pytest.fixture
def alias(monkeypatch: pytest.MonkeyPatch) -> None:
    """Be a program that comes through the alias."""
    monkeypatch.setattr(agent_tool, "follows_adk", lambda: True)


def make_shell(*sub_agents: Any) -> Any:
    return SimpleNamespace(name="line", description="", sub_agents=list(sub_agents))


class Spawned:
    """Stands for the runner: yields given events, and keeps what it was asked for."""

    def __init__(self, events: Iterable[Event]) -> None:
        self.events = list(events)
        self.asked: dict[str, Any] = {}
        self.closed = False

    async def __call__(self, **asked: Any) -> AsyncGenerator[Event, None]:
        self.asked = asked
        try:
            for event in self.events:
                yield event
        finally:
            self.closed = True


def said(*parts: types.Part | str, **fields: Any) -> Event:
    texts = [types.Part(text=part) if isinstance(part, str) else part for part in parts]
    return Event(author="cook", content=types.Content(role="model", parts=texts), **fields)


@pytest.mark.spec(129)
def test_the_declaration_is_made_of_the_agent() -> None:
    declaration = AgentTool(make_agent())._get_declaration()
    assert declaration.model_dump(exclude_none=True) == {
        "name": "cook",
        "description": "Cooks.",
        "parameters_json_schema": {
            "type": "object",
            "properties": {"request": {"type": "string"}},
            "required": ["request"],
        },
    }


@pytest.mark.spec(129)
def test_an_input_schema_gives_the_parameters_also_of_a_shells_first_agent() -> None:
    agent = make_agent(input_schema=Order)
    for tool in (AgentTool(agent), AgentTool(make_shell(agent, make_agent("other")))):
        assert tool._get_declaration().parameters_json_schema == Order.model_json_schema()
    with_model = make_agent(sub_agents=[agent])
    schema = present(AgentTool(with_model)._get_declaration().parameters_json_schema)
    assert list(schema["properties"]) == ["request"]


@pytest.mark.spec(129)
async def test_the_agent_gets_the_request_and_a_copy_of_the_state() -> None:
    spawned, agent = Spawned([said("Done.")]), make_agent()
    context = make_context(
        spawn=spawned, state={"table": 4, "user:name": "Ada", "temp:x": 1, "_adk_y": 2}
    )
    context.state["fresh"] = True
    tool = AgentTool(agent, include_plugins=False)
    assert await tool.run_async(args={"request": "Soup"}, tool_context=context) == "Done."
    assert spawned.asked == {
        "agent": agent,
        "parent": context.get_invocation_context(),
        "call_id": "call-1",
        "message": types.Content(role="user", parts=[types.Part(text="Soup")]),
        "state": {"table": 4, "user:name": "Ada", "fresh": True},
        "include_plugins": False,
    }
    assert spawned.closed
    assert context.actions.skip_summarization is None


@pytest.mark.spec(129)
async def test_an_input_schema_is_sent_as_json() -> None:
    spawned = Spawned([said("ok")])
    tool = AgentTool(make_agent(input_schema=Order))
    context = make_context(spawn=spawned)
    await tool.run_async(args={"dish": "Soup", "count": "2"}, tool_context=context)
    (part,) = spawned.asked["message"].parts
    assert part.text == '{"dish":"Soup","count":2}'


async def test_arguments_that_do_not_fit_are_answered_to_the_model() -> None:
    spawned = Spawned([said("ok")])
    context = make_context(spawn=spawned)
    answer = await AgentTool(make_agent()).run_async(args={}, tool_context=context)
    assert isinstance(answer, ModelMistake)
    assert "`cook()`" in answer.message and "\nrequest\n" in answer.message
    tool = AgentTool(make_agent(input_schema=Order), skip_summarization=True)
    answer = await tool.run_async(args={"count": "x"}, tool_context=context)
    assert isinstance(answer, ModelMistake)
    assert "dish: Field required\ncount: Input should be a valid integer" in answer.message
    assert spawned.asked == {}
    assert context.actions.is_empty()


@pytest.mark.spec(129)
async def test_the_last_text_is_the_result_without_thoughts() -> None:
    events = [
        said("First."),
        said(types.Part(text="hm", thought=True), "Second.", "Third."),
        Event(author="cook"),
        said("cut off", partial=True),
    ]
    context = make_context(spawn=Spawned(events))
    answer = await AgentTool(make_agent()).run_async(args={"request": "?"}, tool_context=context)
    assert answer == "Second.\nThird."


@pytest.mark.spec(129)
async def test_code_and_its_result_count_as_text() -> None:
    code = types.Part(
        executable_code=types.ExecutableCode(code="1+1", language=types.Language.PYTHON)
    )
    outcome = types.CodeExecutionResult(outcome=types.Outcome.OUTCOME_OK, output="2")
    context = make_context(spawn=Spawned([said(code, types.Part(code_execution_result=outcome))]))
    answer = await AgentTool(make_agent()).run_async(args={"request": "?"}, tool_context=context)
    assert answer == "1+1\n2"


@pytest.mark.spec(129)
async def test_an_agent_that_says_nothing_gives_an_empty_text() -> None:
    call = types.Part(function_call=types.FunctionCall(name="x", args={}))
    for events in ([], [said("a"), said(call)]):
        context = make_context(spawn=Spawned(events))
        tool = AgentTool(make_agent())
        assert await tool.run_async(args={"request": "?"}, tool_context=context) == ""


async def test_an_agent_that_ends_in_an_error_event_says_so() -> None:
    events = [said("Wait."), Event(author="cook", error_code="SAFETY", error_message="no")]
    context = make_context(spawn=Spawned(events))
    answer = await AgentTool(make_agent()).run_async(args={"request": "?"}, tool_context=context)
    assert answer == {"error": "Agent `cook` failed: SAFETY: no"}


@pytest.mark.spec(129)
async def test_its_changes_of_state_and_artifacts_go_with_the_response() -> None:
    delta = {"a": 1, "gone": None, "user:b": 2, "temp:c": 3, "_adk_d": 4}
    effects = EventActions(state_delta=delta, artifact_delta={"menu.pdf": 3}, escalate=True)
    events = [said("Hm.", actions=effects), said("no", partial=True, actions=effects)]
    context = make_context(spawn=Spawned(events), state={"gone": "soon"})
    tool = AgentTool(make_agent(), skip_summarization=True)
    await tool.run_async(args={"request": "?"}, tool_context=context)
    assert context.actions == EventActions(
        state_delta={"a": 1, "gone": None, "user:b": 2},
        artifact_delta={"menu.pdf": 3},
        skip_summarization=True,
    )
    assert context.state.to_dict() == {"a": 1, "user:b": 2}


@pytest.mark.spec(129)
async def test_an_output_schema_makes_the_text_a_value_also_of_a_shells_last_agent() -> None:
    agent = make_agent(output_schema=Bill)
    for target in (agent, make_shell(make_agent("first"), agent)):
        context = make_context(spawn=Spawned([said('{"total": "3"}')]))
        answer = await AgentTool(target).run_async(args={"request": "?"}, tool_context=context)
        assert answer == {"total": 3}
    listed = make_agent(output_schema=list[Bill])
    context = make_context(spawn=Spawned([said('[{"total": 3, "tip": 1}]')]))
    answer = await AgentTool(listed).run_async(args={"request": "?"}, tool_context=context)
    assert answer == [{"total": 3, "tip": 1}]
    loose = make_agent(output_schema={"type": "object"})
    context = make_context(spawn=Spawned([said('{"any": 1}')]))
    assert await AgentTool(loose).run_async(args={"request": "?"}, tool_context=context) == {
        "any": 1
    }


@pytest.mark.parametrize("schema", [Bill, {"type": "object"}])
async def test_an_answer_that_breaks_the_schema_goes_to_the_model(schema: Any) -> None:
    context = make_context(spawn=Spawned([said("three")]))
    tool = AgentTool(make_agent(output_schema=schema))
    answer = await tool.run_async(args={"request": "?"}, tool_context=context)
    assert isinstance(answer, ModelMistake)
    assert answer.message.startswith("Agent `cook` answered with something that does not fit")


async def test_grounding_metadata_goes_into_the_state_if_asked() -> None:
    grounding = types.GroundingMetadata(web_search_queries=["q"])
    for asked in (True, False):
        context = make_context(spawn=Spawned([said("a", grounding_metadata=grounding)]))
        tool = AgentTool(make_agent(), propagate_grounding_metadata=asked)
        await tool.run_async(args={"request": "?"}, tool_context=context)
        found = context.state.get("temp:_adk_grounding_metadata")
        assert found == (grounding if asked else None)


async def test_without_a_runner_the_agent_is_run_all_the_same() -> None:
    tool, context = AgentTool(cook()), make_context(state={"table": 4})
    assert await tool.run_async(args={"request": "?"}, tool_context=context) == "At 4: ?"
    assert context.state["said"] == "At 4: ?"


async def test_a_mock_of_a_context_is_enough() -> None:
    invocation = MagicMock(user_id="u", app_name="app", artifact_service=None)
    invocation.plugin_manager.plugins = []
    context = MagicMock(spec=Context, _invocation_context=invocation, actions=EventActions())
    context.state.to_dict.return_value = {"table": 5}
    answer = await AgentTool(cook()).run_async(args={"request": "!"}, tool_context=context)
    assert answer == "At 5: !"


async def test_programs_of_google_adk_may_leave_the_request_out(alias: None) -> None:
    spawned = Spawned([said("ok")])
    for args, told in (({}, "{}"), ({"dish": "Döner"}, '{"dish": "Döner"}')):
        await AgentTool(make_agent()).run_async(args=args, tool_context=make_context(spawn=spawned))
        assert spawned.asked["message"].parts[0].text == told


def asker() -> Agent:
    """Return an agent whose only tool asks a person first."""

    def pay() -> str:
        """Pay."""
        raise AssertionError("nobody approved it")

    tool = FunctionTool(pay, require_confirmation=True)
    return Agent(name="cook", model=ScriptedModel([call("pay")]), tools=[tool])


async def test_an_agent_that_asks_a_person_has_not_answered() -> None:
    answer = await AgentTool(asker()).run_async(
        args={"request": "?"}, tool_context=make_context(state={})
    )
    assert answer == {
        "error": "Agent `cook` made a call of `pay`, which requires approval by a person. No "
        "person sees that, because the agent is called as a tool. Its call stays without an answer."
    }


async def test_programs_of_google_adk_get_an_empty_answer(alias: None) -> None:
    context = make_context(state={})
    assert await AgentTool(asker()).run_async(args={"request": "?"}, tool_context=context) == ""
