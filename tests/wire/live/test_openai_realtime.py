"""OpenAI Realtime through the openai SDK, against a server that speaks its messages."""

from __future__ import annotations

import asyncio
import base64
import json
import logging
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
from ostinato.models.openai_realtime_llm import OpenAIRealtimeLlm
from ostinato.models.registry import LLMRegistry
from tests.support.optionals import parts_of
from tests.unit.flows.kit import Store, Talk
from tests.unit.flows.live.kit import converse, lines, said
from tests.wire.live.socket_server import HANG, Close, Heard, Refuse, SocketServer

KEY = "sk-SECRET-0123456789"
TEXT = RunConfig(response_modalities=["TEXT"])
SOUND = types.Blob(data=b"\0\1", mime_type="audio/pcm;rate=24000")


def event(kind: str, **fields: Any) -> dict[str, Any]:
    return {"type": kind, "event_id": "event_1", **fields}


def heard(kind: str) -> Heard:
    return Heard(lambda message: message["type"] == kind)


UPDATE = heard("session.update")
ASKED = heard("response.create")
OPENING = (
    event("session.created", session={"id": "sess_1"}),
    UPDATE,
    event("session.updated", session={"id": "sess_1"}),
)
BEGUN = event("response.created", response={"id": "r", "status": "in_progress"})
USAGE = {
    "total_tokens": 9,
    "input_tokens": 5,
    "output_tokens": 4,
    "input_token_details": {"cached_tokens": 2},
}


def done(status: str = "completed", **fields: Any) -> dict[str, Any]:
    return event("response.done", response={"id": "r", "status": status, **fields})


def text(words: str) -> dict[str, Any]:
    return event("response.output_text.delta", delta=words)


def sound(data: bytes) -> dict[str, Any]:
    return event("response.output_audio.delta", delta=base64.b64encode(data).decode())


def spoken(words: str) -> dict[str, Any]:
    return event("response.output_audio_transcript.delta", delta=words)


def call(name: str, call_id: str, arguments: str) -> dict[str, Any]:
    item = {"type": "function_call", "name": name, "call_id": call_id, "arguments": arguments}
    return event("response.output_item.done", item=item)


def model(server: SocketServer, **fields: Any) -> OpenAIRealtimeLlm:
    return OpenAIRealtimeLlm(
        model="gpt-realtime", api_key=KEY, base_url=f"{server.url}/v1", **fields
    )


def talk_of(llm: OpenAIRealtimeLlm, memory: Store, **fields: Any) -> tuple[Talk, LiveRequestQueue]:
    queue = LiveRequestQueue()
    queue.send_content(said("Hi"))
    return Talk(LlmAgent(name="root", model=llm, instruction="Be brief.", **fields), memory), queue


def kinds(server: SocketServer, connection: int = 0) -> list[str]:
    return [message["type"] for message in server.received[connection]]


async def test_a_text_turn(memory: Store) -> None:
    script = [*OPENING, ASKED, BEGUN, text("Hel"), text("lo"), done(usage=USAGE)]
    async with SocketServer(script) as server:
        talk, queue = talk_of(model(server), memory)
        events = await converse(talk, queue, TEXT)
        await talk.runner.agent.model.aclose()
    assert lines(events) == [
        "~root Hel",
        "~root lo",
        "root usage",
        "root Hello",
        "root turn_complete",
    ]
    usage = events[2].usage_metadata
    assert usage is not None
    counts = (usage.prompt_token_count, usage.candidates_token_count, usage.total_token_count)
    assert counts == (5, 4, 9)
    assert usage.cached_content_token_count == 2
    assert events[0].live_session_id == "sess_1"
    update, item, ask = server.received[0]
    session = update["session"]
    assert session["type"] == "realtime"
    assert session["output_modalities"] == ["text"]
    assert session["instructions"].startswith("Be brief.")
    assert item["item"] == {
        "type": "message",
        "role": "user",
        "content": [{"type": "input_text", "text": "Hi"}],
    }
    assert ask == {"type": "response.create"}
    request = server.requests[0]
    assert request.path == "/v1/realtime?model=gpt-realtime"
    assert request.headers["Authorization"] == f"Bearer {KEY}"


