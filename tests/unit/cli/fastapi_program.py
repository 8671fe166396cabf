"""Adds what users add to the app of get_fast_api_app; run where fastapi is installed."""

import asyncio
import json

import httpx
from fastapi import APIRouter, FastAPI, HTTPException

from ostinato.agents import Agent
from ostinato.cli.fast_api import get_fast_api_app
from ostinato.cli.utils.base_agent_loader import BaseAgentLoader
from ostinato.testing import ScriptedModel


class Loader(BaseAgentLoader):
    def list_agents(self):
        return ["a"]

    def load_agent(self, agent_name):
        return Agent(name="root", model=ScriptedModel(["ok"]))


app = get_fast_api_app(
    agents_dir=".", agent_loader=Loader(), web=False, use_local_storage=False,
    auto_create_session=True,
)  # fmt: skip
router, inner = APIRouter(prefix="/more"), FastAPI()


@app.get("/mine")
def mine():
    return {"ok": 1}


@router.get("/{n}")
def more(n: int):
    return {"n": n}


@app.get("/full")
def full():
    raise HTTPException(409, detail={"why": "full"})


@inner.get("/where")
def where():
    return "inner"


@app.middleware("http")
async def add_header(request, call_next):
    answer = await call_next(request)
    answer.headers["x-mine"] = "yes"
    return answer


app.include_router(router)
app.mount("/inner", inner)


async def main():
    transport = httpx.ASGITransport(app=app)
    asked = {
        "app_name": "a",
        "user_id": "u",
        "session_id": "s",
        "new_message": {"role": "user", "parts": [{"text": "hi"}]},
    }
    async with httpx.AsyncClient(transport=transport, base_url="http://testserver") as client:
        answer = await client.get("/mine")
        paths = (await client.get("/openapi.json")).json()["paths"]
        found = {
            "class": type(app).__name__,
            "mine": answer.json(),
            "router": (await client.get("/more/3")).json(),
            "invalid": (await client.get("/more/x")).status_code,
            "detail": (await client.get("/full")).json()["detail"],
            "mounted": (await client.get("/inner/where")).json(),
            "header": answer.headers["x-mine"],
            "apps": (await client.get("/list-apps")).json(),
            "ran": (await client.post("/run", json=asked)).json()[0]["content"]["parts"][0]["text"],
            "documented": {"/mine", "/more/{n}", "/run", "/list-apps"} <= paths.keys(),
            "docs": (await client.get("/docs")).status_code,
        }
    print(json.dumps(found))


asyncio.run(main())
