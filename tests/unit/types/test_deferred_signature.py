"""Editors and help() see the fields of a class, whether or not an object of it exists."""

from __future__ import annotations

import inspect
import subprocess
import sys

import pytest

from ostinato import Agent, App, LoopAgent, Runner, SequentialAgent
from ostinato.agents import BaseAgent

LONG = pytest.mark.long  # a process for each
_FIRST = """
import inspect, operator, ostinato, ostinato.models, ostinato.sessions
print(*inspect.signature(operator.attrgetter("{name}")(ostinato)).parameters)
"""


@pytest.mark.parametrize(
    ("name", "fields"),
    [
        ("Agent", {"name", "model", "tools", "instruction", "before_tool_callback", "sub_agents"}),
        pytest.param("App", {"name", "root_agent", "plugins", "policy"}, marks=LONG),
        pytest.param("LoopAgent", {"name", "max_iterations", "sub_agents"}, marks=LONG),
        pytest.param("models.LlmRequest", {"model", "contents", "config"}, marks=LONG),
        pytest.param("models.LlmResponse", {"content", "partial", "usageMetadata"}, marks=LONG),
        pytest.param("models.Gemini", {"model", "base_url"}, marks=LONG),
        pytest.param(
            "sessions.Session", {"id", "appName", "userId", "state", "events"}, marks=LONG
        ),
        pytest.param("Runner", {"app", "agent", "session_service", "plugins"}, marks=LONG),
    ],
)
def test_a_class_without_an_object_shows_its_fields(name: str, fields: set[str]) -> None:
    command = [sys.executable, "-c", _FIRST.format(name=name)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert fields <= set(done.stdout.split())


def test_the_signature_is_the_same_after_the_first_object() -> None:
    class Mine(Agent):
        extra: int = 1

    before = inspect.signature(Mine)
    assert before.parameters["extra"].default == 1
    Mine(name="mine")
    assert inspect.signature(Mine) == before
    assert "extra" not in inspect.signature(Agent).parameters


def test_each_kind_has_its_own_fields() -> None:
    for kind in (Agent, App, BaseAgent, LoopAgent, Runner, SequentialAgent):
        inspect.signature(kind)
    assert "tools" not in inspect.signature(BaseAgent).parameters
    assert "sub_agents" in inspect.signature(BaseAgent).parameters
    assert "tools" not in inspect.signature(SequentialAgent).parameters


def test_an_object_has_no_signature_of_its_class() -> None:
    agent = Agent(name="desk")
    with pytest.raises(TypeError):
        inspect.signature(agent)  # pyright: ignore[reportArgumentType]
    assert not hasattr(agent, "__signature__")
