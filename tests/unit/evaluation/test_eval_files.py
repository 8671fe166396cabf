"""Eval files are read in all their forms, written for google-adk, and refused with the place."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ostinato import types
from ostinato.errors import InputValidationError
from ostinato.evaluation.eval_case import Invocation, InvocationEvents, TracedCall
from ostinato.evaluation.eval_config import EvalConfig, get_evaluation_criteria_or_default
from ostinato.evaluation.eval_metrics import ToolTrajectoryCriterion
from ostinato.evaluation.eval_set import EvalSet
from ostinato.evaluation.json_file import find_place, parse_json
from ostinato.evaluation.local_eval_sets_manager import (
    LocalEvalSetsManager,
    format_eval_set,
    load_eval_set_from_file,
    parse_eval_set,
)
from tests.evaluation_sets.run_sets import list_sets

from .builders import case, eval_set, recorded, text, turn


@pytest.mark.parametrize("file", list_sets(), ids=lambda file: file.name)
def test_what_is_written_reads_the_same(file: Path) -> None:
    read = load_eval_set_from_file(str(file), "old")
    again = parse_eval_set(format_eval_set(read), "again", "old")
    assert again == read
    assert again.eval_cases


def test_unset_fields_and_defaults_are_not_written() -> None:
    written = json.loads(format_eval_set(eval_set(case("a", turn("hi")))))
    assert set(written["eval_cases"][0]) == {"eval_id", "conversation"}


def test_newer_fields_are_left_out_for_google_adk_230() -> None:
    newer = Invocation(
        user_content=text("user", "hi"),
        duration=1.5,
        call_trace=[TracedCall(path="a", name="b")],
        intermediate_data=InvocationEvents.model_validate(
            {
                "invocation_events": [
                    {
                        "author": "a",
                        "content": {"parts": [{"text": "x"}]},
                        "usageMetadata": {"totalTokenCount": 7},
                        "model_version": "m",
                    }
                ]
            }
        ),
    )
    whole = format_eval_set(eval_set(case("a", newer)))
    assert '"duration"' in whole and "usage_metadata" in whole
    assert parse_eval_set(whole, "x", "x").eval_cases[0].conversation == [newer]
    old = format_eval_set(eval_set(case("a", newer)), adk="2.3.0")
    for name in ("duration", "call_trace", "usage_metadata", "model_version"):
        assert name not in old


def test_another_version_is_refused() -> None:
    with pytest.raises(InputValidationError, match=r"adk='1\.0'"):
        format_eval_set(eval_set(), adk="1.0")


def test_old_turns_become_one_case() -> None:
    old = [
        {
            "query": "q",
            "expected_tool_use": [
                {"tool_name": "t", "tool_input": {"a": 1}, "mock_tool_output": "done"}
            ],
            "expected_intermediate_agent_responses": [{"author": "x", "text": "wait"}],
            "reference": "r",
        }
    ]
    read = parse_eval_set(json.dumps(old), "f", "name")
    (turn_read,) = read.eval_cases[0].conversation or []
    data = recorded(turn_read)
    assert read.eval_cases[0].eval_id == "name"
    assert data.tool_uses == [types.FunctionCall(name="t", args={"a": 1})]
    assert data.tool_responses[0].response == {"result": "done"}
    assert data.intermediate_responses == [("x", [types.Part(text="wait")])]


TURN = '{"user_content": {"parts": [{"text": "hi"}]}}'
CASE = f'{{"eval_id": "x", "conversation": [{TURN}]}}'
BROKEN = [
    ('{"eval_set_id": "a",\n "eval_cases": [}', "f, line 2: not valid JSON"),
    ('{"eval_set_id": "a"}', r"line 1, the document: Field required"),
    (
        '{"eval_set_id": "a",\n"eval_cases": [\n{"eval_id": "x", "conversation": [\n'
        '{"user_content": {"parts": []},\n"final_respons": {}}]}]}',
        r"line 5, eval_cases\[0\]\.conversation\[0\]\.final_respons: Extra inputs",
    ),
    (
        '{"eval_set_id": "a",\n"eval_cases": [\n{"evalId": "x"}]}',
        r"line 3, eval_cases\[0\]: Case 'x' needs either",
    ),
    ('"text"', "f must hold an eval set"),
    ('[{"query": 1}]', r"f: case 1 \(id\), turn 1: the field 'query' must be a str"),
    ('[{"name": "n"}]', r"f: case 1 \(n\): the field 'data' is missing"),
    (
        '[{"name": "n", "data": [{"query": "q", "expected_tool_use": [{"tool_name": "t"}]}]}]',
        "the field 'tool_input' is missing",
    ),
    ("[" * 50_000, "f is nested too deeply"),
    ('{"eval_set_id": "a", "x": ' + "[" * 50_000 + "]" * 50_000 + "}", "f is nested too deeply"),
    (
        '{"eval_set_id": "a", "eval_cases": [], "creation_timestamp": ' + "9" * 6000 + "}",
        "f holds a number with too many digits",
    ),
    (
        f'{{"eval_set_id": "a",\n"eval_cases": [{CASE}],\n"evalCases": []}}',
        "line 1, the document: 'eval_cases' and 'evalCases' are two spellings of one field",
    ),
    (
        f'{{"eval_set_id": "a",\n"eval_cases": [{CASE[:-1]}, "evalId": "y"}}]}}',
        r"line 2, eval_cases\[0\]: 'eval_id' and 'evalId' are two spellings",
    ),
    (
        f'{{"eval_set_id": "a",\n"eval_cases": [{CASE[:-1]}, "session_input": '
        '{"appName": "a", "app_name": "b", "user_id": "u"}}]}',
        r"line 2, eval_cases\[0\]\.session_input: 'app_name' and 'appName' are two spellings",
    ),
]


@pytest.mark.parametrize(
    "config",
    [
        {"criteria": {"x": {"threshold": 1, "match_type": 0, "matchType": 1}}},
        {"criteria": {}, "tool_mocks": {}, "toolMocks": None},
        {"criteria": {}, "user_simulator_config": {"max_allowed_x": 1, "maxAllowedX": 2}},
    ],
)
def test_a_config_with_two_spellings_of_a_field_is_refused(
    config: dict[str, Any], tmp_path: Path
) -> None:
    file = tmp_path / "test_config.json"
    file.write_text(json.dumps(config))
    with pytest.raises(InputValidationError, match="are two spellings of one field"):
        get_evaluation_criteria_or_default(str(file))


def test_arguments_may_hold_both_spellings() -> None:
    args = {"order_id": 1, "orderId": 2}
    given = eval_set(case("a", turn("hi", "hi", [("find", args)]), final_session_state=args))
    (read,) = parse_eval_set(format_eval_set(given), "f", "id").eval_cases
    (first,) = read.conversation or []
    assert recorded(first).tool_uses[0].args == args == read.final_session_state


@pytest.mark.parametrize(("content", "message"), BROKEN)
def test_a_broken_file_is_refused_with_its_place(content: str, message: str) -> None:
    with pytest.raises(InputValidationError, match=message):
        parse_eval_set(content, "f", "id")


def test_a_place_is_found_in_both_spellings() -> None:
    content = '{"evalCases": [1, {"a_b": "x, ]}", "c": [10, 20]}]}'
    offset, path = find_place(content, ("eval_cases", 1, "c", 1))
    assert content[offset:].startswith("20")
    assert path == ["eval_cases", 1, "c", 1]


def test_a_config_is_read_in_both_spellings(tmp_path: Path) -> None:
    file = tmp_path / "test_config.json"
    file.write_text(
        '{"criteria": {"tool_trajectory_avg_score": {"threshold": 1, "matchType": "in-order"}, '
        '"response_match_score": 0.5}, "userSimulatorConfig": {"model": "m"}}'
    )
    config = get_evaluation_criteria_or_default(str(file))
    criterion: Any = config.criteria["tool_trajectory_avg_score"]
    read = ToolTrajectoryCriterion.model_validate(criterion.model_dump())
    assert read.match_type is ToolTrajectoryCriterion.MatchType.IN_ORDER
    assert config.criteria["response_match_score"] == 0.5


def test_without_a_config_the_defaults_hold() -> None:
    criteria = get_evaluation_criteria_or_default(None).criteria
    assert criteria == {"tool_trajectory_avg_score": 1.0, "response_match_score": 0.8}


def test_a_misspelled_setting_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "c.json"
    file.write_text('{\n"criterai": {}}')
    with pytest.raises(InputValidationError, match="Did you mean 'criteria'"):
        get_evaluation_criteria_or_default(str(file))


def test_comments_and_newer_settings_are_ignored() -> None:
    config = EvalConfig.model_validate({"_note": "x", "live_model_config": {}, "criteria": {}})
    assert config.criteria == {}


def test_an_eval_set_is_read_with_camel_case_at_the_top() -> None:
    read = EvalSet.model_validate_json('{"evalSetId": "a", "evalCases": []}')
    assert read.eval_set_id == "a"


OLD = {"query": "q", "expected_tool_use": [], "reference": "r"}


@pytest.mark.parametrize(
    "cases",
    [
        {"eval_set_id": "s", "eval_cases": [{"eval_id": one, "conversation": []} for one in "aba"]},
        [{"name": one, "data": [OLD]} for one in "aba"],
    ],
)
def test_two_cases_of_one_id_are_refused_with_both_places(tmp_path: Path, cases: Any) -> None:
    file = tmp_path / "x.evalset.json"
    file.write_text(json.dumps(cases))
    with pytest.raises(InputValidationError) as caught:
        load_eval_set_from_file(str(file), "x")
    message = str(caught.value)
    assert str(file) in message
    assert "eval_cases[0] and eval_cases[2] have both the eval_id 'a'" in message
    with pytest.raises(InputValidationError, match="have both the eval_id 'a'"):
        LocalEvalSetsManager(str(tmp_path.parent)).get_eval_set(tmp_path.name, "x")


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ('{"a": 1,\n\n "a": 2}', "f.json, lines 1 and 3"),
        ('[{"b": [{"a": 1, "a": 1}]}, {"a": 2}]', "f.json"),
    ],
)
def test_a_key_that_stands_twice_is_refused(text: str, place: str) -> None:
    with pytest.raises(InputValidationError, match=f"^{place}: an object holds the key 'a' twice"):
        parse_json(text, "f.json")
