"""Recorded `adk_v0.sql`: the database that google-adk 1.18.0 makes. To record it again:

python -m venv v0 && v0/bin/pip install google-adk==1.18.0 greenlet
TZ=UTC v0/bin/python tests/adk_database/record_v0.py > tests/adk_database/adk_v0.sql
"""

import asyncio
import os
import sqlite3
import tempfile

from fastapi.openapi.models import APIKey, APIKeyIn
from google.adk.auth.auth_credential import AuthCredential, AuthCredentialTypes
from google.adk.auth.auth_tool import AuthConfig
from google.adk.events.event import Event
from google.adk.events.event_actions import EventActions, EventCompaction
from google.adk.sessions.database_session_service import DatabaseSessionService
from google.adk.tools.tool_confirmation import ToolConfirmation
from google.genai import types

STATE = {"a": 1, "none": None, "deep": {"x": [None, 1.5]}, "user:u": 2, "app:p": 3, "temp:t": 4}


def said(role, *parts):
    return types.Content(role=role, parts=list(parts))


EVENTS = [
    Event(
        author="user",
        invocation_id="e-1",
        content=said("user", types.Part(text="hé\u2028😀")),
        actions=EventActions(
            state_delta={"b": {"t": [1]}, "a": None, "user:v": 1, "app:q": "x", "temp:t": 1}
        ),
    ),
    Event(
        author="bot",
        branch="a.b",
        invocation_id="e-1",
        content=said(
            "model",
            types.Part(function_call=types.FunctionCall(id="c1", name="add", args={"a_b": 1})),
            types.Part(inline_data=types.Blob(data=b"\x00\xff\xfe", mime_type="image/png")),
        ),
        long_running_tool_ids={"c1"},
        usage_metadata=types.GenerateContentResponseUsageMetadata(prompt_token_count=3),
        custom_metadata={"k": None},
        actions=EventActions(
            artifact_delta={"file.txt": 1},
            transfer_to_agent="other",
            requested_tool_confirmations={"c1": ToolConfirmation(hint="sure?")},
            requested_auth_configs={
                "c1": AuthConfig(
                    auth_scheme=APIKey(**{"in": APIKeyIn.header, "name": "X-Key"}),
                    raw_auth_credential=AuthCredential(
                        auth_type=AuthCredentialTypes.API_KEY, api_key="not a secret"
                    ),
                )
            },
        ),
    ),
    Event(
        author="bot",
        invocation_id="e-1",
        content=said(
            "user",
            types.Part(
                function_response=types.FunctionResponse(id="c1", name="add", response={"r": 1})
            ),
        ),
    ),
    Event(
        author="user",
        invocation_id="e-2",
        actions=EventActions(
            compaction=EventCompaction(
                start_timestamp=1.0,
                end_timestamp=2.5,
                compacted_content=said("model", types.Part(text="summary")),
            )
        ),
    ),
    Event(author="bot", invocation_id="e-2", error_code="OOPS", error_message="it failed"),
]


async def record(path):
    service = DatabaseSessionService(f"sqlite:///{path}")
    session = await service.create_session(
        app_name="app", user_id="ann", session_id="s1", state=STATE
    )
    for event in EVENTS:
        await service.append_event(session, event)
        session = await service.get_session(app_name="app", user_id="ann", session_id="s1")
    await service.create_session(app_name="app", user_id="bob", session_id="s2", state={"c": 1})


with tempfile.TemporaryDirectory() as folder:
    database = os.path.join(folder, "v0.db")
    asyncio.run(record(database))
    print("-- Recorded by record_v0.py with google-adk 1.18.0 in the time zone UTC.")
    for line in sqlite3.connect(database).iterdump():
        print(line)
