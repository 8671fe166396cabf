"""Event, NodeInfo and EventActions: fields, names in JSON, shorthands and predicates."""

from __future__ import annotations

import ast
import uuid
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from ostinato import types
from ostinato.auth.auth_credential import AuthCredential, AuthCredentialTypes
from ostinato.auth.auth_tool import AuthConfig
from ostinato.auth.tool_confirmation import ToolConfirmation
from ostinato.events import Event, EventActions, EventCompaction, NodeInfo, UiWidget
from ostinato.events import event as event_module
from ostinato.models.llm_response import LlmResponse
from tests.support.optionals import parts_of

CALL = types.Part(function_call=types.FunctionCall(id="1", name="t", args={}))
RESPONSE = types.Part(function_response=types.FunctionResponse(id="1", name="t", response={}))
CODE_RESULT = types.Part(
    code_execution_result=types.CodeExecutionResult(outcome=types.Outcome.OUTCOME_OK, output="3")
)
TEXT = types.Part(text="words")


def event(*parts: types.Part, **fields: Any) -> Event:
    content = types.Content(role="model", parts=list(parts)) if parts else None
    return Event(author="agent", content=content, **fields)


@pytest.mark.spec(169)
def test_an_event_is_a_model_response_with_the_fields_of_both() -> None:
    assert issubclass(Event, LlmResponse)
    assert set(Event.model_fields) >= {
        # of the response
        "content",
        "grounding_metadata",
        "partial",
        "turn_complete",
        "finish_reason",
        "error_code",
        "error_message",
        "interrupted",
        "custom_metadata",
        "usage_metadata",
        "input_transcription",
        "output_transcription",
        "avg_logprobs",
        "logprobs_result",
        "cache_metadata",
        "citation_metadata",
        "interaction_id",
        "model_version",
        # of the event
        "invocation_id",
        "author",
        "actions",
        "long_running_tool_ids",
        "branch",
        "id",
        "timestamp",
    }


@pytest.mark.spec(169, 170)
def test_a_bare_event_has_the_specified_defaults() -> None:
    made = Event(author="user")
    assert made.invocation_id == ""
    assert made.actions == EventActions()
    assert made.node_info == NodeInfo()
    unset = set(Event.model_fields) - {"invocation_id", "author", "actions", "node_info"}
    unset -= {"id", "timestamp"}
    assert {name: getattr(made, name) for name in unset} == dict.fromkeys(unset)


@pytest.mark.spec(169, 170)
def test_an_event_s_json_names_are_camel_case_and_it_comes_back_from_them_as_it_was() -> None:
    made = event(
        TEXT,
        invocation_id="e-1",
        branch="fan.left",
        long_running_tool_ids={"1"},
        output={"n": 1},
        isolation_scope="task-1",
        node_path="flow/step@1",
        state={"k": 1},
        partial=True,
        turn_complete=False,
        error_code="E",
        usage_metadata=types.GenerateContentResponseUsageMetadata(prompt_token_count=3),
    )
    json = made.model_dump(mode="json", by_alias=True, exclude_none=True, exclude_defaults=True)
    assert json == {
        "content": {"role": "model", "parts": [{"text": "words"}]},
        "partial": True,
        "turnComplete": False,
        "errorCode": "E",
        "usageMetadata": {"promptTokenCount": 3},
        "invocationId": "e-1",
        "author": "agent",
        "actions": {"stateDelta": {"k": 1}},
        "output": {"n": 1},
        "nodeInfo": {"path": "flow/step@1"},
        "longRunningToolIds": ["1"],
        "branch": "fan.left",
        "isolationScope": "task-1",
        "id": made.id,
        "timestamp": made.timestamp,
    }
    assert Event.model_validate(json) == made
    assert Event.model_validate(made.model_dump()) == made


