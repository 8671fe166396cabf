"""agent.run and agent.run_sync: one run without runner, service or session; and its deps."""

from __future__ import annotations

import asyncio
import contextvars
from pathlib import Path
from typing import Annotated, Any

import pytest
from pydantic import BaseModel

from ostinato import Agent, Context, SequentialAgent, types
from ostinato.agents import BaseAgent, LlmAgent
from ostinato.agents.readonly_context import ReadonlyContext
from ostinato.apps import App
from ostinato.errors import InputValidationError, MissingDepsError, NoOutputError
from ostinato.events import Event
from ostinato.execution.tree_digest import tree_digest
from ostinato.models.llm_response import LlmResponse
from ostinato.runners import InMemoryRunner, Runner
from ostinato.testing import ScriptedModel, call, final_text
from ostinato.tools import AgentTool, FunctionTool, LongRunningFunctionTool
from tests.support.optionals import present
from tests.unit.flows.kit import SESSION, USER, Store, Talk
from tests.unit.flows.kit import memory as memory
from tests.unit.flows.kit import store as store
from tests.unit.runners.owners import Owner
from tests.unit.runners.owners import two_owners as two_owners
from tests.unit.runners.test_recovery import left_open

SECRET = "sesame-open-1001"


class Db:
    """Deps that would be seen wherever they were written."""

    def __init__(self, secret: str = SECRET) -> None:
        self.secret = secret

    def __repr__(self) -> str:
        return f"Db({self.secret})"


class Bill(BaseModel):
    total: int


def look(question: str, ctx: Context[Db]) -> int:
    """Look something up."""
    return len(ctx.deps.secret) + len(question)


def test_one_line_gives_the_output() -> None:
    assert Agent(name="a", model=ScriptedModel(["Rome."])).run_sync("Capital?").output == "Rome."


async def test_a_run_gives_events_session_and_usage() -> None:
    model = ScriptedModel([call("note", text="x"), "Noted."])

    def note(text: str, ctx: Context) -> str:
        ctx.state["noted"] = text
        return "ok"

    result = await Agent(name="a", model=model, tools=[note]).run("Note x", state={"was": 1})
    assert result.output == "Noted."
    assert [len(e.get_function_calls()) for e in result.events] == [1, 0, 0]
    assert (result.usage.llm_calls, result.usage.tool_calls) == (2, 1)
    assert dict(result.session.state) == {"was": 1, "noted": "x"}
    assert [e.author for e in result.session.events] == ["user", "a", "a", "a"]


async def test_run_sync_works_where_a_loop_runs_already_and_keeps_context_variables() -> None:
    variable = contextvars.ContextVar("variable", default="unset")
    variable.set("kept")
    agent = Agent(
        name="a", model=ScriptedModel(["ok", "again"]), instruction=lambda _: variable.get()
    )
    assert agent.run_sync("x").output == "ok"
    assert "kept" in str(agent.model.requests[0].config.system_instruction)  # type: ignore[union-attr]
    assert agent.run_sync("x").output == "again"


async def test_what_the_agent_raises_reaches_the_caller_of_both() -> None:
    def broken() -> None:
        raise LookupError("no such table")

    agent = Agent(name="a", model=ScriptedModel([call("broken")] * 2), tools=[broken])
    with pytest.raises(LookupError, match="no such table"):
        agent.run_sync("x")
    with pytest.raises(LookupError, match="no such table"):
        await agent.run("x")


@pytest.mark.parametrize(
    ("schema", "text", "output"),
    [
        (Bill, '{"total": 3}', Bill(total=3)),
        (list[Bill], '[{"total": 3}]', [Bill(total=3)]),
        (types.Schema(type=types.Type.OBJECT), '{"total": 3}', {"total": 3}),
    ],
)
def test_an_output_schema_gives_objects(schema: Any, text: str, output: Any) -> None:
    agent = Agent(name="a", model=ScriptedModel([text]), output_schema=schema)
    assert agent.run_sync("x").output == output
    line = SequentialAgent(name="line", sub_agents=[agent.clone({"model": ScriptedModel([text])})])
    assert line.run_sync("x").output == output


