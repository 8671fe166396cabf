"""An own web application around a Runner, asked over HTTP."""

import asyncio
import json

import httpx
from google.adk.agents import Agent
from google.adk.models import BaseLlm, LlmResponse
from google.adk.runners import InMemoryRunner
from google.genai import types
from showing import show
from starlette.applications import Starlette
from starlette.responses import JSONResponse, StreamingResponse
from starlette.routing import Route


class Echo(BaseLlm):
    model: str = "echo"

    async def generate_content_async(self, llm_request, stream=False):
        yield LlmResponse(content=types.ModelContent(f"{len(llm_request.contents)} so far"))


runner = InMemoryRunner(agent=Agent(name="desk", model=Echo()), app_name="desk")
runner.auto_create_session = True


def run(request, text):
    return runner.run_async(
        user_id=request.path_params["user"], session_id="s", new_message=types.UserContent(text)
    )


async def ask(request):
    text = (await request.json())["text"]
    texts = [event.content.parts[0].text async for event in run(request, text)]
    return JSONResponse({"texts": texts})


async def stream(request):
    async def lines():
        async for event in run(request, "streamed"):
            yield event.model_dump_json(exclude_none=True, by_alias=True) + "\n"

    return StreamingResponse(lines())


app = Starlette(
    routes=[Route("/{user}/ask", ask, methods=["POST"]), Route("/{user}/stream", stream)]
)


async def main():
    transport = httpx.ASGITransport(app=app)
    async with httpx.AsyncClient(transport=transport, base_url="http://test") as client:
        for user in ("a", "a", "b"):
            print((await client.post(f"/{user}/ask", json={"text": "hi"})).json())
        (line,) = (await client.get("/a/stream")).text.splitlines()
        show(author=json.loads(line)["author"], content=json.loads(line)["content"])


asyncio.run(main())
