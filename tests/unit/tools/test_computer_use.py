"""Computer use: coordinates, approvals, pictures and requests, as google-adk's."""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import Any

import pytest

from ostinato import types
from ostinato.agents import Agent
from ostinato.auth.tool_confirmation import ToolConfirmation
from ostinato.context.context import Context as ToolContext
from ostinato.errors import AgentConfigError
from ostinato.models import LlmRequest
from ostinato.testing import Conversation, ScriptedModel, call
from ostinato.tools.computer_use import (
    BaseComputer,
    ComputerEnvironment,
    ComputerState,
    ComputerUseTool,
    ComputerUseToolset,
)
from ostinato.tools.computer_use.base_computer import Direction
from ostinato.tools.computer_use.computer_use_toolset import EXCLUDED_METHODS
from tests.unit.tools.contexts import make_context

SHOT = b"\x89PNG"
SEEN = {"mimetype": "image/png", "data": base64.b64encode(SHOT).decode()}


class Desk(BaseComputer):
    """Notes every action; its screen is 1920 by 1080."""

    def __init__(self) -> None:
        self.done: list[Any] = []

    async def _note(self, *what: Any) -> ComputerState:
        self.done.append(what)
        return ComputerState(screenshot=SHOT, url="https://a.example")

    async def prepare(self, tool_context: ToolContext) -> None:
        self.done.append("prepare")

    async def screen_size(self) -> tuple[int, int]:
        return 1920, 1080

    async def open_web_browser(self) -> ComputerState:
        return await self._note("open")

    async def click_at(self, x: int, y: int) -> ComputerState:
        return await self._note("click", x, y)

    async def hover_at(self, x: int, y: int) -> ComputerState:
        return await self._note("hover", x, y)

    async def type_text_at(
        self,
        x: int,
        y: int,
        text: str,
        press_enter: bool = True,
        clear_before_typing: bool = True,
    ) -> ComputerState:
        return await self._note("type", x, y, text, press_enter, clear_before_typing)

    async def scroll_document(self, direction: Direction) -> ComputerState:
        return await self._note("scroll", direction)

    async def scroll_at(
        self, x: int, y: int, direction: Direction, magnitude: int
    ) -> ComputerState:
        return await self._note("scroll", x, y, direction, magnitude)

    async def wait(self, seconds: int) -> ComputerState:
        return await self._note("wait", seconds)

    async def go_back(self) -> ComputerState:
        return await self._note("back")

    async def go_forward(self) -> ComputerState:
        return await self._note("forward")

    async def search(self) -> ComputerState:
        return await self._note("search")

    async def navigate(self, url: str) -> ComputerState:
        return await self._note("navigate", url)

    async def key_combination(self, keys: list[str]) -> ComputerState:
        return await self._note("keys", keys)

    async def drag_and_drop(
        self, x: int, y: int, destination_x: int, destination_y: int
    ) -> ComputerState:
        return await self._note("drag", x, y, destination_x, destination_y)

    async def current_state(self) -> ComputerState:
        return await self._note("state")

    async def initialize(self) -> None:
        self.done.append("initialize")

    async def close(self) -> None:
        self.done.append("close")

    async def environment(self) -> ComputerEnvironment:
        return ComputerEnvironment.ENVIRONMENT_BROWSER


async def tools_of(desk: Desk, **settings: Any) -> dict[str, Any]:
    tools = await ComputerUseToolset(computer=desk, **settings).get_tools()
    desk.done.clear()
    return {tool.name: tool for tool in tools}


ACTIONS = [
    ("click_at", {"x": 500, "y": 500}, ("click", 960, 540)),
    ("click_at", {"x": 1000, "y": 2000}, ("click", 1919, 1079)),
    ("click_at", {"x": -5, "y": 12.6}, ("click", 0, 13)),
    (
        "drag_and_drop",
        {"x": 1, "y": 2, "destination_x": 999, "destination_y": 500},
        ("drag", 1, 2, 1918, 540),
    ),
    (
        "scroll_at",
        {"x": 10, "y": 10, "direction": "down", "magnitude": 500},
        ("scroll", 19, 10, "down", 500),
    ),
    ("wait", {"seconds": 1}, ("wait", 1)),
]