def test_the_repeated_output_of_a_tool_is_no_model_call() -> None:
    def look_up() -> int:
        return 3

    model = ScriptedModel([call("look_up"), call("set_model_response", total=3)])
    agent = Agent(name="a", model=model, tools=[look_up], output_schema=Bill)
    result = agent.run_sync("x")
    assert result.output == Bill(total=3)
    assert result.usage.llm_calls == len(model.requests) == 2


def test_a_request_for_approval_is_no_model_call() -> None:
    model = ScriptedModel([call("ask_boss")])
    tool = FunctionTool(ask_boss, require_confirmation=True)
    assert Agent(name="a", model=model, tools=[tool]).run_sync("x").usage.llm_calls == 1


PICTURE = LlmResponse(
    content=types.Content(
        role="model",
        parts=[types.Part(inline_data=types.Blob(data=b"x", mime_type="image/png"))],
    )
)


def ask_boss() -> None:
    """Ask."""


@pytest.mark.parametrize(
    ("agent", "why"),
    [
        (Agent(name="a", model=ScriptedModel([""])), "it ended with EMPTY_RESPONSE"),
        (Agent(name="a", model=ScriptedModel([PICTURE])), "its last event holds no text"),
        (
            Agent(name="a", model=ScriptedModel([LlmResponse(error_code="BLOCKED")])),
            "it ended with BLOCKED",
        ),
        (
            Agent(
                name="a",
                model=ScriptedModel([call("ask_boss")]),
                tools=[LongRunningFunctionTool(ask_boss)],
            ),
            "waits for the answer to ask_boss. .* Runner",
        ),
        (
            Agent(
                name="a",
                model=ScriptedModel([call("ask_boss")]),
                tools=[FunctionTool(ask_boss, require_confirmation=True)],
            ),
            "waits for a person's answer to ask_boss. .* Runner",
        ),
        (SequentialAgent(name="a"), "it has no event with content"),
    ],
)
def test_a_run_without_output_says_why(agent: BaseAgent, why: str) -> None:
    result = agent.run_sync("x")
    with pytest.raises(NoOutputError, match=f"'a' has no output: .*{why}") as caught:
        _ = result.output
    assert ".." not in str(caught.value)


def test_a_run_without_a_message_is_refused() -> None:
    with pytest.raises(InputValidationError, match="'a': pass a message to run"):
        Agent(name="a", model=ScriptedModel([])).run()  # type: ignore[call-overload]


def test_a_parametrized_agent_is_the_class_itself() -> None:
    assert Agent[Db, str] is LlmAgent
    assert type(Agent[Db, Bill](name="a", model=ScriptedModel([]))) is LlmAgent


# Deps.


class Everywhere:
    """An agent tree that looks at its deps wherever it can."""

    def __init__(self) -> None:
        self.seen: list[tuple[str, Any]] = []
        script = ScriptedModel([call("child_s_tool"), "E"])
        expert = Agent(name="expert", model=script, tools=[self.spy("child's tool")])
        model = ScriptedModel([call("tool"), call("expert", request="?"), "Done."])
        self.root = SequentialAgent(
            name="line",
            sub_agents=[
                Agent(
                    name="first",
                    model=model,
                    tools=[self.spy("tool"), AgentTool(expert)],
                    instruction=self.instruction,
                    before_model_callback=self.callback,
                ),
                Custom(name="second", spy=self.note),
            ],
        )

    def note(self, where: str, ctx: Any) -> None:
        self.seen.append((where, ctx.deps))

    def spy(self, name: str) -> Any:
        def tool(tool_context: Context[Db]) -> str:
            self.note(name, tool_context)
            return "ok"

        tool.__name__ = name.replace("'", "_").replace(" ", "_")
        return tool

    async def instruction(self, ctx: ReadonlyContext[Db]) -> str:
        self.note("instruction", ctx)
        return "Be brief."

    def callback(self, callback_context: Context[Db], llm_request: Any) -> None:
        self.note("callback", callback_context)


