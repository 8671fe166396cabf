"""One step of the loop: its order, its processors, the event it makes, and what transfers add."""

from __future__ import annotations

import inspect
import uuid
from collections.abc import AsyncGenerator
from typing import Any

import pytest

from ostinato import types
from ostinato.agents import LlmAgent, SequentialAgent
from ostinato.agents.run_config import RunConfig, StreamingMode
from ostinato.apps import App, ResumabilityConfig
from ostinato.context.invocation import InvocationContext
from ostinato.events import Event, EventActions
from ostinato.flows.llm_flows import basic, functions
from ostinato.flows.llm_flows._base_llm_processor import (
    BaseLlmRequestProcessor,
    BaseLlmResponseProcessor,
)
from ostinato.flows.llm_flows.auto_flow import AutoFlow
from ostinato.flows.llm_flows.single_flow import LazyProcessor, SingleFlow
from ostinato.models.llm_request import LlmRequest
from ostinato.models.llm_response import LlmResponse
from ostinato.sessions import Session
from ostinato.testing import Conversation, ScriptedModel, call, chunks
from ostinato.tools import FunctionTool
from ostinato.tools.base_tool import BaseTool
from tests.support.optionals import parts_of, present
from tests.unit.flows.kit import model_of, responses

# FEATURES row 85 and A.27 X1: compaction stands before contents.
REQUEST_PROCESSORS = [
    "basic",
    "auth_preprocessor",
    "request_confirmation",
    "instructions",
    "identity",
    "compaction",
    "contents",
    "context_cache_processor",
    "interactions_processor",
    "nl_planning",
    "code_execution",
    "_output_schema_processor",
]


def name_of(processor: Any) -> str:
    """The processor's module; a stand-in is known by what it stands for."""
    if isinstance(processor, LazyProcessor):
        name = processor._processor
        for suffix in ("_request_processor", "_response_processor"):
            name = name.removesuffix(suffix)
        return name
    return type(processor).__module__.rpartition(".")[2]


def names(processors: Any) -> list[str]:
    return [name_of(p) for p in processors]


@pytest.mark.spec(85)
def test_the_single_flow_s_request_processors_stand_in_the_specified_order() -> None:
    assert names(SingleFlow().request_processors) == REQUEST_PROCESSORS


@pytest.mark.spec(86)
def test_the_auto_flow_adds_transfers_behind_all_others() -> None:
    assert names(AutoFlow().request_processors) == [*REQUEST_PROCESSORS, "agent_transfer"]


@pytest.mark.spec(121)
@pytest.mark.parametrize("flow", [SingleFlow, AutoFlow])
def test_responses_are_processed_by_planning_and_then_by_code_execution(flow: Any) -> None:
    assert names(flow().response_processors) == ["nl_planning", "code_execution"]


@pytest.mark.spec(85)
def test_each_flow_has_lists_of_its_own_that_a_program_may_change() -> None:
    one, two = SingleFlow(), SingleFlow()
    one.request_processors.clear()
    one.response_processors.clear()
    assert names(two.request_processors) == REQUEST_PROCESSORS
    assert len(two.response_processors) == 2


class Note(BaseLlmRequestProcessor, BaseLlmResponseProcessor):
    """A processor that notes when it is asked, and yields an event if it is given one."""

    def __init__(self, notes: list[str], name: str, event: Event | None = None) -> None:
        self.notes, self.name, self.event = notes, name, event

    async def run_async(
        self, invocation_context: InvocationContext, *_: Any, **__: Any
    ) -> AsyncGenerator[Event, None]:
        self.notes.append(self.name)
        if self.event is not None:
            yield self.event


class Noting(BaseTool):
    """A tool that notes when it is asked to add itself, and when it is run."""

    def __init__(self, notes: list[str]) -> None:
        super().__init__(name="tool", description="Notes.")
        self.notes = notes

    def _get_declaration(self) -> types.FunctionDeclaration:
        return types.FunctionDeclaration(name=self.name, description=self.description)

    async def process_llm_request(self, *, tool_context: Any, llm_request: LlmRequest) -> None:
        self.notes.append("tool added")
        await super().process_llm_request(tool_context=tool_context, llm_request=llm_request)

    async def run_async(self, *, args: Any, tool_context: Any) -> Any:
        self.notes.append("tool run")
        return {"ok": True}


