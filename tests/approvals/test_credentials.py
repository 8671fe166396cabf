"""Credentials are given once, and the first answer is told without its secrets."""

from __future__ import annotations

from typing import Any

import pytest

from ostinato import types
from ostinato.auth import AuthConfig
from ostinato.errors import CallAlreadyAnsweredError, InvalidAnswerError
from ostinato.testing import call
from ostinato.tools import ToolContext
from tests.approvals.kit import Desk

SECRET = "sesame-open-sesame"
CONFIG = AuthConfig.model_validate(
    {"authScheme": {"type": "apiKey", "in": "header", "name": "X-Key"}, "credentialKey": "key"}
)


def answer(asked: types.FunctionCall, credential: Any) -> types.Content:
    config = (asked.args or {})["authConfig"]
    response = types.FunctionResponse(
        id=asked.id, name=asked.name, response={**config, "exchangedAuthCredential": credential}
    )
    return types.Content(role="user", parts=[types.Part(function_response=response)])


async def test_a_credential_is_taken_once_and_no_error_tells_it(service: Any) -> None:
    keys: list[Any] = []

    def fetch(tool_context: ToolContext) -> dict[str, Any]:
        """Fetch."""
        given = tool_context.get_auth_response(CONFIG)
        if given is None:
            tool_context.request_credential(CONFIG)
            return {"status": "pending"}
        keys.append(given.api_key)
        return {"status": "fetched"}

    desk = Desk(service, call("fetch"), "Done.", tools=[fetch])
    events = await desk.say()
    calls = [one for event in events for one in event.get_function_calls()]
    asked = next(one for one in calls if one.name == "adk_request_credential")
    with pytest.raises(InvalidAnswerError) as bad:
        await desk.say(answer(asked, {"authType": "apiKey", "apiKey": {"x": SECRET}}))
    assert SECRET not in str(bad.value)
    given = {"authType": "apiKey", "apiKey": SECRET}
    await desk.say(answer(asked, given))
    assert keys == [SECRET]
    with pytest.raises(CallAlreadyAnsweredError) as caught:
        await desk.say(answer(asked, given))
    assert keys == [SECRET]
    assert caught.value.answer is not None and SECRET not in str(caught.value.answer)
