"""Agents that query BigQuery: in a whole run, and when the process dies at any commit."""

from pathlib import Path
from typing import Any

import pytest
from google.oauth2.credentials import Credentials

from ostinato.agents import LlmAgent
from ostinato.testing import Conversation, FunctionModel, ScriptedModel, call
from ostinato.tools.bigquery import BigQueryCredentialsConfig, BigQueryToolset
from ostinato.tools.bigquery.config import BigQueryToolConfig, WriteMode
from tests.support.fake_bigquery import FakeBigQuery, row
from tests.support.optionals import parts_of
from tests.unit.durable.crash import Life, Scenario, World, flagged

INSERT = "INSERT INTO sales.orders VALUES (1)"
QUERY = {"project_id": "p", "query": "SELECT n FROM sales.orders"}


def make_agent(model: Any, mode: WriteMode = WriteMode.BLOCKED) -> LlmAgent:
    toolset = BigQueryToolset(
        credentials_config=BigQueryCredentialsConfig(credentials=Credentials(token="token-1")),
        bigquery_tool_config=BigQueryToolConfig(write_mode=mode),
    )
    return LlmAgent(name="analyst", model=model, tools=[toolset])


async def test_an_agent_reads_rows(bigquery: FakeBigQuery) -> None:
    bigquery.result = ([{"name": "n", "type": "INTEGER"}], [row("7")])
    model = ScriptedModel([call("execute_sql", **QUERY), "Seven."])
    events = await Conversation(make_agent(model)).say("How many?")
    assert events[-1].content is not None and parts_of(events[-1])[0].text == "Seven."
    (answer,) = [
        part.function_response
        for content in model.requests[1].contents
        for part in content.parts or ()
        if part.function_response
    ]
    assert answer.response == {"status": "SUCCESS", "rows": [{"n": 7}]}


def insert_once() -> FunctionModel:
    """A model that inserts a row once, and then says that it is done."""

    def answer(request: Any) -> Any:
        parts = [part for content in request.contents for part in content.parts or ()]
        if any(part.function_call for part in parts):
            return "Done."
        return call("execute_sql", project_id="p", query=INSERT)

    return FunctionModel(answer)


# The commits of a turn are: message, call, response, final.
@pytest.mark.long
@pytest.mark.parametrize("at", [1, 2, 3, 4])
@pytest.mark.parametrize("after", [False, True])
async def test_a_crash_at_any_commit_inserts_once(
    bigquery: FakeBigQuery, tmp_path: Path, at: int, after: bool
) -> None:
    def tree(world: World) -> LlmAgent:
        return make_agent(insert_once(), WriteMode.ALLOWED)

    life = Life(Scenario(tree, "Go"), tmp_path / "s.db", resumable=False)
    assert not await life.process(at, after)
    while not await life.process():
        pass
    answers = [r for e in await life.log() for r in e.get_function_responses()]
    assert bigquery.ran == [INSERT]
    assert [one.response for one in answers] == [{"status": "SUCCESS", "rows": []}]
    # The call's commit also says that it begins.
    assert bool(flagged(await life.log())) == ((at, after) in ((2, True), (3, False)))
