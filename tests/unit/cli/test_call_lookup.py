"""What names a waiting call on the command line, and what does not."""

from __future__ import annotations

import uuid

import pytest

from ostinato import types
from ostinato.cli.call_lookup import find_call, short_id
from ostinato.cli.cli_error import ANSWERED, CliError
from ostinato.events.event import Event
from ostinato.events.pending import Pending, pending_calls
from ostinato.events.request_input import QUESTION_ID, REQUEST_INPUT


def question(call_id: str) -> Event:
    call = types.FunctionCall(id=call_id, name=REQUEST_INPUT, args={"message": "How much?"})
    content = types.Content(role="model", parts=[types.Part(function_call=call)])
    return Event(author="root", content=content, long_running_tool_ids={call_id})


def answer(call_id: str) -> Event:
    response = types.FunctionResponse(id=call_id, name=REQUEST_INPUT, response={"result": 5})
    content = types.Content(role="user", parts=[types.Part(function_response=response)])
    return Event(author="user", content=content)


def waiting(*events: Event) -> list[Pending]:
    return pending_calls(list(events))


@pytest.mark.parametrize("same", ["adk-", f"{QUESTION_ID}adk-"])
def test_the_short_form_of_an_own_id_has_eight_random_digits_at_least(same: str) -> None:
    number = str(uuid.uuid4())
    [one] = waiting(question(f"{same}{number}"))
    assert short_id(one, [one]) == f"{same}{number[:8]}"


@pytest.mark.parametrize("call_id", ["call_000000000000001", "e-1234567890abcdef:0", "chatcmpl-1"])
def test_any_other_id_is_shown_whole(call_id: str) -> None:
    [one] = waiting(question(call_id))
    assert short_id(one, [one]) == call_id


def test_what_all_questions_begin_with_names_none() -> None:
    asked = question(f"{QUESTION_ID}adk-{uuid.uuid4()}")
    with pytest.raises(CliError, match="too short to name a call: give at least 25 characters"):
        find_call(waiting(asked), QUESTION_ID, ("input",), [asked])


def test_the_beginning_of_an_answered_call_names_no_later_one() -> None:
    events = [question("e-1234567890abcdef:0"), answer("e-1234567890abcdef:0")]
    events.append(question("e-1234567890abcdef:1"))
    with pytest.raises(CliError, match=r"was already answered.*Another call") as caught:
        find_call(waiting(*events), "e-1234567890ab", ("input",), events)
    assert caught.value.code == ANSWERED
    found = find_call(waiting(*events), "e-1234567890abcdef:1", ("input",), events)
    assert found.call.id == "e-1234567890abcdef:1"
