"""`simulate`: many runs of an agent under a seeded schedule and faults, and what they found."""

from __future__ import annotations

import gc
import sys
import time
from collections import Counter
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, cast
from unittest.mock import patch

from ...agents.base_agent import BaseAgent
from ...agents.run_config import RunConfig
from ...apps.app import App
from ...errors import InputValidationError
from .plan import FAULTS, NEVER_PARKED, Entry, PlanOptions, Seed, check_options
from .run import SETTLE_SECONDS, HostAction, Invariant, RunOptions, RunOutcome, run_once

_SHRINKS = 200  # runs that the search for a shorter plan takes at most
_MESSAGES = ("Please continue.", "Do what is needed.", "Look again.", "That is all for now.")


@dataclass(frozen=True, slots=True)
class SimulationFailure:
    """A run that broke an invariant.

    Attributes:
      seed: text that replays it: `simulate(agent, seed=...)` with the same options.
      violation: what was broken.
      plan: the entries that suffice for it.
      entries: how many entries the run had before it was shrunk.
      trace: what happened last.
    """

    seed: str
    violation: str
    plan: Sequence[Entry]
    entries: int
    trace: Sequence[str]

    def __str__(self) -> str:
        lines = [
            f"{self.violation}",
            f"  replay: simulate(agent, seed={self.seed!r}, ...) with the same options",
            f"  plan: {len(self.plan)} of {self.entries} entries suffice",
            *(f"    {entry}" for entry in self.plan),
            "  what happened last:",
            *(f"    {line}" for line in self.trace[-12:]),
        ]
        return "\n".join(lines)


@dataclass(slots=True)
class SimulationReport:
    """What the runs of a simulation found.

    Attributes:
      runs: how many there were.
      figures: what happened how often; `steps` counts the runs of tasks between two awaits.
      failures: runs that broke an invariant, shrunk; empty if none.
      digest: a number made of all that happened; a replay has the same.
      seconds: how long it took.
      notes: what tools did that a simulation does not cover, such as to start a thread.
    """

    runs: int = 0
    figures: Counter[str] = field(default_factory=Counter[str])
    failures: list[SimulationFailure] = field(default_factory=list[SimulationFailure])
    digest: int = 0
    seconds: float = 0.0
    notes: list[str] = field(default_factory=list[str])

    @property
    def steps(self) -> int:
        """How many steps all runs took."""
        return self.figures["steps"]

    def __str__(self) -> str:
        found = ", ".join(f"{count:,} {name}" for name, count in self.figures.items())
        lines = [f"{self.runs} runs in {self.seconds:.1f} s: {found}"]
        lines += [str(failure) for failure in self.failures] or ["No invariant was broken."]
        lines += [f"note: {note}" for note in self.notes]
        return "\n".join(lines)

    def assert_held(self) -> None:
        """Raise AssertionError, with seed and plan, if a run broke an invariant."""
        if self.failures:
            raise AssertionError(str(self))


def simulate(
    agent: App | BaseAgent | Callable[[], App | BaseAgent] | Any,
    *,
    seed: int | str = 0,
    runs: int = 1,
    actions: int = 30,
    plan: Sequence[Entry] = (),
    processes: int = 2,
    sessions: int = 1,
    messages: Sequence[str] = _MESSAGES,
    model: Any = None,
    faults: Mapping[str, float] | None = None,
    host_actions: Mapping[str, HostAction] | None = None,
    always: Sequence[Invariant] = (),
    eventually: Sequence[Invariant] = (),
    strict_effects: bool = True,
    run_config: RunConfig | None = None,
    seconds: float = 1.0,
    lease_seconds: float = 10.0,
    max_attempts: int = NEVER_PARKED,
    settle_seconds: float = SETTLE_SECONDS,
    shrink: bool = True,
    keep_going: bool = False,
) -> SimulationReport:
    """Run an agent many times in simulated processes, under a schedule and faults from a seed.

    Args:
      agent: an agent, a workflow or an App; or a function that makes one for each process.
      seed: the first run's seed; or the text that a failure printed, to replay it.
      runs, actions: how many runs, with seeds that count up; entries of each run's plan.
      plan: the entries, by time, instead of drawn ones, such as those of a failure.
      processes, sessions: how many at a time; the processes share the sessions.
      messages: what users say, drawn at random.
      model: replies by position since the user's last text, a function of the LlmRequest, a model,
        `"own"`, or a mapping of these by agent name. By default it calls tools at random.
      faults: kinds of faults with relative weights; by default all of `FAULTS`, `{}` for none.
      host_actions: async functions of a `Host` by name, such as a rewind or an import, each drawn
        as often as a fault of weight 1. Errors that are not Ostinato's are failures.
      always, eventually: get a `Moment` after each commit, and at the end; None or true holds.
      strict_effects: whether a tool that ran twice for a call without reading its key is a failure.
      run_config: settings of the runs; plain tools run inline in any case.
      seconds, lease_seconds, settle_seconds: virtual seconds between two entries; of a lease; for
        which the agent's code may wait (`asyncio.sleep`) at the end, in all. The rest takes 300.
      max_attempts: as for `Runner`; by default no invocation is parked.
      shrink, keep_going: whether failures are shrunk; whether to continue after the first one.

    Returns:
      The figures and the failures; `assert_held()` raises if there are any.

    Raises:
      InputValidationError: an option cannot be used, or the seed is altered or of another version.
    """
    kinds, own = _to_dict("faults", faults, FAULTS), _to_dict("host_actions", host_actions, {})
    counts, times = (actions, processes, sessions, messages, kinds), (seconds, lease_seconds)
    drawn = PlanOptions(*counts, *times, [*own], max_attempts, plan)
    check_options(drawn)
    config = (run_config or RunConfig()).model_copy(update={"sync_tools": "inline"})
    checks = (always, eventually, strict_effects)
    options = RunOptions(drawn, _app_maker(agent), model, config, *checks, own, settle_seconds)
    return _run_seeds(_seeds_of(seed, runs, drawn), options, shrink, keep_going)


