"""What a server refuses at its start, and apps that raise anything when they are imported."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ostinato.errors import StoreError
from ostinato.hosting.setup_error import SetupError
from ostinato.hosting.stores import store_of
from ostinato.server.app import make_app
from ostinato.server.settings import ServerSettings
from ostinato.sessions.sqlite_session_service import SqliteSessionService
from tests.unit.server.conftest import Serve

GOOD = "from ostinato.agents import Agent\nroot_agent = Agent(name='good', model='x')\n"


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"workers": 257}, "1 to 256"),
        ({"workers": 100_000_000}, "1 to 256"),
        ({"lease_seconds": 0.001}, "--lease"),
        ({"lease_seconds": 1e9}, "--lease"),
        ({"reload": True, "workers": 2}, "--reload"),
        ({"memory": "/proc/x"}, "--memory"),
        ({"memory": "/dev/null/x"}, "--memory"),
        ({"artifacts": "/dev/null/x"}, "--artifacts"),
        ({"artifacts": "/proc/x"}, "--artifacts"),
    ],
    ids=str,
)
def test_bounds_and_places_are_checked_at_the_start(
    settings: ServerSettings, wrong: dict[str, Any], says: str
) -> None:
    with pytest.raises(SetupError, match=says):
        make_app(replace(settings, **wrong))


@pytest.mark.parametrize("query", ["mode=ro", "immutable=1"])
async def test_a_read_only_store_is_read_and_not_served(
    settings: ServerSettings, tmp_path: Path, query: str
) -> None:
    file = tmp_path / "copy.db"
    service = SqliteSessionService(file)
    await service.create_session(app_name="a", user_id="u", session_id="s")
    await service.close()
    url = f"sqlite:///{file}?{query}"
    with pytest.raises(SetupError, match="read-only"):
        make_app(replace(settings, db=url))
    store, _ = store_of(url)
    try:
        assert await store.get_session(app_name="a", user_id="u", session_id="s") is not None
        with pytest.raises(StoreError):
            await store.create_session(app_name="a", user_id="u", session_id="t")
    finally:
        await store.close()


async def test_what_an_app_raises_at_its_import_is_its_own_503(
    serve: Serve, tmp_path: Path
) -> None:
    agents = tmp_path / "agents"
    raised = {
        "own": "class Stop(BaseException): pass\nraise Stop('no')\n",
        "closed": "raise GeneratorExit\n",
        "several": "raise BaseExceptionGroup('no', [KeyboardInterrupt()])\n",
        "good": GOOD,
    }
    for name, text in raised.items():
        (agents / name).mkdir(parents=True)
        (agents / name / "agent.py").write_text(text)
    async with serve(agents=agents) as served:
        for name in raised:
            run = {
                "appName": name,
                "userId": "u",
                "sessionId": "s",
                "newMessage": {"role": "user", "parts": [{"text": "hi"}]},
            }
            answer = await served.ask("POST", "/run", run)
            assert answer.status_code == (404 if name == "good" else 503), answer.text
        models = (await served.ask("GET", "/v1/models")).json()["data"]
        listed = await served.ask("GET", "/list-apps?detailed=true")
    assert [one["id"] for one in models] == ["good"]
    assert listed.status_code == 200
