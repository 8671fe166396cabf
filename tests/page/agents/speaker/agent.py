"""A live agent that answers what it hears with a tone, transcripts and a call."""

import asyncio
import math
import struct
from contextlib import asynccontextmanager
from typing import Any

from ostinato import types
from ostinato.agents import Agent
from ostinato.models.base_llm import BaseLlm
from ostinato.models.base_llm_connection import BaseLlmConnection
from ostinato.models.llm_response import LlmResponse

HEARD = 20_000  # bytes of sound after which it answers
TONE = b"".join(struct.pack("<h", int(8000 * math.sin(at / 6))) for at in range(24_000))


def lookup(city: str) -> dict:
    """Look up the weather of a city."""
    return {"report": f"sunny in {city}"}


class Ear(BaseLlmConnection):
    """Answers once for each word and for the first sound."""

    def __init__(self):
        self._said = asyncio.Queue()
        self._heard = 0

    async def send_content(self, content: Any):
        part = content.parts[0]
        self._said.put_nowait("result" if part.function_response else part.text)

    async def send_realtime(self, blob: Any):
        before = self._heard
        self._heard += len(getattr(blob, "data", None) or b"")
        if before < HEARD <= self._heard:
            self._said.put_nowait(f"sound of {blob.mime_type}")

    async def receive(self):
        while (text := await self._said.get()) is not None:
            if text == "boom":
                raise RuntimeError("the model fell over")
            if text.startswith("sound"):
                for piece, whole in (("hear ", False), ("me", False), ("hear me", True)):
                    said = types.Transcription(text=piece, finished=whole)
                    yield LlmResponse(input_transcription=said, partial=not whole)
                blob = types.Blob(data=TONE, mime_type="audio/pcm;rate=24000")
                yield answer(types.Part(inline_data=blob))
                for piece, whole in (("I hear ", False), (f"I hear a {text}", True)):
                    said = types.Transcription(text=piece, finished=whole)
                    yield LlmResponse(output_transcription=said, partial=not whole)
            elif text == "weather":
                call = types.FunctionCall(id="c1", name="lookup", args={"city": "Rome"})
                yield answer(types.Part(function_call=call))
                continue
            elif text == "stop":
                yield LlmResponse(interrupted=True)
            else:
                yield answer(types.Part(text="You said "), partial=True)
                yield answer(types.Part(text=f"You said {text}"))
            yield LlmResponse(turn_complete=True)

    async def close(self):
        self._said.put_nowait(None)


def answer(part, **more):
    """A response of one part."""
    return LlmResponse(content=types.Content(role="model", parts=[part]), **more)


class Speaks(BaseLlm):
    """Speaks live."""

    async def generate_content_async(self, llm_request, stream=False):
        yield answer(types.Part(text="I only speak live."))

    @asynccontextmanager
    async def connect(self, llm_request):
        ear = Ear()
        try:
            yield ear
        finally:
            await ear.close()


root_agent = Agent(name="speaker", model=Speaks(model="speaks"), tools=[lookup])
