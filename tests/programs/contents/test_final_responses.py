"""pytest style: is_final_response and the calls of events made by hand."""

import pytest
from google.adk.events import Event, EventActions
from google.genai import types

CALL = types.Part(function_call=types.FunctionCall(id="c", name="f", args={"a": 1}))
ANSWER = types.Part(function_response=types.FunctionResponse(id="c", name="f", response={"r": 1}))
TEXT = types.Part(text="hi")
CODE = types.Part(code_execution_result=types.CodeExecutionResult(output="1", outcome="OUTCOME_OK"))


def event(*parts, **fields):
    return Event(author="a", content=types.Content(role="model", parts=list(parts)), **fields)


@pytest.mark.parametrize(
    ("given", "final"),
    [
        (event(TEXT), True),
        (event(TEXT, partial=True), False),
        (event(TEXT, CALL), False),
        (event(ANSWER), False),
        (event(CODE), False),
        (event(CODE, TEXT), True),
        (event(CALL, long_running_tool_ids={"c"}), True),
        (event(ANSWER, actions=EventActions(skip_summarization=True)), True),
        (Event(author="a"), True),
        (Event(author="a", actions=EventActions(escalate=True)), True),
    ],
)
def test_final(given, final):
    assert given.is_final_response() is final


def test_calls_and_answers():
    both = event(TEXT, CALL, ANSWER)
    assert [call.name for call in both.get_function_calls()] == ["f"]
    assert both.get_function_calls()[0].args == {"a": 1}
    assert both.get_function_responses()[0].response == {"r": 1}
    assert event(CODE).has_trailing_code_execution_result()
    assert not event(CODE, TEXT).has_trailing_code_execution_result()
    assert Event(author="a").get_function_calls() == []


def test_unknown_fields_of_actions_are_refused():
    with pytest.raises(ValueError):
        EventActions(no_such_field=1)


def test_new_ids():
    assert Event.new_id() != Event.new_id()
    assert event(TEXT).id
    assert event(TEXT, id="x").id == "x"
    assert event(TEXT).model_copy().id
