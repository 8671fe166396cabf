"""What a state schema says holds for every write, whoever makes it."""

from __future__ import annotations

import threading
from collections.abc import AsyncGenerator
from datetime import date
from typing import Annotated, Any

import pytest
from pydantic import BaseModel, Field, field_validator

from ostinato.agents import BaseAgent, LlmAgent
from ostinato.apps import App
from ostinato.errors import InputValidationError, StateSchemaError
from ostinato.events import Event
from ostinato.plugins import BasePlugin
from ostinato.runners import Runner
from ostinato.sessions import InMemorySessionService
from ostinato.sessions.state import State
from ostinato.testing import ScriptedModel, call
from ostinato.tools import ToolContext
from ostinato.workflow import FunctionNode, Workflow
from tests.unit.workflow.kit import adk_ways

WHO: dict[str, Any] = {"user_id": "ann", "session_id": "one"}


class Item(BaseModel):
    name: str


class Schema(BaseModel):
    count: int = Field(default=0, ge=0)
    short: Annotated[str, Field(max_length=3)] = ""
    ratio: float = 0.0
    flag: bool = False
    day: date | None = None
    item: Item | None = None
    items: list[Item] = []
    pair: tuple[int, int] = (0, 0)
    even: int = 0

    @field_validator("even")
    @classmethod
    def _is_even(cls, value: int) -> int:
        if value % 2:
            raise ValueError("must be even")
        return value


WRONG = [
    ("count", -1),
    ("count", "7"),
    ("count", 1.0),
    ("count", True),
    ("count", None),  # to remove a key is to write None, which such a field does not take
    ("short", "long"),
    ("short", 7),
    ("ratio", "0.5"),
    ("flag", 1),
    ("flag", "true"),
    ("day", "tomorrow"),
    ("item", {"name": 7}),
    ("items", [{"name": "a"}, {}]),
    ("pair", [1]),
    ("even", 3),
    ("unknown", 1),
]
RIGHT = [
    ("count", 7),
    ("short", "abc"),
    ("ratio", 1),
    ("ratio", 0.5),
    ("flag", True),
    ("day", "2026-01-31"),
    ("day", None),
    ("item", {"name": "a"}),
    ("pair", (1, 2)),
    ("pair", [1, 2]),
    ("even", 4),
    ("app:count", "any"),
    ("user:count", -1),
    ("temp:unknown", object()),
]


@pytest.mark.parametrize(("key", "value"), WRONG)
@pytest.mark.parametrize("how", ["set", "update", "setdefault"])
def test_a_write_that_breaks_the_field_is_refused(key: str, value: Any, how: str) -> None:
    delta: dict[str, Any] = {}
    state = State({}, delta, Schema)
    with pytest.raises(StateSchemaError, match=key):
        if how == "set":
            state[key] = value
        elif how == "update":
            state.update({key: value})
        else:
            state.setdefault(key, value)
    assert delta == {}


# No store but one in memory takes these.
OBJECTS: list[tuple[str, Any]] = [
    ("day", date(2026, 1, 31)),
    ("item", Item(name="a")),
    ("items", [Item(name="a"), {"name": "b"}]),
]


@pytest.mark.parametrize(("key", "value"), RIGHT)
def test_a_write_that_fits_is_kept_as_it_is(key: str, value: Any) -> None:
    delta: dict[str, Any] = {}
    State({}, delta, Schema)[key] = value
    assert delta == {key: value}
    assert type(delta[key]) is type(value)


@pytest.mark.parametrize(("key", "value"), OBJECTS)
def test_objects_that_fit_are_kept_for_programs_for_google_adk_only(key: str, value: Any) -> None:
    delta: dict[str, Any] = {}
    with pytest.raises(InputValidationError, match=f"State key '{key}' holds a value that JSON"):
        State({}, delta, Schema)[key] = value
    with adk_ways():
        State({}, delta, Schema)[key] = value
    assert delta == {key: value} and type(delta[key]) is type(value)


