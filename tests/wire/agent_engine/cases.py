"""What is done with the services of Agent Engine, once by google-adk and once by this package: each
case takes a package's name and returns what it saw, as JSON.
"""

from __future__ import annotations

import importlib
from collections.abc import Awaitable, Callable
from typing import Any

PEER, OURS = "google.adk", "ostinato"
Case = Callable[[str], Awaitable[Any]]
OWNER = {"app_name": "456", "user_id": "ann"}
AT = 1_700_000_000.123456

CASES: dict[str, Case] = {}
OPENED: list[Any] = []
"""The services that cases made; ours have connections to close."""


def _case(play: Case) -> Case:
    CASES[play.__name__] = play
    return play


def _load(package: str, module: str, name: str) -> Any:
    return getattr(importlib.import_module(f"{package}.{module}"), name)


def _types(package: str) -> Any:
    return importlib.import_module("google.genai.types" if package == PEER else "ostinato.types")


def _sessions(package: str, **how: Any) -> Any:
    service = _load(package, "sessions.vertex_ai_session_service", "VertexAiSessionService")
    return _opened(service, how)


def _memories(package: str, **how: Any) -> Any:
    service = _load(package, "memory.vertex_ai_memory_bank_service", "VertexAiMemoryBankService")
    return _opened(service, how)


def _opened(service: Any, how: dict[str, Any]) -> Any:
    usual = {"project": "proj", "location": "us-central1", "agent_engine_id": "456"}
    OPENED.append(service(**(how or usual)))
    return OPENED[-1]


def _event(package: str, **fields: Any) -> Any:
    known = {"id": "e1", "invocation_id": "i1", "author": "user", "timestamp": AT}
    return _load(package, "events.event", "Event")(**{**known, **fields})


def _said(package: str, text: str, **fields: Any) -> Any:
    types = _types(package)
    content = types.Content(role="user", parts=[types.Part(text=text)])
    return _event(package, content=content, **fields)


def _shown(session: Any) -> Any:
    if session is None:
        return None
    dump = session.model_dump(mode="json", by_alias=True, exclude_none=True)
    return dump


@_case
async def create(package: str) -> Any:
    made = await _sessions(package).create_session(**OWNER, state={"a": 1, "user:b": [2]})
    return _shown(made)


@_case
async def create_with_id(package: str) -> Any:
    made = await _sessions(package).create_session(**OWNER, session_id="s-1_A")
    return _shown(made)


@_case
async def create_with_full_name(package: str) -> Any:
    name = "projects/1/locations/x/reasoningEngines/456/sessions/s1"
    return _shown(await _sessions(package).create_session(**OWNER, session_id=name))


@_case
async def create_with_bad_id(package: str) -> Any:
    return _shown(await _sessions(package).create_session(**OWNER, session_id="a b"))


@_case
async def create_with_slash(package: str) -> Any:
    return _shown(await _sessions(package).create_session(**OWNER, session_id="a/b"))


@_case
async def get_bad_id(package: str) -> Any:
    return _shown(await _sessions(package).get_session(**OWNER, session_id="a b"))


@_case
async def create_without_location(package: str) -> Any:
    service = _sessions(package, project="proj", agent_engine_id="456")
    return _shown(await service.create_session(**OWNER, session_id="s1"))


@_case
async def create_with_options(package: str) -> Any:
    made = await _sessions(package).create_session(
        **OWNER, session_id="s1", ttl="3600s", display_name="x", labels={"k": "v"}
    )
    return _shown(made)


@_case
async def engine_of_the_app(package: str) -> Any:
    service = _sessions(package, project="proj", location="us-central1")
    app = "projects/proj/locations/us-central1/reasoningEngines/789"
    made = await service.create_session(app_name=app, user_id="ann", session_id="s1")
    listed = await service.list_sessions(app_name="789", user_id="ann")
    return [_shown(made), [_shown(one) for one in listed.sessions]]


@_case
async def engine_of_no_app(package: str) -> Any:
    service = _sessions(package, project="proj", location="us-central1")
    return _shown(await service.create_session(app_name="my_app", user_id="ann"))


@_case
async def express(package: str) -> Any:
    service = _sessions(package, agent_engine_id="456", express_mode_api_key="key")
    return _shown(await service.create_session(**OWNER, session_id="s1"))


@_case
async def get(package: str) -> Any:
    service = _sessions(package)
    made = await service.create_session(**OWNER, session_id="s1", state={"a": 1})
    await service.append_event(made, _said(package, "hello"))
    return _shown(await service.get_session(**OWNER, session_id="s1"))


