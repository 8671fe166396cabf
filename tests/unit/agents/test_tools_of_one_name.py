"""Tools of one name: a toolset's never replaces another, and none is declared twice."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from ostinato.agents import LlmAgent
from ostinato.apps import App
from ostinato.context.context_policy import ContextPolicy
from ostinato.errors import AgentConfigError
from ostinato.testing import Conversation, ScriptedModel, call
from ostinato.tools.base_tool import BaseTool
from ostinato.tools.base_toolset import BaseToolset
from ostinato.tools.function_tool import FunctionTool


def pay(n: int) -> str:
    """Pay by the program."""
    return "own"


def make_pay(answer: str) -> Any:
    def pay(n: int) -> str:
        return answer

    pay.__doc__ = answer
    return pay


class Outside(BaseToolset):
    """A toolset with a tool `pay`, as a server may offer one."""

    def __init__(self, label: str, **options: Any) -> None:
        super().__init__(**options)
        self.label = label
        self._pay = FunctionTool(make_pay(label))

    async def get_tools(self, readonly_context: Any = None) -> list[BaseTool]:
        return [self._pay]


async def run(tools: list[Any], **fields: Any) -> tuple[Any, list[str]]:
    """Have a model call `pay`; return its response and the descriptions that it was told."""
    model = ScriptedModel([call("pay", n=1), "Done."])
    talk = Conversation(LlmAgent(name="clerk", model=model, tools=tools, **fields))
    events = await talk.say("Pay.")
    (answer,) = [r.response for event in events for r in event.get_function_responses()][:1]
    declared = [
        str(one.description)
        for tool in model.requests[0].config.tools or []
        for one in tool.function_declarations or []
        if one.name == "pay"
    ]
    return answer, declared


@pytest.mark.parametrize("own_first", [True, False])
@pytest.mark.parametrize("defer", [True, False])
async def test_a_toolset_never_replaces_a_tool_of_the_developer(
    own_first: bool, defer: bool, caplog: pytest.LogCaptureFixture
) -> None:
    outside = Outside("shop.example", defer=defer)
    tools = [pay, outside] if own_first else [outside, pay]
    with caplog.at_level(logging.WARNING, "ostinato"):
        answer, declared = await run(tools)
    assert answer == {"result": "own"} and declared == ["Pay by the program."]
    (record,) = caplog.records
    told = record.getMessage()
    assert "'pay' of Outside shop.example is left out, because the agent itself has" in told


async def test_a_confirmation_stays() -> None:
    answer, _ = await run([FunctionTool(pay, require_confirmation=True), Outside("shop")])
    assert "error" in answer and "confirmation" in answer["error"]


async def test_the_first_toolset_keeps_its_tool(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "ostinato"):
        answer, declared = await run([Outside("one"), Outside("two")])
    assert answer == {"result": "one"} and declared == ["one"]
    (record,) = caplog.records
    assert "'pay' of Outside two is left out, because Outside one has" in record.getMessage()


async def test_a_sub_agent_keeps_its_name() -> None:
    helper = LlmAgent(name="pay", model=ScriptedModel(["Helped."]), mode="single_turn")
    _, declared = await run([Outside("shop")], sub_agents=[helper])
    assert declared != ["shop"] and len(declared) == 1


async def test_of_the_developer_s_own_tools_the_last_counts() -> None:
    answer, declared = await run([pay, make_pay("later")])
    assert answer == {"result": "later"} and declared == ["later"]


async def test_a_tool_or_toolset_that_is_given_twice_is_declared_once() -> None:
    tool, outside = FunctionTool(pay), Outside("shop")
    assert (await run([tool, tool]))[1] == ["Pay by the program."]
    assert (await run([outside, outside]))[1] == ["shop"]


class Named(Outside):
    """A toolset whose server names its tool as the runtime names one that it adds."""

    def __init__(self, name: str, **options: Any) -> None:
        super().__init__("shop", **options)
        self._pay = FunctionTool(make_pay("shop")).copy_as(name)


@pytest.mark.parametrize(
    ("name", "options", "app"),
    [
        ("search_tools", {"defer": True}, {}),
        ("read_result", {}, {"context": ContextPolicy()}),
    ],
)
async def test_a_tool_that_the_runtime_adds_stays_its_own(
    name: str, options: Any, app: Any, caplog: pytest.LogCaptureFixture
) -> None:
    async def ask(tools: list[Any]) -> Any:
        model = ScriptedModel(["Done."])
        agent = LlmAgent(name="clerk", model=model, tools=tools)
        await Conversation(App(name="shop", root_agent=agent, **app)).say("Pay.")
        declared = [
            tool.function_declarations or [] for tool in model.requests[0].config.tools or []
        ]
        return {one.name: one.description for listed in declared for one in listed}

    with caplog.at_level(logging.WARNING, "ostinato"):
        told = await ask([Named(name, **options), FunctionTool(pay, defer="defer" in options)])
    assert told[name] not in ("shop", "Pay by the program.")
    (record,) = caplog.records
    wanted = f"{name!r} of Named shop is left out, because the runtime has"
    assert wanted in record.getMessage()
    own = FunctionTool(make_pay("mine"), defer="defer" in options).copy_as(name)
    with pytest.raises(AgentConfigError, match=f"has a tool {name!r}"):
        await ask([own, Named(name, **options), pay])
    assert name in (await ask([Named(name), FunctionTool(pay)]))
