"""A replay of a thousand recorded invocations finds exactly what was changed."""

from __future__ import annotations

import time
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ostinato.evaluation.replay.comparison import compare_runs
from ostinato.evaluation.replay.lane import LaneRunner, LaneSettings, read_recorded
from ostinato.evaluation.replay.selection import Selection, select_exchanges
from ostinato.models.llm_request import LlmRequest
from ostinato.sessions.sqlite_session_service import SqliteSessionService
from ostinato.testing import call
from tests.support.recorded_store import APP, Effects, make_agent, record, results, said, serve

SESSIONS = 250
KINDS = ("hello", "find", "refund", "thanks")


def messages_of(session: int) -> list[str]:
    return [f"{kind} K{session}" for kind in KINDS]


def is_chosen(words: str, modulus: int) -> bool:
    return zlib.crc32(words.encode()) % modulus == 0


def changed(request: LlmRequest) -> Any:
    """Three changes: a lost negation, a wrong argument, a refund without looking."""
    words, done = said(request), results(request)
    if words.startswith("thanks") and is_chosen(words, 11):
        return f"You did not say {words}."
    if words.startswith("find") and is_chosen(words, 13) and not done:
        return call("find_order", order=words.split()[1].lower())
    if words.startswith("refund") and is_chosen(words, 17) and not done:
        return call("refund", order=words.split()[1], amount=99)
    return serve(request)


def expected_outcome(words: str) -> str:
    if words.startswith("thanks") and is_chosen(words, 11):
        return "words"
    if words.startswith("find") and is_chosen(words, 13):
        return "calls"
    if words.startswith("refund") and is_chosen(words, 17):
        return "diverged"
    return "same"


def noisy(request: LlmRequest) -> Any:
    words = said(request)
    if words.startswith("hello") and is_chosen(words, 7):
        return "Hello there!"
    return serve(request)


@pytest.mark.long
async def test_a_thousand_invocations_with_three_changes(tmp_path: Path) -> None:
    service = SqliteSessionService(str(tmp_path / "s.db"))
    conversations = [messages_of(number) for number in range(SESSIONS)]
    await record(service, make_agent(), conversations)
    began = time.perf_counter()
    chosen = await select_exchanges(service, Selection(app_name=APP))
    assert (len(chosen.exchanges), chosen.skipped.total()) == (1000, 0)
    effects = Effects()

    async def run_lane(answer: Callable[[LlmRequest], Any]) -> dict[str, str]:
        runner = LaneRunner(make_agent(answer, effects), LaneSettings())
        runs = await runner.run_all(chosen.exchanges)
        found: dict[str, str] = {}
        for exchange, run in zip(chosen.exchanges, runs, strict=True):
            content = exchange.messages[0].content
            words = ((content.parts if content else None) or [])[0].text or ""
            found[words] = compare_runs(read_recorded(exchange, {}, {}), run).outcome
        return found

    found = await run_lane(changed)
    seconds = time.perf_counter() - began
    wanted = {words: expected_outcome(words) for one in conversations for words in one}
    assert found == wanted
    assert {"words", "calls", "diverged", "same"} == set(wanted.values())
    assert effects.refunds == []
    # Only the lookups with other arguments ran: their tool says that it only reads.
    assert len(effects.lookups) == sum(one == "calls" for one in wanted.values())
    print(f"1000 replayed in {seconds:.1f} s")

    noise = await run_lane(noisy)
    assert {words for words, outcome in noise.items() if outcome != "same"} == {
        words for words in wanted if words.startswith("hello") and is_chosen(words, 7)
    }
    await service.close()
