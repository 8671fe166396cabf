"""A failure's seed does the same in another process; `make matrix` asks each other Python."""

from __future__ import annotations

import sys

import pytest

from tests.install import replays


@pytest.mark.long
def test_a_failures_seed_is_replayed_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    assert replays.compare_replays([sys.executable]) == []
    monkeypatch.setattr(replays, "find_failure", lambda seed: {"seed": "7"})
    (difference,) = replays.compare_replays([sys.executable])
    assert difference.startswith(sys.executable) and "is not a seed" in difference
