"""Gemini Live, against a server that speaks its messages."""

from __future__ import annotations

import asyncio
import base64
import json
import logging
import ssl
import traceback
from typing import Any

import pytest

from ostinato import types
from ostinato.agents import LiveRequestQueue, LlmAgent, RunConfig
from ostinato.errors import (
    ModelAnswerError,
    ModelAuthError,
    ModelConnectionError,
    ModelRateLimitError,
    ModelRequestError,
    ModelServerError,
    ModelTimeoutError,
    ProviderError,
)
from ostinato.models.google_llm import Gemini
from tests.unit.flows.kit import Store, Talk
from tests.unit.flows.live.kit import converse, lines, said
from tests.wire.live.socket_server import HANG, Close, Heard, Refuse, SocketServer

KEY = "AIzaSECRET0123456789"
READY = {"setupComplete": {}}
TEXT = RunConfig(response_modalities=["TEXT"])


def content(**fields: Any) -> dict[str, Any]:
    return {"serverContent": fields}


def text(words: str, **part: Any) -> dict[str, Any]:
    return content(modelTurn={"role": "model", "parts": [{"text": words, **part}]})


def sound(data: bytes) -> dict[str, Any]:
    blob = {"data": base64.b64encode(data).decode(), "mimeType": "audio/pcm;rate=24000"}
    return content(modelTurn={"role": "model", "parts": [{"inlineData": blob}]})


def tool_call(*calls: tuple[str, str, dict[str, Any]]) -> dict[str, Any]:
    listed = [{"id": call_id, "name": name, "args": args} for call_id, name, args in calls]
    return {"toolCall": {"functionCalls": listed}}


DONE = content(turnComplete=True)
SETUP = Heard(lambda message: "setup" in message)
WORDS = Heard(lambda message: "client_content" in message)
SOUND = Heard(lambda message: "realtime_input" in message)
ANSWER = Heard(lambda message: "tool_response" in message)
OPENING = (SETUP, READY)


def model(server: SocketServer, **fields: Any) -> Gemini:
    name = fields.pop("model", "gemini-2.5-flash-native-audio")
    return Gemini(model=name, api_key=KEY, base_url=server.url, vertexai=False, **fields)


def talk_of(llm: Gemini, memory: Store, **fields: Any) -> tuple[Talk, LiveRequestQueue]:
    queue = LiveRequestQueue()
    queue.send_content(said("Hi"))
    return Talk(LlmAgent(name="root", model=llm, instruction="Be brief.", **fields), memory), queue


async def test_a_text_turn(tls: ssl.SSLContext, memory: Store) -> None:
    script = [
        *OPENING,
        WORDS,
        text("hm", thought=True),
        text("Hel"),
        text("lo"),
        {"usageMetadata": {"promptTokenCount": 3, "responseTokenCount": 4, "totalTokenCount": 7}},
        content(generationComplete=True),
        DONE,
    ]
    async with SocketServer(script, tls=tls) as server:
        talk, queue = talk_of(model(server), memory)
        events = await converse(talk, queue, TEXT)
        await talk.runner.agent.model.aclose()
    assert lines(events) == [
        "~root hm",
        "root hm",
        "~root Hel",
        "~root lo",
        "root usage",
        "root Hello",
        "root turn_complete",
    ]
    thought = events[1].content
    assert thought is not None and thought.parts is not None and thought.parts[0].thought
    usage = events[4].usage_metadata
    assert usage is not None
    assert (usage.prompt_token_count, usage.candidates_token_count) == (3, 4)
    assert events[0].model_version == "gemini-2.5-flash-native-audio"
    setup, words = server.received[0]
    assert setup["setup"]["model"] == "models/gemini-2.5-flash-native-audio"
    assert setup["setup"]["generationConfig"]["responseModalities"] == ["TEXT"]
    assert "Be brief." in json.dumps(setup["setup"]["systemInstruction"])
    assert words["client_content"]["turns"] == [{"role": "user", "parts": [{"text": "Hi"}]}]
    assert words["client_content"]["turnComplete"] is True


