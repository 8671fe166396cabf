"""get_fast_api_app: an app around our server that programs extend and serve themselves."""

from __future__ import annotations

import json
import sys
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from ostinato.agents import Agent, LlmAgent
from ostinato.cli.fast_api import get_fast_api_app
from ostinato.cli.utils.base_agent_loader import BaseAgentLoader
from ostinato.compat import uninstall
from ostinato.errors import MissingExtraError
from ostinato.plugins.base_plugin import BasePlugin
from ostinato.testing import ScriptedModel
from tests.unit.compat.interpreters import adk_python, run

MEMORY: dict[str, Any] = {
    "session_service_uri": "memory://",
    "artifact_service_uri": "memory://",
    "web": False,
}
MESSAGE = {"role": "user", "parts": [{"text": "hi"}]}
ASKED = {"app_name": "a", "user_id": "u", "session_id": "s", "new_message": MESSAGE}


class Loader(BaseAgentLoader):
    """One agent, `a`, that says `ok`."""

    def list_agents(self) -> list[str]:
        return ["a"]

    def load_agent(self, agent_name: str) -> Agent:
        return Agent(name="root", description="D", model=ScriptedModel(["ok"] * 3))


class Noting(BasePlugin):
    """Notes the runs."""

    runs: list[str] = []

    async def before_run_callback(self, *, invocation_context: Any) -> None:
        Noting.runs.append(self.name)


@pytest.fixture(autouse=True)
def forgotten() -> Iterator[None]:
    """Forget afterwards what was imported from the agents' folders."""
    modules, path = set(sys.modules), list(sys.path)
    yield
    uninstall()
    sys.path[:] = path
    for name in set(sys.modules) - modules:
        if name.startswith("fa_"):
            del sys.modules[name]


def files_of(folder: Path) -> list[Path]:
    return list(folder.iterdir())


def client_of(app: Any, base: str = "http://anywhere.example") -> httpx2.AsyncClient:
    return httpx2.AsyncClient(transport=httpx2.ASGITransport(app=app), base_url=base)


async def test_a_loader_finds_the_agents_and_a_missing_session_is_created(tmp_path: Path) -> None:
    given: dict[str, Any] = {"agents_dir": str(tmp_path), "agent_loader": Loader(), **MEMORY}
    async with client_of(get_fast_api_app(**given)) as client:
        assert (await client.get("/list-apps")).json() == ["a"]
        (told,) = (await client.get("/list-apps?detailed=true")).json()["apps"]
        assert (told["rootAgentName"], told["description"]) == ("root", "D")
        assert (await client.post("/run", json=ASKED)).status_code == 404
    async with client_of(get_fast_api_app(**given, auto_create_session=True)) as client:
        (event,) = (await client.post("/run", json=ASKED)).json()
        assert event["content"]["parts"] == [{"text": "ok"}]
        assert (await client.get("/apps/a/users/u/sessions/s")).status_code == 200
    assert files_of(tmp_path) == []


async def test_a_loader_that_raises_is_an_answer(tmp_path: Path) -> None:
    class Raising(Loader):
        def load_agent(self, agent_name: str) -> Agent:
            raise ValueError("no such shelf")

    app = get_fast_api_app(agents_dir=tmp_path, agent_loader=Raising(), **MEMORY)
    async with client_of(app) as client:
        answer = await client.post("/apps/a/users/u/sessions", json={})
        assert answer.status_code == 503 and "cannot be loaded" in answer.json()["detail"]


async def test_other_pages_may_call_only_if_allowed(tmp_path: Path) -> None:
    path, headers = "/apps/a/users/u/sessions", {"origin": "https://page.example"}
    for allowed, status in ((None, 403), (["https://page.example"], 200)):
        app = get_fast_api_app(
            agents_dir=tmp_path, agent_loader=Loader(), allow_origins=allowed, **MEMORY
        )
        async with client_of(app) as client:
            assert (await client.post(path, json={}, headers=headers)).status_code == status


async def test_it_answers_with_and_without_the_prefix_of_a_proxy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    built = tmp_path / "page"
    built.mkdir()
    (built / "index.html").write_text("<p>the page</p>")
    monkeypatch.setattr("ostinato.server.page.FOLDER", built)
    app = get_fast_api_app(
        agents_dir=tmp_path, agent_loader=Loader(), url_prefix="/ai/", **{**MEMORY, "web": True}
    )
    async with client_of(app) as client:
        assert (await client.get("/list-apps")).json() == ["a"]
        assert (await client.get("/ai/list-apps")).json() == ["a"]
        assert (await client.get("/")).headers["location"] == "/ai/page/"
        assert (await client.get("/ai/page/")).status_code == 200


async def test_the_program_s_lifespan_plugins_and_routes_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "fa_plugins", sys.modules[__name__])
    seen: list[object] = []

    @asynccontextmanager
    async def lifespan(app: Any) -> AsyncGenerator[dict[str, int]]:
        seen.append(app)
        yield {"n": 1}
        seen.append("end")

    async def mine(request: Request) -> Response:
        return JSONResponse({"mine": True})

    app = get_fast_api_app(
        agents_dir=tmp_path, agent_loader=Loader(), lifespan=lifespan,
        extra_plugins=["fa_plugins.Noting"], auto_create_session=True, **MEMORY,
    )  # fmt: skip
    app.router.routes.append(Route("/mine", mine))
    async with app.router.lifespan_context(app) as state, client_of(app) as client:
        assert (await client.get("/mine")).json() == {"mine": True}
        await client.post("/run", json=ASKED)
    assert (state, seen) == ({"n": 1}, [app, "end"])
    assert Noting.runs == ["fa_plugins.Noting"]


