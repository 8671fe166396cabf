"""A BigQuery for the tests of a file, and the call of a tool."""

from collections.abc import Callable, Generator
from typing import Any

import pytest
from google.oauth2.credentials import Credentials

from ostinato.context.context import Context
from ostinato.tools.bigquery import BigQueryCredentialsConfig, BigQueryToolset
from ostinato.tools.bigquery.config import BigQueryToolConfig
from tests.support.fake_bigquery import FakeBigQuery, serve_bigquery
from tests.unit.tools.contexts import make_context

CallTool = Callable[..., Any]


@pytest.fixture(scope="module")
def running_bigquery() -> Generator[FakeBigQuery]:
    with serve_bigquery() as fake:
        yield fake


@pytest.fixture
def bigquery(running_bigquery: FakeBigQuery, monkeypatch: pytest.MonkeyPatch) -> FakeBigQuery:
    running_bigquery.reset()
    monkeypatch.setenv("BIGQUERY_EMULATOR_HOST", running_bigquery.url)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    return running_bigquery


@pytest.fixture
def call_tool(bigquery: FakeBigQuery) -> CallTool:
    """Calls a tool of the toolset: `await call_tool(name, context=None, settings..., **args)`."""

    async def call(
        name: str,
        args: dict[str, Any],
        *,
        context: Context | None = None,
        **settings: Any,
    ) -> Any:
        toolset = BigQueryToolset(
            credentials_config=BigQueryCredentialsConfig(credentials=Credentials(token="token-1")),
            bigquery_tool_config=BigQueryToolConfig(**settings),
        )
        tools = {tool.name: tool for tool in await toolset.get_tools()}
        return await tools[name].run_async(args=args, tool_context=context or make_context())

    return call