@_case
async def get_none(package: str) -> Any:
    return _shown(await _sessions(package).get_session(**OWNER, session_id="nope"))


@_case
async def get_full_name(package: str) -> Any:
    service = _sessions(package)
    await service.create_session(**OWNER, session_id="s1")
    name = "projects/1/locations/x/reasoningEngines/456/sessions/s1"
    return _shown(await service.get_session(**OWNER, session_id=name))


@_case
async def get_another_users(package: str) -> Any:
    service = _sessions(package)
    await service.create_session(**OWNER, session_id="s1")
    return _shown(await service.get_session(app_name="456", user_id="bob", session_id="s1"))


@_case
async def get_some(package: str) -> Any:
    config = _load(package, "sessions.base_session_service", "GetSessionConfig")
    service = _sessions(package)
    made = await service.create_session(**OWNER, session_id="s1")
    for number in range(5):
        event = _said(package, str(number), id=f"e{number}", timestamp=AT + number)
        await service.append_event(made, event)
    asked = [
        config(num_recent_events=2),
        config(num_recent_events=0),
        config(after_timestamp=AT + 3),
        config(num_recent_events=1, after_timestamp=AT + 2),
    ]
    found = [await service.get_session(**OWNER, session_id="s1", config=one) for one in asked]
    return [[e.content.parts[0].text for e in one.events] for one in found]


@_case
async def get_many(package: str) -> Any:
    service = _sessions(package)
    made = await service.create_session(**OWNER, session_id="s1")
    for number in range(105):
        event = _said(package, str(number), id=f"e{number}", timestamp=AT + number)
        await service.append_event(made, event)
    found = await service.get_session(**OWNER, session_id="s1")
    return [event.content.parts[0].text for event in found.events]


@_case
async def list_of_a_user(package: str) -> Any:
    service = _sessions(package)
    for name, user in (("s1", "ann"), ("s2", 'b"o b'), ("s3", "ann")):
        await service.create_session(
            app_name="456", user_id=user, session_id=name, state={"name": name}
        )
    every = await service.list_sessions(app_name="456")
    quoted = await service.list_sessions(app_name="456", user_id='b"o b')
    anns = await service.list_sessions(**OWNER)
    listings = [sorted(listed.sessions, key=lambda s: s.id) for listed in (every, quoted, anns)]
    return [[_shown(one) for one in listed] for listed in listings]


@_case
async def delete(package: str) -> Any:
    service = _sessions(package)
    await service.create_session(**OWNER, session_id="s1")
    await service.delete_session(**OWNER, session_id="s1")
    return None


@_case
async def delete_none(package: str) -> Any:
    await _sessions(package).delete_session(**OWNER, session_id="s1")
    return None


@_case
async def user_state(package: str) -> Any:
    service = _sessions(package)
    await service.create_session(**OWNER, session_id="s1", state={"user:a": 1, "b": 2})
    return await service.get_user_state(**OWNER)


async def _appended(package: str, event: Any) -> Any:
    service = _sessions(package)
    made = await service.create_session(**OWNER, session_id="s1")
    await service.append_event(made, event)
    again = await service.get_session(**OWNER, session_id="s1")
    return {"shown": _shown(made), "loaded": _shown(again)}


@_case
async def append_state(package: str) -> Any:
    actions = _load(package, "events.event_actions", "EventActions")(
        state_delta={"a": 1, "temp:t": 2, "user:u": 3, "app:p": {"deep": [1, None]}, "gone": None},
        artifact_delta={"file.txt": 2},
    )
    return await _appended(package, _said(package, "hello", actions=actions))


@_case
async def append_calls(package: str) -> Any:
    types = _types(package)
    call = types.FunctionCall(id="c1", name="wait", args={"n": 1, "x": 1.5})
    response = types.FunctionResponse(id="c2", name="look", response={"seen": [1, "a"]})
    content = types.Content(
        role="model",
        parts=[
            types.Part(text="so", thought=True),
            types.Part(function_call=call, thought_signature=b"\x01\xff"),
            types.Part(function_response=response),
            types.Part(inline_data=types.Blob(mime_type="image/png", data=b"\x89PNG\xff")),
        ],
    )
    event = _event(
        package,
        author="helper",
        content=content,
        long_running_tool_ids={"c1"},
        branch="a.b",
        partial=False,
        turn_complete=True,
        interrupted=False,
        error_code="E",
        error_message="wrong",
        custom_metadata={"k": {"n": [1, 2.5]}},
        usage_metadata=types.GenerateContentResponseUsageMetadata(total_token_count=7),
        model_version="m-1",
    )
    return await _appended(package, event)