def _to_dict(option: str, given: Any, default: Mapping[str, Any]) -> dict[str, Any]:
    given = default if given is None else given
    if not isinstance(given, Mapping):
        kind = type(given).__name__
        raise InputValidationError(f"{option} is a {kind}, and has to be a mapping by name.")
    return dict(cast("Mapping[str, Any]", given))


@contextmanager
def _close_dead() -> Generator[None]:
    """Close what dead processes left running; Python 3.11 could crash if its exit did."""
    with patch.object(sys, "unraisablehook", _ignore):
        yield
        gc.collect()


def _ignore(unraisable: object) -> None: ...


@_close_dead()
def _run_seeds(
    seeds: Sequence[Seed], options: RunOptions, shrink: bool, keep_going: bool
) -> SimulationReport:
    report, began = SimulationReport(), time.perf_counter()
    for one in seeds:
        outcome = run_once(one, options)
        report.runs += 1
        report.figures.update(outcome.figures)
        report.digest = (report.digest * 31 + outcome.digest) % 2**32
        report.notes += [note for note in outcome.notes if note not in report.notes]
        if outcome.violation:
            best = _shrink(one, outcome, options) if shrink else (one, outcome)
            report.failures.append(_describe(*best, len(outcome.entries), options.plan))
            if not keep_going:
                break
    report.seconds = time.perf_counter() - began
    return report


def _seeds_of(seed: int | str, runs: int, plan: PlanOptions) -> list[Seed]:
    if isinstance(seed, str):
        return [Seed.parse(seed, plan)]
    if isinstance(seed, bool) or seed < 0 or runs < 1:
        raise InputValidationError(
            f"simulate: seed {seed!r} and runs {runs!r} have to be numbers, from 0 and from 1."
        )
    return [Seed(number) for number in range(seed, seed + runs)]


def _app_maker(agent: Any) -> Callable[[], App]:
    is_factory = callable(agent) and not hasattr(agent, "name")

    def make() -> App:
        made: Any = agent() if is_factory else agent
        return made if isinstance(made, App) else App(name="simulated", root_agent=made)

    return make


def _describe(
    seed: Seed, outcome: RunOutcome, entries: int, plan: PlanOptions
) -> SimulationFailure:
    kept = [entry for _, entry in outcome.entries]
    return SimulationFailure(seed.format(plan), outcome.violation, kept, entries, outcome.trace)


def _shrink(seed: Seed, outcome: RunOutcome, options: RunOptions) -> tuple[Seed, RunOutcome]:
    """Leave out entries while a run still breaks an invariant of the same kind."""
    kind = outcome.violation.partition(":")[0]
    best, found = seed, outcome
    kept = [index for index, _ in outcome.entries]
    size, tries = max(1, len(kept) // 2), 0
    while kept and tries < _SHRINKS:
        at, has_shrunk = 0, False
        while at < len(kept) and tries < _SHRINKS:
            fewer = kept[:at] + kept[at + size :]
            candidate = Seed(seed.number, tuple(fewer))
            tried = run_once(candidate, options)
            tries += 1
            if tried.violation.partition(":")[0] == kind:
                kept, best, found, has_shrunk = fewer, candidate, tried, True
            else:
                at += size
        if size == 1 and not has_shrunk:
            break
        size = max(1, size // 2)
    return best, found
