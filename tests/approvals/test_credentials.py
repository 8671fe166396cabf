"""Credentials are given once, and the first answer is told without its secrets."""

from __future__ import annotations

from typing import Any

import pytest

from ostinato import types
from ostinato.agents import LlmAgent, ParallelAgent
from ostinato.apps import App
from ostinato.auth import AuthConfig
from ostinato.errors import CallAlreadyAnsweredError, InvalidAnswerError
from ostinato.runners import Runner
from ostinato.sessions import InMemorySessionService
from ostinato.sessions.sqlite_session_service import SqliteSessionService
from ostinato.testing import ScriptedModel, call
from ostinato.tools import ToolContext
from tests.approvals.kit import PLACE, Desk

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


@pytest.mark.parametrize("kind", [InMemorySessionService, lambda: SqliteSessionService(":memory:")])
async def test_credentials_for_several_agents_in_one_message_reach_each_agent(kind: Any) -> None:
    keys: dict[str, Any] = {}

    def fetch(tool_context: ToolContext) -> dict[str, Any]:
        """Fetch."""
        given = tool_context.get_auth_response(CONFIG)
        if given is None:
            tool_context.request_credential(CONFIG)
            return {"status": "pending"}
        keys[tool_context.agent_name] = given.api_key
        return {"status": "fetched"}

    clerks = [
        LlmAgent(name=name, model=ScriptedModel([call("fetch"), "Done."]), tools=[fetch])
        for name in ("one", "two")
    ]
    runner = Runner(
        app=App(name="desk", root_agent=ParallelAgent(name="both", sub_agents=list(clerks))),
        session_service=kind(),
        auto_create_session=True,
    )

    async def say(message: Any) -> list[Any]:
        return [event async for event in runner.run_async(**PLACE, new_message=message)]

    calls = [one for event in await say("Go.") for one in event.get_function_calls()]
    asked = [one for one in calls if one.name == "adk_request_credential"]
    given = {"authType": "apiKey", "apiKey": SECRET}
    parts = [part for one in asked for part in answer(one, given).parts or ()]
    events = await say(types.Content(role="user", parts=parts))
    assert keys == {"one": SECRET, "two": SECRET}
    assert sorted(one.author for one in events if one.is_final_response()) == ["one", "two"]
    await runner.close()
