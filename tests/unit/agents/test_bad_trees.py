"""Agent trees that cannot work are refused where they are built, naming the agents."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from ostinato._adk_mode import set_follows_adk
from ostinato.agents import BaseAgent, LlmAgent, SequentialAgent
from ostinato.apps import App
from ostinato.errors import AgentConfigError
from ostinato.runners import Runner
from ostinato.sessions import InMemorySessionService
from ostinato.testing import Conversation, ScriptedModel, call, final_text
from ostinato.workflow import BaseNode, Workflow


def agent(name: str, *children: BaseAgent, **options: Any) -> LlmAgent:
    return LlmAgent(name=name, model=ScriptedModel(), sub_agents=list(children), **options)


@pytest.mark.spec(48)
def test_two_children_of_one_name_are_refused() -> None:
    with pytest.raises(ValueError, match="twin"):
        agent("root", agent("twin"), agent("twin"))


@pytest.fixture
def adk_program() -> Iterator[None]:
    """A process that runs a program written for google-adk."""
    set_follows_adk(True)
    yield
    set_follows_adk(False)


@pytest.mark.usefixtures("adk_program")
async def test_programs_for_adk_are_warned_of_two_children_of_one_name(
    caplog: pytest.LogCaptureFixture,
) -> None:
    first, second = (
        LlmAgent(name="twin", model=ScriptedModel([text])) for text in ("First.", "Second.")
    )
    root = LlmAgent(
        name="root",
        model=ScriptedModel([call("transfer_to_agent", agent_name="twin")]),
        sub_agents=[first, second],
    )
    assert "twin" in caplog.text and caplog.records[0].levelname == "WARNING"
    assert final_text(await Conversation(root).say("Go")) == "First."


@pytest.mark.usefixtures("adk_program")
def test_programs_for_adk_may_not_list_one_agent_twice() -> None:
    child = agent("child")
    with pytest.raises(ValueError, match="Agent `child` already has a parent agent"):
        agent("root", child, child)


@pytest.mark.usefixtures("adk_program")
def test_programs_for_adk_may_not_put_an_agent_below_itself() -> None:
    root = agent("root", agent("middle"))
    root.sub_agents[0].sub_agents.append(root)
    with pytest.raises(AgentConfigError, match="twice"):
        Runner(agent=root, app_name="talk", session_service=InMemorySessionService())


@pytest.mark.spec(48)
def test_two_agents_of_one_name_anywhere_in_a_tree_are_refused_by_the_runner() -> None:
    root = agent("root", agent("left", agent("twin")), agent("right", agent("twin")))
    with pytest.raises(ValueError, match="twin"):
        Runner(agent=root, app_name="talk", session_service=InMemorySessionService())


@pytest.mark.spec(48)
def test_a_child_with_the_name_of_the_root_is_refused() -> None:
    with pytest.raises(ValueError, match="root"):
        Runner(
            agent=agent("root", agent("middle", agent("root"))),
            app_name="talk",
            session_service=InMemorySessionService(),
        )


@pytest.mark.spec(48)
def test_an_agent_with_two_parents_is_refused_naming_all_three() -> None:
    child = agent("child")
    first = agent("first", child)
    with pytest.raises(ValueError, match=r"child.*first.*second"):
        agent("second", child)
    assert child.parent_agent is first
    assert agent("third", child.clone()).sub_agents[0].name == "child"


@pytest.mark.spec(48)
def test_a_refused_parent_leaves_its_other_children_free() -> None:
    taken, free = agent("taken"), agent("free")
    agent("first", taken)
    with pytest.raises(ValueError, match="taken"):
        agent("second", free, taken)
    assert free.parent_agent is None
    assert agent("third", free).sub_agents == [free]


@pytest.mark.spec(48)
def test_one_agent_twice_among_the_children_is_refused() -> None:
    child = agent("child")
    with pytest.raises(ValueError, match="child"):
        SequentialAgent(name="root", sub_agents=[child, child])


def test_an_agent_below_itself_is_refused() -> None:
    root = agent("root")
    middle = agent("middle", root)
    with pytest.raises(ValueError):
        root.sub_agents = [middle]
        Runner(agent=root, app_name="talk", session_service=InMemorySessionService())


@pytest.mark.parametrize("name", ["", "two words", "1st", "user", "a-b", "a.b", "a@b"])
def test_an_agent_s_name_has_to_be_an_identifier_other_than_user(name: str) -> None:
    with pytest.raises(ValueError, match="name"):
        agent(name)


@pytest.mark.parametrize(
    ("name", "valid"), [("two words", "two_words"), ("1st", "_1st"), ("", "my_agent")]
)
def test_a_wrong_name_is_told_as_what_it_names_with_one_that_is_right(
    name: str, valid: str
) -> None:
    with pytest.raises(ValueError, match=f"Agent name '{name}' must be .*, such as '{valid}'"):
        agent(name)
    with pytest.raises(ValueError, match=f"Workflow name '{name}' must be"):
        Workflow(name=name)
    with pytest.raises(ValueError, match=f"Node name '{name}' must be"):
        BaseNode(name=name)


@pytest.mark.parametrize("child", ["text", 7, None, LlmAgent])
def test_a_child_that_is_no_agent_is_refused(child: Any) -> None:
    with pytest.raises(ValueError, match="sub_agents"):
        LlmAgent(name="root", sub_agents=[child])


@pytest.mark.parametrize("tool", ["text", 7, None])
def test_a_tool_that_is_none_is_refused(tool: Any) -> None:
    with pytest.raises(ValueError, match="tools"):
        LlmAgent(name="root", tools=[tool])


@pytest.mark.spec(216)
@pytest.mark.parametrize(
    ("root", "error"), [(None, ValueError), ("text", TypeError), (LlmAgent, TypeError)]
)
def test_an_app_without_an_agent_is_refused(root: Any, error: type[Exception]) -> None:
    with pytest.raises(error, match="root_agent"):
        App(name="talk", root_agent=root)


def test_an_unknown_field_of_an_agent_is_refused_by_name() -> None:
    with pytest.raises(ValueError, match="instructions"):
        LlmAgent(name="root", instructions="typo")  # type: ignore[call-arg]


@pytest.mark.spec(49)
def test_agents_are_found_by_name_from_any_place() -> None:
    leaf = agent("leaf")
    middle = agent("middle", leaf)
    root = agent("root", middle)
    assert leaf.root_agent is root and root.root_agent is root
    assert root.find_agent("leaf") is leaf and root.find_agent("root") is root
    assert root.find_sub_agent("root") is None and root.find_sub_agent("middle") is middle
    assert root.find_agent("ghost") is None
    assert leaf.parent_agent is middle
