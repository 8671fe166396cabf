"""Ten clients approve at once, over two processes on one store: one counts, the tool runs once."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.approvals.rounds import play
from tests.support.databases import SERVERS, new_database

ROUNDS = 4


@pytest.mark.service  # real processes, started and ended
async def test_one_of_ten_answers_counts_over_two_servers_on_a_file(tmp_path: Path) -> None:
    outcome = await play(tmp_path, "sessions.db", ROUNDS)
    assert outcome.faults == []
    assert outcome.statuses == {202: ROUNDS, 409: 9 * ROUNDS}


@pytest.mark.service
@pytest.mark.parametrize("server", SERVERS)
async def test_one_of_ten_answers_counts_over_two_servers_on_a_database(
    tmp_path: Path, server: str
) -> None:
    with new_database(server) as url:
        outcome = await play(tmp_path, url, ROUNDS)
    assert outcome.faults == []
    assert outcome.statuses == {202: ROUNDS, 409: 9 * ROUNDS}