def noting(notes: list[str], *turns: Any, **fields: Any) -> LlmAgent:
    """An agent whose every part notes when it is its turn."""
    agent = LlmAgent(
        name="a",
        model=ScriptedModel(list(turns)),
        tools=[Noting(notes)],
        before_model_callback=lambda **_: notes.append("before model"),
        after_model_callback=lambda **_: notes.append("after model"),
        **fields,
    )
    agent._llm_flow.request_processors.append(Note(notes, "request processor"))
    agent._llm_flow.response_processors.append(Note(notes, "response processor"))
    return agent


STEP = ["request processor", "tool added", "before model", "after model", "response processor"]


@pytest.mark.spec(80)
async def test_a_step_preprocesses_then_calls_the_model_and_then_postprocesses() -> None:
    notes: list[str] = []
    await Conversation(noting(notes, call("tool"), "Done.")).say("Go")
    assert notes == [*STEP, "tool run", *STEP]


@pytest.mark.spec(80, 82)
async def test_the_resume_check_stands_behind_preprocessing_and_before_the_model() -> None:
    notes: list[str] = []
    agent = noting(notes, "Done.")
    app = App(
        name="app",
        root_agent=agent,
        resumability_config=ResumabilityConfig(is_resumable=True),
    )
    talk = Conversation(app)
    pending = types.Part(function_call=types.FunctionCall(name="tool", id="adk-1", args={}))
    for author, part in (("user", types.Part(text="Go")), ("a", pending)):
        content = types.Content(role="user" if author == "user" else "model", parts=[part])
        left = Event(author=author, invocation_id="e-1", content=content)
        await talk.runner.session_service.append_event(await talk.session(), left)
    await talk.say(None, invocation_id="e-1")
    assert notes == ["request processor", "tool added", "tool run", *STEP]


@pytest.mark.spec(81)
async def test_a_processor_that_ends_the_invocation_keeps_the_model_from_being_called() -> None:
    class Stop(Note):
        async def run_async(
            self, invocation_context: InvocationContext, *_: Any, **__: Any
        ) -> AsyncGenerator[Event, None]:
            invocation_context.end_invocation = True
            yield Event(author="a", invocation_id=invocation_context.invocation_id)

    notes: list[str] = []
    agent = noting(notes, "Not said.")
    agent._llm_flow.request_processors.insert(0, Stop(notes, "stop"))
    events = await Conversation(agent).say("Go")
    assert len(events) == 1 and notes == [] and model_of(agent).requests == []


@pytest.mark.spec(121)
async def test_a_response_processor_may_add_an_event_before_the_response_s_own() -> None:
    extra = Event(author="a", actions=EventActions(state_delta={"k": 1}))
    agent = noting([], "Hello.")
    agent._llm_flow.response_processors.append(Note([], "extra", extra))
    events = await Conversation(agent).say("Go")
    assert [e.actions.state_delta for e in events] == [{"k": 1}, {}]
    assert parts_of(events[1])[0].text == "Hello."


@pytest.mark.spec(83)
async def test_every_event_of_one_response_has_an_id_and_a_time_of_its_own() -> None:
    agent = LlmAgent(name="a", model=ScriptedModel([chunks("a", "b", "c")]))
    events = await Conversation(agent).say(
        "Go", run_config=RunConfig(streaming_mode=StreamingMode.SSE)
    )
    assert [bool(e.partial) for e in events] == [True, True, True, False]
    assert len({e.id for e in events}) == 4
    assert all(uuid.UUID(e.id).version == 4 for e in events)
    times = [e.timestamp for e in events]
    assert times == sorted(set(times))


@pytest.mark.spec(123)
async def test_the_event_is_the_skeleton_with_the_fields_that_the_response_sets() -> None:
    usage = types.GenerateContentResponseUsageMetadata(prompt_token_count=3)
    response = LlmResponse(
        content=types.Content(role="model", parts=[types.Part(text="Hi")]),
        usage_metadata=usage,
        custom_metadata={"by": "model"},
        model_version="m-1",
        finish_reason=types.FinishReason.STOP,
        turn_complete=True,
        error_code=None,
    )
    (event,) = await Conversation(LlmAgent(name="a", model=ScriptedModel([response]))).say("Go")
    assert (event.author, event.branch) == ("a", None)
    assert event.invocation_id.startswith("e-")
    assert event.content == response.content and event.usage_metadata == usage
    assert event.model_version == "m-1" and event.turn_complete is True
    assert event.finish_reason == types.FinishReason.STOP
    assert event.custom_metadata == {"by": "model"}
    assert event.error_code is None and event.partial is None