async def test_settings_of_the_run_reach_the_session(memory: Store) -> None:
    def look(city: str) -> str:
        """Look."""
        return city

    voice = types.PrebuiltVoiceConfig(voice_name="marin")
    config = RunConfig(
        speech_config=types.SpeechConfig(
            language_code="de-DE", voice_config=types.VoiceConfig(prebuilt_voice_config=voice)
        ),
        realtime_input_config=types.RealtimeInputConfig(
            automatic_activity_detection=types.AutomaticActivityDetection(
                start_of_speech_sensitivity=types.StartSensitivity.START_SENSITIVITY_HIGH,
                prefix_padding_ms=100,
                silence_duration_ms=400,
            ),
            activity_handling=types.ActivityHandling.NO_INTERRUPTION,
        ),
    )
    async with SocketServer([*OPENING, ASKED, BEGUN, done()]) as server:
        talk, queue = talk_of(
            model(server),
            memory,
            tools=[look],
            generate_content_config=types.GenerateContentConfig(max_output_tokens=100),
        )
        await converse(talk, queue, config)
        await talk.runner.agent.model.aclose()
    session = server.received[0][0]["session"]
    assert session["audio"] == {
        "input": {
            "format": {"type": "audio/pcm", "rate": 24000},
            "transcription": {"model": "gpt-4o-mini-transcribe", "language": "de"},
            "turn_detection": {
                "type": "server_vad",
                "threshold": 0.3,
                "prefix_padding_ms": 100,
                "silence_duration_ms": 400,
                "interrupt_response": False,
            },
        },
        "output": {"format": {"type": "audio/pcm", "rate": 24000}, "voice": "marin"},
    }
    assert session["output_modalities"] == ["audio"]
    assert session["max_output_tokens"] == 100
    assert session["tools"][0]["name"] == "look"
    assert session["tools"][0]["parameters"]["required"] == ["city"]


async def test_sound_both_ways_with_transcriptions(memory: Store) -> None:
    transcription = "conversation.item.input_audio_transcription"
    script = [
        *OPENING,
        heard("input_audio_buffer.append"),
        event("input_audio_buffer.speech_started", audio_start_ms=0, item_id="i"),
        event("input_audio_buffer.speech_stopped", audio_end_ms=9, item_id="i"),
        BEGUN,
        event(f"{transcription}.delta", delta="he", item_id="i", content_index=0),
        event(f"{transcription}.completed", transcript="hey", item_id="i", content_index=0),
        sound(b"ab"),
        spoken("Hel"),
        sound(b"cd"),
        spoken("lo"),
        event("response.output_audio_transcript.done", transcript="Hello"),
        done(),
    ]
    async with SocketServer(script) as server:
        talk, _ = talk_of(model(server), memory)
        queue = LiveRequestQueue()
        queue.send_realtime(SOUND)
        events = await converse(talk, queue)
        await talk.runner.agent.model.aclose()
    assert lines(events) == [
        "~user heard:he",
        "user heard:hey",
        "root sound",
        "~root spoke:Hel",
        "root sound",
        "~root spoke:lo",
        "root spoke:Hello",
        "root turn_complete",
    ]
    assert lines(await talk.stored()) == [
        "user heard:hey",
        "root spoke:Hello",
        "root turn_complete",
    ]
    blob = parts_of(events[2])[0].inline_data
    assert blob and (blob.data, blob.mime_type) == (b"ab", "audio/pcm;rate=24000")
    sent = server.received[0][1]
    assert base64.b64decode(sent["audio"]) == b"\0\1"


async def test_speech_interrupts_the_model(memory: Store) -> None:
    script = [
        *OPENING,
        ASKED,
        BEGUN,
        sound(b"ab"),
        spoken("Hel"),
        event("input_audio_buffer.speech_started", audio_start_ms=0, item_id="i"),
        done("cancelled", status_details={"type": "cancelled", "reason": "turn_detected"}),
    ]
    async with SocketServer(script) as server:
        talk, queue = talk_of(model(server), memory)
        events = await converse(talk, queue)
        await talk.runner.agent.model.aclose()
    assert lines(events) == [
        "root sound",
        "~root spoke:Hel",
        "root spoke:Hel",
        "root interrupted",
        "root interrupted turn_complete",
    ]