async def test_what_no_uri_names_is_kept_below_the_agents(tmp_path: Path) -> None:
    app = get_fast_api_app(agents_dir=tmp_path, agent_loader=Loader(), web=False)
    async with app.router.lifespan_context(app), client_of(app) as client:
        await client.post("/apps/a/users/u/sessions", json={})
    assert (tmp_path / ".ostinato" / "sessions.db").is_file()
    other = tmp_path / "other"
    other.mkdir()
    get_fast_api_app(agents_dir=other, agent_loader=Loader(), use_local_storage=False, web=False)
    assert files_of(other) == []


async def test_services_of_the_folder_are_used(tmp_path: Path) -> None:
    (tmp_path / "services.py").write_text(
        "from ostinato.cli.service_registry import get_service_registry\n"
        "from ostinato.sessions import InMemorySessionService\n"
        "class Own(InMemorySessionService):\n    pass\n"
        "def make(uri, **more):\n    own = Own()\n    own.given = uri, more\n    return own\n"
        "get_service_registry().register_session_service('fa-own', make)\n"
    )
    app = get_fast_api_app(
        agents_dir=str(tmp_path), **{**MEMORY, "session_service_uri": "fa-own://x"},
        session_db_kwargs={"size": 3},
    )  # fmt: skip
    given = app.state.host.services.sessions.given
    assert given == ("fa-own://x", {"agents_dir": str(tmp_path), "size": 3})


async def test_agents_are_served_over_a2a_if_asked(tmp_path: Path) -> None:
    for asked, status in ((True, 200), (False, 404)):
        app = get_fast_api_app(agents_dir=tmp_path, agent_loader=Loader(), a2a=asked, **MEMORY)
        async with client_of(app) as client:
            card = await client.get("/a2a/a/.well-known/agent-card.json")
            assert card.status_code == status
            described = (await client.get("/openapi.json")).json()["paths"]
            assert any(path.startswith("/a2a/") for path in described) is asked


async def test_an_agent_is_loaded_again_when_it_changes(tmp_path: Path) -> None:
    agent = tmp_path / "fa_desk" / "agent.py"
    agent.parent.mkdir()
    text = "from ostinato.agents import Agent\nroot_agent = Agent(name='root', description='{}')\n"
    for reload, seen in ((True, ["one", "two!"]), (False, ["one", "one"])):
        app, found = get_fast_api_app(agents_dir=tmp_path, reload_agents=reload, **MEMORY), []
        for description in ("one", "two!"):
            agent.write_text(text.format(description))
            async with client_of(app) as client:
                info = await client.get("/apps/fa_desk/app-info")
                found.append(info.json()["description"])
        assert found == seen


def test_the_default_model_is_set(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(LlmAgent, "_default_model", LlmAgent._default_model)
    get_fast_api_app(agents_dir=tmp_path, default_llm_model="gemini-x", **MEMORY)
    assert Agent(name="a").named_model == "gemini-x"


@pytest.mark.parametrize(
    "refused",
    [
        {"eval_storage_uri": "gs://b"},
        {"task_store_uri": "sqlite:///t.db"},
        {"trace_to_cloud": True},
        {"otel_to_cloud": True},
        {"logo_text": "Acme"},
        {"logo_image_url": "https://a.example/logo.png"},
        {"trigger_sources": ["pubsub"]},
        {"gemini_enterprise_app_name": "a"},
        {"express_mode": True},
    ],
)
def test_what_has_no_effect_is_refused(tmp_path: Path, refused: dict[str, Any]) -> None:
    with pytest.raises(NotImplementedError, match=next(iter(refused))):
        get_fast_api_app(agents_dir=tmp_path, **MEMORY, **refused)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"agents_dir": "nowhere"}, "nowhere is not a folder with agents"),
        ({"session_service_uri": "nope://x"}, "session_service_uri names 'nope'"),
        (
            {"artifact_service_uri": "nope://x"},
            "artifact_service_uri nope://x does not name a store",
        ),
        ({"memory_service_uri": "nope://x"}, "memory_service_uri nope://x does not name a store"),
        ({"session_db_kwargs": {"pool_size": 3}}, "takes no options"),
        ({"allow_origins": ["page.example"]}, "allow_origins takes origins"),
        ({"extra_plugins": ["no.such.Plugin"]}, "'no.such.Plugin' cannot be created"),
        ({"extra_plugins": ["json.loads"]}, "'json.loads' is not a plugin"),
        ({"url_prefix": "ai"}, "url_prefix begins with a slash"),
        ({"port": 70_000}, "port has to be 0 to 65535"),
        ({"host": ""}, "host is empty"),
    ],
)
def test_what_is_wrong_is_named_as_the_parameter(
    tmp_path: Path, wrong: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        get_fast_api_app(**{"agents_dir": tmp_path, **MEMORY, **wrong})


def test_without_fastapi_its_methods_say_so(tmp_path: Path) -> None:
    app = get_fast_api_app(agents_dir=tmp_path, **MEMORY)
    with pytest.raises(MissingExtraError, match=r"app\.include_router needs FastAPI.*pip install"):
        app.include_router(None)
    assert not hasattr(app, "no_such_name")


@pytest.mark.service
def test_with_fastapi_programs_add_routes_middleware_and_errors(tmp_path: Path) -> None:
    """A program as users of google-adk write it, in an environment that has fastapi."""
    program = Path(__file__).with_name("fastapi_program.py")
    printed = run(str(program), python=adk_python(), cwd=tmp_path, warnings="ignore")
    assert json.loads(printed.splitlines()[-1]) == {
        "class": "FastAPI",
        "mine": {"ok": 1},
        "router": {"n": 3},
        "invalid": 422,
        "detail": {"why": "full"},
        "mounted": "inner",
        "header": "yes",
        "apps": ["a"],
        "ran": "ok",
        "documented": True,
        "docs": 200,
    }
