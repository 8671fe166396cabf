"""Eval files are read in all their forms, written for google-adk, and refused with the place."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from ostinato import types
from ostinato.errors import InputValidationError
from ostinato.evaluation._result_file import parse_eval_set_result
from ostinato.evaluation.eval_case import Invocation, InvocationEvents, SessionInput, TracedCall
from ostinato.evaluation.eval_config import (
    EvalConfig,
    get_eval_metrics_from_config,
    get_evaluation_criteria_or_default,
)
from ostinato.evaluation.eval_metrics import ToolTrajectoryCriterion
from ostinato.evaluation.eval_set import EvalSet
from ostinato.evaluation.json_file import find_place, parse_json
from ostinato.evaluation.local_eval_sets_manager import (
    LocalEvalSetsManager,
    format_eval_set,
    load_eval_set_from_file,
    parse_eval_set,
)
from ostinato.evaluation.metric_evaluator_registry import DEFAULT_METRIC_EVALUATOR_REGISTRY
from ostinato.events.event import Event
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
    ('{"eval_set_id": "a"}', r"line 1, the document: Field required: 'eval_cases'"),
    (
        '{"eval_set_id": "a",\n"eval_cases": [\n{"eval_id": "x", "conversation": [\n'
        '{"user_content": {"parts": []},\n"final_respons": {}}]}]}',
        r"line 5, eval_cases\[0\]\.conversation\[0\]\.final_respons: Unknown field "
        "'final_respons'. Did you mean 'final_response'",
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


def with_event(event: dict[str, Any]) -> dict[str, Any]:
    return {"session_input": {"app_name": "a", "user_id": "u", "events": [event]}}


MISSPELLED_NEW: list[tuple[dict[str, Any], dict[str, Any], str]] = [
    ({}, {"final_session_sate": {}}, "eval_cases[0].final_session_sate: Unknown field "),
    ({}, {"session_inpt": {}}, "Did you mean 'session_input'?"),
    ({}, {"sessionInpt": {}}, "Did you mean 'sessionInput'?"),
    ({}, {"tags": []}, "Unknown field 'tags'. Known: eval_id, conversation,"),
    (
        {},
        {"session_input": {"app_name": "a", "user_id": "u", "stat": {}}},
        "eval_cases[0].session_input.stat: Unknown field 'stat'. Did you mean 'state'?",
    ),
    (
        {"eval_case": []},
        {},
        "line 1, eval_case: Unknown field 'eval_case'. Did you mean 'eval_cases'?",
    ),
    (
        {},
        with_event({"author": "user", "contnt": {}}),
        "session_input.events[0].contnt: Unknown field 'contnt'. Did you mean 'content'?",
    ),
    (
        {},
        with_event({"author": "user", "state": {}}),  # Event(state=...) is for Python alone
        "session_input.events[0].state: Unknown field 'state'.",
    ),
    (
        {},
        with_event({"nodeInfo": {"pth": "a@1"}}),
        "events[0].nodeInfo.pth: Unknown field 'pth'. Did you mean 'path'?",
    ),
]


def test_an_event_of_the_history_may_have_a_comment_and_one_spelling() -> None:
    case = {**json.loads(CASE), **with_event({"_note": "x", "invocationId": "old"})}
    document = {"eval_set_id": "a", "eval_cases": [case]}
    (read,) = parse_eval_set(json.dumps(document), "f", "x").eval_cases
    assert read.session_input is not None
    assert read.session_input.events[0].invocation_id == "old"
    given = SessionInput(app_name="a", user_id="u", events=[Event(state={"k": 1})])
    assert given.events[0].actions.state_delta == {"k": 1}
    case["session_input"]["events"][0]["invocation_id"] = "new"
    with pytest.raises(InputValidationError, match="two spellings of one field"):
        parse_eval_set(json.dumps(document), "f", "x")


@pytest.mark.parametrize(("top", "inner", "message"), MISSPELLED_NEW)
def test_an_unknown_field_of_the_new_form_is_refused_with_its_place(
    top: dict[str, Any], inner: dict[str, Any], message: str
) -> None:
    document = {"eval_set_id": "a", **top, "eval_cases": [{**json.loads(CASE), **inner}]}
    with pytest.raises(InputValidationError) as caught:
        parse_eval_set(json.dumps(document), "f.json", "x")
    assert message in str(caught.value)
    assert "f.json, line 1, " in str(caught.value)
    with pytest.raises(ValidationError, match="extra_forbidden"):
        EvalSet.model_validate(document)


def test_comments_are_kept_in_sets_cases_and_sessions() -> None:
    session = {"app_name": "a", "user_id": "u", "$note": 1}
    case = {**json.loads(CASE), "_comment": "why", "session_input": session}
    document = {"eval_set_id": "a", "#": "x", "eval_cases": [case]}
    written = json.loads(format_eval_set(parse_eval_set(json.dumps(document), "f", "x")))
    assert written["#"] == "x"
    assert written["eval_cases"][0]["_comment"] == "why"
    assert written["eval_cases"][0]["session_input"]["$note"] == 1


@pytest.mark.parametrize(
    ("data", "lines"),
    [
        ({"tool_use": []}, ["tool_use: Unknown field 'tool_use'. Did you mean 'tool_uses'?"]),
        (
            {"tool_uses": [], "tool_respones": []},
            ["tool_respones: Unknown field 'tool_respones'. Did you mean 'tool_responses'?"],
        ),
        (
            {"tool_uses": [{"name": "a", "arg": {}}]},
            ["tool_uses[0].arg: Unknown field 'arg'. Did you mean 'args'?"],
        ),
        (
            {"invocation_events": [], "tool_uses": []},
            [
                "invocation_events: The field 'invocation_events' does not go with the other "
                "fields of its object.",
                "tool_uses: The field 'tool_uses' does not go with the other fields of its object.",
            ],
        ),
    ],
)
def test_the_members_of_a_union_are_told_once(data: Any, lines: list[str]) -> None:
    turn_of = {"user_content": {"parts": []}, "intermediate_data": data}
    case = {"eval_id": "x", "conversation": [turn_of]}
    with pytest.raises(InputValidationError) as caught:
        parse_eval_set(json.dumps({"eval_set_id": "a", "eval_cases": [case]}), "f", "x")
    where = "  f, line 1, eval_cases[0].conversation[0].intermediate_data."
    assert str(caught.value).splitlines()[1:] == [f"{where}{line}" for line in lines]


def test_fields_of_newer_versions_and_of_the_page_are_read() -> None:
    events = [{"author": "a", "invocationIndex": 0, "toolUseIndex": 1}]
    turn_of = {
        "user_content": {"parts": []},
        "intermediateData": {"invocationEvents": events},
        "inferenceCallCount": 2,
    }
    case = {"eval_id": "x", "conversation": [turn_of]}
    read = parse_eval_set(json.dumps({"eval_set_id": "a", "eval_cases": [case]}), "f", "x")
    assert (read.eval_cases[0].conversation or [])[0].inference_call_count == 2
    assert "Index" not in format_eval_set(read)
    assert "inference" not in format_eval_set(read, adk="2.3.0")


def test_a_wrong_match_type_names_the_right_ones() -> None:
    config = EvalConfig.model_validate(
        {"criteria": {"tool_trajectory_avg_score": {"threshold": 1, "match_type": "INORDER"}}}
    )
    (metric,) = get_eval_metrics_from_config(config)
    with pytest.raises(ValueError, match="match_type: 'INORDER' is not one of EXACT, IN_ORDER, A"):
        DEFAULT_METRIC_EVALUATOR_REGISTRY.get_evaluator(metric)


def test_each_missing_field_is_named() -> None:
    with pytest.raises(InputValidationError) as caught:
        parse_eval_set_result("{}", "f")
    assert str(caught.value).splitlines()[1:] == [
        "  f, line 1, the document: Field required: 'eval_set_result_id'.",
        "  f, line 1, the document: Field required: 'eval_set_id'.",
    ]


OLD = {"query": "q", "expected_tool_use": [], "reference": "r"}
USED = {"tool_name": "t", "tool_input": {}}
MISSPELLED: list[tuple[Any, str]] = [
    ({**OLD, "expected_tool_uses": []}, "turn 1: unknown field 'expected_tool_uses'. Did you mean"),
    ({"query": "q", "refrence": "r"}, "unknown field 'refrence'. Did you mean 'reference'?"),
    ({**OLD, "expected_tool_use": [{**USED, "tool_inputs": {}}]}, "Did you mean 'tool_input'?"),
    ({**OLD, "metadata": 1}, "unknown field 'metadata'. Known: query, expected_tool_use"),
    (
        {**OLD, "expected_intermediate_agent_responses": [{"author": "a", "text": "b", "txt": ""}]},
        "unknown field 'txt'. Did you mean 'text'?",
    ),
]


@pytest.mark.parametrize(("old", "message"), MISSPELLED)
def test_an_unknown_field_of_an_old_turn_is_refused(old: Any, message: str) -> None:
    for document in ([OLD, old], [{"name": "n", "data": [old]}]):
        with pytest.raises(InputValidationError, match=message.replace("turn 1: ", "")):
            parse_eval_set(json.dumps(document), "f", "x")


def test_unknown_fields_of_an_old_case_are_refused() -> None:
    case = {"name": "n", "data": [OLD]}
    for wrong, message in (
        ({**case, "inital_session": {}}, "Did you mean 'initial_session'?"),
        ({**case, "initial_session": {"stat": {}}}, "initial_session: unknown field 'stat'"),
    ):
        with pytest.raises(InputValidationError, match=message):
            parse_eval_set(json.dumps([wrong]), "f", "x")
    with pytest.raises(InputValidationError, match=r"turn 2: unknown field 'qurey'"):
        parse_eval_set(json.dumps([OLD, {"qurey": "q"}]), "f", "x")


def test_fields_that_google_adk_writes_are_read_in_old_turns() -> None:
    old = {**OLD, "response": "said", "actual_tool_use": [], "_comment": "why"}
    assert parse_eval_set(json.dumps([old]), "f", "x").eval_cases[0].eval_id == "x"


@pytest.mark.parametrize("threshold", ["0.5", "high", True])
def test_a_threshold_that_is_no_number_is_refused(threshold: Any) -> None:
    for value in (threshold, {"threshold": threshold}):
        with pytest.raises(ValueError, match="a threshold is a number"):
            EvalConfig.model_validate({"criteria": {"response_match_score": value}})


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