@pytest.mark.spec(171)
def test_an_event_is_given_a_uuid4_and_the_time_in_seconds_when_it_is_made() -> None:
    one, two = Event(author="user"), Event(author="user")
    assert uuid.UUID(one.id).version == 4 and str(uuid.UUID(one.id)) == one.id
    assert one.id != two.id
    assert isinstance(one.timestamp, float) and one.timestamp < two.timestamp
    assert uuid.UUID(Event.new_id()).version == 4


@pytest.mark.spec(171)
def test_an_id_and_a_time_that_are_given_are_kept() -> None:
    made = Event(author="user", id="mine", timestamp=12.5)
    assert (made.id, made.timestamp) == ("mine", 12.5)


@pytest.mark.spec(172)
@pytest.mark.parametrize(
    ("made", "final"),
    [
        (event(TEXT), True),
        (event(), True),
        (event(TEXT, partial=True), False),
        (event(partial=True), False),
        (event(TEXT, CALL), False),
        (event(RESPONSE), False),
        (event(CODE_RESULT), False),
        (event(CODE_RESULT, TEXT), True),
        (event(CALL, long_running_tool_ids={"1"}), True),
        (event(CALL, long_running_tool_ids=set()), False),
        (event(RESPONSE, actions=EventActions(skip_summarization=True)), True),
        (event(RESPONSE, actions=EventActions(skip_summarization=False)), False),
        (event(TEXT, partial=True, actions=EventActions(skip_summarization=True)), True),
        (event(CALL, partial=True, long_running_tool_ids={"1"}), True),
        (event(actions=EventActions(state_delta={"k": 1})), True),
        (event(TEXT, actions=EventActions(escalate=True)), True),
        (event(error_code="SAFETY"), True),
    ],
)
def test_is_final_response_follows_the_specified_predicate(made: Event, final: bool) -> None:
    assert made.is_final_response() is final
    by_the_book = bool(made.actions.skip_summarization or made.long_running_tool_ids) or (
        not made.get_function_calls()
        and not made.get_function_responses()
        and not made.partial
        and not made.has_trailing_code_execution_result()
    )
    assert by_the_book is final


@pytest.mark.spec(173)
def test_calls_and_responses_are_given_in_order_and_none_where_there_is_no_content() -> None:
    second = types.Part(function_call=types.FunctionCall(id="2", name="u", args={}))
    made = event(CALL, TEXT, second, RESPONSE)
    assert [c.id for c in made.get_function_calls()] == ["1", "2"]
    assert [r.id for r in made.get_function_responses()] == ["1"]
    for empty in (event(), Event(author="a", content=types.Content(role="model"))):
        assert empty.get_function_calls() == [] and empty.get_function_responses() == []


@pytest.mark.spec(173)
def test_a_code_execution_result_counts_as_trailing_only_at_the_end() -> None:
    assert event(TEXT, CODE_RESULT).has_trailing_code_execution_result()
    assert not event(CODE_RESULT, TEXT).has_trailing_code_execution_result()
    assert not event().has_trailing_code_execution_result()


@pytest.mark.spec(174)
def test_state_route_and_node_path_are_short_for_the_nested_fields() -> None:
    made = Event(author="a", state={"k": 1}, route="left", node_path="flow/step@1")
    assert made.actions == EventActions(state_delta={"k": 1}, route="left")
    assert made.node_info == NodeInfo(path="flow/step@1")
    assert made.node_name == "step"


@pytest.mark.spec(174)
@pytest.mark.parametrize("given", [EventActions(escalate=True), {"escalate": True}])
def test_shorthands_keep_what_the_nested_fields_say_beside_them(given: Any) -> None:
    info = NodeInfo(output_for=["flow@1"])
    made = Event(author="a", actions=given, node_info=info, state={"k": 1}, node_path="flow/s@2")
    assert made.actions == EventActions(escalate=True, state_delta={"k": 1})
    assert made.node_info == NodeInfo(path="flow/s@2", output_for=["flow@1"])
    assert info.path == "" and EventActions.model_validate(given).state_delta == {}


