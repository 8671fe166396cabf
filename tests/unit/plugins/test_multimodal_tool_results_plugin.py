"""MultimodalToolResultsPlugin: parts that tools return, and how long the model sees them."""

import asyncio
from typing import Any

import pytest

from ostinato import types
from ostinato._adk_mode import set_follows_adk
from ostinato.agents import Agent
from ostinato.errors import AgentConfigError
from ostinato.plugins.multimodal_tool_results_plugin import (
    PARTS_RETURNED_BY_TOOLS_ID,
    MultimodalToolResultsPlugin,
)
from ostinato.testing import Conversation, ScriptedModel, call
from ostinato.tools import FunctionTool
from ostinato.tools.tool_context import ToolContext
from tests.support.optionals import parts_of, present
from tests.unit.tools.contexts import make_context


def image(data: bytes) -> types.Part:
    return types.Part(inline_data=types.Blob(data=data, mime_type="image/png"))


def draw() -> types.Part:
    """Draw."""
    return image(b"\xff\x00")


def describe() -> list[types.Part]:
    """Draw and describe."""
    return [types.Part(text="a dot"), image(b"dot")]


def mixed() -> list[Any]:
    """Give a part and a text."""
    return [types.Part(text="see"), "text"]


def plain() -> dict[str, int]:
    """Give a dict."""
    return {"a": 1}


def talk_with(model: ScriptedModel, **settings: Any) -> Conversation:
    agent = Agent(name="root", model=model, tools=[draw, describe, mixed, plain])
    return Conversation(agent, plugins=[MultimodalToolResultsPlugin(**settings)])


@pytest.mark.spec(158)
async def test_the_next_request_has_the_parts() -> None:
    model = ScriptedModel([call("draw"), "A dot.", "Yes."])
    talk = talk_with(model)
    await talk.say("Draw")
    await talk.say("Sure?")
    (answer,) = model.requests[1].function_responses
    assert answer.response == {"result": {"inline_data": {"mime_type": "image/png"}}}
    assert parts_of(model.requests[1].contents[-1])[1:] == [image(b"\xff\x00")]
    assert image(b"\xff\x00") not in model.requests[2].parts
    stored = [event.model_dump_json() for event in (await talk.session()).events]
    assert not any('"data"' in event for event in stored)


async def test_parts_of_several_tools_come_in_the_order_of_their_calls() -> None:
    model = ScriptedModel([[call("describe"), call("plain"), call("draw")], "Two."])
    await talk_with(model).say("Draw")
    shown = model.requests[1].contents[-1].parts or []
    assert [bool(part.function_response) for part in shown] == [True] * 3 + [False] * 3
    assert shown[3:] == [types.Part(text="a dot"), image(b"dot"), image(b"\xff\x00")]
    assert present(shown[1].function_response).response == {"a": 1}


async def test_they_may_stay_in_the_session() -> None:
    model = ScriptedModel([call("describe"), "A dot.", "Yes."])
    talk = talk_with(model, retention="session")
    await talk.say("Draw")
    await talk.say("Sure?")
    for request in model.requests[1:]:
        assert parts_of(request.contents[2])[1:] == [types.Part(text="a dot"), image(b"dot")]


@pytest.mark.parametrize("name", ["plain", "mixed"])
async def test_other_results_are_left_alone(name: str) -> None:
    model = ScriptedModel([call(name), "Ok."])
    await talk_with(model).say("Go")
    assert len(model.requests[1].contents[-1].parts or []) == 1
    (answer,) = model.requests[1].function_responses
    assert (
        answer.response == {"a": 1}
        if name == "plain"
        else "text" in present(answer.response)["result"]
    )


async def test_runs_beside_each_other_do_not_mix() -> None:
    plugin = MultimodalToolResultsPlugin()

    async def one(number: int) -> list[types.Part]:
        async def sketch() -> types.Part:
            """Draw."""
            await asyncio.wait_for(all_here.wait(), 60)
            return image(b"%d" % number)

        model = ScriptedModel([call("sketch"), "Ok."])
        agent = Agent(name="root", model=model, tools=[sketch])
        talk = Conversation(agent, plugins=[plugin], session_id=str(number))
        await talk.say("Draw")
        return (model.requests[1].contents[-1].parts or [])[1:]

    all_here = asyncio.Barrier(3)
    assert await asyncio.gather(*map(one, range(3))) == [[image(b"%d" % n)] for n in range(3)]


def test_retention_is_one_of_two() -> None:
    wrong: Any = "ever"
    with pytest.raises(AgentConfigError, match="ever"):
        MultimodalToolResultsPlugin(retention=wrong)


async def test_parts_that_a_tool_lists_in_the_state_are_shown_once() -> None:
    def sketch(tool_context: ToolContext) -> dict[str, bool]:
        """Draw."""
        tool_context.state[PARTS_RETURNED_BY_TOOLS_ID] = [image(b"dot")]
        return {"drawn": True}

    model = ScriptedModel([call("sketch"), "A dot.", "Yes."])
    agent = Agent(name="root", model=model, tools=[sketch])
    talk = Conversation(agent, plugins=[MultimodalToolResultsPlugin()])
    await talk.say("Draw")
    await talk.say("Sure?")
    assert parts_of(model.requests[1].contents[-1])[1:] == [image(b"dot")]
    assert image(b"dot") not in model.requests[2].parts
    assert PARTS_RETURNED_BY_TOOLS_ID not in (await talk.session()).state


@pytest.mark.parametrize("for_adk", [True, False])
async def test_programs_for_adk_get_other_results_back_by_hand(for_adk: bool) -> None:
    set_follows_adk(for_adk)
    try:
        result: dict[str, Any] = {"a": 1}
        told = await MultimodalToolResultsPlugin().after_tool_callback(
            tool=FunctionTool(plain), tool_args={}, tool_context=make_context(), result=result
        )
    finally:
        set_follows_adk(False)
    assert told is (result if for_adk else None)
