"""The two planners by themselves."""

from __future__ import annotations

from typing import Any

import pytest

from ostinato import types
from ostinato.models.llm_request import LlmRequest
from ostinato.planners import BuiltInPlanner, PlanReActPlanner
from tests.support.optionals import present

NO_CONTEXT: Any = None  # these planners do not read it


TAGS = ["PLANNING", "REPLANNING", "REASONING", "ACTION", "FINAL_ANSWER"]


def text(value: str, **fields: Any) -> types.Part:
    return types.Part(text=value, **fields)


def thought(value: str, **fields: Any) -> types.Part:
    return types.Part(text=value, thought=True, **fields)


def call(name: str) -> types.Part:
    return types.Part.from_function_call(name=name, args={})


@pytest.mark.spec(162)
def test_built_in_planner_sets_its_thinking_config() -> None:
    config = types.ThinkingConfig(include_thoughts=True, thinking_budget=5)
    planner = BuiltInPlanner(thinking_config=config)
    request = LlmRequest()
    request.config.thinking_config = types.ThinkingConfig(thinking_budget=9)
    planner.apply_thinking_config(request)
    assert request.config.thinking_config == config
    assert planner.build_planning_instruction(NO_CONTEXT, request) is None
    assert planner.process_planning_response(NO_CONTEXT, [text("/*PLANNING*/ x")]) is None


@pytest.mark.spec(163)
def test_instruction_names_every_tag() -> None:
    instruction = PlanReActPlanner().build_planning_instruction(NO_CONTEXT, LlmRequest())
    for tag in TAGS:
        assert f"/*{tag}*/" in instruction


@pytest.mark.spec(163)
@pytest.mark.parametrize(
    ("parts", "read"),
    [
        ([text("hello")], [text("hello")]),
        ([text("/*PLANNING*/ p")], [thought("/*PLANNING*/ p")]),
        ([text("/*REPLANNING*/ p")], [thought("/*REPLANNING*/ p")]),
        ([text("/*REASONING*/ p")], [thought("/*REASONING*/ p")]),
        ([text("/*ACTION*/ p")], [thought("/*ACTION*/ p")]),
        ([text("/*OTHER*/ p")], [text("/*OTHER*/ p")]),
        ([text("x /*PLANNING*/ p")], [text("x /*PLANNING*/ p")]),
        ([text("/*FINAL_ANSWER*/ a")], [thought("/*FINAL_ANSWER*/"), text(" a")]),
        ([text("/*FINAL_ANSWER*/")], [thought("/*FINAL_ANSWER*/")]),
        (
            [text("/*PLANNING*/ p /*REASONING*/ r /*FINAL_ANSWER*/ a")],
            [thought("/*PLANNING*/ p /*REASONING*/ r /*FINAL_ANSWER*/"), text(" a")],
        ),
        (
            [text("/*FINAL_ANSWER*/ a /*FINAL_ANSWER*/ b")],
            [thought("/*FINAL_ANSWER*/ a /*FINAL_ANSWER*/"), text(" b")],
        ),
        (
            [thought("/*REASONING*/ r /*FINAL_ANSWER*/ a")],
            [thought("/*REASONING*/ r /*FINAL_ANSWER*/"), text(" a")],
        ),
        (
            [text("/*FINAL_ANSWER*/ a", thought_signature=b"s")],
            [thought("/*FINAL_ANSWER*/"), text(" a", thought_signature=b"s")],
        ),
        (
            [text("/*PLANNING*/ p"), call("f"), call("g"), text("made up"), call("h")],
            [thought("/*PLANNING*/ p"), call("f"), call("g")],
        ),
        ([call(""), text("b"), call("f")], [text("b"), call("f")]),
        ([call("f"), call(""), call("g")], [call("f"), call(""), call("g")]),
        ([text(""), text("a")], [text(""), text("a")]),
    ],
)
def test_response_is_split(parts: list[types.Part], read: list[types.Part]) -> None:
    before = [part.model_copy() for part in parts]
    found = present(PlanReActPlanner().process_planning_response(NO_CONTEXT, parts))
    assert [p.to_json_dict() for p in found] == [p.to_json_dict() for p in read]
    assert parts == before, "the response's own parts are not edited"


@pytest.mark.spec(163)
def test_nothing_to_read() -> None:
    assert PlanReActPlanner().process_planning_response(NO_CONTEXT, []) is None
