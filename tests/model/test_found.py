"""What the model once found something with: each plan, under the schedules of several seeds."""

from __future__ import annotations

import pytest

from ostinato.testing import Entry
from tests.model.model import Variant, play
from tests.support.tries import tries

_SEEDS = tries(8)
_FIRST, _SECOND = 0, 1  # the processes


def at(time: float, kind: str, process: int = _FIRST, text: str = "", amount: float = 0.5) -> Entry:
    return Entry(time, kind, process, 0, text, amount)


FOUND: dict[str, tuple[Variant, list[Entry]]] = {
    # Both wings of a graph hear that the lease is lost, one of them while it is being stopped.
    "a graph whose lease is lost ends": (
        Variant("graph"),
        [
            at(0.5, "say", _SECOND, "say"),
            at(0.7, "lease_loss", _SECOND),
            at(1.0, "say", _FIRST, "both"),
            at(18.0, "lease_loss", _SECOND),
            at(36.0, "lease_loss", _FIRST),
        ],
    ),
    # A wing broke off, then the user answers what the other one asks before anybody goes on.
    "a call of a wing that broke off is run although the other one was answered": (
        Variant("graph"),
        [
            at(0.5, "say", _SECOND, "order"),
            at(1.6, "death", _SECOND),
            at(1.7, "answer"),
            at(2.0, "say", _FIRST, "both"),
            at(2.5, "death", _FIRST),
            at(2.6, "answer", _SECOND),
            at(20.0, "answer"),
        ],
    ),
    # A third process takes their results from the journal, and is cancelled as it stores them.
    "results of calls that ran twice before a crash outlive a cancel": (
        Variant("parallel"),
        [
            at(0.5, "say", _SECOND, "both"),
            at(1.8, "death", _SECOND),
            at(2.0, "say", _SECOND, "say"),
            at(4.5, "death", _FIRST),
            at(7.5, "cancel", _FIRST),
            at(7.6, "cancel", _SECOND),
            at(8.0, "death", _SECOND),
        ],
    ),
    # A third process is cancelled before it looks at a call that another two had begun.
    "a long-running call that ran twice says so although its run is cancelled at once": (
        Variant("single"),
        [
            at(0.5, "interrupt", _SECOND, "order"),
            at(1.6, "death", _SECOND),
            at(3.5, "death", _FIRST),
            at(5.0, "cancel", _FIRST),
            at(6.0, "death", _SECOND),
            at(6.5, "cancel", _FIRST),
        ],
    ),
    # What a long-running call had done twice stands in the journal, and its run is cancelled.
    "a long-running call that ended in a run before says so too": (
        Variant("parallel"),
        [
            at(0.5, "say", _SECOND, "order"),
            at(1.6, "death", _FIRST),
            at(1.7, "death", _SECOND),
            at(4.2, "interrupt", _SECOND, "order"),
            at(5.5, "death", _SECOND),
            at(5.6, "say", _FIRST, "order"),
            at(8.0, "cancel", _FIRST),
            at(8.5, "death", _FIRST),
        ],
    ),
    # It was kept alive for a caller that could never run it.
    "a message of a closed loop is answered by somebody else": (
        Variant("single"),
        [
            at(0.5, "say", _FIRST, "say"),
            at(0.6, "stop_reading", _FIRST, "say", 1.0),
            at(3.0, "loop_close", _FIRST),
        ],
    ),
    # It was given to a task just before that task's loop was closed.
    "a session that nobody took passes to the next": (
        Variant("single"),
        [
            at(0.5, "say", _FIRST, "say"),
            at(0.55, "say", _FIRST, "say"),
            at(0.6, "say", _SECOND, "say"),
            at(1.0, "loop_close", _FIRST),
        ],
    ),
    # A caller that reads nothing more holds the session, in a loop that is closed.
    "a graph of a closed loop is no longer waited for": (
        Variant("graph"),
        [
            at(12.6, "stop_reading", _FIRST, "order", 0.72),
            at(24.1, "loop_close", _FIRST),
        ],
    ),
    # The confirmation came before the call beside it was closed.
    "an invocation that was left open is resumed before its call is answered": (
        Variant("single"),
        [
            at(0.5, "stop_reading", _FIRST, "pay", 1.0),
            at(1.8, "loop_close", _FIRST),
            at(1.9, "answer", _FIRST),
            at(2.5, "stop_reading", _FIRST, "say", 1.0),
        ],
    ),
    # Retention deletes the events by which the run's agent was found, and another turn resumes it.
    "an invocation is resumed by the agent that it began with": (
        Variant("transfer"),
        [
            at(0.5, "say", _FIRST, "act"),
            at(6.0, "stop_reading", _FIRST, "say", 1.0),
            at(8.0, "prune", _FIRST, amount=0.999),
            at(8.5, "cancel", _FIRST),
        ],
    ),
    "of two parallel calls the value written last is stored": (
        Variant("single"),
        [at(0.5, "say", _FIRST, "both")],
    ),
    "a run whose caller stopped reading can be cancelled": (
        Variant("single"),
        [
            at(0.5, "stop_reading", _FIRST, "both", 1.0),
            at(3.0, "cancel", _SECOND),
            at(4.0, "interrupt", _FIRST, "say"),
        ],
    ),
    # The loop is closed, so that nobody closes the calls before the second attempt.
    "results of a parked run do not replace what its other branch wrote later": (
        Variant("parallel", chained=True, parks=True),
        [
            at(4.2, "tool_timeout", _SECOND),
            at(6.6, "say", _SECOND, "both"),
            at(8.2, "say", _SECOND, "pay"),
            at(8.9, "loop_close", _SECOND),
            at(9.3, "death", _SECOND),
        ],
    ),
    # The first answer had come with a message of its own, and a rewind has hidden it since.
    "an answer that follows a rewind is acted on": (
        Variant("parallel", resumable=True),
        [
            at(0.5, "say", _SECOND, "pay"),
            at(6.0, "say", _SECOND, "say"),
            at(10.0, "answer", _SECOND, amount=0.0),
            at(14.0, "rewind", _FIRST, amount=0.5),
            at(16.0, "answer", _FIRST, amount=0.0),
        ],
    ),
    # The rewind named an invocation that was deleted since, so that it hid nothing any more.
    "a question that a rewind took back stays so when old events are deleted": (
        Variant("single"),
        [
            at(0.5, "say", _FIRST, "say"),
            at(4.0, "say", _FIRST, "pay"),
            at(10.0, "rewind", _FIRST, amount=0.0),
            at(12.0, "prune", _FIRST, amount=1.0),
            at(14.0, "answer", _FIRST),
        ],
    ),
    # One wing had ended, so that the other one ran without any beside it.
    "a wing that goes on does not replace what the other one wrote later": (
        Variant("graph", resumable=True, chained=True),
        [
            at(0.9, "say", _SECOND, "say"),
            at(1.5, "tool_timeout", _SECOND),
            at(3.4, "say", _SECOND, "both"),
            at(6.0, "death", _SECOND),
            at(6.8, "interrupt", _SECOND, "say"),
        ],
    ),
}


@pytest.mark.tries
@pytest.mark.parametrize("name", FOUND)
def test_what_was_found_stays_mended(name: str) -> None:
    variant, plan = FOUND[name]
    for seed in range(_SEEDS):
        play(seed, variant, plan=plan, actions=len(plan)).assert_held()
