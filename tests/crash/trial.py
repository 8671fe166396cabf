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

from ostinato.sessions import InMemorySessionService
from tests.crash import checks
from tests.crash.program import NAMES, Program, Ways, live, seem_away, watched
from tests.crash.scenarios import SCENARIOS, Scenario
from tests.crash.stores import begin_talk, opened_with_fail_point
from tests.crash.world import World

HANGS = 180.0  # seconds after which a process is taken to hang
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

    Attributes:
      url: a database for the talks, one after another; empty where each has a file.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.url = ""
        self._template = folder / "template"
        self._template.mkdir()
        in_child(lambda: asyncio.run(begin_talk(World(self._template), NAMES)))
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

    def room(self) -> Path:
        """Make a folder with a talk in which nothing was said."""
        folder = Path(tempfile.mkdtemp(dir=self._folder))
        if self.url:
            (folder / "url").write_text(self.url)
            errors = folder / "errors"
            ended, _ = in_child(lambda: asyncio.run(begin_talk(World(folder), NAMES)), errors)
            assert ended == 0, errors.read_text()
        else:
            shutil.copyfile(World(self._template).database, folder / "sessions.db")
        return folder

    def _run(self, trial: Trial, reference: Any) -> tuple[Outcome, checks.Report | None]:
        folder = self.room()
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
    scenario = SCENARIOS[trial.scenario]
    seconds = scenario.lease_seconds
    if trial.ways.away:
        seem_away(number)
        seconds = AWAY_SECONDS

    async def main() -> None:
        service = watched(world, opened_with_fail_point(world))
        await live(Program(scenario, world, trial.ways, service, lease_seconds=seconds))

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


def warm(url: str = "") -> None:
    """Run all scenarios once in memory, so that a forked process has everything at hand.

    Args:
      url: a database to open, too.
    """
    if url:
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "url").write_text(url)
            asyncio.run(begin_talk(World(Path(folder)), NAMES))

    async def run(scenario: Scenario, folder: Path) -> None:
        service = InMemorySessionService()
        await service.create_session(**NAMES)
        await Program(scenario, World(folder), Ways(), service).run()

    for scenario in (each for each in SCENARIOS.values() if not each.shared):
        with tempfile.TemporaryDirectory() as folder:
            asyncio.run(run(scenario, Path(folder)))