async def test_parallel_calls_are_all_answered_before_the_model_goes_on(store: Store) -> None:
    async def look(city: str) -> str:
        """Look at the weather."""
        return f"rain in {city}"

    script = [
        *OPENING,
        ASKED,
        BEGUN,
        call("look", "a", '{"city": "Rome"}'),
        call("look", "b", '{"city": "Oslo"}'),
        done(),
        ASKED,
        BEGUN,
        text("Rain"),
        done(),
    ]
    async with SocketServer(script) as server:
        talk, queue = talk_of(model(server), store, tools=[look])
        events = await converse(talk, queue, TEXT)
        await talk.runner.agent.model.aclose()
    assert lines(events)[0] == "root look(a) look(b)"
    assert lines(events)[-3:] == ["~root Rain", "root Rain", "root turn_complete"]
    sent = server.received[0][3:]
    assert [message["type"] for message in sent] == [
        "conversation.item.create",
        "conversation.item.create",
        "response.create",
    ]
    assert sent[0]["item"] == {
        "type": "function_call_output",
        "call_id": "a",
        "output": '{"result": "rain in Rome"}',
    }


async def test_arguments_that_are_no_json_are_answered(memory: Store) -> None:
    def look(city: str) -> str:
        """Look."""
        raise AssertionError("never called")

    script = [*OPENING, ASKED, BEGUN, call("look", "a", '{"city": '), done(), ASKED, BEGUN, done()]
    async with SocketServer(script) as server:
        talk, queue = talk_of(model(server), memory, tools=[look])
        await converse(talk, queue, TEXT)
        await talk.runner.agent.model.aclose()
    assert "not valid JSON" in server.received[0][3]["item"]["output"]


async def test_calls_of_a_cancelled_response_are_not_run(memory: Store) -> None:
    def look() -> str:
        """Look."""
        raise AssertionError("never called")

    script = [*OPENING, ASKED, BEGUN, call("look", "a", "{}"), done("cancelled")]
    async with SocketServer(script) as server:
        talk, queue = talk_of(model(server), memory, tools=[look])
        assert lines(await converse(talk, queue, TEXT)) == ["root interrupted turn_complete"]
        await talk.runner.agent.model.aclose()


async def test_a_message_in_the_middle_of_a_response_comes_first(memory: Store) -> None:
    """The response is cancelled, and the next one asked for when it has ended."""

    def more() -> None:
        queue.send_content(said("Stop"))

    script = [
        *OPENING,
        ASKED,
        BEGUN,
        text("Once upon"),
        more,
        heard("response.cancel"),
        done("cancelled"),
        ASKED,
        BEGUN,
        text("Fine"),
        done(),
    ]
    async with SocketServer(script) as server:
        talk, queue = talk_of(model(server), memory)
        events = await converse(
            talk, queue, TEXT, until=lambda e: e.turn_complete and not e.interrupted
        )
        await talk.runner.agent.model.aclose()
    assert lines(events) == [
        "~root Once upon",
        "root Once upon interrupted",
        "root interrupted turn_complete",
        "~root Fine",
        "root Fine",
        "root turn_complete",
    ]


async def test_activity_of_the_clients_own_telling(memory: Store) -> None:
    config = RunConfig(
        realtime_input_config=types.RealtimeInputConfig(
            automatic_activity_detection=types.AutomaticActivityDetection(disabled=True)
        )
    )
    async with SocketServer([*OPENING, ASKED, BEGUN, done()]) as server:
        talk, _ = talk_of(model(server), memory)
        queue = LiveRequestQueue()
        queue.send_activity_start()
        queue.send_realtime(SOUND)
        queue.send_realtime(types.Blob(data=b"jpg", mime_type="image/jpeg"))
        queue.send_activity_end()
        await converse(talk, queue, config)
        await talk.runner.agent.model.aclose()
    assert kinds(server)[1:] == [
        "input_audio_buffer.append",
        "conversation.item.create",
        "input_audio_buffer.commit",
        "response.create",
    ]
    assert server.received[0][0]["session"]["audio"]["input"]["turn_detection"] is None


