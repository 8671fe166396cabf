"""A rolling restart behind a proxy that retries: the clients see no error, and nothing is lost."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.server.rolling import restart_under_load


@pytest.mark.service  # real processes, started and ended
def test_clients_see_no_error_while_servers_are_restarted(tmp_path: Path) -> None:
    seen, stored = restart_under_load(tmp_path, "sessions.db")
    assert set(seen) == {200}
    assert stored == seen.total()
