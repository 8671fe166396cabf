"""OpenAPIToolset: many calls at once, certificates, and the paths that programs import."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from ostinato import compat
from ostinato.tools.openapi_tool import OpenAPIToolset
from tests.unit.tools.openapi.documents import make_operation
from tests.wire.live.socket_server import certificate

ANSWER = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s"
DOCUMENT = make_operation(
    parameters=[{"name": "n", "in": "query", "required": True, "schema": {"type": "integer"}}]
)


class Gate:
    """Holds a server's answers back; `asked` is set once a request has come."""

    def __init__(self) -> None:
        self.asked, self.opened = asyncio.Event(), asyncio.Event()

    async def wait(self) -> None:
        self.asked.set()
        await self.opened.wait()


@asynccontextmanager
async def echoing(
    tls: ssl.SSLContext | None = None, gate: Gate | None = None
) -> AsyncIterator[str]:
    """A server that answers with the query; its address."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                body = b'"%s"' % head.split(b" ")[1].partition(b"?")[2]
                if gate is not None:
                    await gate.wait()
                writer.write(ANSWER % (len(body), body))
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            return
        finally:
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=tls, backlog=256)
    port = server.sockets[0].getsockname()[1]
    try:
        yield f"{'https' if tls else 'http'}://127.0.0.1:{port}"
    finally:
        server.close()


async def call(toolset: OpenAPIToolset, n: int = 1) -> Any:
    tool = toolset.get_tool("do_it")
    assert tool is not None
    return await tool.call(args={"n": n}, tool_context=None)


@pytest.mark.long
async def test_many_calls_at_once_get_their_own_answers() -> None:
    async with echoing() as url:
        toolset = OpenAPIToolset(
            spec_dict=DOCUMENT, base_url=url, allow_private_network_access=True
        )
        answers = await asyncio.gather(*[call(toolset, n) for n in range(100)])
        await toolset.close()
    assert answers == [f"n={n}" for n in range(100)]


async def test_call_under_way_ends_when_the_toolset_is_closed_and_its_connection_after_it() -> None:
    gate = Gate()
    async with echoing(gate=gate) as url:
        toolset = OpenAPIToolset(
            spec_dict=DOCUMENT, base_url=url, allow_private_network_access=True
        )
        first = asyncio.create_task(call(toolset, 1))
        await gate.asked.wait()
        (pool,) = toolset._client._pools._clients.values()  # type: ignore[union-attr]
        (client,) = pool.clients.values()
        await toolset.close()
        assert not client.is_closed
        second = asyncio.create_task(call(toolset, 2))  # another connection
        await asyncio.sleep(0)
        await toolset.close()
        gate.opened.set()
        assert [await first, await second] == ["n=1", "n=2"]
        assert client.is_closed
        await toolset.close()


async def test_cancelled_call_closes_the_connection_of_a_closed_toolset() -> None:
    gate = Gate()
    async with echoing(gate=gate) as url:
        toolset = OpenAPIToolset(
            spec_dict=DOCUMENT, base_url=url, allow_private_network_access=True
        )
        task = asyncio.create_task(call(toolset))
        await gate.asked.wait()
        (pool,) = toolset._client._pools._clients.values()  # type: ignore[union-attr]
        (client,) = pool.clients.values()
        await toolset.close()
        task.cancel()
        await asyncio.wait([task])
        assert task.cancelled() and client.is_closed
        gate.opened.set()


async def test_a_toolset_can_be_used_after_it_was_closed() -> None:
    async with echoing() as url:
        toolset = OpenAPIToolset(
            spec_dict=DOCUMENT, base_url=url, allow_private_network_access=True
        )
        for _ in range(2):
            assert await call(toolset) == "n=1"
            await toolset.close()


def test_a_toolset_serves_one_loop_after_the_other() -> None:
    toolset: list[OpenAPIToolset] = []

    async def run() -> Any:
        async with echoing() as url:
            toolset[:] = toolset or [
                OpenAPIToolset(spec_dict=DOCUMENT, allow_private_network_access=True)
            ]
            tool = toolset[0].get_tool("do_it")
            assert tool is not None
            tool.endpoint.base_url = url
            return await call(toolset[0])

    assert [asyncio.run(run()) for _ in range(2)] == ["n=1", "n=1"]


@pytest.fixture(scope="module")
def trusted(tmp_path_factory: pytest.TempPathFactory) -> tuple[ssl.SSLContext, Path]:
    return certificate(tmp_path_factory.mktemp("tls"))


@pytest.mark.long
@pytest.mark.parametrize("how", ["path", "context", "off", "later", "one tool"])
async def test_certificates_are_checked_as_wanted(
    trusted: tuple[ssl.SSLContext, Path], how: str
) -> None:
    server, file = trusted
    context = ssl.create_default_context(cafile=str(file))
    verify: Any = {"path": str(file), "context": context, "off": False}.get(how)
    async with echoing(server) as url:
        toolset = OpenAPIToolset(
            spec_dict=DOCUMENT,
            base_url=url,
            allow_private_network_access=True,
            ssl_verify=verify,
        )
        if how in ("later", "one tool"):
            assert "CERTIFICATE_VERIFY_FAILED" in (await call(toolset))["error"]
        if how == "later":
            toolset.configure_ssl_verify_all(str(file))
        tool = toolset.get_tool("do_it")
        if how == "one tool" and tool is not None:
            tool.configure_ssl_verify(str(file))
        assert await call(toolset) == "n=1"
        await toolset.close()


NAMES = """
    openapi_tool:OpenAPIToolset,RestApiTool
    openapi_tool.auth.auth_helpers:token_to_scheme_credential,credential_to_param
    openapi_tool.auth.credential_exchangers:AutoAuthCredentialExchanger
    openapi_tool.common.common:ApiParameter,PydocHelper,TypeHintHelper,rename_python_keywords
    openapi_tool.openapi_spec_parser:OpenApiSpecParser,OperationEndpoint,OperationParser
    openapi_tool.openapi_spec_parser:ParsedOperation,ToolAuthHandler,AuthPreparationState
    openapi_tool.openapi_spec_parser.rest_api_tool:HttpxClientFactory,RestApiTool
    openapi_tool.openapi_spec_parser.tool_auth_handler:ToolContextCredentialStore
""".split()


def test_programs_for_google_adk_find_their_names() -> None:
    compat.install()
    try:
        for place in NAMES:
            module, _, names = place.partition(":")
            for name in names.split(","):
                assert getattr(import_module(f"google.adk.tools.{module}"), name) is not None
        toolset = import_module("google.adk.tools.openapi_tool").OpenAPIToolset
        assert toolset is OpenAPIToolset
    finally:
        compat.uninstall()


async def test_settings_take_names_with_the_prefix(caplog: pytest.LogCaptureFixture) -> None:
    toolset = OpenAPIToolset(
        spec_dict=make_operation(),
        tool_name_prefix="shop",
        tool_filter=["shop_do_it", "nope"],
        fields={"shop_do_it": ["/id"]},
    )
    (tool,) = await toolset.get_tools_with_prefix()
    assert tool.name == "shop_do_it" and toolset.tools[0]._fields == ["/id"]
    assert "tool_filter names 'nope', but there is no such tool" in caplog.text
