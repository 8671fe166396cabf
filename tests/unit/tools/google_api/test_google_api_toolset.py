"""Toolsets of Google's APIs: their tools, what a call sends, and as whom."""

import asyncio
import json
from collections.abc import Iterator
from typing import Any

import pytest
from starlette.responses import JSONResponse

from ostinato.auth.auth_credential import (
    AuthCredential,
    AuthCredentialTypes,
    OAuth2Auth,
    ServiceAccount,
)
from ostinato.auth.exchanger import service_account_credential_exchanger as exchanger
from ostinato.context.context import Context
from ostinato.errors import AgentConfigError
from ostinato.tools.google_api_tool import (
    BigQueryToolset,
    CalendarToolset,
    DocsToolset,
    GmailToolset,
    GoogleApiTool,
    GoogleApiToolset,
    SheetsToolset,
    SlidesToolset,
    YoutubeToolset,
)
from ostinato.tools.google_api_tool import googleapi_to_openapi_converter as converter_module
from ostinato.tools.google_api_tool.googleapi_to_openapi_converter import (
    GoogleApiToOpenApiConverter,
)
from tests.support.optionals import present
from tests.unit.tools.contexts import make_context
from tests.unit.tools.google_api.documents import CALENDAR, SCOPE, SHEETS
from tests.unit.tools.openapi.recording_server import RecordingServer, serve_document

LIST, INSERT = "calendar_events_list", "calendar_events_insert"
NAMES = [LIST, INSERT, "calendar_events_labels_delete", "calendar_ping"]
CLIENT = {"client_id": "id", "client_secret": "the-secret"}
MACHINE = ServiceAccount(use_default_credential=True, scopes=[SCOPE])


@pytest.fixture(scope="module")
def running_server() -> Iterator[RecordingServer]:
    converter = GoogleApiToOpenApiConverter("calendar", "v3", discovery_document=CALENDAR)
    with serve_document(converter.convert()) as server:
        yield server


@pytest.fixture
def server(running_server: RecordingServer) -> RecordingServer:
    running_server.requests.clear()
    running_server.answers.clear()
    return running_server


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """The identity of this machine."""
    http = {"scheme": "bearer", "credentials": {"token": "machine-token"}}
    made = AuthCredential.model_validate({"auth_type": "http", "http": http})
    monkeypatch.setattr(exchanger, "fetch_machine_credential", lambda account: made)


def calendar(server: RecordingServer | None = None, **settings: Any) -> GoogleApiToolset:
    place = {"rootUrl": f"{server.url}/", "servicePath": ""} if server else {}
    return GoogleApiToolset(
        "calendar",
        "v3",
        discovery_document={**CALENDAR, **place},
        allow_private_network_access=True,
        **settings,
    )


async def names_of(toolset: GoogleApiToolset) -> list[str]:
    return [tool.name for tool in await toolset.get_tools()]


async def find(toolset: GoogleApiToolset, name: str) -> GoogleApiTool:
    found = {tool.name: tool for tool in await toolset.get_tools()}[name]
    assert isinstance(found, GoogleApiTool)
    return found


async def call(
    toolset: GoogleApiToolset, name: str, context: Context | None = None, /, **args: Any
) -> Any:
    tool = await find(toolset, name)
    found = await tool.run_async(args=args, tool_context=context or make_context())
    await toolset.close()
    return found


async def test_each_method_is_a_tool_named_by_its_id() -> None:
    assert await names_of(calendar()) == NAMES


async def test_tools_are_chosen_by_name_and_predicate_and_prefixed() -> None:
    toolset = calendar(tool_filter=[LIST], tool_name_prefix="my")
    assert await names_of(toolset) == [LIST]
    assert [tool.name for tool in await toolset.get_tools_with_prefix()] == [f"my_{LIST}"]
    toolset.set_tool_filter(lambda tool, readonly_context=None: tool.name != LIST)
    assert await names_of(toolset) == NAMES[1:]


async def test_the_model_is_told_of_the_methods_parameters() -> None:
    declaration = (await find(calendar(), LIST))._get_declaration()
    assert declaration is not None and declaration.description == "Returns events."
    schema = present(declaration.parameters_json_schema)
    assert schema["required"] == ["calendar_id"]
    types_ = schema["properties"]["event_types"]
    assert types_["type"] == "array" and types_["items"]["enum"] == ["default", "outOfOffice"]
    event = (await find(calendar(), INSERT))._get_declaration()
    assert event is not None
    properties = present(event.parameters_json_schema)["properties"]
    assert "summary" in properties and "start" in properties and "id" not in properties


async def test_what_only_reads_is_run_again_and_what_writes_is_not() -> None:
    assert (await find(calendar(), LIST)).in_doubt == "rerun"
    assert (await find(calendar(), INSERT)).in_doubt == "at_most_once"