class Custom(BaseAgent):
    spy: Any

    async def _run_async_impl(self, ctx: Any) -> Any:
        self.spy("custom agent", ctx)
        yield Event(author=self.name, invocation_id=ctx.invocation_id)


async def test_deps_reach_every_place_and_none_is_stored(tmp_path: Path, caplog: Any) -> None:
    caplog.set_level("DEBUG")
    tree, deps, kept = Everywhere(), Db(), Store(tmp_path / "sessions.db")
    talk = Talk(tree.root, kept)
    events = await talk.say("Go", deps=deps)
    assert {where for where, _ in tree.seen} == {
        "tool", "child's tool", "instruction", "callback", "custom agent",
    }  # fmt: skip
    assert all(found is deps for _, found in tree.seen)
    await talk.runner.close()
    await kept.close()
    files = list(tmp_path.iterdir())  # noqa: ASYNC240
    written = b"".join(path.read_bytes() for path in files)
    assert b"expert" in written
    assert SECRET.encode() not in written
    assert SECRET not in caplog.text + repr(events)


async def test_all_ways_to_run_take_deps(memory: Store) -> None:
    def agent() -> Agent[Db]:
        return Agent(
            name="a", model=ScriptedModel([call("look", question="q"), "ok"]), tools=[look]
        )

    async def start(talk: Talk) -> list[Event]:
        run = talk.runner.start(user_id=USER, session_id="s", new_message="x", deps=Db())
        return (await run.result()).events

    async def in_thread(talk: Talk) -> list[Event]:
        runner = talk.runner
        return await asyncio.to_thread(
            lambda: list(runner.run(user_id=USER, session_id="t", new_message="x", deps=Db()))
        )

    for way in (start, in_thread, lambda talk: talk.say("x", deps=Db())):
        assert final_text(await way(Talk(agent(), memory))) == "ok"
    assert agent().run_sync("x", deps=Db()).output == "ok"


async def test_none_may_be_deps() -> None:
    seen: list[Any] = []
    agent = Agent(
        name="a",
        model=ScriptedModel(["ok"]),
        before_agent_callback=lambda callback_context: seen.append(callback_context.deps),
    )
    await agent.run("x", deps=None)
    assert seen == [None]


async def test_an_agent_that_asks_for_deps_in_vain_names_itself_and_the_remedy() -> None:
    agent = Agent(name="clerk", model=ScriptedModel([call("look", question="q")]), tools=[look])
    with pytest.raises(MissingDepsError, match=r"Agent 'clerk' asks for `deps`.*make_deps"):
        await agent.run("x")


@pytest.mark.parametrize(
    ("deps", "problem"),
    [({}, "was given none"), ({"deps": 3}, "was given a int"), ({"deps": None}, "a NoneType")],
)
async def test_declared_deps_are_checked_before_anything_is_stored(
    store: Store, deps: dict[str, Any], problem: str
) -> None:
    clerk = Agent(name="clerk", model=ScriptedModel([]), deps_type=Db)
    talk = Talk(SequentialAgent(name="line", sub_agents=[clerk]), store)
    error = await talk.fails("x", **deps)
    assert isinstance(error, MissingDepsError)
    assert "Agent 'clerk' works with deps of type Db" in str(error) and problem in str(error)
    assert await talk.stored() == []


