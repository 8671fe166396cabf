"""AudioTranscriber: which sound is sent as one, and the contents that come of it."""

from __future__ import annotations

import asyncio
import base64
from typing import Any

import google.auth
import pytest
from google.auth.exceptions import DefaultCredentialsError
from google.oauth2.credentials import Credentials

from ostinato._google_rest import GoogleApiError
from ostinato.agents import InvocationContext, LlmAgent
from ostinato.agents.transcription_entry import TranscriptionEntry
from ostinato.flows.llm_flows.audio_transcriber import AudioTranscriber
from ostinato.sessions import InMemorySessionService
from ostinato.sessions.session import Session
from ostinato.types import Blob, Content, Part
from tests.wire.fake_server import Answer, FakeServer, Received


def sound(role: str | None, data: bytes, mime_type: str = "audio/pcm") -> TranscriptionEntry:
    return TranscriptionEntry(role=role, data=Blob(data=data, mime_type=mime_type))


def context(*entries: TranscriptionEntry) -> InvocationContext:
    return InvocationContext(
        session_service=InMemorySessionService(),
        invocation_id="e-1",
        agent=LlmAgent(name="a"),
        session=Session(id="s", app_name="app", user_id="ann"),
        transcription_cache=[*entries],
    )


def recognize(request: Received) -> Answer:
    data = base64.b64decode(request.json["audio"]["content"]).decode()
    if data == "-":
        return Answer({})
    first = {"alternatives": [{"transcript": f"heard {data}", "confidence": 0.9}, {}]}
    return Answer({"results": [first, {"alternatives": [{"confidence": 0.1}]}]})


async def test_neighbouring_sound_of_a_speaker_is_sent_as_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(google.auth, "default", lambda **_: (Credentials(token="t"), "p"))
    written = Content(role="model", parts=[Part(text="Hello.")])
    ctx = context(
        sound("user", b"a"),
        sound("user", b"b"),
        sound("model", b"c", "audio/pcm;rate=24000"),
        sound("model", b"d", "audio/pcm;rate=24000"),
        TranscriptionEntry(role="model", data=written),
        sound("user", b""),
        sound("user", b"-"),
        sound(None, b"e"),
    )
    async with FakeServer(paths={"/v1/speech:recognize": recognize}) as server:
        transcriber = AudioTranscriber(init_client=True)
        transcriber.base_url = server.url
        contents = await asyncio.to_thread(transcriber.transcribe_file, ctx)
        transcriber.client.close()
    assert [(one.role, (one.parts or [])[0].text) for one in contents] == [
        ("user", "heard ab"),
        ("model", "heard cd"),
        ("model", "Hello."),
        (None, "heard e"),
    ]
    assert ctx.transcription_cache == []
    configs: list[Any] = [request.json["config"] for request in server.requests]
    assert configs[0] == {
        "encoding": "LINEAR16",
        "sampleRateHertz": 16_000,
        "languageCode": "en-US",
    }
    assert [config["sampleRateHertz"] for config in configs] == [16_000, 24_000, 16_000, 16_000]


async def test_what_could_not_be_transcribed_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(google.auth, "default", lambda **_: (Credentials(token="t"), "p"))
    ctx = context(sound("user", b"a"))
    refusal = Answer({"error": {"message": "Too long."}}, status=400)
    async with FakeServer([refusal]) as server:
        transcriber = AudioTranscriber()
        transcriber.base_url, transcriber.language_code = server.url, "de-DE"
        with pytest.raises(GoogleApiError, match="Speech-to-Text answered 400: Too long"):
            await asyncio.to_thread(transcriber.transcribe_file, ctx)
        transcriber.client.close()
    assert server.requests[0].json["config"]["languageCode"] == "de-DE"
    assert ctx.transcription_cache == [sound("user", b"a")]


def test_a_login_is_looked_for_when_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    def find_none(**_: Any) -> Any:
        raise DefaultCredentialsError("none")

    monkeypatch.setattr(google.auth, "default", find_none)
    assert AudioTranscriber().transcribe_file(context()) == []
    with pytest.raises(GoogleApiError, match="gcloud auth"):
        AudioTranscriber(init_client=True)
