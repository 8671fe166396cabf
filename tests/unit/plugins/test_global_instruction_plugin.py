"""GlobalInstructionPlugin: where the instruction stands, and how it is made."""

from typing import Any

import pytest

from ostinato import types
from ostinato.agents import Agent
from ostinato.models.llm_request import LlmRequest
from ostinato.plugins.global_instruction_plugin import GlobalInstructionPlugin
from ostinato.testing import Conversation, ScriptedModel, call
from tests.unit.tools.contexts import make_context


async def by_name(context: Any) -> str:
    return f"You help {context.agent_name}. {{how}}"


@pytest.mark.parametrize(
    ("given", "first"),
    [
        ("Be {how}.", "Be kind."),
        (by_name, "You help root. {how}"),
        (lambda context: context.state["how"], "kind"),
    ],
)
@pytest.mark.spec(158)
async def test_it_comes_before_the_agents_own(given: Any, first: str) -> None:
    model = ScriptedModel(["Hello."])
    agent = Agent(name="root", model=model, instruction="Own rule.")
    plugins = [GlobalInstructionPlugin(given)]
    await Conversation(agent, plugins=plugins, state={"how": "kind"}).say("Hello")
    assert model.requests[0].instruction.startswith(f"{first}\n\nOwn rule.")


async def test_it_holds_for_every_agent() -> None:
    child = ScriptedModel(["Child."])
    root = ScriptedModel([call("transfer_to_agent", agent_name="child")])
    agent = Agent(name="root", model=root, sub_agents=[Agent(name="child", model=child)])
    await Conversation(agent, plugins=[GlobalInstructionPlugin("All.")]).say("Hello")
    assert root.requests[0].instruction.startswith("All.\n\n")
    assert child.requests[0].instruction.startswith("All.\n\n")


@pytest.mark.parametrize("given", ["", lambda context: ""])
async def test_nothing_changes_nothing(given: Any) -> None:
    model = ScriptedModel(["Hello."])
    await Conversation(
        Agent(name="root", model=model, instruction="Own."),
        plugins=[GlobalInstructionPlugin(given)],
    ).say("Hello")
    assert model.requests[0].instruction.startswith("Own.")


@pytest.mark.parametrize(
    ("present", "after"),
    [
        (None, "All."),
        ("Own.", "All.\n\nOwn."),
        (["Own.", "More."], ["All.", "Own.", "More."]),
        (types.Part(text="Own."), ["All.", types.Part(text="Own.")]),
    ],
)
async def test_system_instructions_of_other_kinds(present: Any, after: Any) -> None:
    request = LlmRequest()
    request.config.system_instruction = present
    plugin = GlobalInstructionPlugin("All.")
    await plugin.before_model_callback(callback_context=make_context(), llm_request=request)
    assert request.config.system_instruction == after
