"""Sequences of steps that the model once found something with."""

from __future__ import annotations

from typing import Any

import pytest

from tests.model.machine import Machine

_SEED = 32326
FOUND: dict[str, list[tuple[str, dict[str, Any]]]] = {
    # Both wings of a graph hear that the lease is lost, one of them while it is being stopped.
    "a graph whose lease is lost ends": [
        ("send", {"kind": "say", "policy": "queue", "turns": 2, "which": 1}),
        ("oversleep", {"turns": 10, "which": 0}),
        ("send", {"kind": "both", "policy": "queue", "turns": 4, "which": 0}),
        ("oversleep", {"turns": 23, "which": 0}),
        ("go_on_together", {"turns": 44}),
        ("oversleep", {"turns": 15, "which": 0}),
    ],
    # A wing broke off, then the user answers what the other one asks before anybody goes on.
    "a call of a wing that broke off is run although the other one was answered": [
        ("answer", {"which": 0}),
        ("send", {"kind": "order", "policy": "queue", "turns": 1, "which": 1}),
        ("oversleep", {"turns": 16, "which": 0}),
        ("oversleep", {"turns": 10, "which": 0}),
        ("crash", {"which": 1}),
        ("answer", {"which": 0}),
        ("answer", {"which": 0}),
        ("send", {"kind": "both", "policy": "queue", "turns": 8, "which": 0}),
        ("answer", {"which": 0}),
        ("oversleep", {"turns": 46, "which": 0}),
        ("go_on_together", {"turns": 45}),
        ("answer", {"which": 0}),
        ("answer", {"which": 0}),
        ("oversleep", {"turns": 26, "which": 0}),
    ],
}


@pytest.mark.spec(217)
@pytest.mark.parametrize("name", FOUND)
def test_what_was_found_stays_mended(name: str) -> None:
    for _ in range(2):  # what a process does for the first time takes other turns of its loop
        machine = Machine()
        machine.begin(name="graph", resumable=False, poison=False, away=[False] * 3, seed=_SEED)
        for step, arguments in FOUND[name]:
            getattr(machine, step)(**arguments)
            machine.nothing_is_broken()
        machine.teardown()
