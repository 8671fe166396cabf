"""Questions of MCP servers: a pause of the run, and the answer in any process."""

import json
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from mcp import MCPError, UrlElicitationRequiredError
from mcp import types as mcp_types
from mcp.server.lowlevel.server import Server
from mcp.server.mcpserver import Context as ServerContext
from mcp.server.mcpserver import MCPServer
from pydantic import BaseModel

from ostinato import types
from ostinato.agents import Agent
from ostinato.auth.tool_confirmation import ToolConfirmation
from ostinato.errors import CallAlreadyAnsweredError, InvalidAnswerError
from ostinato.events.pending import pending_calls
from ostinato.hosting.input_answers import read_answer as read_words
from ostinato.runners import Runner
from ostinato.sessions import SqliteSessionService
from ostinato.testing import Conversation, ScriptedModel, call, trace
from ostinato.tools import request_input
from ostinato.tools.mcp.elicitation import ask_to_visit, find_question_fault, read_answer
from ostinato.tools.mcp_tool import InProcessConnectionParams, McpToolset
from ostinato.workflow import START, Workflow
from tests.support.mcp.asking_shop import FORM, Shop
from tests.unit.tools.contexts import make_context


def talk_to(shop: Shop, *turns: Any, **options: Any) -> tuple[Conversation, ScriptedModel]:
    model = ScriptedModel([call("order"), *(turns or ("Ordered.",))])
    agent = Agent(name="root", model=model, tools=[shop.toolset(**options)])
    return Conversation(agent), model


async def test_form_becomes_a_request_for_input():
    shop = Shop()
    talk, model = talk_to(shop)
    await talk.say("Order")
    assert len(model.requests) == 1 and shop.ordered == []
    (waiting,) = talk.pending()
    assert waiting.name == "adk_request_input" and waiting.args is not None
    assert waiting.args["message"] == "Which size?"
    assert waiting.args["response_schema"] == {**FORM, "additionalProperties": False}
    await talk.answer(waiting, {"size": 42})
    assert shop.ordered == [("state-1", "accept", {"size": 42})]
    assert talk.text == "Ordered."
    (response,) = model.requests[1].function_responses
    assert response.name == "order" and "accept" in str(response.response)
    assert "adk_request_input" not in str(model.requests[1].contents)


async def test_declined_question_is_for_the_server_to_handle():
    shop = Shop()
    talk, _ = talk_to(shop)
    await talk.say("Order")
    await talk.answer(talk.pending()[0], {"action": "decline"})
    assert shop.ordered == [("state-1", "decline", None)]
    assert talk.text == "Ordered."


async def test_answer_that_does_not_fit_leaves_the_question_open():
    shop = Shop()
    talk, _ = talk_to(shop)
    await talk.say("Order")
    (waiting,) = talk.pending()
    for unfit in ({"size": "large"}, {"size": 7, "colour": "red"}):
        with pytest.raises(InvalidAnswerError, match=r"size|colour"):
            await talk.answer(waiting, unfit)
    await talk.answer(waiting, {"size": 7})
    assert [content for _, _, content in shop.ordered] == [{"size": 7}]


@pytest.mark.parametrize("said", ["Invalid or expired requestState", "unknown request state"])
async def test_server_that_forgot_its_question_asks_anew(said: str):
    """A server whose key is made at its start cannot read the state after a restart."""
    shop = Shop()
    refusals = [MCPError(mcp_types.INVALID_PARAMS, said)]

    async def call_shop(context: Any, params: Any) -> Any:
        if params.request_state is not None and refusals:
            raise refusals.pop()
        return await shop._call(context, params)

    shop.server = Server("shop", on_list_tools=shop._list, on_call_tool=call_shop)
    talk, model = talk_to(shop, call("order"), "Ordered.")
    await talk.say("Order")
    await talk.answer(talk.pending()[0], {"size": 42})
    (response,) = model.requests[1].function_responses
    error = str(response.response)
    assert f"does not know any more which question the user answered ({said})" in error
    assert "If the call has not taken effect before, it may be made again" in error
    await talk.answer(talk.pending()[0], {"size": 43})
    assert [content for _, _, content in shop.ordered] == [{"size": 43}]
    assert talk.text == "Ordered."


