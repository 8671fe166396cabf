"""pytest style: InvocationContext around mocks of Session and agent, and its agent states."""

from unittest.mock import MagicMock, Mock

import pytest
from google.adk.agents import BaseAgent
from google.adk.agents.invocation_context import InvocationContext
from google.adk.apps import ResumabilityConfig
from google.adk.events import Event, EventActions
from google.adk.sessions import BaseSessionService, Session
from google.genai import types


@pytest.fixture
def context():
    session = Mock(spec=Session, events=[], state={}, id="s", user_id="u", app_name="a")
    agent = Mock(spec=BaseAgent)
    agent.name = "desk"
    return InvocationContext(
        session_service=Mock(spec=BaseSessionService),
        session=session,
        agent=agent,
        invocation_id="i",
        resumability_config=ResumabilityConfig(is_resumable=True),
    )


def test_names_come_from_the_session(context):
    assert (context.app_name, context.user_id) == ("a", "u")
    assert context.is_resumable


def test_populate(context):
    context.session.events = [
        Event(invocation_id="i", author="a", actions=EventActions(agent_state={"n": 1})),
        Event(invocation_id="i", author="b", actions=EventActions(end_of_agent=True)),
        Event(invocation_id="other", author="c", actions=EventActions(agent_state={"n": 2})),
    ]
    context.populate_invocation_agent_states()
    assert context.agent_states == {"a": {"n": 1}}
    assert context.end_of_agents.get("b")
    assert "c" not in context.agent_states


def test_set_agent_state(context):
    context.set_agent_state("a", end_of_agent=True)
    assert context.end_of_agents["a"]
    context.set_agent_state("a")
    assert "a" not in context.agent_states


def test_should_pause(context):
    call = types.FunctionCall(id="c1", name="f", args={})
    event = Event(
        author="a",
        content=types.ModelContent([types.Part(function_call=call)]),
        long_running_tool_ids={"c1"},
    )
    assert context.should_pause_invocation(event)
    event.long_running_tool_ids = set()
    assert not context.should_pause_invocation(event)


def test_llm_calls_are_counted(context):
    context.run_config = MagicMock(max_llm_calls=1)
    context.increment_llm_call_count()
    with pytest.raises(Exception) as caught:
        context.increment_llm_call_count()
    assert type(caught.value).__name__ == "LlmCallsLimitExceededError"