async def test_history_comes_first(memory: Store) -> None:
    async def look() -> str:
        """Look."""
        return "rain"

    first = [*OPENING, ASKED, BEGUN, call("look", "a", "{}"), done(), ASKED, BEGUN, text("Rain")]
    scripts = [[*first, done()], [*OPENING, ASKED, BEGUN, text("Yes"), done()]]
    async with SocketServer(*scripts) as server:
        talk, queue = talk_of(model(server), memory, tools=[look])
        await converse(talk, queue, TEXT)
        queue = LiveRequestQueue()
        queue.send_content(said("Sure?"))
        await converse(talk, queue, TEXT)
        await talk.runner.agent.model.aclose()
    items = [m["item"] for m in server.received[1] if m["type"] == "conversation.item.create"]
    assert [(item["type"], item.get("role")) for item in items] == [
        ("message", "user"),
        ("function_call", None),
        ("function_call_output", None),
        ("message", "assistant"),
        ("message", "user"),
    ]
    assert items[3]["content"] == [{"type": "output_text", "text": "Rain"}]
    assert kinds(server, 1).count("response.create") == 1


async def test_errors_that_the_conversation_outlives_are_events(memory: Store) -> None:
    failure = {"type": "failed", "error": {"code": "rate_limit_exceeded", "message": f"no {KEY}"}}
    script = [
        *OPENING,
        ASKED,
        event("error", error={"type": "invalid_request_error", "code": "x", "message": KEY}),
        event("error", error={"type": "e", "code": "response_cancel_not_active", "message": ""}),
        BEGUN,
        done("failed", status_details=failure),
        BEGUN,
        text("cut"),
        done("incomplete", status_details={"reason": "max_output_tokens"}),
    ]
    async with SocketServer(script) as server:
        talk, queue = talk_of(model(server), memory)
        events = await _until_turns(talk, queue, 2)
        await talk.runner.agent.model.aclose()
    assert lines(events) == [
        "root error:x",
        "root error:rate_limit_exceeded",
        "root turn_complete",
        "~root cut",
        "root cut",
        "root error:MAX_TOKENS",
        "root turn_complete",
    ]
    assert KEY not in "".join(event.model_dump_json() for event in events)


async def _until_turns(talk: Talk, queue: LiveRequestQueue, turns: int) -> list[Any]:
    ended: list[Any] = []

    def enough(event: Any) -> bool:
        if event.turn_complete:
            ended.append(event)
        return len(ended) == turns

    return await converse(talk, queue, TEXT, until=enough)


def shown(error: BaseException) -> str:
    return "".join(traceback.format_exception(error))


WRONG_KEY = json.dumps({"error": {"message": f"Incorrect API key provided: {KEY}"}})


@pytest.mark.parametrize(
    ("script", "kind"),
    [
        (Refuse(401, WRONG_KEY), ModelAuthError),
        (Refuse(404, "no such model"), ModelRequestError),
        (Refuse(429, "slow down"), ModelRateLimitError),
        (Refuse(503, "later"), ModelServerError),
        (Refuse(200, "<html>Log in</html>"), ModelAnswerError),
        (
            [
                event("session.created", session={"id": "s"}),
                UPDATE,
                event(
                    "error",
                    error={"type": "invalid_request_error", "code": "x", "message": f"bad {KEY}"},
                ),
            ],
            ModelRequestError,
        ),
        ([UPDATE, Close(0)], ModelConnectionError),
        ([UPDATE, "{no json"], ModelAnswerError),
        ([*OPENING, ASKED, BEGUN, text("a"), Close(1001, "session expired")], ModelConnectionError),
        ([*OPENING, ASKED, BEGUN, text("a"), Close(0)], ModelConnectionError),
        ([*OPENING, ASKED, Close(3000, f"invalid_request_error.{KEY}")], ModelRequestError),
        ([*OPENING, ASKED, "{no json"], ModelAnswerError),
    ],
)
async def test_failures_say_who_refused_what_and_hide_the_key(
    script: Any, kind: type[ProviderError], memory: Store, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, logger="ostinato")
    async with SocketServer(script) as server:
        talk, queue = talk_of(model(server), memory)
        with pytest.raises(kind) as raised:
            await converse(talk, queue, TEXT)
        await talk.runner.agent.model.aclose()
    assert "gpt-realtime" in str(raised.value)
    stored = "".join(event.model_dump_json() for event in await talk.stored())
    for place in (str(raised.value), shown(raised.value), caplog.text, stored):
        assert KEY not in place


