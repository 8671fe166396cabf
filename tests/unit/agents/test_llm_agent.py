"""LlmAgent and the tree: names, models, tools, settings and the flow that follows from them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar
from unittest import mock

import pytest
from pydantic import BaseModel, ValidationError

from ostinato import types
from ostinato.agents import Agent, BaseAgent, LlmAgent, LoopAgent, SequentialAgent
from ostinato.code_executors import UnsafeLocalCodeExecutor
from ostinato.context.invocation import InvocationContext
from ostinato.context.readonly import ReadonlyContext
from ostinato.errors import ModelUnavailableError, StateSchemaError
from ostinato.flows.llm_flows.auto_flow import AutoFlow
from ostinato.flows.llm_flows.single_flow import SingleFlow
from ostinato.planners import BuiltInPlanner, PlanReActPlanner
from ostinato.sessions import Session
from ostinato.testing import Conversation, ScriptedModel, call
from ostinato.tools import BaseTool, FunctionTool
from ostinato.tools.base_toolset import BaseToolset
from tests.unit.flows.kit import responses


def weather(city: str) -> str:
    """Tell the weather."""
    return f"sunny in {city}"


class Pair(BaseToolset):
    """A toolset of two."""

    async def get_tools(self, readonly_context: Any = None) -> list[BaseTool]:
        self.asked_with = readonly_context
        return [FunctionTool(weather), Search()]


class Search(BaseTool):
    """A tool of its own class."""

    def __init__(self) -> None:
        super().__init__(name="search", description="Searches.")

    async def run_async(self, *, args: Any, tool_context: Any) -> Any:
        return "found"


@pytest.fixture
def default_model() -> Iterator[None]:
    before, live = LlmAgent._default_model, LlmAgent._default_live_model
    yield
    LlmAgent.set_default_model(before)
    LlmAgent.set_default_live_model(live)


def agent(name: str = "a", **fields: Any) -> LlmAgent:
    return LlmAgent(name=name, **fields)


@pytest.mark.spec(51)
def test_agent_is_llm_agent() -> None:
    assert Agent is LlmAgent


@pytest.mark.spec(48)
def test_an_agent_becomes_the_parent_of_its_sub_agents() -> None:
    leaf = agent("leaf")
    middle = SequentialAgent(name="middle", sub_agents=[leaf])
    root = agent("root", sub_agents=[middle])
    assert leaf.parent_agent is middle and middle.parent_agent is root
    assert root.parent_agent is None and agent("alone").sub_agents == []


@pytest.mark.spec(49)
def test_the_root_and_agents_by_name_are_found_from_any_place() -> None:
    leaf = agent("leaf")
    root = agent("root", sub_agents=[SequentialAgent(name="middle", sub_agents=[leaf])])
    assert leaf.root_agent is root and root.root_agent is root
    assert root.find_agent("root") is root and root.find_sub_agent("root") is None
    assert root.find_agent("leaf") is leaf and root.find_sub_agent("leaf") is leaf
    assert leaf.find_agent("root") is None and root.find_agent("ghost") is None


def test_a_clone_has_no_parent_and_clones_below_it() -> None:
    leaf = agent("leaf", tools=[weather])
    middle = agent("middle", sub_agents=[leaf])
    agent("root", sub_agents=[middle])
    twin = middle.clone(update={"name": "twin"})
    assert twin.parent_agent is None and twin.name == "twin"
    below: Any = twin.sub_agents[0]
    assert below is not leaf and below.parent_agent is twin
    assert below.tools == [weather] and below.tools is not leaf.tools
    assert leaf.parent_agent is middle


class Marked(LlmAgent):
    """An agent whose constructor takes other arguments than the fields, and keeps a mark."""

    starts: ClassVar[int] = 0
    _mark: str = ""

    def __init__(self, mark: str, **fields: Any) -> None:
        super().__init__(name="marked", **fields)
        self._mark = mark

    @property
    def mark(self) -> str:
        return self._mark

    def model_post_init(self, context: Any, /) -> None:
        super().model_post_init(context)
        Marked.starts += 1


async def test_a_clone_does_not_call_the_constructor_of_its_class() -> None:
    agent_ = Marked("x", tools=[weather])
    SequentialAgent(name="shell", sub_agents=[agent_])
    tools, starts = await agent_.canonical_tools(), Marked.starts
    copied = agent_.clone({"description": "Copied."})
    assert (copied.name, copied.mark, copied.description) == ("marked", "x", "Copied.")
    assert copied.parent_agent is None and agent_.parent_agent is not None
    assert agent_.description == "" and Marked.starts == starts
    assert (await copied.canonical_tools())[0] is not tools[0]
    shell = agent_.parent_agent.clone()
    assert isinstance(shell.sub_agents[0], Marked) and shell.sub_agents[0].parent_agent is shell


@pytest.mark.parametrize("update", [{"name": "not a name"}, {"model": 3}, {"tools": 3}])
def test_a_clone_checks_what_is_updated(update: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(update))):
        agent().clone(update)


@pytest.mark.parametrize("value", [3, "weather", None])
def test_tools_are_a_list(value: Any) -> None:
    fault = f"takes a list of functions, tools and toolsets; got {type(value).__name__}"
    with pytest.raises(ValidationError, match=fault):
        agent(tools=value)


@pytest.mark.parametrize("field", ["input_schema", "output_schema"])
@pytest.mark.parametrize("value", [3, "str", [str]])
def test_a_schema_is_a_type_or_describes_one(field: str, value: Any) -> None:
    with pytest.raises(ValidationError, match=f"{field} takes a type"):
        agent(**{field: value})


@pytest.mark.spec(52)
def test_the_model_is_the_agent_s_own_else_that_of_the_nearest_llm_agent_above() -> None:
    own, above, far = ScriptedModel(), ScriptedModel(), ScriptedModel()
    leaf, owner = agent("leaf"), agent("owner", model=own)
    shell = SequentialAgent(name="shell", sub_agents=[leaf, owner])
    middle = agent("middle", model=above, sub_agents=[shell])
    agent("root", model=far, sub_agents=[middle])
    assert owner.canonical_model is own
    assert leaf.canonical_model is above and middle.canonical_model is above


@pytest.mark.spec(52)
def test_without_any_model_the_default_of_the_class_counts(default_model: None) -> None:
    default = ScriptedModel()
    LlmAgent.set_default_model(default)
    leaf = agent("leaf")
    SequentialAgent(name="shell", sub_agents=[leaf])
    assert leaf.canonical_model is default and agent().canonical_model is default


def test_live_runs_have_a_default_of_their_own(default_model: None) -> None:
    own, live = ScriptedModel(), ScriptedModel()
    assert LlmAgent._default_live_model == LlmAgent.DEFAULT_LIVE_MODEL
    LlmAgent.set_default_live_model(live)
    leaf = agent("leaf")
    agent("root", model=own, sub_agents=[leaf])
    assert agent().canonical_live_model is live
    assert leaf.canonical_live_model is own


@pytest.mark.spec(52)
@pytest.mark.parametrize(("wrong", "error"), [("", ValueError), (None, TypeError), (3, TypeError)])
def test_a_default_model_that_is_none_is_refused(wrong: Any, error: type[Exception]) -> None:
    before = LlmAgent._default_model
    with pytest.raises(error, match="Default model must be"):
        LlmAgent.set_default_model(wrong)
    with pytest.raises(error, match="Default live model must be"):
        LlmAgent.set_default_live_model(wrong)
    assert LlmAgent._default_model is before


@pytest.mark.spec(52)
def test_a_model_s_name_is_resolved_once_and_anew_where_it_changes() -> None:
    made = agent(model="offline")
    first = made.canonical_model
    assert first.model == "offline" and made.canonical_model is first
    made.model = "no-such-model"
    with pytest.raises(ModelUnavailableError, match="no-such-model"):
        _ = made.canonical_model


@pytest.mark.spec(52)
def test_agents_below_share_the_model_object_of_the_agent_that_names_it() -> None:
    leaf, own = agent("leaf"), agent("own", model="offline")
    shell = SequentialAgent(name="shell", sub_agents=[leaf, own])
    root = agent("root", model="offline", sub_agents=[shell])
    assert leaf.canonical_model is root.canonical_model
    assert leaf.canonical_live_model is root.canonical_live_model is root.canonical_model
    assert leaf.present_model is root.canonical_model
    assert own.canonical_model is not root.canonical_model


def test_agents_of_a_tree_share_the_model_object_of_the_default(default_model: None) -> None:
    LlmAgent.set_default_model("offline")
    LlmAgent.set_default_live_model("offline")
    leaf, other = agent("leaf"), agent("other")
    root = agent("root", sub_agents=[SequentialAgent(name="shell", sub_agents=[leaf]), other])
    assert leaf.canonical_model is other.canonical_model is root.canonical_model
    assert leaf.canonical_live_model is other.canonical_live_model


def _readonly(made: LlmAgent) -> ReadonlyContext:
    session = Session(id="s", app_name="app", user_id="ann")
    return ReadonlyContext(
        InvocationContext(session_service=None, invocation_id="e-1", agent=made, session=session)
    )


@pytest.mark.spec(56)
async def test_tools_may_be_functions_tools_and_toolsets() -> None:
    search, pair = Search(), Pair(tool_name_prefix="pair")
    made = agent(tools=[weather, search, pair])
    context = _readonly(made)
    tools = await made.canonical_tools(context)
    assert [t.name for t in tools] == ["weather", "search", "pair_weather", "pair_search"]
    assert isinstance(tools[0], FunctionTool) and tools[1] is search
    assert pair.asked_with is context
    assert (await made.canonical_tools())[0] is tools[0]


@pytest.mark.spec(56)
async def test_tools_of_every_kind_are_declared_and_run() -> None:
    class Other(BaseToolset):
        async def get_tools(self, readonly_context: Any = None) -> list[BaseTool]:
            return [FunctionTool(lookup)]

    def lookup(word: str) -> str:
        return word.upper()

    class Shout(Search):
        def _get_declaration(self) -> types.FunctionDeclaration:
            return types.FunctionDeclaration(name=self.name, description=self.description)

    asks = [call("weather", city="Rome"), call("search"), call("lookup", word="a")]
    model = ScriptedModel([asks, "Done."])
    events = await Conversation(agent(model=model, tools=[weather, Shout(), Other()])).say("Go")
    assert model.requests[0].tool_names == ["weather", "search", "lookup"]
    assert responses(events) == [
        {"result": "sunny in Rome"},
        {"result": "found"},
        {"result": "A"},
    ]


@pytest.mark.spec(58)
def test_a_planner_and_a_code_executor_may_be_set_and_are_none_else() -> None:
    planner = BuiltInPlanner(thinking_config=types.ThinkingConfig(include_thoughts=True))
    executor = UnsafeLocalCodeExecutor()
    made = agent(planner=planner, code_executor=executor)
    assert made.planner is planner and made.code_executor is executor
    assert agent().planner is None and agent().code_executor is None


@pytest.mark.spec(57)
async def test_each_request_has_a_copy_of_the_generation_settings_of_its_own() -> None:
    settings = types.GenerateContentConfig(temperature=0.5, stop_sequences=["END"])

    def edit(callback_context: Any, llm_request: Any) -> None:
        llm_request.config.temperature = 1.0
        llm_request.config.stop_sequences.append("x")

    model = ScriptedModel(["One.", "Two."])
    made = agent(model=model, generate_content_config=settings, before_model_callback=edit)
    talk = Conversation(made)
    await talk.say("Hi")
    await talk.say("Hi")
    assert [r.config.stop_sequences for r in model.requests] == [["END", "x"]] * 2
    assert settings == types.GenerateContentConfig(temperature=0.5, stop_sequences=["END"])


@pytest.mark.parametrize(
    "settings",
    [
        types.GenerateContentConfig(tools=[types.Tool(google_search=types.GoogleSearch())]),
        types.GenerateContentConfig(system_instruction="Be brief."),
        types.GenerateContentConfig(response_schema={"type": "OBJECT"}),
    ],
    ids=["tools", "system_instruction", "response_schema"],
)
def test_settings_that_have_a_field_of_their_own_are_refused(settings: Any) -> None:
    with pytest.raises(ValueError, match="config"):
        agent(generate_content_config=settings)


@pytest.mark.spec(63)
@pytest.mark.parametrize(
    ("to_parent", "to_peers", "children", "flow"),
    [
        (True, True, 0, SingleFlow),
        (True, True, 1, AutoFlow),
        (False, True, 0, AutoFlow),
        (True, False, 0, AutoFlow),
        (False, False, 0, AutoFlow),
    ],
)
def test_an_agent_that_can_transfer_to_nobody_has_the_single_flow(
    to_parent: bool, to_peers: bool, children: int, flow: type
) -> None:
    made = agent(
        disallow_transfer_to_parent=to_parent,
        disallow_transfer_to_peers=to_peers,
        sub_agents=[agent(f"child{n}") for n in range(children)],
    )
    assert type(made._llm_flow) is flow
    assert made._llm_flow is made._llm_flow


class Schema(BaseModel):
    count: int = 0
    name: str | None = None


@pytest.mark.spec(64, 186)
@pytest.mark.parametrize(
    ("key", "value", "says"),
    [
        ("count", "many", "'count'.*'Schema'"),
        ("color", "red", "'color'.*'Schema'"),
    ],
)
@pytest.mark.parametrize("declared", ["agent", "parent"])
async def test_a_tool_s_state_write_that_the_agent_s_schema_refuses_raises_in_the_tool(
    declared: str, key: str, value: Any, says: str
) -> None:
    def write(tool_context: Any) -> str:
        tool_context.state["count"] = 1
        tool_context.state["user:anything"] = {"free": True}
        tool_context.state[key] = value
        return "not reached"

    own = Schema if declared == "agent" else None
    made = agent(model=ScriptedModel([call("write"), "Done."]), tools=[write], state_schema=own)
    root: BaseAgent = made
    if declared == "parent":
        root = LoopAgent(name="root", sub_agents=[made], max_iterations=1, state_schema=Schema)
    with pytest.raises(StateSchemaError, match=says):
        await Conversation(root).say("Go")


@pytest.mark.spec(64)
async def test_state_writes_that_fit_the_schema_are_committed() -> None:
    def write(tool_context: Any) -> str:
        tool_context.state["count"] += 1
        tool_context.state["temp:x"] = object
        return "ok"

    model = ScriptedModel([call("write"), "Done."])
    talk = Conversation(agent(model=model, tools=[write], state_schema=Schema), state={"count": 1})
    await talk.say("Go")
    assert (await talk.session()).state["count"] == 2


@pytest.mark.spec(65)
@pytest.mark.parametrize(
    "hook",
    [
        "before_agent",
        "after_agent",
        "before_model",
        "after_model",
        "on_model_error",
        "before_tool",
        "after_tool",
        "on_tool_error",
    ],
)
def test_every_callback_may_be_one_or_a_list_or_none(hook: str) -> None:
    def one(**_: Any) -> None: ...

    def two(**_: Any) -> None: ...

    field, listed = f"{hook}_callback", f"canonical_{hook}_callbacks"
    single: dict[str, Any] = {field: one}
    several: dict[str, Any] = {field: [one, two]}
    assert getattr(agent(**single), listed) == [one]
    assert getattr(agent(**several), listed) == [one, two]
    assert getattr(agent(), listed) == []


@pytest.mark.spec(60)
async def test_an_output_key_keeps_the_agent_s_own_final_text_without_thoughts() -> None:
    model = ScriptedModel([[types.Part(text="hm", thought=True), "One ", "two."]])
    talk = Conversation(agent(model=model, output_key="said"))
    (event,) = await talk.say("Go")
    assert event.actions.state_delta == {"said": "One two."}
    assert (await talk.session()).state == {"said": "One two."}


class Place(BaseModel):
    city: str
    note: str | None = None


@pytest.mark.spec(59, 60)
async def test_an_output_schema_s_object_is_kept_under_the_output_key() -> None:
    model = ScriptedModel(['{"city": "Rome"}'])
    talk = Conversation(agent(model=model, output_schema=Place, output_key="place"))
    await talk.say("Go")
    assert (await talk.session()).state == {"place": {"city": "Rome"}}
    assert model.requests[0].config.response_schema is Place


class Broken(BaseToolset):
    """A toolset whose server is down."""

    def __init__(self, error: BaseException) -> None:
        super().__init__()
        self.error = error

    async def get_tools(self, readonly_context: Any = None) -> list[BaseTool]:
        raise self.error


@pytest.mark.parametrize("error", [ConnectionError("down"), SystemExit(2)])
async def test_a_toolset_that_cannot_list_its_tools_is_left_out(
    error: BaseException, caplog: pytest.LogCaptureFixture
) -> None:
    model = ScriptedModel([call("weather", city="Rome"), "Sunny."])
    agent = LlmAgent(name="clerk", model=model, tools=[Broken(error), weather])
    assert [tool.name for tool in await agent.canonical_tools()] == ["weather"]
    await Conversation(agent).say("Go")
    (answer,) = model.requests[1].function_responses
    assert answer.response == {"result": "sunny in Rome"}
    for word in ("'clerk'", "Broken", "down" if isinstance(error, Exception) else "SystemExit"):
        assert word in caplog.text


def test_two_thinking_configs_are_warned_of() -> None:
    few, many = (types.ThinkingConfig(thinking_budget=budget) for budget in (1, 2))
    config = types.GenerateContentConfig(thinking_config=few)
    with pytest.warns(UserWarning, match=r"clerk.*thinking_config"):
        LlmAgent(
            name="clerk",
            planner=BuiltInPlanner(thinking_config=many),
            generate_content_config=config,
        )
    LlmAgent(name="clerk", planner=PlanReActPlanner(), generate_content_config=config)


def test_settings_of_none_are_empty_settings() -> None:
    agent = LlmAgent(name="clerk", generate_content_config=None)
    assert agent.generate_content_config == types.GenerateContentConfig()
    assert LlmAgent(name="clerk").generate_content_config is None


@pytest.mark.parametrize("hook", ["before_agent_callback", "before_model_callback"])
@pytest.mark.parametrize("value", ["text", [print, "text"], 3])
def test_what_is_no_callback_is_refused_at_construction(hook: str, value: Any) -> None:
    with pytest.raises(ValidationError, match=r"is not a callback\. Give a function"):
        LlmAgent(name="clerk", **{hook: value})
    callbacks: dict[str, Any] = {hook: [print, mock.Mock()]}
    assert LlmAgent(name="clerk", **callbacks)