@_case
async def append_actions(package: str) -> Any:
    types = _types(package)
    compaction = _load(package, "events.event_actions", "EventCompaction")(
        start_timestamp=AT,
        end_timestamp=AT + 1,
        compacted_content=types.Content(role="model", parts=[types.Part(text="sum")]),
    )
    confirmation = _load(package, "tools.tool_confirmation", "ToolConfirmation")(hint="sure?")
    actions = _load(package, "events.event_actions", "EventActions")(
        transfer_to_agent="other",
        escalate=True,
        skip_summarization=True,
        compaction=compaction,
        end_of_agent=True,
        agent_state={"step": 2},
        rewind_before_invocation_id="i0",
        requested_tool_confirmations={"c1": confirmation},
        route="left",
    )
    event = _event(package, author="helper", actions=actions, node_path="wf/a@1", output={"x": 1})
    return await _appended(package, event)


@_case
async def append_partial(package: str) -> Any:
    return await _appended(package, _said(package, "hel", partial=True))


@_case
async def append_grounding(package: str) -> Any:
    types = _types(package)
    event = _said(
        package,
        "hi",
        author="helper",
        grounding_metadata=types.GroundingMetadata(web_search_queries=["q"]),
        input_transcription=types.Transcription(text="in", finished=True),
        output_transcription=types.Transcription(text="out"),
    )
    return await _appended(package, event)


def _session(package: str, *events: Any) -> Any:
    return _load(package, "sessions.session", "Session")(
        id="s1", app_name="app", user_id="ann", events=list(events)
    )


async def _remembered(package: str, metadata: Any) -> Any:
    await _memories(package).add_events_to_memory(
        app_name="app",
        user_id="ann",
        events=[_said(package, "hello"), _event(package, id="e2")],
        session_id="s1",
        custom_metadata=metadata,
    )


@_case
async def remember_session(package: str) -> Any:
    types = _types(package)
    call = types.Part(function_call=types.FunctionCall(id="c1", name="wait", args={}))
    mixed = types.Content(role="model", parts=[types.Part(text="so"), call])
    only = types.Content(role="model", parts=[call])
    thought = types.Content(role="model", parts=[types.Part(text="hm", thought=True)])
    image = types.Part(inline_data=types.Blob(mime_type="image/png", data=b"\x89PNG\xff"))
    file = types.Part(file_data=types.FileData(file_uri="gs://a/b", mime_type="text/plain"))
    code = types.Part(executable_code=types.ExecutableCode(code="1", language="PYTHON"))
    answer = types.Part(function_response=types.FunctionResponse(id="c1", name="w", response={}))
    kinds = [mixed, only, thought, types.Content(role="user", parts=[image, file])]
    kinds += [types.Content(role="model", parts=[part]) for part in (code, answer)]
    kinds += [types.Content(role="model", parts=[]), types.Content(parts=[types.Part(text="")])]
    events = [
        _event(package, id=f"k{number}", author="helper", content=content)
        for number, content in enumerate(kinds)
    ]
    await _memories(package).add_session_to_memory(
        _session(package, _said(package, "hello"), *events, _event(package, id="e9"))
    )


@_case
async def remember_nothing(package: str) -> Any:
    await _memories(package).add_session_to_memory(_session(package))


METADATA: dict[str, Any] = {
    "none": None,
    "empty": {},
    "stream_id": {"stream_id": "st"},
    "force_flush": {"force_flush": True},
    "trigger": {"generation_trigger_config": {"generation_rule": {"idle_duration": "60s"}}},
    "ttl": {"ttl": "60s"},
    "disable_consolidation": {"disable_consolidation": True},
    "wait": {"wait_for_completion": True},
    "unknown": {"colour": "red", "number": 1, "yes": True, "list": ["a"], "no": None},
    "metadata": {"metadata": {"a": "b", "n": 2}},
    "revision_labels": {"revision_labels": {"k": "v"}},
    "revision_ttl": {"revision_ttl": "60s"},
    "revision_expire_time": {"revision_expire_time": "2030-01-01T00:00:00Z"},
    "disable_memory_revisions": {"disable_memory_revisions": True},
    "metadata_merge_strategy": {"metadata_merge_strategy": "MERGE"},
    "allowed_topics": {"allowed_topics": [{"managed_memory_topic": "USER_PREFERENCES"}]},
    "http_options": {"http_options": {"timeout": 1000}},
    "none_ttl": {"ttl": None},
    "camel": {"streamId": "st", "revisionTtl": "60s", "forceFlush": True},
    "unknown_too": {"ttl": "60s", "colour": "red", "yes": True, "list": ["a"], "no": None},
    "both": {"stream_id": "st", "ttl": "60s"},
    "wrong_ttl": {"ttl": 60},
    "wrong_flush": {"force_flush": "x"},
}