@pytest.mark.spec(123, 124, 125)
def test_merging_keeps_the_skeleton_s_identity_and_fills_in_the_calls() -> None:
    def slow() -> None: ...

    tool = FunctionTool(slow)
    tool.is_long_running = True
    parts = [types.Part(function_call=types.FunctionCall(name="slow", id=i)) for i in (None, "7")]
    response = LlmResponse(content=types.Content(role="model", parts=parts))
    skeleton = Event(
        id="s-1",
        timestamp=5.0,
        author="a",
        invocation_id="e-1",
        branch="fan.a",
        actions=EventActions(state_delta={"k": 1}),
    )
    request = LlmRequest()
    request.tools_dict["slow"] = tool
    event = SingleFlow()._finalize_model_response_event(request, response, skeleton)
    assert (event.id, event.timestamp, event.author) == ("s-1", 5.0, "a")
    assert (event.invocation_id, event.branch) == ("e-1", "fan.a")
    assert event.actions.state_delta == {"k": 1}
    first, second = (c.id or "" for c in event.get_function_calls())
    assert first.startswith("adk-") and uuid.UUID(first[4:]).version == 4 and second == "7"
    assert event.long_running_tool_ids == {first, "7"}


def _answer(id: str, time: float, **delta: Any) -> Event:
    part = types.Part(function_response=types.FunctionResponse(id=id, name="t", response={}))
    return Event(
        author="a",
        invocation_id="e-1",
        branch="fan.a",
        timestamp=time,
        content=types.Content(role="user", parts=[part]),
        actions=EventActions(state_delta=delta),
    )


@pytest.mark.spec(140)
def test_a_single_response_event_is_passed_on_as_it_is() -> None:
    only = _answer("1", 1.0)
    assert functions.merge_parallel_function_response_events([only]) is only


@pytest.mark.spec(139)
def test_several_response_events_become_one_with_parts_in_order_and_actions_merged() -> None:
    one, two = _answer("1", 1.0, a=1, n={"x": 1}), _answer("2", 2.0, b=2, n={"y": 2})
    two.actions.transfer_to_agent = "other"
    merged = functions.merge_parallel_function_response_events([one, two])
    assert [r.id for r in merged.get_function_responses()] == ["1", "2"]
    assert merged.actions.state_delta == {"a": 1, "b": 2, "n": {"x": 1, "y": 2}}
    assert merged.actions.transfer_to_agent == "other"
    assert merged.timestamp == 1.0 and present(merged.content).role == "user"
    assert (merged.author, merged.invocation_id, merged.branch) == ("a", "e-1", "fan.a")
    assert one.actions.state_delta == {"a": 1, "n": {"x": 1}}
    with pytest.raises(ValueError, match="No function response"):
        functions.merge_parallel_function_response_events([])


LIVE: dict[str, Any] = {
    "response_modalities": ["AUDIO"],
    "speech_config": types.SpeechConfig(language_code="en-US"),
    "output_audio_transcription": types.AudioTranscriptionConfig(),
    "input_audio_transcription": types.AudioTranscriptionConfig(),
    "realtime_input_config": types.RealtimeInputConfig(),
    "enable_affective_dialog": True,
    "proactivity": types.ProactivityConfig(proactive_audio=True),
    "session_resumption": types.SessionResumptionConfig(handle="h"),
    "context_window_compression": types.ContextWindowCompressionConfig(trigger_tokens=9),
}


async def basic_request(config: RunConfig | None) -> LlmRequest:
    agent = LlmAgent(name="a", model=ScriptedModel(model="m-1"))
    session = Session(id="s", app_name="app", user_id="u")
    ctx = InvocationContext(
        session_service=None,
        invocation_id="e-1",
        agent=agent,
        session=session,
        run_config=config,
    )
    request = LlmRequest()
    assert [e async for e in basic.request_processor.run_async(ctx, request)] == []
    return request


@pytest.mark.spec(87, 88)
@pytest.mark.parametrize("mode", [StreamingMode.NONE, StreamingMode.BIDI])
async def test_the_live_settings_of_the_run_are_copied_into_the_request(mode: Any) -> None:
    request = await basic_request(RunConfig(streaming_mode=mode, **LIVE))
    live = request.live_connect_config
    assert request.model == "m-1"
    assert live.speech_config == LIVE["speech_config"]
    copied = {name: getattr(live, name) for name in LIVE}
    assert copied == LIVE