async def test_settings_of_the_run_reach_the_setup(tls: ssl.SSLContext, memory: Store) -> None:
    def look(city: str) -> str:
        """Look."""
        return city

    config = RunConfig(
        speech_config=types.SpeechConfig(
            voice_config=types.VoiceConfig(
                prebuilt_voice_config=types.PrebuiltVoiceConfig(voice_name="Kore")
            )
        ),
        realtime_input_config=types.RealtimeInputConfig(
            automatic_activity_detection=types.AutomaticActivityDetection(disabled=True)
        ),
        session_resumption=types.SessionResumptionConfig(),
        context_window_compression=types.ContextWindowCompressionConfig(trigger_tokens=1000),
        enable_affective_dialog=True,
        proactivity=types.ProactivityConfig(proactive_audio=True),
    )
    settings = types.GenerateContentConfig(temperature=0.5)
    async with SocketServer([*OPENING, WORDS, DONE], tls=tls) as server:
        talk, queue = talk_of(model(server), memory, tools=[look], generate_content_config=settings)
        await converse(talk, queue, config)
        await talk.runner.agent.model.aclose()
    setup = server.received[0][0]["setup"]
    generation = setup["generationConfig"]
    assert generation["responseModalities"] == ["AUDIO"]
    assert generation["temperature"] == 0.5
    assert "Kore" in json.dumps(generation["speechConfig"])
    assert setup["realtimeInputConfig"] == {"automaticActivityDetection": {"disabled": True}}
    assert setup["sessionResumption"] == {}
    assert setup["contextWindowCompression"] == {"triggerTokens": 1000}
    assert setup["inputAudioTranscription"] == {}
    assert setup["outputAudioTranscription"] == {}
    assert setup["tools"][0]["functionDeclarations"][0]["name"] == "look"
    assert server.requests[0].path.startswith("/ws/google.ai.generativelanguage.v1alpha.")


async def test_sound_both_ways_with_transcriptions(tls: ssl.SSLContext, memory: Store) -> None:
    script = [
        *OPENING,
        SOUND,
        content(inputTranscription={"text": "he"}),
        content(inputTranscription={"text": "y"}),
        sound(b"ab"),
        content(outputTranscription={"text": "Hel"}),
        sound(b"cd"),
        content(outputTranscription={"text": "lo"}),
        content(generationComplete=True),
        DONE,
    ]
    async with SocketServer(script, tls=tls) as server:
        talk, queue = talk_of(model(server), memory)
        queue = LiveRequestQueue()
        queue.send_realtime(types.Blob(data=b"\0\1", mime_type="audio/pcm;rate=16000"))
        events = await converse(talk, queue)
        await talk.runner.agent.model.aclose()
    assert lines(events) == [
        "~user heard:he",
        "~user heard:y",
        "root sound",
        "~root spoke:Hel",
        "root sound",
        "~root spoke:lo",
        "user heard:hey",
        "root spoke:Hello",
        "root turn_complete",
    ]
    assert lines(await talk.stored()) == [
        "user heard:hey",
        "root spoke:Hello",
        "root turn_complete",
    ]
    sent = server.received[0][1]["realtime_input"]["audio"]
    assert sent == {"data": base64.b64encode(b"\0\1").decode(), "mime_type": "audio/pcm;rate=16000"}


async def test_pictures_and_activity_are_realtime_input(tls: ssl.SSLContext, memory: Store) -> None:
    async with SocketServer([*OPENING, SOUND, SOUND, SOUND, DONE], tls=tls) as server:
        talk, queue = talk_of(model(server), memory)
        queue = LiveRequestQueue()
        queue.send_activity_start()
        queue.send_realtime(types.Blob(data=b"jpg", mime_type="image/jpeg"))
        queue.send_activity_end()
        await converse(talk, queue)
        await talk.runner.agent.model.aclose()
    kinds = [list(message["realtime_input"]) for message in server.received[0][1:]]
    assert kinds == [["activityStart"], ["video"], ["activityEnd"]]


async def test_an_interruption(tls: ssl.SSLContext, memory: Store) -> None:
    script = [
        *OPENING,
        WORDS,
        content(outputTranscription={"text": "Hel"}),
        content(interrupted=True),
        text("Fine"),
        content(interrupted=True, turnComplete=True),
    ]
    async with SocketServer(script, tls=tls) as server:
        talk, queue = talk_of(model(server), memory)
        events = await converse(talk, queue)
        await talk.runner.agent.model.aclose()
    assert lines(events) == [
        "~root spoke:Hel",
        "root spoke:Hel",
        "root interrupted",
        "~root Fine",
        "root Fine interrupted",
        "root interrupted turn_complete",
    ]