async def refused(
    root: Any, plugins: Any = (), **options: Any
) -> tuple[BaseException, list[Event]]:
    """Run a root and return what it raised, and what the session then holds."""
    service = InMemorySessionService()
    app = App(name="talk", root_agent=root, plugins=[*plugins])
    runner = Runner(app=app, session_service=service, auto_create_session=True)
    caught: BaseException | None = None
    try:
        async for _ in runner.run_async(**WHO, new_message="Go", **options):
            pass
    except Exception as error:
        caught = error
    assert caught is not None, "the run raised nothing"
    session = await service.get_session(app_name="talk", **WHO)
    return caught, [] if session is None else session.events


def writes(events: list[Event]) -> list[dict[str, Any]]:
    return [e.actions.state_delta for e in events if e.actions.state_delta]


async def test_the_output_key_is_checked() -> None:
    model = ScriptedModel(["Too long."])
    agent = LlmAgent(name="clerk", model=model, output_key="short", state_schema=Schema)
    error, events = await refused(agent)
    assert isinstance(error, StateSchemaError)
    assert writes(events) == []


@pytest.mark.parametrize("delta", [{"count": "7"}, {"count": -1}, {"unknown": 1}])
async def test_the_caller_s_state_delta_is_refused_before_anything_is_stored(delta: Any) -> None:
    model = ScriptedModel(["Hello."])
    agent = LlmAgent(name="clerk", model=model, state_schema=Schema)
    error, events = await refused(agent, state_delta=delta)
    assert isinstance(error, InputValidationError)
    assert next(iter(delta)) in str(error)
    assert events == [] and model.requests == []


async def test_a_caller_may_write_what_fits_and_prefixed_keys() -> None:
    agent = LlmAgent(name="clerk", model=ScriptedModel(["Hello."]), state_schema=Schema)
    service = InMemorySessionService()
    runner = Runner(
        app=App(name="talk", root_agent=agent), session_service=service, auto_create_session=True
    )
    delta = {"count": 1, "user:x": "y"}
    async for _ in runner.run_async(**WHO, new_message="Go", state_delta=delta):
        pass
    session = await service.get_session(app_name="talk", **WHO)
    assert session is not None and session.state == delta


class Own(BaseAgent):
    """Yields an event that writes to the state."""

    async def _run_async_impl(self, ctx: Any) -> AsyncGenerator[Event, None]:
        event = Event(author=self.name, invocation_id=ctx.invocation_id)
        event.actions.state_delta["count"] = -1
        yield event


async def test_events_of_an_own_agent_are_checked() -> None:
    error, events = await refused(Own(name="own", state_schema=Schema))
    assert isinstance(error, StateSchemaError)
    assert writes(events) == []


async def test_a_sub_agent_is_held_to_the_schema_of_the_nearest_above() -> None:
    class Other(BaseModel):
        other: int = 0

    parent = Passing(name="parent", sub_agents=[Own(name="own")], state_schema=Schema)
    error, _ = await refused(parent)
    assert isinstance(error, StateSchemaError)
    error, _ = await refused(
        Passing(name="parent", sub_agents=[Own(name="own", state_schema=Other)])
    )
    assert isinstance(error, StateSchemaError) and "Other" in str(error)


class Passing(BaseAgent):
    """Runs its sub-agent."""

    async def _run_async_impl(self, ctx: Any) -> AsyncGenerator[Event, None]:
        async for event in self.sub_agents[0].run_async(ctx):
            yield event


@pytest.mark.parametrize("where", ["before_agent_callback", "after_agent_callback"])
@pytest.mark.parametrize("directly", [True, False])
async def test_callbacks_are_checked(where: str, directly: bool) -> None:
    def write(callback_context: Any) -> None:
        if directly:
            callback_context.actions.state_delta["count"] = "7"
        else:
            callback_context.state["count"] = "7"

    hooks: dict[str, Any] = {where: write}
    model = ScriptedModel(["Hello."])
    agent = LlmAgent(name="clerk", model=model, state_schema=Schema, **hooks)
    error, events = await refused(agent)
    assert isinstance(error, StateSchemaError)
    assert writes(events) == []