@pytest.mark.spec(174)
def test_a_message_is_short_for_the_content_and_both_together_are_refused() -> None:
    made = Event(author="a", message="Hi")
    assert made.content == types.UserContent("Hi")
    assert made.message is made.content
    with pytest.raises(ValidationError, match="message or content"):
        Event(author="a", message="Hi", content=types.Content(role="user"))


@pytest.mark.spec(174)
@pytest.mark.parametrize(
    ("message", "texts"),
    [
        ([TEXT, types.Part(text="more")], ["words", "more"]),
        (["plain", TEXT], ["plain", "words"]),
        (TEXT, ["words"]),
        ("", [""]),
    ],
)
def test_a_message_may_be_parts_and_can_be_set_later(message: Any, texts: list[str]) -> None:
    made, later = Event(author="a", message=message), event(CALL)
    later.message = message
    for one in (made, later):
        assert isinstance(one.content, types.UserContent) and one.message is one.content
        assert [part.text for part in parts_of(one)] == texts


@pytest.mark.spec(174)
def test_a_dict_may_use_the_shorthands_and_is_left_as_it_was() -> None:
    given = {"author": "a", "message": "Hi", "state": {"k": 1}, "nodeInfo": {"path": "flow@1"}}
    made = Event.model_validate(given)
    assert made.content == types.UserContent("Hi") and made.actions.state_delta == {"k": 1}
    assert made.node_info.path == "flow@1" and given["message"] == "Hi"


@pytest.mark.spec(174)
def test_a_message_that_is_a_content_stays_it_and_none_clears_it() -> None:
    content = types.Content(role="model", parts=[TEXT])
    made = Event(author="a", message=content)
    assert made.content is content
    made.message = None
    assert made.content is None
    made.message = {"role": "model", "parts": [{"text": "words"}]}
    assert made.content == content
    assert Event(author="a", message=None, content=content).content is content
    with pytest.raises(ValidationError, match="cannot make a Part of a int"):
        Event(author="a", message=5)  # pyright: ignore[reportArgumentType]
    with pytest.raises(ValueError, match="cannot make a Part of a int"):
        made.message = 5


@pytest.mark.spec(174)
def test_a_subclass_s_field_of_a_shorthand_s_name_is_its_own() -> None:
    with pytest.warns(UserWarning, match="shadows"):

        class Note(Event):
            message: str = "none"  # pyright: ignore[reportIncompatibleMethodOverride]
            state: dict[str, Any] | None = None

    made = Note(author="a", message="Hi", state={"k": 1}, route="left")  # pyright: ignore[reportCallIssue]
    assert (made.message, made.content, made.state) == ("Hi", None, {"k": 1})
    assert made.actions == EventActions(route="left")
    made.message = "Ho"
    assert made.message == "Ho" and made.content is None
    assert made.model_dump(exclude_unset=True)["message"] == "Ho"
    assert Note(author="a").message == "none"


@pytest.mark.spec(175)
@pytest.mark.parametrize(
    ("path", "name", "run_id", "parent"),
    [
        ("pipeline/fetch@1", "fetch", "1", None),
        ("flow@2/step@3", "step", "3", "2"),
        ("step", "step", "", None),
        ("", "", "", None),
    ],
)
def test_node_info_reads_name_and_run_id_from_the_last_segment_of_its_path(
    path: str, name: str, run_id: str, parent: str | None
) -> None:
    info = NodeInfo(path=path)
    assert (info.name, info.run_id, info.parent_run_id) == (name, run_id, parent)
    assert info.output_for is None


@pytest.mark.spec(176, 177)
def test_bare_actions_have_the_specified_fields_and_defaults() -> None:
    assert EventActions().model_dump() == {
        "skip_summarization": None,
        "state_delta": {},
        "artifact_delta": {},
        "transfer_to_agent": None,
        "escalate": None,
        "requested_auth_configs": {},
        "requested_tool_confirmations": {},
        "compaction": None,
        "end_of_agent": None,
        "agent_state": None,
        "rewind_before_invocation_id": None,
        "route": None,
        "render_ui_widgets": None,
        "set_model_response": None,
    }