async def test_parallel_calls_are_answered_by_id(tls: ssl.SSLContext, store: Store) -> None:
    async def look(city: str) -> str:
        """Look at the weather."""
        return f"rain in {city}"

    script = [
        *OPENING,
        WORDS,
        text("Let me see"),
        tool_call(("a", "look", {"city": "Rome"}), ("b", "look", {"city": "Oslo"})),
        ANSWER,
        ANSWER,
        text("Rain"),
        DONE,
    ]
    async with SocketServer(script, tls=tls) as server:
        talk, queue = talk_of(model(server), store, tools=[look])
        events = await converse(talk, queue, TEXT)
        await talk.runner.agent.model.aclose()
    assert lines(events)[:3] == ["~root Let me see", "root Let me see", "root look(a) look(b)"]
    sent = [message["tool_response"]["functionResponses"][0] for message in server.received[0][2:]]
    assert [(answer["id"], answer["response"]) for answer in sent] == [
        ("a", {"result": "rain in Rome"}),
        ("b", {"result": "rain in Oslo"}),
    ]


async def test_a_call_is_taken_back(tls: ssl.SSLContext, memory: Store) -> None:
    begun, ended = asyncio.Event(), asyncio.Event()

    async def look() -> str:
        """Look."""
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()
        return "never"

    script = [
        *OPENING,
        WORDS,
        tool_call(("a", "look", {})),
        begun.wait,
        {"toolCallCancellation": {"ids": ["a"]}},
        ended.wait,
        DONE,
    ]
    async with SocketServer(script, tls=tls) as server:
        talk, queue = talk_of(model(server), memory, tools=[look])
        events = await converse(talk, queue)
        await talk.runner.agent.model.aclose()
    assert any("cancelled the call" in line for line in lines(events))
    assert not any("tool_response" in message for message in server.received[0])


async def test_go_away_and_the_next_connection(tls: ssl.SSLContext, memory: Store) -> None:
    first = [
        *OPENING,
        WORDS,
        {"sessionResumptionUpdate": {"newHandle": "H", "resumable": True}},
        text("a"),
        DONE,
        {"goAway": {"timeLeft": "5s"}},
    ]
    async with SocketServer(first, [*OPENING, text("b"), DONE], tls=tls) as server:
        talk, queue = talk_of(model(server), memory)
        config = RunConfig(session_resumption=types.SessionResumptionConfig())
        events = await converse(
            talk, queue, config, until=lambda e: e.turn_complete and len(server.received) == 2
        )
        await talk.runner.agent.model.aclose()
    assert lines(events)[-3:] == ["~root b", "root b", "root turn_complete"]
    assert server.received[1][0]["setup"]["sessionResumption"] == {"handle": "H"}
    assert len(server.received[1]) == 1  # no history: the session has it


@pytest.mark.parametrize("close", [Close(1000), Close(1011, "internal"), Close(0)])
async def test_a_connection_that_breaks_is_resumed(
    close: Close, tls: ssl.SSLContext, memory: Store
) -> None:
    update = {"sessionResumptionUpdate": {"newHandle": "H", "resumable": True}}
    first = [*OPENING, WORDS, update, text("half"), close]
    async with SocketServer(first, [*OPENING, text("b"), DONE], tls=tls) as server:
        talk, queue = talk_of(model(server), memory)
        config = RunConfig(session_resumption=types.SessionResumptionConfig())
        events = await converse(talk, queue, config)
        await talk.runner.agent.model.aclose()
    assert lines(events)[-3:] == ["~root b", "root b", "root turn_complete"]


async def test_history_comes_first(tls: ssl.SSLContext, memory: Store) -> None:
    scripts = [[*OPENING, WORDS, text("Hello"), DONE], [*OPENING, WORDS, text("Again"), DONE]]
    async with SocketServer(*scripts, tls=tls) as server:
        talk, queue = talk_of(model(server), memory)
        await converse(talk, queue, TEXT)
        await converse(talk, LiveRequestQueue(), TEXT)
        await talk.runner.agent.model.aclose()
    history = server.received[1][1]["client_content"]
    assert [turn["role"] for turn in history["turns"]] == ["user", "model"]
    assert not history.get("turnComplete")


async def test_newer_models_take_turns_as_history_only(tls: ssl.SSLContext, memory: Store) -> None:
    scripts = [[*OPENING, SOUND, text("Hello"), DONE], [*OPENING, WORDS, text("Again"), DONE]]
    async with SocketServer(*scripts, tls=tls) as server:
        talk, queue = talk_of(model(server, model="gemini-3.1-flash-live"), memory)
        await converse(talk, queue, TEXT)
        await converse(talk, LiveRequestQueue(), TEXT)
        await talk.runner.agent.model.aclose()
    assert server.received[0][1] == {"realtime_input": {"text": "Hi"}}
    seeded = server.received[1][0]["setup"]["historyConfig"]
    assert seeded == {"initialHistoryInClientContent": True}
    assert server.received[1][1]["client_content"]["turnComplete"] is True


