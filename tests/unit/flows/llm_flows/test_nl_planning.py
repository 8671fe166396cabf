"""The planning processors around a model call."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from ostinato import types
from ostinato.context.context import Context
from ostinato.context.invocation import InvocationContext
from ostinato.context.readonly import ReadonlyContext
from ostinato.events.event import Event
from ostinato.flows.llm_flows._nl_planning import request_processor, response_processor
from ostinato.models.llm_request import LlmRequest
from ostinato.models.llm_response import LlmResponse
from ostinato.models.request_text import instruction_text
from ostinato.planners import BasePlanner, BuiltInPlanner, PlanReActPlanner
from ostinato.sessions.in_memory_session_service import InMemorySessionService
from tests.support.optionals import parts_of


class OwnPlanner(BasePlanner):
    def __init__(self, instruction: str | None, parts: list[types.Part] | None) -> None:
        self.instruction, self.parts, self.contexts = instruction, parts, []

    def build_planning_instruction(self, readonly_context: Any, llm_request: Any) -> str | None:
        self.contexts.append(readonly_context)
        return self.instruction

    def process_planning_response(
        self, callback_context: Any, response_parts: list[types.Part]
    ) -> list[types.Part] | None:
        self.contexts.append(callback_context)
        callback_context.state["plan"] = len(response_parts)
        return self.parts


async def open_context(planner: BasePlanner | None) -> InvocationContext:
    service = InMemorySessionService()
    session = await service.create_session(app_name="app", user_id="u")
    return InvocationContext(
        session_service=service,
        session=session,
        invocation_id="e-1",
        branch="fan.left",
        agent=SimpleNamespace(name="root", planner=planner, parent_agent=None),
    )


async def prepare(ctx: InvocationContext, request: LlmRequest) -> LlmRequest:
    assert [event async for event in request_processor.run_async(ctx, request)] == []
    return request


async def read(ctx: InvocationContext, response: LlmResponse) -> list[Event]:
    return [event async for event in response_processor.run_async(ctx, response)]


def model(*parts: types.Part) -> types.Content:
    return types.Content(role="model", parts=list(parts))


def text(value: str, **fields: Any) -> types.Part:
    return types.Part(text=value, **fields)


@pytest.mark.spec(162)
async def test_built_in_planner_sets_its_config_and_leaves_thoughts_alone() -> None:
    config = types.ThinkingConfig(thinking_budget=3)
    ctx = await open_context(BuiltInPlanner(thinking_config=config))
    contents = [model(text("hm", thought=True), text("a"))]
    request = await prepare(ctx, LlmRequest(contents=contents))
    assert request.config.thinking_config == config
    assert request.config.system_instruction is None
    assert parts_of(request.contents[0])[0].thought is True
    response = LlmResponse(content=model(text("/*PLANNING*/ x")))
    assert await read(ctx, response) == []
    assert parts_of(response)[0].thought is None


@pytest.mark.spec(163)
async def test_instruction_goes_behind_the_others() -> None:
    ctx = await open_context(PlanReActPlanner())
    request = LlmRequest(config=types.GenerateContentConfig(system_instruction="Be kind."))
    await prepare(ctx, request)
    kind, blank, rest = instruction_text(request.config).split("\n", 2)
    assert (kind, blank) == ("Be kind.", "")
    assert "/*FINAL_ANSWER*/" in rest


@pytest.mark.spec(163)
async def test_earlier_thoughts_are_sent_as_text_without_editing_the_history() -> None:
    ctx = await open_context(PlanReActPlanner())
    plain = types.Content(role="user", parts=[text("q")])
    shared = model(text("p", thought=True, thought_signature=b"s"), text("a", thought=False))
    before = shared.model_dump()
    history = [plain, shared]
    request = LlmRequest()
    request.contents = history
    await prepare(ctx, request)
    assert [p.thought for p in parts_of(request.contents[1])] == [None, None]
    assert parts_of(request.contents[1])[0].thought_signature == b"s"
    assert request.contents[1].role == "model"
    assert request.contents[0] is plain
    assert shared.model_dump() == before and history[1] is shared


async def test_only_new_contents_are_looked_at() -> None:
    ctx = await open_context(PlanReActPlanner())
    history = [model(text(str(n), thought=True)) for n in range(5)]
    first = await prepare(ctx, _request(history))
    second = await prepare(ctx, _request([*history, model(text("new", thought=True))]))
    assert all(a is b for a, b in zip(first.contents, second.contents, strict=False))
    assert len(second.contents) == 6 and parts_of(second.contents[5])[0].thought is None
    changed = [*history[:2], model(text("other", thought=True)), *history[3:4]]
    third = await prepare(ctx, _request(changed))
    assert [parts_of(c)[0].text for c in third.contents] == ["0", "1", "other", "3"]
    assert all(parts_of(c)[0].thought is None for c in third.contents)
    assert third.contents[1] is first.contents[1]


def _request(contents: list[types.Content]) -> LlmRequest:
    request = LlmRequest()
    request.contents = list(contents)
    return request


@pytest.mark.spec(164)
async def test_state_of_a_planner_is_an_event_before_the_response() -> None:
    planner = OwnPlanner("PLAN IT", [text("changed")])
    ctx = await open_context(planner)
    request = await prepare(ctx, LlmRequest())
    assert request.config.system_instruction == "PLAN IT"
    response = LlmResponse(content=model(text("a"), text("b")))
    [event] = await read(ctx, response)
    assert event.actions.state_delta == {"plan": 2}
    assert event.content is None and event.author == "root"
    assert event.invocation_id == "e-1" and event.branch == "fan.left"
    assert response.content == model(text("changed"))
    assert type(planner.contexts[0]) is ReadonlyContext
    assert type(planner.contexts[1]) is Context


@pytest.mark.spec(164)
async def test_partial_responses_are_marked_but_carry_no_state() -> None:
    ctx = await open_context(OwnPlanner(None, [text("changed")]))
    response = LlmResponse(content=model(text("a")), partial=True)
    assert await read(ctx, response) == []
    assert response.content == model(text("changed"))


@pytest.mark.parametrize("parts", [None, []])
async def test_a_planner_may_leave_all_as_it_is(parts: list[types.Part] | None) -> None:
    ctx = await open_context(OwnPlanner(None, parts))
    assert (await prepare(ctx, LlmRequest())).config.system_instruction is None
    content = model(text("a"))
    response = LlmResponse(content=content)
    await read(ctx, response)
    assert response.content is content


@pytest.mark.parametrize(
    "response", [LlmResponse(error_code="X"), LlmResponse(content=types.Content(role="model"))]
)
async def test_no_parts_nothing_to_read(response: LlmResponse) -> None:
    planner = OwnPlanner(None, [text("changed")])
    assert await read(await open_context(planner), response) == []
    assert planner.contexts == []


async def test_no_planner() -> None:
    ctx = await open_context(None)
    contents = [model(text("p", thought=True))]
    assert (await prepare(ctx, _request(contents))).contents[0] is contents[0]
    assert await read(ctx, LlmResponse(content=contents[0])) == []