async def test_address_to_visit():
    shop = Shop(url="https://shop.example/login")
    talk, _ = talk_to(shop)
    await talk.say("Order")
    (waiting,) = talk.pending()
    assert waiting.args is not None
    assert waiting.args["message"] == "Log in. Open https://shop.example/login"
    assert waiting.args["payload"] == {"urls": ["https://shop.example/login"]}
    await talk.answer(waiting, {"result": True})
    assert shop.ordered == [("state-1", "accept", None)]


async def test_callback_of_the_program_answers_at_once():
    async def answer(context: Any, params: Any) -> Any:
        return mcp_types.ElicitResult(action="accept", content={"size": 5})

    shop = Shop()
    talk, _ = talk_to(shop, elicitation_callback=answer)
    await talk.say("Order")
    assert shop.ordered == [("state-1", "accept", {"size": 5})] and talk.text == "Ordered."


async def test_answer_in_another_process_after_a_restart(tmp_path: Path):
    """All that lives in memory is made anew between question and answer."""
    place: dict[str, Any] = {"user_id": "ann", "session_id": "s"}
    shop = Shop()

    def make_runner(*turns: Any) -> Runner:
        agent = Agent(name="root", model=ScriptedModel(list(turns)), tools=[shop.toolset()])
        service = SqliteSessionService(str(tmp_path / "sessions.db"))
        return Runner(app_name="shop", agent=agent, session_service=service)

    async def send(runner: Runner, *parts: types.Part) -> list[Any]:
        message = types.Content(role="user", parts=list(parts))
        events = [event async for event in runner.run_async(**place, new_message=message)]
        await runner.close()
        return events

    first = make_runner(call("order"))
    await first.session_service.create_session(app_name="shop", **place)
    events = await send(first, types.Part(text="Order"))
    calls = [one for event in events for one in event.get_function_calls()]
    (asked,) = [one for one in calls if one.name == "adk_request_input"]
    given = types.FunctionResponse(id=asked.id, name=asked.name, response={"size": 3})
    await send(make_runner("Ordered."), types.Part(function_response=given))
    assert shop.ordered == [("state-1", "accept", {"size": 3})]
    with pytest.raises(CallAlreadyAnsweredError):
        await send(make_runner("Again."), types.Part(function_response=given))
    assert len(shop.ordered) == 1


async def test_model_cannot_answer_or_forge_a_question():
    """A model's own request for input that names another call runs nothing."""
    shop = Shop()
    forged = types.FunctionCall(
        name="adk_request_input", args={"message": "?", "functionCallId": "call-of-order"}
    )
    order = types.FunctionCall(name="order", id="call-of-order", args={})
    model = ScriptedModel([order, forged, "Done."])
    agent = Agent(name="root", model=model, tools=[shop.toolset(), request_input])
    talk = Conversation(agent)
    await talk.say("Order")
    await talk.say("Never mind")
    asked = [one for one in talk.pending() if (one.args or {}).get("message") == "?"]
    await talk.answer(asked[0], {"result": "yes"})
    assert shop.ordered == []


@pytest.mark.long
async def test_older_protocol_asks_over_its_connection():
    """Without a callback the question is cancelled; with one it is answered at once."""
    server = MCPServer("old")

    class Size(BaseModel):
        size: int

    @server.tool()
    async def order(ctx: ServerContext) -> str:
        answer = await ctx.elicit("Which size?", Size)
        return f"{answer.action} {getattr(answer, 'data', None)}"

    async def answer(context: Any, params: Any) -> Any:
        return mcp_types.ElicitResult(action="accept", content={"size": 5})

    for callback, expected in ((None, "cancel None"), (answer, "accept size=5")):
        params = InProcessConnectionParams(server=server, mode="legacy")
        toolset = McpToolset(connection_params=params, elicitation_callback=callback)
        (tool,) = await toolset.get_tools()
        result = await tool.run_async(args={}, tool_context=make_context())
        assert result["content"][0]["text"] == expected
        await toolset.close()