@pytest.mark.spec(88)
async def test_a_live_run_copies_defaults_too_and_without_a_config_nothing_is_copied() -> None:
    live = (await basic_request(RunConfig(streaming_mode=StreamingMode.BIDI))).live_connect_config
    assert live.output_audio_transcription == types.AudioTranscriptionConfig()
    assert live.input_audio_transcription == types.AudioTranscriptionConfig()
    bare = (await basic_request(None)).live_connect_config
    assert bare == types.LiveConnectConfig()


async def first_request(agent: LlmAgent, root: Any = None, **options: Any) -> Any:
    await Conversation(root or agent, **options).say("Hi")
    return model_of(agent).requests[0]


@pytest.mark.spec(54, 55, 89, 92)
async def test_global_static_and_identity_texts_follow_each_other() -> None:
    agent = LlmAgent(
        name="clerk",
        description="Books.",
        model=ScriptedModel(["Yes."]),
        global_instruction="All: {k}.",
        static_instruction="Fixed {k}.",
        instruction="Own {k}.",
    )
    request = await first_request(agent, state={"k": "v"})
    assert request.instruction == (
        'All: v.\n\nFixed {k}.\n\nYou are an agent. Your internal name is "clerk". '
        'The description about you is "Books.".'
    )
    assert request.texts == ["Own v.", "Hi"]
    assert [c.role for c in request.contents] == ["user", "user"]


@pytest.mark.spec(90)
@pytest.mark.parametrize("as_content", [True, False])
async def test_a_static_instruction_s_files_are_user_contents_that_its_text_refers_to(
    as_content: bool,
) -> None:
    picture = types.Part(inline_data=types.Blob(data=b"x", mime_type="image/png"))
    parts = [types.Part(text="Look at"), picture]
    static: Any = types.Content(role="user", parts=parts) if as_content else ["Look at", picture]
    agent = LlmAgent(name="clerk", model=ScriptedModel(["Yes."]), static_instruction=static)
    request = await first_request(agent)
    assert request.instruction == (
        "Look at\n\n[Reference to inline_data: inline_data_0 (image/png)]\n\n"
        'You are an agent. Your internal name is "clerk".'
    )
    reference = types.Part(text="Referenced inline_data: inline_data_0")
    assert request.contents == [
        types.Content(role="user", parts=[reference, picture]),
        types.Content(role="user", parts=[types.Part(text="Hi")]),
    ]


@pytest.mark.spec(61, 112)
async def test_an_agent_without_contents_sees_the_current_turn_and_its_own_calls_in_it() -> None:
    def look() -> str:
        return "seen"

    model = ScriptedModel(["One.", call("look"), "Two."])
    talk = Conversation(LlmAgent(name="a", model=model, tools=[look], include_contents="none"))
    await talk.say("First")
    await talk.say("Second")
    assert [r.texts for r in model.requests] == [["First"], ["Second"], ["Second"]]
    last = model.requests[-1]
    assert [p.function_call.name for p in last.parts if p.function_call] == ["look"]
    assert [r.response for r in last.function_responses] == [{"result": "seen"}]


TRANSFER = """You have a list of other agents to transfer to:

{listed}

If you are the best to answer the question according to your description,
you can answer it.

If another agent is better for answering the question according to its
description, call `transfer_to_agent` function to transfer the question to that
agent. When transferring, do not generate any text other than the function call.

**NOTE**: the only available agents for `transfer_to_agent` function are
{names}.
"""
TO_PARENT = """
If neither you nor the other agents are best for the question, transfer to your
parent agent root.
"""


def _tree(**fields: Any) -> tuple[LlmAgent, LlmAgent]:
    """A root, and its child `me` beside a peer."""
    me = LlmAgent(name="me", description="I.", model=ScriptedModel(["Yes."]), **fields)
    peer = LlmAgent(name="peer", description="P.", model=ScriptedModel())
    model = ScriptedModel([call("transfer_to_agent", agent_name="me")])
    root = LlmAgent(name="root", description="R.", model=model, sub_agents=[me, peer])
    return root, me


def _listed(*agents: tuple[str, str]) -> str:
    return "\n\n".join(f"Agent name: {n}\nAgent description: {d}" for n, d in agents)


