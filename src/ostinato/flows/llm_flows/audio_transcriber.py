"""AudioTranscriber: text of a live conversation's sound, by Google Cloud Speech-to-Text."""

from __future__ import annotations

import base64
import re
from typing import NamedTuple

from pydantic import BaseModel, Field

from ... import types
from ..._google_rest import GoogleRestClient
from ...context.invocation import InvocationContext
from ...context.live_records import TranscriptionEntry

_DEFAULT_RATE = 16_000


class _Sound(NamedTuple):
    """Neighbouring sound of one speaker: 16-bit samples, `rate` a second."""

    role: str | None
    rate: int
    data: bytes


class AudioTranscriber:
    """Transcribes the sound that `InvocationContext.transcription_cache` holds.

    A live model transcribes by itself if RunConfig.input_audio_transcription is set; this is for
    programs that collect the sound. Needs the extra `vertex`, asks as the machine's own identity,
    and blocks: call it in a worker thread. The service takes about a minute of sound at once.

    Args:
      init_client: look for the login now, not at the first sound.

    Attributes:
      base_url: the server, without a path.
      client: the connections to the service.
      language_code: the language that is spoken.

    Raises:
      GoogleApiError: `init_client` is set and there is no login.
      MissingExtraError: `init_client` is set and google-auth is not installed.
    """

    base_url = "https://speech.googleapis.com"
    language_code = "en-US"

    def __init__(self, init_client: bool = False) -> None:
        self.client = GoogleRestClient("Google Cloud Speech-to-Text")
        if init_client:
            self.client.authorize()

    def transcribe_file(self, invocation_context: InvocationContext) -> list[types.Content]:
        """Return the conversation as text, in its order, and empty the cache.

        Neighbouring sound of one speaker is sent as one. It counts as 16-bit PCM, with the rate of
        its MIME type or 16,000 samples a second.

        Args:
          invocation_context: its `transcription_cache` is read.

        Raises:
          GoogleApiError: the service refused or failed, or there is no login; the cache is kept.
        """
        cache = invocation_context.transcription_cache or []
        contents: list[types.Content] = []
        for item in _join_neighbours(cache):
            contents += [item] if isinstance(item, types.Content) else self._transcribe(item)
        cache.clear()
        return contents

    def _transcribe(self, sound: _Sound) -> list[types.Content]:
        answer = self.client.send_request(
            "POST",
            f"{self.base_url}/v1/speech:recognize",
            body={
                "config": {
                    "encoding": "LINEAR16",
                    "sampleRateHertz": sound.rate,
                    "languageCode": self.language_code,
                },
                "audio": {"content": base64.b64encode(sound.data).decode()},
            },
        )
        return [
            types.Content(role=sound.role, parts=[types.Part(text=one.alternatives[0].transcript)])
            for one in self.client.read_record(_Recognition, answer).results
            if one.alternatives and one.alternatives[0].transcript
        ]


class _Alternative(BaseModel):
    transcript: str = ""


class _Result(BaseModel):
    alternatives: list[_Alternative] = Field(default_factory=list[_Alternative])


class _Recognition(BaseModel):
    results: list[_Result] = Field(default_factory=list[_Result])


def _join_neighbours(cache: list[TranscriptionEntry]) -> list[_Sound | types.Content]:
    """Return the entries in their order, neighbouring sound of one speaker as one."""
    joined: list[_Sound | types.Content] = []
    for entry in cache:
        if isinstance(entry.data, types.Content):
            joined.append(entry.data)
            continue
        found = re.search(r"rate=(\d+)", entry.data.mime_type or "")
        sound = _Sound(
            entry.role, int(found[1]) if found else _DEFAULT_RATE, entry.data.data or b""
        )
        last = joined[-1] if joined else None
        if isinstance(last, _Sound) and last[:2] == sound[:2]:
            joined[-1] = last._replace(data=last.data + sound.data)
        elif sound.data:
            joined.append(sound)
    return joined
