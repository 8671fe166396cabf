"""pytest style: the texts of errors that users' tests assert with `match`."""

from unittest.mock import Mock

import pytest
from google.adk.agents import InvocationContext, LlmAgent
from google.adk.apps import App
from google.adk.evaluation.eval_case import EvalCase, Invocation
from google.adk.evaluation.local_eval_sets_manager import LocalEvalSetsManager
from google.adk.models import LLMRegistry, LlmRequest
from google.adk.runners import Runner
from google.adk.sessions import InMemorySessionService, Session
from google.adk.tools import ToolContext
from google.adk.workflow import START, Workflow
from google.genai import types


@pytest.fixture
def tool_context():
    return ToolContext(
        InvocationContext(
            invocation_id="i",
            agent=LlmAgent(name="a"),
            session=Session(id="s", app_name="app", user_id="u"),
            session_service=InMemorySessionService(),
        )
    )


@pytest.mark.parametrize(
    "config, text",
    [
        ({"tools": [types.Tool()]}, "All tools must be set via LlmAgent.tools."),
        (
            {"system_instruction": "x"},
            "System instruction must be set via LlmAgent.instruction.",
        ),
        (
            {"response_schema": types.Schema(type="STRING")},
            "Response schema must be set via LlmAgent.output_schema.",
        ),
    ],
)
def test_settings_of_the_agent(config, text):
    with pytest.raises(ValueError, match=text):
        LlmAgent(name="a", generate_content_config=types.GenerateContentConfig(**config))


def test_model():
    with pytest.raises(ValueError, match=r"Model foo-bar not found\."):
        LLMRegistry.resolve("foo-bar")


@pytest.mark.parametrize(
    "arguments, text",
    [
        ({}, "One of app, agent, or node must be provided."),
        ({"agent": "a"}, "app_name is required when agent is provided without app."),
        ({"app": 1, "agent": "a"}, "Only one of app, agent, or node may be provided."),
        ({"app": 1, "plugins": []}, "When app is provided, plugins should not be provided"),
    ],
)
def test_runner(arguments, text):
    if "agent" in arguments:
        arguments["agent"] = LlmAgent(name="a")
    if "app" in arguments:
        arguments["app"] = App(name="x", root_agent=LlmAgent(name="a"))
    with pytest.raises(ValueError, match=text):
        Runner(session_service=InMemorySessionService(), **arguments)


def test_app():
    with pytest.raises(ValueError, match=r"root_agent must be provided\."):
        App(name="x")


def test_root_of_another_type():
    with pytest.raises(TypeError, match="root_agent must be a BaseAgent or BaseNode instance, got"):
        App(name="x", root_agent="a")


@pytest.mark.parametrize(
    "update, text",
    [
        ({"parent_agent": None}, "Cannot update `parent_agent` field in clone."),
        ({"zz": 1}, "Cannot update nonexistent fields in LlmAgent: {'zz'}"),
    ],
)
def test_clone(update, text):
    with pytest.raises(ValueError, match=text):
        LlmAgent(name="c").clone(update=update)


def test_needs_a_call(tool_context):
    with pytest.raises(ValueError, match=r"request_confirmation requires function_call_id\."):
        tool_context.request_confirmation(hint="x")
    with pytest.raises(ValueError, match=r"request_credential requires function_call_id\."):
        tool_context.request_credential(Mock())


@pytest.mark.asyncio
async def test_services(tool_context):
    with pytest.raises(ValueError, match=r"Artifact service is not initialized\."):
        await tool_context.list_artifacts()
    with pytest.raises(ValueError, match=r"Memory service is not available\."):
        await tool_context.search_memory("x")


def test_instructions_of_a_request():
    with pytest.raises(TypeError, match=r"instructions must be list\[str\] or types.Content"):
        LlmRequest().append_instructions("x")


def up(node_input):
    return node_input


def down(node_input):
    return node_input


@pytest.mark.parametrize(
    "edges, text",
    [
        ([(up, down)], r"START node \(name: '__START__'\) not found in graph nodes\."),
        ([(START, up), (START, up)], "Duplicate edge found: from=__START__, to=up"),
        (
            [(START, up), (down, up)],
            r"The following nodes are unreachable from START: \['down'\]",
        ),
    ],
)
def test_graph(edges, text):
    with pytest.raises(ValueError, match=r"Graph validation failed\. " + text):
        Workflow(name="w", edges=edges)


def test_eval_sets(tmp_path):
    manager = LocalEvalSetsManager(agents_dir=str(tmp_path))
    (tmp_path / "app1").mkdir()
    manager.create_eval_set("app1", "es1")
    case = EvalCase(
        eval_id="c1",
        conversation=[Invocation(user_content=types.Content(role="user", parts=[]))],
    )
    manager.add_eval_case("app1", "es1", case)
    with pytest.raises(ValueError, match=r"EvalSet es1 already exists for app app1\."):
        manager.create_eval_set("app1", "es1")
    with pytest.raises(ValueError, match=r"Invalid Eval Set ID\."):
        manager.create_eval_set("app1", "e s")
    with pytest.raises(ValueError, match=r"Eval id `c1` already exists in `es1` eval set\."):
        manager.add_eval_case("app1", "es1", case)
    with pytest.raises(Exception, match=r"Eval case `zz` not found in eval set `es1`\."):
        manager.delete_eval_case("app1", "es1", "zz")