@pytest.mark.spec(151, 152)
@pytest.mark.parametrize(
    ("fields", "targets", "to_parent"),
    [
        ({}, [("root", "R."), ("peer", "P.")], True),
        ({"disallow_transfer_to_peers": True}, [("root", "R.")], True),
        ({"disallow_transfer_to_parent": True}, [("peer", "P.")], False),
    ],
)
async def test_the_instruction_names_the_targets_and_the_parent_only_if_it_is_one(
    fields: dict[str, Any], targets: list[tuple[str, str]], to_parent: bool
) -> None:
    root, me = _tree(**fields)
    request = await first_request(me, root)
    text = TRANSFER.format(
        listed=_listed(*targets), names=", ".join(f"`{n}`" for n, _ in sorted(targets))
    )
    expected = text + (TO_PARENT if to_parent else "")
    assert request.instruction.endswith('The description about you is "I.".\n\n' + expected)
    (declared,) = request.config.tools[0].function_declarations
    schema = declared.parameters_json_schema
    assert schema["properties"]["agent_name"]["enum"] == [n for n, _ in targets]


@pytest.mark.spec(151, 152)
async def test_a_parent_that_is_no_llm_agent_is_neither_target_nor_named() -> None:
    child = LlmAgent(name="child", description="C.", model=ScriptedModel())
    me = LlmAgent(name="me", model=ScriptedModel(["Yes."]), sub_agents=[child])
    request = await first_request(me, SequentialAgent(name="line", sub_agents=[me]))
    expected = TRANSFER.format(listed=_listed(("child", "C.")), names="`child`")
    assert request.instruction.endswith(expected) and "line" not in request.instruction


@pytest.mark.spec(153)
@pytest.mark.parametrize("below", [None, "shell"])
async def test_without_targets_nothing_is_added(below: str | None) -> None:
    agent = LlmAgent(name="me", model=ScriptedModel(["Yes."]))
    assert isinstance(agent._llm_flow, AutoFlow)
    root = agent if below is None else SequentialAgent(name=below, sub_agents=[agent])
    request = await first_request(agent, root)
    assert request.tool_names == []
    assert request.instruction == 'You are an agent. Your internal name is "me".'


@pytest.mark.spec(146, 147)
async def test_a_confirmed_call_runs_with_the_arguments_that_the_user_edited() -> None:
    paid: list[dict[str, Any]] = []

    def pay(amount: int, to: str) -> str:
        paid.append({"amount": amount, "to": to})
        return f"paid {amount}"

    tool = FunctionTool(pay, require_confirmation=True)
    model = ScriptedModel([call("pay", amount=100, to="bob"), "Done."])
    talk = Conversation(LlmAgent(name="clerk", model=model, tools=[tool]))
    await talk.say("Pay")
    (asked,) = talk.pending()
    assert paid == []
    edited = {"amount": 10, "to": "bob"}
    events = await talk.answer(asked, {"confirmed": True, "args": edited})
    assert paid == [edited]
    assert responses(events) == [{"result": "paid 10"}]


@pytest.mark.spec(146, 147)
async def test_a_rejected_call_does_not_run_and_the_model_is_told() -> None:
    def pay(amount: int) -> str:
        raise AssertionError("must not run")

    tool = FunctionTool(pay, require_confirmation=lambda amount: amount > 50)
    model = ScriptedModel([call("pay", amount=100), "As you wish."])
    talk = Conversation(LlmAgent(name="clerk", model=model, tools=[tool]))
    await talk.say("Pay")
    (asked,) = talk.pending()
    events = await talk.answer(asked, {"confirmed": False})
    assert responses(events) == [{"error": "This tool call is rejected."}]
    assert talk.text == "As you wish."


@pytest.mark.spec(127)
async def test_a_confirmation_is_asked_for_before_the_response_event() -> None:
    def pay() -> str:
        return "paid"

    tool = FunctionTool(pay, require_confirmation=True)
    model = ScriptedModel([call("pay")])
    events = await Conversation(LlmAgent(name="clerk", model=model, tools=[tool])).say("Pay")
    assert [c.name for e in events[:2] for c in e.get_function_calls()] == [
        "pay",
        "adk_request_confirmation",
    ]
    assert [r.name for r in events[2].get_function_responses()] == ["pay"] and len(events) == 3


def test_a_processor_s_run_is_an_async_generator() -> None:
    for processor in SingleFlow().request_processors:
        assert inspect.isasyncgenfunction(processor.run_async)