class Editing(BasePlugin):
    """Writes to the state of each answer."""

    def __init__(self, how: str) -> None:
        super().__init__(name="editing")
        self._how = how

    async def on_event_callback(self, *, invocation_context: Any, event: Event) -> Event | None:
        edited = event.model_copy(deep=True) if self._how == "copy" else event
        edited.actions.state_delta["count"] = "7"
        return edited if self._how == "copy" else None


@pytest.mark.parametrize("how", ["copy", "in place"])
@pytest.mark.parametrize("place", ["root", "below", "graph"])
async def test_edits_of_a_plugin_are_checked(how: str, place: str) -> None:
    agent = LlmAgent(name="clerk", model=ScriptedModel(["Hello."]))
    root: Any = agent
    if place == "below":
        root = Passing(name="parent", sub_agents=[agent], state_schema=Schema)
    elif place == "graph":
        root = Workflow(name="graph", edges=[("START", agent)], state_schema=Schema)
    else:
        agent.state_schema = Schema
    error, events = await refused(root, plugins=[Editing(how)])
    assert isinstance(error, StateSchemaError)
    assert writes(events) == []


async def test_a_plugin_that_leaves_the_state_alone_may_pass_what_is_not_json() -> None:
    def write(callback_context: Any) -> None:
        callback_context.state["temp:lock"] = threading.Lock()
        callback_context.state["count"] = 7

    class Looking(BasePlugin):
        async def on_event_callback(self, *, invocation_context: Any, event: Event) -> None:
            return None

    model = ScriptedModel(["Hello."])
    agent = LlmAgent(name="clerk", model=model, state_schema=Schema, before_agent_callback=write)
    app = App(name="talk", root_agent=agent, plugins=[Looking(name="looking")])
    service = InMemorySessionService()
    runner = Runner(app=app, session_service=service, auto_create_session=True)
    events = [e async for e in runner.run_async(**WHO, new_message="Go")]
    assert writes(events)[0]["count"] == 7


@pytest.mark.parametrize("directly", [True, False])
async def test_tools_are_checked(directly: bool) -> None:
    async def write(tool_context: ToolContext) -> None:
        if directly:
            tool_context.actions.state_delta["count"] = "7"
        else:
            tool_context.state["count"] = "7"

    model = ScriptedModel([call("write"), "Done."])
    agent = LlmAgent(name="clerk", model=model, tools=[write], state_schema=Schema)
    error, events = await refused(agent)
    assert isinstance(error, StateSchemaError)
    assert writes(events) == []


@pytest.mark.parametrize("how", ["state", "actions", "event"])
async def test_nodes_of_a_workflow_are_checked(how: str) -> None:
    def write(ctx: Any, node_input: Any) -> Any:
        if how == "state":
            ctx.state["count"] = "7"
        elif how == "actions":
            ctx.actions.state_delta["count"] = "7"
        else:
            return Event(output="x", state={"count": "7"})
        return "x"

    node = FunctionNode(func=write, name="node")
    error, events = await refused(
        Workflow(name="graph", edges=[("START", node)], state_schema=Schema)
    )
    assert isinstance(error, StateSchemaError)
    assert writes(events) == []


async def test_an_agent_in_a_workflow_is_held_to_the_schema_of_the_graph() -> None:
    agent = LlmAgent(name="clerk", model=ScriptedModel(["Too long."]), output_key="short")
    error, events = await refused(
        Workflow(name="graph", edges=[("START", agent)], state_schema=Schema)
    )
    assert isinstance(error, StateSchemaError)
    assert writes(events) == []