@pytest.mark.spec(176, 177, 178, 179)
def test_full_actions_go_through_json_and_back() -> None:
    key = AuthCredential(auth_type=AuthCredentialTypes.API_KEY, api_key="k")
    scheme = {"type": "apiKey", "in": "header", "name": "X-Key"}
    actions = EventActions(
        skip_summarization=True,
        state_delta={"k": [1, {"deep": None}]},
        artifact_delta={"f.txt": 2},
        transfer_to_agent="other",
        escalate=True,
        requested_auth_configs={
            "1": AuthConfig.model_validate({"auth_scheme": scheme, "raw_auth_credential": key})
        },
        requested_tool_confirmations={"2": ToolConfirmation(hint="sure?")},
        compaction=EventCompaction(
            start_timestamp=1.5, end_timestamp=2.5, compacted_content=types.Content(role="model")
        ),
        end_of_agent=True,
        agent_state={"round": 1},
        rewind_before_invocation_id="e-1",
        route=["a", 1, True],
        render_ui_widgets=[UiWidget(id="w", provider="mcp", payload={"n": 1})],
        set_model_response={"city": "Rome"},
    )
    json = actions.model_dump_json(by_alias=True)
    assert EventActions.model_validate_json(json) == actions
    assert set(EventActions.model_validate_json(json).model_dump(by_alias=True)) == {
        "skipSummarization",
        "stateDelta",
        "artifactDelta",
        "transferToAgent",
        "escalate",
        "requestedAuthConfigs",
        "requestedToolConfirmations",
        "compaction",
        "endOfAgent",
        "agentState",
        "rewindBeforeInvocationId",
        "route",
        "renderUiWidgets",
        "setModelResponse",
    }


@pytest.mark.spec(176)
def test_an_unknown_effect_is_refused() -> None:
    with pytest.raises(ValidationError, match="transfer_to"):
        EventActions(transfer_to="other")  # type: ignore[call-arg]


@pytest.mark.spec(177)
@pytest.mark.parametrize("route", ["left", 3, True, ["left", 3, False]])
def test_a_route_keeps_its_type(route: Any) -> None:
    kept = EventActions.model_validate_json(EventActions(route=route).model_dump_json()).route
    assert kept == route and type(kept) is type(route)


@pytest.mark.spec(178)
@pytest.mark.parametrize("left_out", ["start_timestamp", "end_timestamp", "compacted_content"])
def test_a_compaction_needs_both_times_and_its_content(left_out: str) -> None:
    whole = {"start_timestamp": 1, "end_timestamp": 2, "compacted_content": {"role": "model"}}
    made = EventCompaction.model_validate(whole)
    assert (made.start_timestamp, made.end_timestamp) == (1.0, 2.0)
    del whole[left_out]
    with pytest.raises(ValidationError):
        EventCompaction.model_validate(whole)


@pytest.mark.spec(179)
def test_a_widget_may_be_given_by_its_page_and_title() -> None:
    widget = UiWidget(iframe_url="https://x.example/e", title="Chart")  # type: ignore[call-arg]
    assert widget.provider == "iframe" and widget.id
    assert widget.payload == {"iframe_url": "https://x.example/e", "title": "Chart"}
    actions = EventActions(render_ui_widgets=[widget])
    json = actions.model_dump(mode="json", by_alias=True, exclude_none=True)
    assert json["renderUiWidgets"] == [
        {"id": widget.id, "provider": "iframe", "payload": widget.payload}
    ]


def test_type_checkers_see_every_field_and_shorthand() -> None:
    source = ast.parse(Path(event_module.__file__).read_text(encoding="utf-8"))
    (shown, *_) = [
        node
        for node in ast.walk(source)
        if isinstance(node, ast.FunctionDef) and node.name == "__init__" and node.args.kwonlyargs
    ]
    names = {argument.arg for argument in shown.args.kwonlyargs}
    assert names == {*Event.model_fields, "message", "state", "route", "node_path"}
