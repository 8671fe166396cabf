"""Outputs of nodes: the schema of a whole graph, bytes and Contents, and what a restart keeps."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Any

import pytest
from pydantic import BaseModel, ValidationError, create_model

from ostinato import types
from ostinato.agents import LlmAgent
from ostinato.apps import App
from ostinato.errors import NodeSchemaError
from ostinato.events import Event
from ostinato.events.request_input import RequestInput
from ostinato.testing import FunctionModel, ScriptedModel
from ostinato.workflow import START, BaseNode, FunctionNode, JoinNode, Node, Workflow, node
from tests.unit.flows.kit import Store, Talk
from tests.unit.workflow.kit import adk_ways, asked, gives, lines, shows

DATA = b"\x00\xff"


class Price(BaseModel):
    amount: int
    currency: str = "EUR"


class Says(BaseNode):
    """A node that yields a Content."""

    text: str = "hello"

    async def _run_impl(self, *, ctx: Any, node_input: Any) -> AsyncGenerator[Any, None]:
        yield types.Content(role="model", parts=[types.Part(text=self.text)])


def talk(store: Store, *edges: Any, **options: Any) -> Talk:
    flow = Workflow(name="flow", edges=list(edges), **options)
    return Talk(App(name="talk", root_agent=flow), store)


@pytest.mark.spec(217)
async def test_the_output_of_a_graph_has_to_fit_its_schema(store: Store) -> None:
    one = talk(store, (START, gives("a", {"cost": 1})), output_schema=Price)
    error = await one.fails()
    assert isinstance(error, NodeSchemaError) and isinstance(error, ValueError)
    assert "The output of node flow@1 is not Price" in str(error) and "amount" in str(error)
    assert lines(await one.check_sound())[1:] == [
        'flow@1/a@1 = {"cost": 1}',
        "flow@1 ! NodeSchemaError",
    ]


async def test_programs_of_google_adk_get_pydantic_s_error(memory: Store) -> None:
    def wants(node_input: Price) -> int:
        return node_input.amount

    one = talk(memory, (START, gives("a", {"cost": 1})), output_schema=Price)
    two = talk(memory, (START, gives("a", {"cost": 1}), wants))
    three = talk(memory, (START, wants))
    with adk_ways():
        errors = [await each.fails() for each in (one, two, three)]
    assert all(isinstance(error, ValidationError) for error in errors)
    assert [error.__notes__ for error in errors] == [
        ["The output of node flow@1 is not Price."],
        ["The input of node flow@1/wants@1 is not Price."],
        ["The input of node flow@1/wants@1 is a message whose text is not Price."],
    ]


@pytest.mark.spec(217)
async def test_the_node_after_a_graph_gets_what_the_schema_fills_in(store: Store) -> None:
    inner = Workflow(
        name="inner",
        edges=[(START, (gives("a", {"amount": 1}), FunctionNode(func=lambda: None, name="quiet")))],
        output_schema=Price,
    )
    one = talk(store, (START, inner, shows()))
    said = "show got {'amount': 1, 'currency': 'EUR'}"
    assert (await one.say())[-1].output == said


@pytest.mark.spec(217)
async def test_the_output_that_a_node_gives_for_another_has_to_fit_its_schema(
    memory: Store,
) -> None:
    def parent_of(child: Any) -> Any:
        @node(rerun_on_resume=True)
        async def parent(ctx: Any, node_input: Any) -> Price:
            return await ctx.run_node(child, use_as_output=True)

        return parent

    good = talk(memory, (START, parent_of(gives("a", {"amount": 1})), shows()))
    assert (await good.say())[-1].output == "show got {'amount': 1, 'currency': 'EUR'}"
    error = await talk(memory, (START, parent_of(gives("a", {"cost": 1})))).fails()
    assert isinstance(error, NodeSchemaError)
    assert "The output of node flow@1/parent@1 is not Price" in str(error)


@pytest.mark.spec(217)
async def test_a_content_that_a_node_yields_is_its_output(store: Store) -> None:
    class Own(Node):
        async def run_node_impl(self, *, ctx: Any, node_input: Any) -> AsyncGenerator[Any, None]:
            yield types.Content(role="model", parts=[types.Part(text="own")])

    def read(node_input: types.Content) -> str:
        return f"read {(node_input.parts or [])[0].text}"

    one = talk(store, (START, Says(name="says"), read, Own(name="own"), shows()))
    events = await one.say()
    assert [event.output for event in events[:2]] == [
        types.Content(role="model", parts=[types.Part(text="hello")]),
        "read hello",
    ]
    assert events[0].content is None and "text='own'" in str(events[-1].output)


async def test_a_content_of_a_subclass_of_another_library_stays_what_it_is(memory: Store) -> None:
    content_class = create_model("Content", parts=(list[Any], ...), role=(str | None, None))
    given = create_model("ModelContent", __base__=content_class)(parts=[{"text": "hello"}])

    class Foreign(BaseNode):
        async def _run_impl(self, *, ctx: Any, node_input: Any) -> AsyncGenerator[Any, None]:
            yield given

    look = FunctionNode(func=lambda node_input: node_input is given, name="look")
    one = talk(memory, (START, Foreign(name="foreign"), look))
    assert (await one.say())[-1].output is True
    assert (await one.stored())[1].output == {"parts": [{"text": "hello"}]}


@pytest.mark.spec(217)
async def test_the_text_of_a_content_is_read_by_the_schema_of_its_node(memory: Store) -> None:
    says = Says(name="says", text='{"amount": 5}', output_schema=Price)
    events = await talk(memory, (START, says, shows())).say()
    assert [event.output for event in events] == [
        {"amount": 5, "currency": "EUR"},
        "show got {'amount': 5, 'currency': 'EUR'}",
    ]


@pytest.mark.spec(217)
async def test_a_content_of_a_function_is_what_it_says_and_no_output(memory: Store) -> None:
    said = types.Content(role="model", parts=[types.Part(text="hello")])

    def returns(node_input: Any) -> types.Content:
        return said

    def yields(node_input: Any) -> Any:
        yield said
        yield 5

    one = talk(memory, (START, returns, shows(), yields, shows("last")))
    assert lines(await one.say()) == [
        "flow@1/returns@1 says 'hello'",
        'flow@1/show@1 = "show got None"',
        "flow@1/yields@1 says 'hello'",
        "flow@1/yields@1 = 5",
        'flow@1/last@1 = "last got 5"',
    ]


@pytest.mark.spec(217)
async def test_bytes_go_to_the_next_node_as_they_are(store: Store) -> None:
    def same(node_input: Any) -> Any:
        assert type(node_input) is bytes
        return {"list": [1, node_input], "text": b"abc"}

    one = talk(store, (START, gives("a", DATA), same, shows()))
    events = await one.say()
    assert [event.output for event in events[:2]] == [DATA, {"list": [1, DATA], "text": b"abc"}]
    assert events[-1].output == f"show got {events[1].output!r}"
    assert [event.output for event in (await one.stored())[1:3]] == [
        "AP8=",
        {"list": [1, "AP8="], "text": "YWJj"},
    ]


@pytest.mark.spec(217)
@pytest.mark.parametrize("nested", [False, True], ids=["graph", "nested"])
async def test_bytes_and_contents_are_the_same_after_a_restart(nested: bool, store: Store) -> None:
    content = types.Content(role="user", parts=[types.Part(inline_data=types.Blob(data=DATA))])

    class Gives(BaseNode):
        value: Any = None

        async def _run_impl(self, *, ctx: Any, node_input: Any) -> AsyncGenerator[Any, None]:
            yield self.value

    @node(rerun_on_resume=True)
    async def confirm(ctx: Any, node_input: Any) -> Any:
        seen.append(node_input)
        return None if ctx.resume_inputs else RequestInput(message="go on?")

    def wrapped(inner: BaseNode) -> BaseNode:
        if not nested:
            return inner
        return Workflow(name=f"in_{inner.name}", edges=[(START, inner)])

    seen: list[dict[str, Any]] = []
    sides = (wrapped(Gives(name="a", value=[DATA])), wrapped(Gives(name="b", value=content)))
    one = talk(store, (START, sides, JoinNode(name="join"), confirm))
    [request] = asked(await one.say())
    await one.answer(request, {"result": True})
    assert [list(value.values()) for value in seen] == [[[DATA], content]] * 2


@pytest.mark.spec(217)
async def test_an_agent_is_told_contents_and_bytes(memory: Store) -> None:
    def told(*before: Any) -> tuple[Talk, ScriptedModel]:
        model = ScriptedModel(["done"])
        reader = LlmAgent(name="reader", model=model, mode="single_turn")
        return talk(memory, (START, *before, reader)), model

    both = ((Says(name="says"), gives("text")), JoinNode(name="join"))
    for before, text in (
        ((Says(name="says"),), "hello"),
        ((gives("data", DATA),), str(DATA)),
        (both, '{"says": {"parts": [{"text": "hello"}], "role": "model"}, "text": "text"}'),
    ):
        one, model = told(*before)
        await one.say()
        assert model.requests[0].texts[-1] == text
        assert model.requests[0].contents[-1].role == "user"


@pytest.mark.spec(217)
async def test_an_output_that_cannot_be_stored_is_refused(memory: Store) -> None:
    circular: dict[str, Any] = {"data": DATA}
    circular["self"] = circular
    for output in (object(), circular):
        error = await talk(memory, (START, gives("a", output))).fails()
        assert isinstance(error, NodeSchemaError) and "node flow@1/a@1" in str(error)


@pytest.mark.spec(217)
async def test_an_agent_that_is_a_parallel_worker_runs_for_each_item(store: Store) -> None:
    def answer(request: Any) -> str:
        return f"about {request.contents[-1].parts[0].text}"

    writer = LlmAgent(name="writer", model=FunctionModel(answer), parallel_worker=True)
    one = talk(store, (START, gives("items", ["x", "y"]), writer, shows()))
    events = await one.say()
    assert sorted(lines(events[1:3])) == [
        "flow@1/writer@1/writer@1 [writer@1] says 'about x'",
        "flow@1/writer@1/writer@2 [writer@2] says 'about y'",
    ]
    assert lines(events[3:]) == [
        'flow@1/writer@1 = ["about x", "about y"]',
        "flow@1/show@1 = \"show got ['about x', 'about y']\"",
    ]
    assert writer.parallel_worker


async def test_a_node_may_run_an_agent_that_is_a_parallel_worker(memory: Store) -> None:
    writer = LlmAgent(name="writer", model=ScriptedModel(["one"]), parallel_worker=True)

    @node(rerun_on_resume=True)
    async def parent(ctx: Any, node_input: Any) -> Any:
        return await ctx.run_node(writer, "no list")

    events: list[Event] = await talk(memory, (START, parent)).say()
    assert events[-1].output == ["one"]


async def test_a_root_that_is_a_parallel_worker_has_one_message(memory: Store) -> None:
    writer = LlmAgent(name="writer", model=ScriptedModel(["one"]), parallel_worker=True)
    assert [e.author for e in await Talk(writer, memory).say()] == ["writer"]


class Part(BaseModel):
    text: str | None = None
    thought: bool | None = None


class Content(BaseModel):
    """Stands for google-genai's, whose fields are null where nothing is given."""

    parts: list[Part] | None = None
    role: str | None = None


class ModelContent(Content):
    pass


async def test_a_content_of_google_genai_reaches_the_next_node_as_it_is(store: Store) -> None:
    given = ModelContent(parts=[Part(text="hello")])
    seen: list[Any] = []

    class Gives(BaseNode):
        async def _run_impl(self, *, ctx: Any, node_input: Any) -> AsyncGenerator[Any, None]:
            yield given

    def see(node_input: Any) -> None:
        seen.append(node_input)

    one = talk(store, (START, Gives(name="gives"), see))
    await one.say()
    assert seen[0] is given
    stored = (await one.stored())[1]
    assert stored.model_dump(mode="json")["output"] == {"parts": [{"text": "hello"}]}
