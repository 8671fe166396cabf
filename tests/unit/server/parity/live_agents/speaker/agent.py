"""An agent whose live model repeats what it hears, in google-adk's words: both servers load it."""

import asyncio
from contextlib import asynccontextmanager

from google.adk.agents import Agent
from google.adk.models.base_llm import BaseLlm
from google.adk.models.base_llm_connection import BaseLlmConnection
from google.adk.models.llm_response import LlmResponse


async def wait() -> dict:
    """Wait for something that does not come."""
    await asyncio.Event().wait()
    return {}


class Echo(BaseLlmConnection):
    """Answers each thing it hears with a turn."""

    def __init__(self, request):
        self._said = asyncio.Queue()
        self._request = request

    async def send_history(self, history):
        pass

    async def send_content(self, content):
        self._said.put_nowait(content.parts[0].text or "nothing")

    async def send_realtime(self, blob):
        if hasattr(blob, "data"):
            self._said.put_nowait(f"{len(blob.data)} bytes of {blob.mime_type}")
        else:
            self._said.put_nowait(type(blob).__name__)

    async def receive(self):
        while (text := await self._said.get()) is not None:
            if text == "boom":
                raise RuntimeError("the model fell over")
            if text == "wait":
                call = {"functionCall": {"id": "w1", "name": "wait", "args": {}}}
                yield LlmResponse(content={"role": "model", "parts": [call]})
                continue
            if text == "much":
                for _ in range(400):
                    part = {"text": "x" * 100_000}
                    yield LlmResponse(content={"role": "model", "parts": [part]}, partial=True)
            if text == "config":
                config = self._request.live_connect_config
                found = config.model_dump(mode="json", exclude_none=True)
                text = ", ".join(f"{name}={value}" for name, value in sorted(found.items()))
            yield LlmResponse(content={"role": "model", "parts": [{"text": f"You said {text}"}]})
            yield LlmResponse(turn_complete=True)

    async def close(self):
        self._said.put_nowait(None)


class EchoLlm(BaseLlm):
    """Only speaks live."""

    async def generate_content_async(self, llm_request, stream=False):
        raise AssertionError("it only speaks live")
        yield

    @asynccontextmanager
    async def connect(self, llm_request):
        connection = Echo(llm_request)
        try:
            yield connection
        finally:
            await connection.close()


root_agent = Agent(name="speaker", model=EchoLlm(model="echo"), instruction="Repeat.", tools=[wait])