async def test_grounding_and_other_parts(tls: ssl.SSLContext, memory: Store) -> None:
    code = {"executableCode": {"code": "1+1", "language": "PYTHON"}}
    script = [
        *OPENING,
        WORDS,
        content(modelTurn={"role": "model", "parts": [code]}),
        text("Two"),
        content(groundingMetadata={"webSearchQueries": ["q"]}),
        DONE,
    ]
    async with SocketServer(script, tls=tls) as server:
        talk, queue = talk_of(model(server), memory)
        events = await converse(talk, queue, TEXT)
        await talk.runner.agent.model.aclose()
    first = events[0].content
    assert first is not None and first.parts is not None
    assert first.parts[0].executable_code is not None
    whole = next(event for event in events if lines([event]) == ["root Two"])
    assert whole.grounding_metadata is not None
    assert whole.grounding_metadata.web_search_queries == ["q"]


def shown(error: BaseException) -> str:
    return "".join(traceback.format_exception(error))


@pytest.mark.parametrize(
    ("script", "kind"),
    [
        (Refuse(401, json.dumps({"error": {"message": f"API key {KEY} not valid"}})), "auth"),
        (Refuse(403, f"no {KEY}"), "auth"),
        (Refuse(404, "no such model"), "request"),
        (Refuse(429, "slow down"), "rate"),
        (Refuse(503, "later"), "server"),
        (Refuse(200, "<html>Log in</html>"), "answer"),
        ([SETUP, Close(1008, f"API key {KEY} is not valid")], "auth"),
        ([SETUP, Close(1008, "models/x is not found for API version v1beta")], "request"),
        ([SETUP, Close(1007, "Request contains an invalid argument.")], "request"),
        ([SETUP, Close(1011, "You exceeded your current quota")], "rate"),
        ([*OPENING, WORDS, Close(1011, "Internal error encountered.")], "server"),
        ([*OPENING, WORDS, text("a"), Close(1000)], "connection"),
        ([*OPENING, WORDS, text("a"), Close(0)], "connection"),
        ([*OPENING, WORDS, "{not json"], "answer"),
        ([*OPENING, WORDS, {"error": {"code": 400, "message": f"bad {KEY}"}}], "any"),
        ([SETUP, "{not json"], "answer"),
        ([SETUP, Close(0)], "connection"),
    ],
)
async def test_failures_say_who_refused_what_and_hide_the_key(
    script: Any,
    kind: str,
    tls: ssl.SSLContext,
    memory: Store,
    caplog: pytest.LogCaptureFixture,
) -> None:
    kinds: dict[str, type[ProviderError]] = {
        "auth": ModelAuthError,
        "request": ModelRequestError,
        "rate": ModelRateLimitError,
        "server": ModelServerError,
        "answer": ModelAnswerError,
        "connection": ModelConnectionError,
        "any": ProviderError,
    }
    caplog.set_level(logging.DEBUG, logger="ostinato")
    async with SocketServer(script, tls=tls) as server:
        talk, queue = talk_of(model(server), memory)
        with pytest.raises(kinds[kind]) as raised:
            await converse(talk, queue, TEXT)
        await talk.runner.agent.model.aclose()
    assert "gemini-2.5-flash-native-audio" in str(raised.value)
    stored = "".join(event.model_dump_json() for event in await talk.stored())
    for place in (str(raised.value), shown(raised.value), caplog.text, stored):
        assert KEY not in place


async def test_nobody_answers(tls: ssl.SSLContext, memory: Store) -> None:
    async with SocketServer([], tls=tls) as server:
        llm = model(server)
    talk, queue = talk_of(llm, memory)
    with pytest.raises(ModelConnectionError, match="cannot be reached"):
        await converse(talk, queue, TEXT)
    await llm.aclose()


async def test_a_server_that_never_answers_the_setup(tls: ssl.SSLContext, memory: Store) -> None:
    async with SocketServer([SETUP, HANG], tls=tls) as server:
        talk, queue = talk_of(model(server, timeout=0.2), memory)
        with pytest.raises(ModelTimeoutError):
            await converse(talk, queue, TEXT)
        await talk.runner.agent.model.aclose()


async def test_leaving_in_the_middle_closes_the_connection(
    tls: ssl.SSLContext, memory: Store
) -> None:
    before = asyncio.all_tasks()
    async with SocketServer([*OPENING, WORDS, text("a"), HANG], tls=tls) as server:
        talk, queue = talk_of(model(server), memory)
        await converse(talk, queue, TEXT, until=lambda event: True)
        await server.ended.wait()
        await talk.runner.agent.model.aclose()
    assert asyncio.all_tasks() <= before
