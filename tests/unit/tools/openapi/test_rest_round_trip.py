"""An agent calls an API: the user is asked for a key, answers, and the call is sent with it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from ostinato import types
from ostinato.agents import LlmAgent
from ostinato.artifacts.in_memory_artifact_service import InMemoryArtifactService
from ostinato.auth.credential_service import InMemoryCredentialService
from ostinato.events.event import Event
from ostinato.runners import Runner
from ostinato.sessions.in_memory_session_service import InMemorySessionService
from ostinato.testing import Conversation, ScriptedModel, call
from ostinato.tools.openapi_tool import OpenAPIToolset
from tests.unit.tools.openapi.documents import make_operation

KEY = {"securitySchemes": {"key": {"type": "apiKey", "in": "header", "name": "X-Key"}}}


@asynccontextmanager
async def serving(body: bytes) -> AsyncIterator[tuple[str, list[str]]]:
    """A server with one answer; its address, and the heads of its requests."""
    heads: list[str] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heads.append((await reader.readuntil(b"\r\n\r\n")).decode())
        head = f"HTTP/1.1 200 OK\r\nContent-Length: {len(body)}\r\nConnection: close\r\n"
        writer.write(head.encode() + b"Content-Type: application/json\r\n\r\n" + body)
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", heads
    finally:
        server.close()


def talk_to(toolset: OpenAPIToolset, *turns: Any) -> Conversation:
    agent = LlmAgent(name="clerk", model=ScriptedModel(list(turns)), tools=[toolset])
    return Conversation(
        Runner(
            agent=agent,
            app_name="app",
            session_service=InMemorySessionService(),
            artifact_service=InMemoryArtifactService(),
            credential_service=InMemoryCredentialService(),
        )
    )


def responses_of(events: list[Event]) -> list[Any]:
    return [r.response for event in events for r in event.get_function_responses()]


async def test_the_user_is_asked_once_for_a_key() -> None:
    async with serving(b'{"pets": 3}') as (url, heads):
        toolset = OpenAPIToolset(
            spec_dict=make_operation(security=[{"key": []}], components=KEY),
            base_url=url,
            allow_private_network_access=True,
        )
        talk = talk_to(toolset, call("do_it"), "Done.", call("do_it"), "Again.")
        first = await talk.say("Pets?")
        (asked,) = [
            one
            for event in first
            for one in event.get_function_calls()
            if one.name == "adk_request_credential"
        ]
        assert not heads and responses_of(first)[0]["pending"] is True
        config = dict((asked.args or {})["authConfig"])
        config["exchangedAuthCredential"] = {"authType": "apiKey", "apiKey": "k-of-the-user"}
        answer = types.FunctionResponse(id=asked.id, name=asked.name, response=config)
        second = await talk.say([types.Part(function_response=answer)])
        assert {"pets": 3} in responses_of(second)
        third = await talk.say("Once more.")
        assert {"pets": 3} in responses_of(third)
        await toolset.close()
    assert len(heads) == 2 and all("X-Key: k-of-the-user\r\n" in head for head in heads)
    stored = [event.model_dump_json() for event in (*first, *second, *third)]
    assert not any("k-of-the-user" in text for text in stored)


async def test_a_long_answer_is_an_artifact_of_the_session() -> None:
    body = b'["' + b"x" * 5_000 + b'"]'
    async with serving(body) as (url, _):
        toolset = OpenAPIToolset(
            spec_dict=make_operation(),
            base_url=url,
            allow_private_network_access=True,
            max_response_chars=100,
        )
        events = await talk_to(toolset, call("do_it"), "Done.").say("Pets?")
        await toolset.close()
    (response,) = responses_of(events)
    assert response["preview"] == body.decode()[:100] and response["artifact"].startswith("do_it_")
    (delta,) = [e.actions.artifact_delta for e in events if e.actions.artifact_delta]
    assert delta == {response["artifact"]: 0}