async def test_server_that_refuses_until_an_address_was_visited():
    visited: list[str] = []
    server = MCPServer("old")

    @server.tool()
    async def order() -> str:
        if not visited:
            link = mcp_types.ElicitRequestURLParams(
                message="Log in.", url="https://shop.example/login", elicitation_id="1"
            )
            raise UrlElicitationRequiredError([link])
        return "ordered"

    params = InProcessConnectionParams(server=server, mode="legacy")
    model = ScriptedModel([call("order"), "Done."])
    toolset = McpToolset(connection_params=params)
    talk = Conversation(Agent(name="root", model=model, tools=[toolset]))
    await talk.say("Order")
    (waiting,) = talk.pending()
    assert waiting.args is not None
    assert waiting.args["payload"] == {"urls": ["https://shop.example/login"]}
    visited.append("yes")
    await talk.answer(waiting, {"result": True})
    assert "ordered" in str(model.requests[1].function_responses[0].response)
    await toolset.close()


@pytest.mark.filterwarnings("ignore:The sampling capability is deprecated")
async def test_sampling_is_answered_by_the_callback_only():
    server = MCPServer("writer")

    @server.tool()
    async def write(ctx: ServerContext) -> str:
        message = mcp_types.SamplingMessage(
            role="user", content=mcp_types.TextContent(type="text", text="A word?")
        )
        made = await ctx.session.create_message([message], max_tokens=5)  # pyright: ignore[reportDeprecated]
        return made.content.text  # pyright: ignore[reportAttributeAccessIssue]

    async def sample(context: Any, params: Any) -> Any:
        text = mcp_types.TextContent(type="text", text="word")
        return mcp_types.CreateMessageResult(role="assistant", content=text, model="m")

    results: list[Any] = []
    for callback in (sample, None):
        params = InProcessConnectionParams(server=server, mode="legacy")
        toolset = McpToolset(connection_params=params, sampling_callback=callback)
        (tool,) = await toolset.get_tools()
        results.append(await tool.run_async(args={}, tool_context=make_context()))
        await toolset.close()
    assert results[0]["content"][0]["text"] == "word"
    assert "Sampling not supported" in results[1]["error"]


async def test_declined_visit_rejects_the_call():
    server = MCPServer("old")

    @server.tool()
    async def order() -> str:
        link = mcp_types.ElicitRequestURLParams(
            message="Log in.", url="https://shop.example/login", elicitation_id="1"
        )
        raise UrlElicitationRequiredError([link])

    params = InProcessConnectionParams(server=server, mode="legacy")
    model = ScriptedModel([call("order"), "Not ordered."])
    toolset = McpToolset(connection_params=params)
    talk = Conversation(Agent(name="root", model=model, tools=[toolset]))
    await talk.say("Order")
    await talk.answer(talk.pending()[0], {"action": "decline"})
    assert talk.text == "Not ordered." and talk.pending() == []
    assert "rejected" in str(model.requests[1].function_responses[0].response)
    await toolset.close()


async def test_destructive_tool_tells_the_server_of_a_declined_question():
    shop = Shop(hints=mcp_types.ToolAnnotations(destructive_hint=True))
    talk, _ = talk_to(shop)
    await talk.say("Order")
    await talk.answer(talk.pending()[0], {"action": "decline"})
    assert shop.ordered == [("state-1", "decline", None)]


BOUNDED = {
    "type": "object",
    "properties": {
        "size": {"type": "integer", "minimum": 36, "maximum": 48},
        "name": {"type": "string", "minLength": 2, "maxLength": 5},
        "mail": {"type": "string", "format": "email"},
        "day": {"type": "string", "format": "date"},
        "at": {"type": "string", "format": "date-time"},
        "home": {"type": "string", "format": "uri"},
        "code": {"type": "string", "pattern": "^[A-Z]{2}-[0-9]{4}$"},
    },
}