async def test_a_call_sends_what_the_method_says(server: RecordingServer, machine: None) -> None:
    server.answers["calendar.events.list"] = lambda request: JSONResponse({"items": [1]})
    toolset = calendar(server, service_account=MACHINE, additional_headers={"x-note": "n"})
    args = {"calendar_id": "a/b@c", "event_types": ["default", "outOfOffice"], "max_results": 5}
    assert await call(toolset, LIST, **args) == {"items": [1]}
    request = server.take()
    assert request.path == "/calendars/a%2Fb%40c/events"
    assert request.query == "eventTypes=default&eventTypes=outOfOffice&maxResults=5"
    assert request.headers["authorization"] == "Bearer machine-token"
    assert request.headers["x-note"] == "n"

    await call(toolset, INSERT, calendar_id="c", summary="Tea", start={"day": "2025-01-01"})
    request = server.take()
    assert json.loads(request.body) == {"summary": "Tea", "start": {"day": "2025-01-01"}}

    await call(toolset, "calendar_events_labels_delete", name="labels/x/y")
    assert server.take().path == "/labels/x/y"


async def test_a_refusal_of_the_api_is_told_to_the_model(
    server: RecordingServer, machine: None
) -> None:
    server.answers["calendar.ping"] = lambda request: JSONResponse({"a": 1}, status_code=403)
    found = await call(calendar(server, service_account=MACHINE), "calendar_ping")
    assert "403" in found["error"] and "machine-token" not in found["error"]


@pytest.mark.parametrize("is_late", [True, False])
async def test_a_user_is_asked_for_the_first_scope_and_more(
    is_late: bool, server: RecordingServer
) -> None:
    more = {"additional_scopes": ["https://more"]}
    toolset = calendar(server, **more, **({} if is_late else CLIENT))
    if is_late:
        toolset.configure_auth(**CLIENT)
    context = make_context()
    found = await call(toolset, "calendar_ping", context)
    assert found["pending"] is True and server.requests == []
    request = context.actions.requested_auth_configs["call-1"]
    scheme: Any = request.auth_scheme
    assert scheme.scopes == [SCOPE, "https://more"]
    assert scheme.token_endpoint == "https://oauth2.googleapis.com/token"
    assert request.raw_auth_credential is not None
    assert request.raw_auth_credential.auth_type is AuthCredentialTypes.OPEN_ID_CONNECT

    oauth2 = OAuth2Auth(access_token="user-token", expires_at=4_102_444_800)
    answer = AuthCredential(auth_type=AuthCredentialTypes.OPEN_ID_CONNECT, oauth2=oauth2)
    context.state[f"temp:{request.credential_key}"] = answer
    assert await call(toolset, "calendar_ping", context) == {"ok": True}
    assert server.take().headers["authorization"] == "Bearer user-token"


async def test_a_service_account_goes_before_a_client(
    server: RecordingServer, machine: None
) -> None:
    toolset = calendar(server, **CLIENT)
    toolset.configure_sa_auth(MACHINE)
    assert await call(toolset, "calendar_ping") == {"ok": True}
    assert server.take().headers["authorization"] == "Bearer machine-token"


async def test_a_private_address_is_refused_by_default(
    server: RecordingServer, machine: None
) -> None:
    document = {**CALENDAR, "rootUrl": f"{server.url}/", "servicePath": ""}
    toolset = CalendarToolset(service_account=MACHINE, discovery_document=document)
    found = await call(toolset, "calendar_ping")
    assert "allow_private_network_access" in found["error"] and server.requests == []


async def test_an_api_without_scopes_has_tools() -> None:
    toolset = SheetsToolset(discovery_document=SHEETS)
    assert await names_of(toolset) == [f"sheets_values_{n}" for n in ("append", "clear", "send")]


@pytest.mark.parametrize(
    ("kind", "api"),
    [
        (BigQueryToolset, ("bigquery", "v2")),
        (CalendarToolset, ("calendar", "v3")),
        (DocsToolset, ("docs", "v1")),
        (GmailToolset, ("gmail", "v1")),
        (SheetsToolset, ("sheets", "v4")),
        (SlidesToolset, ("slides", "v1")),
        (YoutubeToolset, ("youtube", "v3")),
    ],
)
async def test_the_document_is_fetched_once_when_tools_are_listed(
    kind: Any, api: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    fetched: list[Any] = []

    def fetch(name: str, version: str, url: str | None) -> Any:
        fetched.append((name, version))
        return CALENDAR

    monkeypatch.setattr(converter_module, "fetch_document", fetch)
    toolset = kind("id", "secret", [LIST], None, "my")
    assert fetched == []
    await asyncio.gather(*(toolset.get_tools() for _ in range(3)))
    assert fetched == [api] and (toolset.api_name, toolset.api_version) == api
    assert [tool.name for tool in await toolset.get_tools_with_prefix()] == [f"my_{LIST}"]


async def test_a_document_that_is_none_is_refused_when_tools_are_listed() -> None:
    toolset = GoogleApiToolset("x", "v1", discovery_document={})
    with pytest.raises(AgentConfigError, match="is not a discovery document"):
        await toolset.get_tools()
    await toolset.close()