@pytest.mark.parametrize(("name", "args", "done"), ACTIONS)
async def test_coordinates_are_turned_into_pixels(
    name: str, args: dict[str, Any], done: tuple[Any, ...]
) -> None:
    desk = Desk()
    tool = (await tools_of(desk))[name]
    answer = await tool.run_async(args=args, tool_context=make_context())
    assert answer == {"image": SEEN, "url": "https://a.example"}
    assert desk.done == ["prepare", done]


async def test_wrong_coordinates_go_back_to_the_model() -> None:
    desk = Desk()
    tool = (await tools_of(desk))["click_at"]
    for args in ({"x": "12", "y": 1}, {"x": True, "y": 1}, {"x": 1}):
        answer = await tool.run_async(args=args, tool_context=make_context())
        assert answer["error"].startswith("Invoking `click_at()` failed"), args
    assert desk.done == []


async def test_the_toolset_offers_the_actions_and_opens_the_computer_once() -> None:
    desk = Desk()
    toolset = ComputerUseToolset(computer=desk, excluded_predefined_functions=["wait", "other"])
    names = [tool.name for tool in await toolset.get_tools()]
    assert await toolset.get_tools() is await toolset.get_tools()
    assert desk.done == ["initialize"]
    assert len(names) == 14 and "click_at" in names and not {"wait", *EXCLUDED_METHODS} & {*names}
    await toolset.close()
    await toolset.get_tools()
    assert desk.done == ["initialize", "close", "initialize"]


async def test_the_request_names_what_is_operated_once() -> None:
    search = types.Tool(google_search=types.GoogleSearch())
    request = LlmRequest(model="m", config=types.GenerateContentConfig(tools=[search]))
    toolset = ComputerUseToolset(computer=Desk(), excluded_predefined_functions=["wait"])
    for _ in range(2):
        await toolset.process_llm_request(tool_context=make_context(), llm_request=request)
    use = types.ComputerUse(
        environment=types.Environment.ENVIRONMENT_BROWSER, excluded_predefined_functions=["wait"]
    )
    assert request.config.tools == [search, types.Tool(computer_use=use)]
    assert len(request.tools_dict) == 14
    before = request.model_copy(deep=True)
    tool = request.tools_dict["click_at"]
    await tool.process_llm_request(tool_context=make_context(), llm_request=request)
    assert request.config == before.config


async def adapt(name: str, adapter: Callable[..., Any], request: LlmRequest) -> None:
    await ComputerUseToolset.adapt_computer_use_tool(name, adapter, request)


async def test_an_action_can_be_replaced() -> None:
    desk = Desk()
    request = LlmRequest(model="m")
    toolset = ComputerUseToolset(computer=desk)
    await toolset.process_llm_request(tool_context=make_context(), llm_request=request)
    desk.done.clear()

    def shorter(wait: Callable[..., Any]) -> Callable[..., Any]:
        async def wait_shortly() -> Any:
            """Wait a moment."""
            return await wait(seconds=1)

        return wait_shortly

    async def later(search: Callable[..., Any]) -> Callable[..., Any]:
        async def look() -> str:
            """Look."""
            return "seen"

        return look

    await adapt("wait", shorter, request)
    await adapt("search", later, request)
    assert {"wait_shortly", "look"} <= request.tools_dict.keys()
    assert not {"wait", "search"} & request.tools_dict.keys()
    new = request.tools_dict["wait_shortly"]
    assert (await new.run_async(args={}, tool_context=make_context()))["image"] == SEEN
    assert desk.done == [("wait", 1)]