@pytest.mark.parametrize(
    ("content", "fits"),
    [
        ({"size": 42, "name": "Ann", "mail": "a@b.example", "day": "2026-11-24"}, True),
        ({"at": "2026-11-24T10:00:00+00:00", "home": "https://a.example"}, True),
        ({"size": 35}, False),
        ({"size": 49}, False),
        ({"name": "A"}, False),
        ({"name": "Annika"}, False),
        ({"mail": "nobody"}, False),
        ({"day": "tomorrow"}, False),
        ({"at": "noon"}, False),
        ({"home": "here"}, False),
        ({"code": "AB-1234"}, True),
        ({"code": "1234"}, False),
    ],
)
def test_an_answer_keeps_to_the_bounds_and_formats_of_the_form(content: Any, fits: bool):
    question = {"state": None, "answered": {}, "open": {"a": {"requestedSchema": BOUNDED}}}
    answer = ToolConfirmation(confirmed=True, payload=content)
    if fits:
        found = read_answer(question, answer)
        assert found is not None and found.responses["a"]["content"] == content
    else:
        with pytest.raises(ValueError, match="the answer"):
            read_answer(question, answer)


class Forms(Shop):
    """A shop that asks several forms at once.

    Args:
      forms: the schemas by key.
      url: an address to visit beside them.
    """

    def __init__(self, forms: dict[str, Any], url: str = "") -> None:
        super().__init__(url)
        self.forms = forms

    async def _call(self, context: Any, params: Any) -> Any:
        if params.request_state is not None:
            given = {key: one.content for key, one in params.input_responses.items()}
            self.ordered.append(given)
            return mcp_types.CallToolResult(content=[])
        asked: dict[str, Any] = {
            key: mcp_types.ElicitRequestFormParams(message=f"{key}?", requested_schema=schema)
            for key, schema in self.forms.items()
        }
        if self.url:
            asked["login"] = mcp_types.ElicitRequestURLParams(message="Log in.", url=self.url)
        requests: Any = {key: mcp_types.ElicitRequest(params=one) for key, one in asked.items()}
        return mcp_types.InputRequiredResult(input_requests=requests, request_state="1")


@pytest.mark.parametrize(
    ("field", "fitting", "unfit"),
    [("size", 42, 35), ("day", "2026-11-24", "soon"), ("code", "AB-1234", "1234")],
)
async def test_answer_beyond_the_bounds_leaves_the_question_open(
    field: str, fitting: Any, unfit: Any
):
    shop = Forms({"a": BOUNDED})
    talk, _ = talk_to(shop)
    await talk.say("Order")
    (waiting,) = talk.pending()
    (shown,) = pending_calls(talk.events)
    with pytest.raises(InvalidAnswerError, match=rf"the answer\.{field} .*stays open"):
        await talk.answer(waiting, {field: unfit})
    with pytest.raises(InvalidAnswerError, match=rf"the answer\.{field} "):
        read_words(shown, json.dumps({field: unfit}))
    await talk.answer(waiting, read_words(shown, json.dumps({field: fitting})))
    assert shop.ordered == [{"a": {field: fitting}}]


