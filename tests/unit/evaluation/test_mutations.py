"""Fifty changed agents: what the default criteria catch, beside google-adk's, and what a replay
does."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from ostinato import types
from ostinato.evaluation.replay.comparison import compare_runs
from ostinato.evaluation.replay.lane import LaneRunner, LaneSettings, read_recorded
from ostinato.evaluation.replay.selection import Selection, select_exchanges
from ostinato.runners import Runner
from ostinato.sessions.in_memory_session_service import InMemorySessionService
from tests.mutations import run_mutations
from tests.mutations.changed_agents import CASES, HARMLESS, KINDS, UNCHANGED, Behaviour, change
from tests.mutations.run_mutations import evaluate_all, make_agent

VERDICTS = Path(run_mutations.__file__).parent / "verdicts.json"
DOCS = Path(run_mutations.__file__).parents[2] / "docs" / "evaluation.md"


async def is_found_by_replay(right: Behaviour, changed: Behaviour) -> bool:
    """Return whether the replay of one recorded invocation differs."""
    service = InMemorySessionService()
    agent = make_agent("ostinato", right)
    runner = Runner(app_name="app", agent=agent, session_service=service)
    session = await service.create_session(app_name="app", user_id="ann")
    message = types.Content(role="user", parts=[types.Part(text=right.message)])
    async for _ in runner.run_async(user_id="ann", session_id=session.id, new_message=message):
        pass
    exchanges = (await select_exchanges(service, Selection())).exchanges
    runs = await LaneRunner(make_agent("ostinato", changed), LaneSettings()).run_all(exchanges)
    return compare_runs(read_recorded(exchanges[0], {}, {}), runs[0]).outcome != "same"


@pytest.mark.long
async def test_the_table_in_the_docs_says_what_is_caught() -> None:
    theirs = json.loads(VERDICTS.read_text(encoding="utf-8"))
    ours = await asyncio.to_thread(evaluate_all, "ostinato")
    text = DOCS.read_text(encoding="utf-8")
    for kind in (*KINDS, HARMLESS, UNCHANGED):
        replayed = [await is_found_by_replay(case.behaviour, change(case, kind)) for case in CASES]
        row = [kind, sum(theirs[kind]), sum(ours[kind]), sum(replayed)]
        assert f"| {' | '.join(map(str, row))} |" in text