async def test_nobody_answers(memory: Store) -> None:
    async with SocketServer([]) as server:
        llm = model(server)
    talk, queue = talk_of(llm, memory)
    with pytest.raises(ModelConnectionError, match="cannot be reached"):
        await converse(talk, queue, TEXT)
    await llm.aclose()


async def test_a_server_that_never_answers(memory: Store) -> None:
    async with SocketServer([UPDATE, HANG]) as server:
        talk, queue = talk_of(model(server, timeout=0.2), memory)
        with pytest.raises(ModelTimeoutError):
            await converse(talk, queue, TEXT)
        await talk.runner.agent.model.aclose()


@pytest.mark.parametrize(
    "content",
    [
        types.Part(inline_data=types.Blob(data=b"%PDF", mime_type="application/pdf")),
        types.Part(file_data=types.FileData(file_uri="gs://x", mime_type="video/mp4")),
    ],
)
async def test_parts_that_it_does_not_take(content: types.Part, memory: Store) -> None:
    async with SocketServer([*OPENING]) as server:
        talk, _ = talk_of(model(server), memory)
        queue = LiveRequestQueue()
        queue.send_content(types.Content(role="user", parts=[content]))
        with pytest.raises(ModelRequestError, match="text, images and sound"):
            await converse(talk, queue, TEXT)
        await talk.runner.agent.model.aclose()


async def test_sound_of_another_rate_is_refused_before_it_is_sent(memory: Store) -> None:
    async with SocketServer([*OPENING]) as server:
        talk, _ = talk_of(model(server), memory)
        queue = LiveRequestQueue()
        queue.send_realtime(types.Blob(data=b"ab", mime_type="audio/pcm;rate=16000"))
        with pytest.raises(ModelRequestError, match="rate=24000"):
            await converse(talk, queue)
        await talk.runner.agent.model.aclose()
    assert kinds(server) == ["session.update"]


async def test_tool_names_that_it_refuses(memory: Store) -> None:
    def look() -> str:
        """Look."""
        return ""

    look.__name__ = "look at"
    async with SocketServer([]) as server:
        talk, queue = talk_of(model(server), memory, tools=[look])
        with pytest.raises(ModelRequestError, match="look at"):
            await converse(talk, queue)
        await talk.runner.agent.model.aclose()


async def test_it_is_for_live_runs(memory: Store) -> None:
    async with SocketServer([]) as server:
        talk, _ = talk_of(model(server), memory)
    assert "run_live" in str(await talk.fails())


async def test_leaving_in_the_middle_closes_the_connection(memory: Store) -> None:
    before = asyncio.all_tasks()
    async with SocketServer([*OPENING, ASKED, BEGUN, text("a"), HANG]) as server:
        talk, queue = talk_of(model(server), memory)
        await converse(talk, queue, TEXT, until=lambda event: True)
        await server.ended.wait()
        await talk.runner.agent.model.aclose()
    assert asyncio.all_tasks() <= before


@pytest.mark.parametrize("name", ["gpt-realtime", "gpt-realtime-mini", "openai-realtime:any"])
def test_the_registry_knows_it(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    llm = LLMRegistry.new_llm(name)
    assert isinstance(llm, OpenAIRealtimeLlm)
    assert llm.model == name.rpartition(":")[2]