@pytest.mark.parametrize("url", ["", "https://shop.example/login"])
async def test_several_forms_are_one_form_of_all(url: str):
    other = {"type": "object", "properties": {"colour": {"type": "string"}}}
    shop = Forms({"k1": FORM, "k2": other}, url)
    talk, _ = talk_to(shop)
    await talk.say("Order")
    (waiting,) = talk.pending()
    assert waiting.args is not None
    lines = ["k1: k1?", "k2: k2?", *([f"Log in. Open {url}"] if url else [])]
    assert waiting.args["message"] == "\n".join(lines)
    schema = waiting.args["response_schema"]
    closed = {"additionalProperties": False}
    assert schema == {
        "type": "object",
        "properties": {
            "k1": {**FORM, **closed, "title": "k1?", "description": "k1?"},
            "k2": {**other, **closed, "title": "k2?", "description": "k2?"},
        },
        "required": ["k1", "k2"],
        **closed,
    }
    for unfit in ({"size": 1}, {"k1": {"size": 1}}, {"k1": {"size": "big"}, "k2": {}}):
        with pytest.raises(InvalidAnswerError):
            await talk.answer(waiting, unfit)
    await talk.answer(waiting, {"k1": {"size": 1}, "k2": {"colour": "red"}})
    visited = {"login": None} if url else {}
    assert shop.ordered == [{"k1": {"size": 1}, "k2": {"colour": "red"}, **visited}]


@pytest.mark.parametrize(
    "asked",
    [
        {"url": "javascript:alert(1)"},
        {"url": "file:///etc/passwd"},
        {"url": "http://[::1"},
        {"url": "https:///nowhere"},
        {"requestedSchema": {"properties": {"a": {"type": "object"}}}},
        {"requestedSchema": {"properties": {"a": {"$ref": "http://x.example/y"}}}},
        {"requestedSchema": {"properties": {"a": {"type": "array", "items": {"type": "object"}}}}},
    ],
)
def test_a_question_that_no_user_should_answer_is_refused(asked: dict[str, Any]):
    assert find_question_fault(asked)
    assert "cannot be asked" in ask_to_visit([asked], make_context())["error"]


def test_questions_of_the_protocol_are_asked():
    assert find_question_fault({"url": "https://pay.example/1"}) == ""
    assert find_question_fault({"requestedSchema": BOUNDED}) == ""


class Outage(Shop):
    """A shop that may be down: then it has no list of its tools."""

    is_down = False

    async def _list(self, context: Any, params: Any) -> Any:
        if self.is_down:
            raise MCPError(mcp_types.INTERNAL_ERROR, "down")
        return await super()._list(context, params)


def open_shop(shop: Shop, path: Path, *turns: Any) -> Runner:
    agent = Agent(name="root", model=ScriptedModel([*turns]), tools=[shop.toolset()])
    service = SqliteSessionService(path)
    return Runner(agent=agent, app_name="x", session_service=service, auto_create_session=True)


WHO: dict[str, Any] = {"user_id": "u", "session_id": "s"}


class Asked(NamedTuple):
    call_id: str
    invocation_id: str


async def ask_size(shop: Shop, path: Path) -> Asked:
    """Let a process ask the question."""
    async with open_shop(shop, path, call("order")) as runner:
        events = [e async for e in runner.run_async(**WHO, new_message="Order")]
    (found,) = [c for e in events for c in e.get_function_calls() if c.name == "adk_request_input"]
    return Asked(found.id or "", events[0].invocation_id)


def answer_size(asked: Asked, response: dict[str, Any]) -> types.Content:
    given = types.FunctionResponse(id=asked.call_id, name="adk_request_input", response=response)
    return types.Content(role="user", parts=[types.Part(function_response=given)])


async def test_answer_while_the_server_is_down_leaves_the_question_open(tmp_path: Path):
    shop = Outage()
    asked = await ask_size(shop, tmp_path / "s.db")
    message = answer_size(asked, {"size": 5})
    shop.is_down = True
    async with open_shop(shop, tmp_path / "s.db", "Never.") as runner:
        with pytest.raises(InvalidAnswerError, match=r"shop cannot be reached.*stays open.*later"):
            await anext(runner.run_async(**WHO, new_message=message))
    service = SqliteSessionService(tmp_path / "s.db")
    page = await service.open_requests("x", "u")
    await service.close()
    assert [one.request.call_id for one in page.requests] == [asked.call_id]
    shop.is_down = False
    async with open_shop(shop, tmp_path / "s.db", "Ordered.") as runner:
        events = [e async for e in runner.run_async(**WHO, new_message=message)]
    assert shop.ordered == [("state-1", "accept", {"size": 5})]
    assert trace(events)[-1] == "root: Ordered."


