"""What cannot work is refused when a server is made, not by its answers."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx2
import pytest
from starlette.applications import Starlette
from starlette.routing import Mount

from ostinato.hosting.setup_error import SetupError
from ostinato.server.app import make_app
from ostinato.server.settings import ServerSettings
from tests.unit.server.conftest import Serve, Served

WRONG: list[dict[str, Any]] = [
    {"agents": Path("nowhere")},
    {"ui": Path("nowhere")},
    {"url_prefix": "agents"},
    {"url_prefix": "/a b"},
    {"url_prefix": "/{a}"},
    {"port": 70_000},
    {"port": -1},
    {"workers": 0},
    {"workers": "2"},
    {"max_body": 0},
    {"max_upload": -1},
    {"max_parts": 0},
    {"request_timeout": 0},
    {"heartbeat": -1.0},
    {"write_timeout": 0},
    {"header_timeout": 0},
    {"keep_alive": 0},
    {"lease_seconds": 0},
    {"grace": -1},
    {"live_backlog": 0},
    {"max_connections": 0},
    {"rate_limit": 0},
    {"log_level": "loud"},
    {"token": ""},
    {"token": ()},
    {"token": ("good", " ")},
    {"token": "gr\u00fcn"},
    {"host": "0.0.0.0"},
    {"allow_origins": ("regex:(",)},
    {"allow_origins": ("page.example",)},
    {"allow_hosts": ("https://a.example",)},
    {"trusted_proxies": ("my-proxy",)},
    {"trusted_proxies": ("10.0.0.0/99",)},
    {"workers": 2, "db": "memory://"},
    {"lease_seconds": float("inf")},
    {"developer": "false"},
    {"metrics": "no"},
    {"allow_code_from": "os"},
    {"allow_code_from": ("",)},
    {"allow_hosts": "x"},
]

# What is wrong, and words of the error: the setting, the value and what to write instead.
TOLD: list[tuple[dict[str, Any], tuple[str, ...]]] = [
    ({"agents": None}, ("agents", "None", "folder")),
    ({"agents": 5}, ("agents", "5", "folder")),
    ({"db": ""}, ("--db", "sessions.db")),
    ({"db": None}, ("db", "None", "sessions.db")),
    ({"db": "ftp://h/x"}, ("--db", "ftp", "postgresql://")),
    ({"artifacts": "ftp://h/x"}, ("--artifacts", "ftp://h/x", "gs://")),
    ({"artifacts": "gs://"}, ("--artifacts", "gs://", "gs://BUCKET")),
    ({"artifacts": "file://host/x"}, ("--artifacts", "file://host/x", "file:///")),
    ({"artifacts": ""}, ("--artifacts", "empty", "gs://BUCKET")),
    ({"artifacts": 5}, ("artifacts", "5", "gs://BUCKET")),
    ({"memory": "nope://"}, ("--memory", "nope://", "memory://")),
    ({"memory": "postgresql://u:hunter2@h/d"}, ("--memory", "u:***@h", "agentengine://")),
    ({"memory": "sqlite://x.db"}, ("--memory", "sqlite://x.db", "sqlite:///")),
    ({"memory": "agentengine://a/b"}, ("agentengine://a/b", "agentengine://ID")),
    ({"memory": ""}, ("--memory", "empty", "memory://")),
    ({"traces": "nope://x"}, ("--traces", "nope://x", "off")),
    ({"traces": "/no/such/folder/t.db"}, ("--traces", "/no/such/folder/t.db", "off")),
    ({"traces": ""}, ("--traces", "empty", "off")),
    ({"url_prefix": "/../x"}, ("--url-prefix", "/../x", "/agents")),
    ({"url_prefix": "/a/./x"}, ("--url-prefix", "/a/./x", "/agents")),
    ({"url_prefix": None}, ("url_prefix", "None", "/agents")),
    ({"allow_origins": ("https://a.example/path",)}, ("--allow-origin", "/path", "https://")),
    ({"allow_origins": ("https://a.example/",)}, ("--allow-origin", "https://a.example/")),
    ({"allow_origins": ("https://A.example",)}, ("--allow-origin", "https://a.example")),
    ({"allow_origins": ("https://u:p@a.example",)}, ("--allow-origin", "https://")),
    ({"allow_origins": ("https://a.example:x",)}, ("--allow-origin", "https://a.example:x")),
    ({"allow_origins": ("https://*.example",)}, ("--allow-origin", "regex:")),
    ({"allow_origins": (5,)}, ("allow_origins", "5")),
    ({"allow_origins": None}, ("allow_origins", "None", "tuple")),
    ({"allow_code_from": ("a b",)}, ("allow_code_from", "'a b'", "my_package.tools")),
    ({"allow_code_from": ("a/b.py",)}, ("allow_code_from", "'a/b.py'", "my_package.tools")),
    ({"max_body": 1.5}, ("max_body", "1.5", "whole number")),
    ({"workers": 2.0}, ("workers", "2.0", "whole number")),
    ({"port": 80.5}, ("port", "80.5", "whole number")),
    ({"max_body": 2000, "max_upload": 1000}, ("max_upload", "1000", "max_body", "2000")),
    ({"drain_delay": -1}, ("drain_delay", "-1", "0 or more")),
    ({"drain_delay": "1"}, ("drain_delay", "'1'", "number")),
    ({"host": None}, ("host", "None", "127.0.0.1")),
    ({"log_level": 5}, ("log_level", "5", "info")),
    ({"log_format": "xml"}, ("log_format", "'xml'", "text", "json")),
    ({"ui": 5}, ("ui", "5", "folder")),
]


@pytest.mark.parametrize(("wrong", "words"), TOLD, ids=str)
def test_an_error_names_the_setting_the_value_and_the_remedy(
    settings: ServerSettings, wrong: dict[str, Any], words: tuple[str, ...]
) -> None:
    with pytest.raises(SetupError) as caught:
        make_app(replace(settings, **wrong))
    for word in words:
        assert word in caught.value.message
    assert "hunter2" not in caught.value.message


@pytest.mark.parametrize(
    "token", ["sesame open", ("good", "sesame open"), "sesame\topen", 5, (b"sesame",), ("good", 5)]
)
def test_an_error_about_a_token_does_not_show_it(settings: ServerSettings, token: Any) -> None:
    with pytest.raises(SetupError, match="token") as caught:
        make_app(replace(settings, token=token))
    assert "sesame" not in caught.value.message and "good" not in caught.value.message


def test_settings_of_several_kinds_are_good(settings: ServerSettings, tmp_path: Path) -> None:
    good: list[dict[str, Any]] = [
        {"artifacts": f"file://{tmp_path}/files", "memory": f"sqlite:///{tmp_path}/m.db"},
        {"artifacts": "memory://", "memory": "memory://", "traces": "off"},
        {"allow_origins": ("https://a.example:8443", "http://[::1]:3000", "app://local", "null")},
        {"allow_origins": ("regex:https://.*", "*"), "allow_code_from": ("a", "a.b_c")},
        {"url_prefix": "/a.b/c..d/", "max_body": 2000, "max_upload": 2000},
        {"token": ["one", "two"], "log_level": "WARNING"},
    ]
    for one in good:
        assert make_app(replace(settings, **one))


@pytest.mark.parametrize("given", ["agents", Path("agents"), None, {"agents": "agents"}], ids=str)
def test_an_app_is_made_of_settings_only(given: Any) -> None:
    with pytest.raises(SetupError, match=r"make_app\(ServerSettings\(agents="):
        make_app(given)


@pytest.mark.parametrize("wrong", WRONG, ids=str)
def test_a_wrong_setting_raises_at_the_start(settings: ServerSettings, wrong: Any) -> None:
    with pytest.raises(SetupError):
        make_app(replace(settings, **wrong))


def test_a_folder_in_the_place_of_a_file_raises(settings: ServerSettings, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    for wrong in ({"db": str(tmp_path)}, {"memory": str(tmp_path)}, {"artifacts": str(file)}):
        with pytest.raises(SetupError):
            make_app(replace(settings, **wrong))


def test_a_path_may_be_text(settings: ServerSettings) -> None:
    assert make_app(replace(settings, agents=str(settings.agents)))  # type: ignore[arg-type]


async def test_any_of_several_tokens_is_good(serve: Serve) -> None:
    async with serve(token=("old", "new")) as served:
        for token, status in (("old", 200), ("new", 200), ("old,new", 401), ("", 401)):
            headers = {"Authorization": f"Bearer {token}"}
            assert (await served.client.get("/version", headers=headers)).status_code == status


async def test_it_may_be_mounted_in_another_app(settings: ServerSettings) -> None:
    inner = make_app(replace(settings, token="secret"))
    transport = httpx2.ASGITransport(app=Starlette(routes=[Mount("/agents", inner)]))
    base = "http://127.0.0.1:8000/agents"
    async with (
        inner.router.lifespan_context(inner),
        httpx2.AsyncClient(transport=transport, base_url=base) as client,
    ):
        assert (await client.get("/health")).status_code == 200  # no token is asked for
        assert (await client.get("/list-apps")).status_code == 401
        known = {"Authorization": "Bearer secret"}
        assert "desk" in (await client.get("/list-apps", headers=known)).json()


async def statuses(served: Served, *forwarded: str) -> list[int]:
    return [
        (await served.client.get("/version", headers={"X-Forwarded-For": one})).status_code
        for one in forwarded
    ]


async def test_requests_are_counted_by_the_address_that_a_trusted_proxy_tells(
    serve: Serve,
) -> None:
    async with serve(rate_limit=1, trusted_proxies=("127.0.0.0/8", "10.0.0.7")) as served:
        assert await statuses(
            served,
            "203.0.113.1",
            "203.0.113.1",
            "6.6.6.6, 203.0.113.1",  # the left one is the client's invention
            "203.0.113.2:4711, 10.0.0.7",
            "203.0.113.2",
            "[2001:db8::1]:80",
            "2001:db8::1",
        ) == [200, 429, 429, 200, 429, 200, 429]


async def test_nobody_else_is_believed(serve: Serve) -> None:
    async with serve(rate_limit=1, trusted_proxies=("10.0.0.7",)) as served:
        assert await statuses(served, "203.0.113.1", "203.0.113.2") == [200, 429]
    async with serve(rate_limit=1) as served:
        assert await statuses(served, "203.0.113.1", "203.0.113.2") == [200, 429]
