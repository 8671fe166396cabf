"""get_fast_api_app: a session is made, an agent is run, the session is read; by HTTP."""

import asyncio
from pathlib import Path

import httpx
from google.adk.cli.fast_api import get_fast_api_app
from showing import show

AGENT = """
from google.adk.agents import Agent
from google.adk.models import BaseLlm, LlmResponse
from google.genai import types


class Echo(BaseLlm):
    model: str = "echo"

    async def generate_content_async(self, llm_request, stream=False):
        text = llm_request.contents[-1].parts[-1].text
        yield LlmResponse(content=types.ModelContent(f"You said {text}"))


root_agent = Agent(name="desk", model=Echo(), output_key="said")
"""
Path("agents/desk").mkdir(parents=True)
Path("agents/desk/__init__.py").write_text("from . import agent\n")
Path("agents/desk/agent.py").write_text(AGENT)


async def main():
    app = get_fast_api_app(
        agents_dir="agents",
        web=False,
        session_service_uri="memory://",
        artifact_service_uri="memory://",
    )
    transport = httpx.ASGITransport(app=app)
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
        show(apps=(await client.get("/list-apps")).json())
        sessions = "/apps/desk/users/u/sessions"
        made = (await client.post(f"{sessions}/s", json={"n": 1})).json()
        show(id=made["id"], state=made["state"], app=made["appName"], user=made["userId"])
        asked = {
            "app_name": "desk",
            "user_id": "u",
            "session_id": "s",
            "new_message": {"role": "user", "parts": [{"text": "hi"}]},
        }
        answer = await client.post("/run", json=asked)
        for event in answer.json():
            show(author=event["author"], content=event["content"], status=answer.status_code)
        streamed = await client.post("/run_sse", json={**asked, "streaming": False})
        lines = [line for line in streamed.text.splitlines() if line.startswith("data: {")]
        show(sse=streamed.headers["content-type"].split(";")[0], events=len(lines))
        session = (await client.get(f"{sessions}/s")).json()
        show(authors=[event["author"] for event in session["events"]], state=session["state"])
        show(listed=[one["id"] for one in (await client.get(sessions)).json()])
        show(missing=(await client.get(f"{sessions}/none")).status_code)
        asked["session_id"] = "none"
        show(run=(await client.post("/run", json=asked)).status_code)
        show(gone=(await client.delete(f"{sessions}/s")).status_code)
        show(left=(await client.get(sessions)).json())


asyncio.run(main())