async def test_question_of_a_server_that_is_down_can_be_declined(tmp_path: Path):
    shop = Outage()
    asked = await ask_size(shop, tmp_path / "s.db")
    shop.is_down = True
    async with open_shop(shop, tmp_path / "s.db", "No order.") as runner:
        message = answer_size(asked, {"action": "decline"})
        events = [e async for e in runner.run_async(**WHO, new_message=message)]
    assert "rejected" in trace(events)[0] and trace(events)[-1] == "root: No order."


async def test_server_that_goes_after_the_answer_was_accepted_gets_it_later(tmp_path: Path):
    shop = Outage()
    asked = await ask_size(shop, tmp_path / "s.db")
    async with open_shop(shop, tmp_path / "s.db") as runner:
        await runner.submit(**WHO, new_message=answer_size(asked, {"size": 5}))
    shop.is_down = True
    async with open_shop(shop, tmp_path / "s.db", "Never.") as runner:
        (recovered,) = await runner.resume_open()
    assert recovered.outcome == "failed" and "could not list its tools" in recovered.reason
    shop.is_down = False
    async with open_shop(shop, tmp_path / "s.db", "Ordered.") as runner:
        run = runner.run_async(**WHO, invocation_id=asked.invocation_id)
        assert trace([e async for e in run])[-1] == "root: Ordered."
    assert shop.ordered == [("state-1", "accept", {"size": 5})]


async def talk_to_node(shop: Shop, **options: Any) -> Conversation:
    (tool,) = await shop.toolset(**options).get_tools()

    def begin(node_input: str) -> dict[str, Any]:
        return {"amount": 5}

    def end(node_input: Any) -> str:
        return str(node_input["content"][0]["text"])

    return Conversation(Workflow(name="flow", edges=[(START, begin, tool, end)]))


@pytest.mark.parametrize("confirms", [False, True])
@pytest.mark.parametrize(
    ("answer", "arrives"),
    [({"size": 42}, ("accept", {"size": 42})), ({"action": "decline"}, ("decline", None))],
)
async def test_question_of_a_node_is_answered_as_in_an_agent(
    confirms: bool, answer: Any, arrives: Any
):
    shop = Shop()
    talk = await talk_to_node(shop, require_confirmation=confirms)
    events = await talk.say("Order")
    if confirms:
        (waiting,) = talk.pending()
        assert waiting.args is not None and waiting.args["response_schema"] == {"type": "boolean"}
        events = await talk.answer(waiting, {"result": True})
    (waiting,) = talk.pending()
    assert waiting.name == "adk_request_input" and waiting.args is not None
    assert waiting.args["message"] == "Which size?"
    assert waiting.args["response_schema"] == {**FORM, "additionalProperties": False}
    assert waiting.args["payload"] == {"tool": "order", "args": {"amount": 5}}
    for unfit in ({"size": "large"}, {"confirmed": True, "payload": {"size": 1}}, {"result": True}):
        with pytest.raises(InvalidAnswerError):
            await talk.answer(waiting, unfit)
    events = await talk.answer(waiting, answer)
    assert shop.ordered == [("state-1", *arrives)] and talk.pending() == []
    assert [event.output for event in events if event.output][-1] == f"{arrives[0]} {arrives[1]}"


async def test_node_asks_to_visit_an_address():
    shop = Shop(url="https://shop.example/login")
    talk = await talk_to_node(shop)
    await talk.say("Order")
    (waiting,) = talk.pending()
    assert waiting.args is not None and "https://shop.example/login" in waiting.args["message"]
    assert waiting.args["payload"]["urls"] == ["https://shop.example/login"]
    await talk.answer(waiting, {"result": True})
    assert shop.ordered == [("state-1", "accept", None)]