@pytest.mark.parametrize("name", ["wait", "screen_size", "fly"])
async def test_what_the_request_has_not_is_not_replaced(
    name: str, caplog: pytest.LogCaptureFixture
) -> None:
    request = LlmRequest(model="m")
    await adapt(name, lambda action: action, request)
    assert not request.tools_dict and repr(name) in caplog.text


SIZES = [(0, 1), (1,), [100, 100], "ab", ("1", "2"), (100, -1)]


@pytest.mark.parametrize("size", SIZES)
def test_a_size_has_to_be_a_pair_of_positive_numbers(size: Any) -> None:
    def act() -> None: ...

    with pytest.raises(AgentConfigError, match="screen_size is"):
        ComputerUseTool(func=act, screen_size=size)
    with pytest.raises(AgentConfigError, match="virtual_screen_size is"):
        ComputerUseTool(func=act, screen_size=(10, 10), virtual_screen_size=size)


def tool_that_returns(result: Any) -> ComputerUseTool:
    async def act() -> Any:
        return result

    return ComputerUseTool(func=act, screen_size=(10, 10))


ASK = {"decision": "require_confirmation", "explanation": "It pays."}
UNCONFIRMED = {"error": "This tool call requires confirmation, please approve or reject."}
APPROVALS = [
    (None, None, {"a": 1}),
    (None, {"decision": "regular"}, {"a": 1}),
    (None, "odd", {"a": 1}),
    (None, ASK, UNCONFIRMED),
    (False, None, {"error": "This tool call is rejected."}),
    (True, ASK, {"a": 1, "safety_acknowledgement": "true"}),
]


@pytest.mark.parametrize(("confirmed", "decision", "answer"), APPROVALS)
async def test_an_action_that_the_service_marks_waits_for_the_user(
    confirmed: bool | None, decision: Any, answer: dict[str, Any]
) -> None:
    given = None if confirmed is None else ToolConfirmation(confirmed=confirmed)
    context = make_context(confirmation=given)
    args = {} if decision is None else {"safety_decision": decision}
    tool = tool_that_returns({"a": 1})
    assert await tool.run_async(args=args, tool_context=context) == answer
    asked = context.actions.requested_tool_confirmations
    assert bool(asked) is (answer == UNCONFIRMED)
    if asked:
        assert asked["call-1"].hint == "It pays." and context.actions.skip_summarization


async def test_results_of_other_kinds() -> None:
    agreed = make_context(confirmation=ToolConfirmation(confirmed=True))
    text = await tool_that_returns("done").run_async(args={}, tool_context=agreed)
    assert text == {"result": "done", "safety_acknowledgement": "true"}
    blind = tool_that_returns(ComputerState(url="u"))
    assert await blind.run_async(args={}, tool_context=make_context()) == {"url": "u"}


IMAGES = [
    "text",
    {"data": "!!", "mimetype": "image/png"},
    {"data": "YQ=="},
    {"data": 5, "mimetype": "image/png"},
]


@pytest.mark.parametrize("image", IMAGES)
def test_what_is_no_picture_stays_in_the_response(image: Any) -> None:
    response = {"image": image}
    assert tool_that_returns(None).split_media(response) == (response, [])


async def test_the_model_is_shown_the_screen() -> None:
    desk = Desk()
    asked = call("click_at", x=500, y=500)
    model = ScriptedModel([asked, "done"])
    agent = Agent(name="a", model=model, tools=[ComputerUseToolset(computer=desk)])
    await Conversation(agent).say("go")
    told = (model.requests[-1].contents[-1].parts or [])[0].function_response
    assert told is not None and told.response == {"url": "https://a.example"}
    assert told.parts and told.parts[0].inline_data
    assert told.parts[0].inline_data.data == SHOT
    assert told.parts[0].inline_data.mime_type == "image/png"
    assert ("click", 960, 540) in desk.done
