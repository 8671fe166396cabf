"""Sequences of steps that the model once found something with."""

from __future__ import annotations

from typing import Any

import pytest

from tests.model.machine import Machine

Steps = list[tuple[str, dict[str, Any]]]


def send(kind: str, which: int, turns: int) -> tuple[str, dict[str, Any]]:
    return "send", {"kind": kind, "policy": "queue", "turns": turns, "which": which}


# Name of the tree, whether nobody sees the third process die, seed, steps.
FOUND: dict[str, tuple[str, bool, int, Steps]] = {
    # Both wings of a graph hear that the lease is lost, one of them while it is being stopped.
    "a graph whose lease is lost ends": (
        "graph",
        False,
        32326,
        [
            send("say", 1, 2),
            ("oversleep", {"turns": 10, "which": 0}),
            send("both", 0, 4),
            ("oversleep", {"turns": 23, "which": 0}),
            ("go_on_together", {"turns": 44}),
            ("oversleep", {"turns": 15, "which": 0}),
        ],
    ),
    # A wing broke off, then the user answers what the other one asks before anybody goes on.
    "a call of a wing that broke off is run although the other one was answered": (
        "graph",
        False,
        32326,
        [
            ("answer", {"which": 0}),
            send("order", 1, 1),
            ("oversleep", {"turns": 16, "which": 0}),
            ("oversleep", {"turns": 10, "which": 0}),
            ("crash", {"which": 1}),
            ("answer", {"which": 0}),
            ("answer", {"which": 0}),
            send("both", 0, 8),
            ("answer", {"which": 0}),
            ("oversleep", {"turns": 46, "which": 0}),
            ("go_on_together", {"turns": 45}),
            ("answer", {"which": 0}),
            ("answer", {"which": 0}),
            ("oversleep", {"turns": 26, "which": 0}),
        ],
    ),
    # A third process takes their results from the journal, and is cancelled as it stores them.
    "results of calls that ran twice before a crash outlive a cancel": (
        "parallel",
        False,
        29641,
        [
            send("both", 1, 6),
            ("cancel", {"which": 0}),
            ("crash", {"which": 0}),
            send("say", 1, 1),
            send("say", 0, 1),
            ("crash", {"which": 0}),
            send("say", 0, 1),
            ("go_on_together", {"turns": 31}),
            ("cancel", {"which": 0}),
            ("crash", {"which": 0}),
            *[("cancel", {"which": which}) for which in (0, 0, 0, 0, 1)],
            send("say", 1, 4),
            ("cancel", {"which": 0}),
            ("go_on_together", {"turns": 25}),
            ("crash", {"which": 1}),
        ],
    ),
    # A third process is cancelled before it looks at a call that another two had begun.
    "a long-running call that ran twice says so although its run is cancelled at once": (
        "single",
        False,
        29641,
        [
            *[("cancel", {"which": 0})] * 3,
            send("act", 1, 4),
            ("send", {"kind": "order", "policy": "interrupt", "turns": 5, "which": 1}),
            send("say", 0, 1),
            ("cancel", {"which": 0}),
            ("go_on_together", {"turns": 18}),
            ("crash", {"which": 0}),
            send("say", 1, 1),
            ("crash", {"which": 0}),
            ("go_on_together", {"turns": 27}),
            ("crash", {"which": 0}),
            ("cancel", {"which": 0}),
        ],
    ),
    # What a long-running call had done twice stands in the journal, and its run is cancelled.
    "a long-running call that ended in a run before says so too": (
        "parallel",
        True,
        29641,
        [
            send("both", 1, 6),
            ("crash", {"which": 0}),
            ("crash", {"which": 1}),
            ("cancel", {"which": 0}),
            ("send", {"kind": "order", "policy": "interrupt", "turns": 8, "which": 1}),
            send("act", 0, 8),
            ("go_on_together", {"turns": 50}),
            ("crash", {"which": 1}),
            send("act", 1, 1),
            ("go_on_together", {"turns": 31}),
            send("order", 0, 1),
            ("cancel", {"which": 0}),
            ("send", {"kind": "say", "policy": "reject", "turns": 2, "which": 0}),
            ("crash", {"which": 1}),
            ("send", {"kind": "both", "policy": "interrupt", "turns": 4, "which": 1}),
            ("send", {"kind": "say", "policy": "reject", "turns": 7, "which": 0}),
            send("both", 1, 5),
            ("crash", {"which": 0}),
            ("cancel", {"which": 1}),
            ("leave", {"number": 2, "which": 0}),
            ("go_on_together", {"turns": 17}),
            ("send", {"kind": "order", "policy": "reject", "turns": 8, "which": 1}),
            ("go_on_together", {"turns": 30}),
            ("crash", {"which": 0}),
        ],
    ),
    # It was kept alive for a caller that could never run it.
    "a message of a closed loop is answered by somebody else": (
        "single",
        False,
        0,
        [
            send("say", 0, 1),
            ("stop_reading", {"events": 1, "kind": "say", "turns": 10, "which": 0}),
            ("close_loop", {"which": 0}),
        ],
    ),
    # It was given to a task just before that task's loop was closed.
    "a session that nobody took passes to the next": (
        "single",
        False,
        0,
        [
            send("say", 0, 2),
            ("answer_at_once", {"turns": 1}),
            send("say", 0, 1),
            ("take_turns", {"seconds": 1.0, "turns": 10}),
            ("close_loop", {"which": 0}),
        ],
    ),
    # The confirmation came before the call beside it was closed.
    "an invocation that was left open is resumed before its call is answered": (
        "single",
        False,
        0,
        [
            ("take_turns", {"seconds": 1.0, "turns": 29}),
            ("stop_reading", {"events": 2, "kind": "pay", "turns": 20, "which": 0}),
            ("close_loop", {"which": 0}),
            ("answer", {"which": 0}),
            ("go_on_together", {"turns": 10}),
            ("stop_reading", {"events": 1, "kind": "say", "turns": 18, "which": 0}),
        ],
    ),
    # Retention deletes the events by which the run's agent was found, and another turn resumes it.
    "an invocation is resumed by the agent that it began with": (
        "transfer",
        False,
        0,
        [
            send("act", 0, 5),
            ("take_turns", {"seconds": 1.0, "turns": 15}),
            ("stop_reading", {"events": 1, "kind": "say", "turns": 34, "which": 0}),
            ("prune", {"part": 1.0}),
            ("cancel", {"which": 0}),
        ],
    ),
    "of two parallel calls the value written last is stored": (
        "single",
        False,
        0,
        [send("both", 0, 1), ("go_on_together", {"turns": 60})],
    ),
    "a run whose caller stopped reading can be cancelled": (
        "single",
        False,
        7,
        [
            ("stop_reading", {"events": 1, "kind": "both", "turns": 30, "which": 0}),
            ("cancel", {"which": 1}),
            ("renew", {"which": 0}),
            ("send", {"kind": "say", "policy": "interrupt", "turns": 8, "which": 0}),
            ("go_on_together", {"turns": 40}),
        ],
    ),
}


@pytest.mark.parametrize("name", FOUND)
def test_what_was_found_stays_mended(name: str) -> None:
    tree, away, number, steps = FOUND[name]
    for _ in range(2):  # what a process does for the first time takes other turns of its loop
        machine = Machine()
        machine.begin(
            name=tree, resumable=False, poison=False, away=[False, False, away], seed=number
        )
        for step, arguments in steps:
            getattr(machine, step)(**arguments)
            machine.nothing_is_broken()
        machine.teardown()
