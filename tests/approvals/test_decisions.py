"""Decisions: an answer says yes or no, and edits arguments as the tool declares them."""

from __future__ import annotations

from typing import Any

import pytest

from ostinato import types
from ostinato.auth import AuthConfig
from ostinato.errors import InvalidAnswerError
from ostinato.sessions import InMemorySessionService
from ostinato.testing import call
from ostinato.tools import ToolContext
from tests.approvals.kit import Desk, decide

CONFIG = AuthConfig.model_validate(
    {"authScheme": {"type": "apiKey", "in": "header", "name": "X-Key"}, "credentialKey": "key"}
)


@pytest.fixture
def desk() -> Desk:
    """An agent that asks before it pays."""
    return Desk(InMemorySessionService())


def respond(request: types.FunctionCall, response: Any) -> types.Content:
    answer = types.FunctionResponse(id=request.id, name=request.name, response=response)
    return types.Content(role="user", parts=[types.Part(function_response=answer)])


@pytest.mark.parametrize(
    "response",
    [
        None,
        {},
        {"hint": "no"},
        {"confirmed": None},
        {"confirmed": "yes"},
        {"confirmed": "true"},
        {"confirmed": 1},
        {"confirmed": 0},
        {"response": "{}"},
        {"response": '{"confirmed": "true"}'},
    ],
)
async def test_an_answer_without_a_decision_leaves_the_call_open(desk: Desk, response: Any) -> None:
    request = await desk.ask()
    with pytest.raises(InvalidAnswerError, match="confirmed"):
        await desk.say(respond(request, response))
    assert desk.paid == []
    await desk.say(respond(request, {"response": '{"confirmed": true}'}))
    assert desk.paid == [5]


@pytest.mark.parametrize("amount", [True, "9", 1.0, None, [9]])
async def test_edited_arguments_are_not_converted(desk: Desk, amount: Any) -> None:
    request = await desk.ask()
    with pytest.raises(InvalidAnswerError, match="amount"):
        await desk.say(decide(request, args={"amount": amount}))
    assert desk.paid == []
    await desk.say(decide(request, args={"amount": 9}))
    assert desk.paid == [9]


async def test_a_request_of_a_removed_tool_can_be_rejected(desk: Desk) -> None:
    request = await desk.ask()
    later = Desk(desk.service, "Done.", tools=[])
    events = await later.say(decide(request, False))
    answers = [one for event in events for one in event.get_function_responses()]
    assert [one.response for one in answers] == [{"error": "This tool call is rejected."}]
    assert (await desk.service.open_requests("desk")).requests == []


@pytest.mark.parametrize(
    "response",
    [
        {},
        {"foo": 1},
        {"exchangedAuthCredential": None},
        {"exchangedAuthCredential": {"authType": "apiKey"}},
        {"exchangedAuthCredential": {"authType": "apiKey", "apiKey": ""}},
        {"exchangedAuthCredential": {"authType": "http"}},
        {"exchangedAuthCredential": {"authType": "oauth2"}},
    ],
)
async def test_an_answer_without_a_credential_leaves_the_call_open(response: Any) -> None:
    keys: list[Any] = []

    def fetch(tool_context: ToolContext) -> dict[str, Any]:
        """Fetch."""
        given = tool_context.get_auth_response(CONFIG)
        if given is None:
            tool_context.request_credential(CONFIG)
            return {"status": "pending"}
        keys.append(given.api_key)
        return {"status": "fetched"}

    desk = Desk(InMemorySessionService(), call("fetch"), "Done.", tools=[fetch])
    calls = [one for event in await desk.say() for one in event.get_function_calls()]
    asked = next(one for one in calls if one.name == "adk_request_credential")
    with pytest.raises(InvalidAnswerError, match="exchangedAuthCredential"):
        await desk.say(respond(asked, response))
    config = (asked.args or {})["authConfig"]
    given = {"authType": "apiKey", "apiKey": "sesame"}
    await desk.say(respond(asked, {**config, "exchangedAuthCredential": given}))
    assert keys == ["sesame"]