@pytest.mark.parametrize("is_async", [False, True])
async def test_make_deps_makes_them_for_runs_that_are_passed_none(is_async: bool) -> None:
    def make(ctx: ReadonlyContext) -> Db:
        return Db(f"{ctx.user_id} {ctx.state['tier']}")

    async def make_later(ctx: ReadonlyContext) -> Db:
        return make(ctx)

    seen: list[str] = []

    def tell(callback_context: Context[Db]) -> None:
        seen.append(callback_context.deps.secret)

    agent = Agent(
        name="a", model=ScriptedModel(["1", "2"]), deps_type=Db, before_agent_callback=tell
    )
    app = App(name="talk", root_agent=agent, make_deps=make_later if is_async else make)
    runner = InMemoryRunner(app=app)
    place: dict[str, Any] = {"user_id": "ann", "session_id": "s"}
    await runner.session_service.create_session(app_name="talk", **place, state={"tier": "gold"})
    async for _ in runner.run_async(**place, new_message="x"):
        pass
    async for _ in runner.run_async(**place, new_message="x", deps=Db("passed")):
        pass
    assert seen == ["ann gold", "passed"]


async def test_the_runners_make_deps_comes_before_the_apps(memory: Store) -> None:
    agent = Agent(name="a", model=ScriptedModel([call("look", question=""), "ok"]), tools=[look])
    app = App(name="talk", root_agent=agent, make_deps=lambda _: Db("app"))
    runner = Runner(
        app=app,
        session_service=memory.service,
        auto_create_session=True,
        make_deps=lambda _: Db("runner"),
    )
    run = runner.run_async(user_id=USER, session_id=SESSION, new_message="x")
    events = [event async for event in run]
    assert events[1].get_function_responses()[0].response == {"result": len("runner")}


async def test_what_make_deps_raises_leaves_nothing_begun(store: Store) -> None:
    def make(_: Any) -> Db:
        raise ConnectionError("no database")

    agent = Agent(name="a", model=ScriptedModel([]))
    talk = Talk(agent, store, make_deps=make)
    assert isinstance(await talk.fails("x"), ConnectionError)
    assert await talk.stored() == []


def _clerk(owner: Owner) -> Talk:
    model = ScriptedModel([call("look", question="q"), "ok"])
    agent = Agent(name="root", model=model, tools=[look], deps_type=Db)
    owner.last = Talk(agent, owner.store)
    return owner.last


def _left() -> dict[str, Any]:
    from_tree = LlmAgent(name="root", model=ScriptedModel([]), tools=[look])
    return {"digest": tree_digest(from_tree)}


async def test_a_resumed_run_gets_the_deps_of_who_resumes_it(two_owners: list[Owner]) -> None:
    owner = two_owners[0]
    talk = _clerk(owner)
    await left_open(owner, **_left())
    found = await talk.runner.resume_open(deps=Db())
    assert [one.outcome for one in found] == ["finished"]
    assert final_text(await talk.stored()) == "ok"


async def test_a_resumed_run_without_deps_waits_for_somebody_who_has_them(
    two_owners: list[Owner],
) -> None:
    owner = two_owners[0]
    talk = _clerk(owner)
    await left_open(owner, **_left())
    (found,) = await talk.runner.resume_open()
    assert found.outcome == "stuck" and "Agent 'root' works with deps of type Db" in found.reason
    events = await talk.say(None, invocation_id="e-left", deps=Db())
    assert final_text(events) == "ok"


async def test_who_resumes_an_open_invocation_by_its_id_passes_deps(
    two_owners: list[Owner],
) -> None:
    owner = two_owners[0]
    talk = _clerk(owner)
    await left_open(owner, **_left())
    await talk.say(None, invocation_id="e-left", deps=Db())
    assert final_text(await talk.stored()) == "ok"


@pytest.mark.parametrize(
    "annotation",
    [Context[Db], Annotated[Context, "it"], Context[Db] | None, "Context[Db]", ReadonlyContext[Db]],
)
def test_a_typed_context_is_no_parameter_for_the_model(annotation: Any) -> None:
    def tool(city: str, where: Any) -> str:
        return city

    tool.__annotations__["where"] = annotation
    declaration = present(FunctionTool(tool)._get_declaration())
    assert list(present(declaration.parameters_json_schema)["properties"]) == ["city"]
