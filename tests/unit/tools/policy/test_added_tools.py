"""A person can approve calls of tools that only a request has: those that the runtime adds, and
those of callbacks and toolsets."""

from __future__ import annotations

from typing import Any

import pytest

from ostinato import Agent, App
from ostinato.apps import ContextPolicy
from ostinato.errors import InvalidAnswerError
from ostinato.plugins import BasePlugin
from ostinato.testing import Conversation, ScriptedModel, call
from ostinato.tools import FunctionTool
from ostinato.tools.policy import Policy, Rule

ASK_ALL = Policy(rules=[Rule(id="all", verdict="ask")])


def hidden(query: str = "") -> str:
    """A tool that is not told of at once."""
    return f"found {query}"


def long_text() -> str:
    """Return a long text."""
    return "word " * 40_000


def offer(callback_context: Any, llm_request: Any) -> None:
    llm_request.append_tools([FunctionTool(hidden)])


class Offers(BasePlugin):
    async def before_model_callback(self, *, callback_context: Any, llm_request: Any) -> None:
        offer(callback_context, llm_request)


def talk(policy: Policy, script: list[Any], **fields: Any) -> Conversation:
    plugins = fields.pop("plugins", [])
    root = Agent(name="clerk", model=ScriptedModel(script), **fields)
    app = App(name="shop", root_agent=root, policy=policy, context=ContextPolicy(), plugins=plugins)
    return Conversation(app)


async def approve_all(chat: Conversation, **answer: Any) -> list[Any]:
    events: list[Any] = []
    for _ in range(5):
        if not chat.pending():
            break
        events += await chat.answer(chat.pending()[0], {"confirmed": True, **answer})
    return events


def results(events: list[Any]) -> str:
    return str([one.response for event in events for one in event.get_function_responses()])


@pytest.mark.parametrize("answer", [{}, {"args": {"agent_name": "payer"}}])
async def test_an_approved_transfer_leads_to_the_other_agent(answer: dict[str, Any]) -> None:
    inner = Agent(name="payer", description="Pays.", model=ScriptedModel(["I pay."]))
    script = [call("transfer_to_agent", agent_name="payer")]
    chat = talk(ASK_ALL, script, sub_agents=[inner])
    await chat.say("Go")
    events = await approve_all(chat, **answer)
    assert [event.author for event in events] == ["clerk", "payer"]


async def test_an_edited_transfer_must_lead_to_an_agent() -> None:
    inner = Agent(name="payer", description="Pays.", model=ScriptedModel([]))
    script = [call("transfer_to_agent", agent_name="payer"), "No."]
    chat = talk(ASK_ALL, script, sub_agents=[inner])
    await chat.say("Go")
    (question,) = chat.pending()
    with pytest.raises(InvalidAnswerError, match="do not fit"):
        await approve_all(chat, args={"agent_name": "thief"})
    events = await chat.answer(question, {"confirmed": False})
    assert {event.author for event in events} == {"clerk"}


async def test_an_approved_tool_that_transfers_leads_to_the_other_agent() -> None:
    def hand_over(tool_context: Any) -> str:
        """Hand over."""
        tool_context.actions.transfer_to_agent = "payer"
        return "handed over"

    inner = Agent(name="payer", description="Pays.", model=ScriptedModel(["I pay."]))
    tool = FunctionTool(hand_over, require_confirmation=True)
    chat = talk(Policy(), [call("hand_over")], sub_agents=[inner], tools=[tool])
    await chat.say("Go")
    assert [event.author for event in await approve_all(chat)] == ["clerk", "payer"]


async def test_an_approved_search_finds_tools_that_can_be_approved() -> None:
    script = [call("search_tools", query="hidden"), call("hidden", query="x"), "Done."]
    chat = talk(ASK_ALL, script, tools=[FunctionTool(hidden, defer=True)])
    await chat.say("Go")
    found = results(await approve_all(chat))
    assert "'name': 'hidden'" in found and "found x" in found


async def test_reading_a_result_can_be_approved() -> None:
    script: list[Any] = [call("long_text"), "Done."]
    chat = talk(Policy(rules=[Rule(id="r", tool="read_result", verdict="ask")]), script)
    chat.runner.agent.tools = [long_text]  # pyright: ignore[reportAttributeAccessIssue]
    events = await chat.say("Go")
    ref = next(
        (one.response or {})["ref"]
        for event in events
        for one in event.get_function_responses()
        if "ref" in (one.response or {})
    )
    model: Any = chat.runner.agent.model
    model.add(call("read_result", ref=ref), "Read.")
    await chat.say("Read")
    assert "word word" in results(await approve_all(chat))


@pytest.mark.parametrize("fields", [{"before_model_callback": offer}, {"plugins": [Offers("o")]}])
async def test_a_tool_that_a_callback_adds_can_be_approved(fields: dict[str, Any]) -> None:
    chat = talk(ASK_ALL, [call("hidden", query="y"), "Done."], **fields)
    await chat.say("Go")
    assert "found y" in results(await approve_all(chat))


async def test_a_removed_tool_is_still_refused() -> None:
    chat = talk(ASK_ALL, [call("hidden", query="y"), "Done."], tools=[hidden])
    await chat.say("Go")
    chat.runner.agent.tools = []  # pyright: ignore[reportAttributeAccessIssue]
    with pytest.raises(InvalidAnswerError, match="no longer has the tool 'hidden'"):
        await approve_all(chat)
