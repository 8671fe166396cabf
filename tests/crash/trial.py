"""One trial: a program is started again and again, dies where it was told to, and is checked."""

from __future__ import annotations

import asyncio
import faulthandler
import os
import pickle
import select
import shutil
import signal
import sys
import tempfile
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from ostinato.sessions import InMemorySessionService, SqliteSessionService
from tests.crash import checks
from tests.crash.program import NAMES, Program, Ways, live, seem_away, sqlite
from tests.crash.scenarios import SCENARIOS, Scenario
from tests.crash.world import World

HANGS = 40.0  # seconds after which a process is taken to hang
AWAY_SECONDS = 0.3  # length of a lease where only its end tells of a death


@dataclass(frozen=True)
class Trial:
    """Which program dies where.

    Attributes:
      scenario: its name.
      kills: where the first, the second, ... process dies: a fail point's number, or seconds.
      ways: how the program goes about it.
    """

    scenario: str
    kills: tuple[int | float, ...]
    ways: Ways = field(default_factory=Ways)

    def __str__(self) -> str:
        return f"{self.scenario}:{','.join(map(str, self.kills))}:{self.ways.letters}"

    @classmethod
    def of(cls, text: str) -> Trial:
        """Read what `str` gave."""
        scenario, kills, letters = text.split(":")
        numbers = [float(k) if "." in k else int(k) for k in kills.split(",") if k]
        return cls(scenario, tuple(numbers), Ways.of(letters))


@dataclass
class Outcome:
    """What became of a trial.

    Attributes:
      trial: the trial.
      wrong: what is wrong.
      kills: how many processes were killed.
      resumes: how many were started after a death.
      places: where they died.
      events: how many events are in the log.
      effects: how many effects were done.
      repeats: how many of these were repeated.
      flagged: how many calls say that they were run again.
      points: names of the fail points that the last process passed.
    """

    trial: Trial
    wrong: list[str] = field(default_factory=list)
    kills: int = 0
    resumes: int = 0
    places: list[str] = field(default_factory=list)
    events: int = 0
    effects: int = 0
    repeats: int = 0
    flagged: int = 0
    points: list[str] = field(default_factory=list)


class Trials:
    """Runs trials, each in a folder of its own.

    Args:
      folder: where the folders are made.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.template = folder / "template.db"
        in_child(lambda: asyncio.run(_make(self.template)))
        self._references: dict[str, checks.Talk] = {}

    def reference(self, scenario: str) -> Outcome:
        """Run a scenario without any death; later trials are compared with it."""
        outcome, report = self._run(Trial(scenario, ()), None)
        if report is not None:
            self._references[scenario] = report.talk
        return outcome

    def run(self, trial: Trial) -> Outcome:
        """Run a trial."""
        return self._run(trial, self._references[trial.scenario])[0]

    def _run(self, trial: Trial, reference: Any) -> tuple[Outcome, checks.Report | None]:
        folder = Path(tempfile.mkdtemp(dir=self._folder))
        shutil.copyfile(self.template, folder / "sessions.db")
        outcome, report = Outcome(trial), None
        errors = folder / "errors"
        for number in range(len(trial.kills) + 1):
            kill = trial.kills[number] if number < len(trial.kills) else None
            seconds = kill if isinstance(kill, float) else None
            ended, written = in_child(
                partial(process, trial, folder, kill, number), errors, seconds
            )
            if ended != -signal.SIGKILL:
                break
            outcome.kills += 1
        outcome.resumes = number
        if ended == 0:
            outcome.points = pickle.loads(written)
            ended, written = in_child(
                partial(examination, trial, folder, reference, outcome.kills), errors
            )
        if ended == 0:
            report = pickle.loads(written)
        else:
            outcome.wrong.append(f"a process ended with {ended}:\n{errors.read_text()}")
        self._note(outcome, report, World(folder))
        shutil.rmtree(folder)
        return outcome, report

    @staticmethod
    def _note(outcome: Outcome, report: checks.Report | None, world: World) -> None:
        outcome.places = [f"{place['at']} {place['name']}" for place in world.died.items()]
        outcome.effects = len(world.effects.items())
        outcome.repeats = checks.repeats(world)
        if report is not None:
            outcome.wrong += report.wrong
            outcome.events = len(report.talk.events)
            outcome.flagged = len(report.talk.flagged)


def process(trial: Trial, folder: Path, kill: int | float | None, number: int) -> bytes:
    """Be one process of a trial; return the names of the fail points that it passed."""
    world = World(folder, kill if isinstance(kill, int) else None)
    seconds = 10.0
    if trial.ways.away:
        seem_away(number)
        seconds = AWAY_SECONDS

    async def main() -> None:
        service = sqlite(world)
        program = Program(
            SCENARIOS[trial.scenario], world, trial.ways, service, lease_seconds=seconds
        )
        await live(program)

    asyncio.run(main())
    return pickle.dumps(world.point.names)


def examination(trial: Trial, folder: Path, reference: Any, deaths: int) -> bytes:
    """Be the process that looks at what the others left."""
    scenario, world = SCENARIOS[trial.scenario], World(folder)
    return pickle.dumps(asyncio.run(checks.examine(scenario, world, reference, deaths)))


def in_child(
    act: Callable[[], bytes | None], errors: Path | None = None, seconds: float | None = None
) -> tuple[int, bytes]:
    """Run something in a forked process.

    Args:
      act: what to run.
      errors: where its errors go.
      seconds: when to kill it; None for never.

    Returns:
      Its exit code, negative for a signal, and what `act` returned.
    """
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(reader)
        be_child(act, errors, writer)
    os.close(writer)
    if seconds is not None:
        handle = os.pidfd_open(pid)
        select.select([handle], [], [], seconds)
        os.close(handle)
        os.kill(pid, signal.SIGKILL)
    with os.fdopen(reader, "rb") as pipe:
        written = pipe.read()
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), written


def be_child(act: Callable[[], bytes | None], errors: Path | None, writer: int) -> None:
    code = 1
    try:
        if errors is not None:
            file = os.open(errors, os.O_WRONLY | os.O_CREAT)
            os.dup2(file, 2)
            sys.stderr = os.fdopen(2, "w", closefd=False)
        faulthandler.dump_traceback_later(HANGS, exit=True, file=sys.stderr)
        os.write(writer, b"")
        with os.fdopen(writer, "wb") as pipe:
            pipe.write(act() or b"")
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(code)


async def _make(path: Path) -> None:
    service = SqliteSessionService(path)
    await service.create_session(**NAMES)
    await service.close()


def warm() -> None:
    """Run all scenarios once in memory, so that a forked process has everything at hand."""

    async def run(scenario: Scenario, folder: Path) -> None:
        service = InMemorySessionService()
        await service.create_session(**NAMES)
        await Program(scenario, World(folder), Ways(), service).run()

    for scenario in SCENARIOS.values():
        with tempfile.TemporaryDirectory() as folder:
            asyncio.run(run(scenario, Path(folder)))