def _remember_with(key: str) -> Case:
    async def play(package: str) -> Any:
        await _remembered(package, METADATA[key])

    return play


CASES.update({f"remember_{key}": _remember_with(key) for key in METADATA})


async def _entered(package: str, metadata: Any, *entries: dict[str, Any]) -> Any:
    types = _types(package)
    entry = _load(package, "memory.memory_entry", "MemoryEntry")
    memories = [
        entry(content=types.Content(parts=[types.Part(text=one.pop("text"))]), **one)
        for one in [dict(e) for e in entries]
    ]
    service = _memories(package)
    await service.add_memory(
        app_name="app", user_id="ann", memories=memories, custom_metadata=metadata
    )
    found = await service.search_memory(app_name="app", user_id="ann", query="tea")
    return [one.model_dump(mode="json", exclude_none=True) for one in found.memories]


@_case
async def enter(package: str) -> Any:
    return await _entered(package, None, {"text": "likes tea"}, {"text": "likes rain"})


@_case
async def enter_with_metadata(package: str) -> Any:
    entry: dict[str, Any] = {
        "text": "likes tea",
        "author": "ann",
        "timestamp": "2025-01-01T00:00:00Z",
    }
    entry["custom_metadata"] = {"colour": "red", "display_name": "d"}
    return await _entered(package, {"ttl": "60s", "number": 1, "metadata": {"a": "b"}}, entry)


@_case
async def enter_with_own_fields(package: str) -> Any:
    entry: dict[str, Any] = {"text": "likes tea", "id": "m1"}
    entry["custom_metadata"] = {
        "description": "what",
        "ttl": "90s",
        "topics": [{"managed_memory_topic": "USER_PREFERENCES"}],
        "yes": True,
        "list": ["a"],
        "revision_labels": {"k": "v"},
        "memory_id": "mem-1",
        "wait_for_completion": True,
    }
    return await _entered(package, {"ttl": "60s", "disable_memory_revisions": True}, entry)


@_case
async def enter_many_parts(package: str) -> Any:
    types = _types(package)
    entry = _load(package, "memory.memory_entry", "MemoryEntry")
    content = types.Content(parts=[types.Part(text="a"), types.Part(text="b")])
    await _memories(package).add_memory(
        app_name="app", user_id="ann", memories=[entry(content=content)]
    )


@_case
async def enter_no_text(package: str) -> Any:
    types = _types(package)
    entry = _load(package, "memory.memory_entry", "MemoryEntry")
    image = types.Part(inline_data=types.Blob(mime_type="image/png", data=b"a"))
    await _memories(package).add_memory(
        app_name="app", user_id="ann", memories=[entry(content=types.Content(parts=[image]))]
    )


@_case
async def enter_consolidated(package: str) -> Any:
    return await _entered(
        package, {"enable_consolidation": True}, *({"text": str(n)} for n in range(7))
    )


@_case
async def enter_nothing(package: str) -> Any:
    return await _entered(package, None)


@_case
async def enter_consolidated_with_metadata(package: str) -> Any:
    entry = {"text": "likes tea", "author": "ann", "custom_metadata": {"colour": "red"}}
    return await _entered(
        package, {"enable_consolidation": True, "revision_ttl": "60s", "shape": "round"}, entry
    )


@_case
async def search(package: str) -> Any:
    service = _memories(package)
    found = await service.search_memory(app_name="app", user_id="ann", query="tea")
    return [one.model_dump(mode="json", exclude_none=True) for one in found.memories]


@_case
async def memory_express(package: str) -> Any:
    service = _memories(package, agent_engine_id="456", express_mode_api_key="key")
    found = await service.search_memory(app_name="app", user_id="ann", query="tea")
    return [one.model_dump(mode="json", exclude_none=True) for one in found.memories]


@_case
async def memory_without_engine(package: str) -> Any:
    _memories(package, project="proj", location="us-central1")


@_case
async def memory_of_full_name(package: str) -> Any:
    name = "projects/1/locations/x/reasoningEngines/456"
    service = _memories(package, project="proj", location="us-central1", agent_engine_id=name)
    await service.search_memory(app_name="app", user_id="ann", query="tea")
