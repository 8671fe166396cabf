"""The plan of one run, drawn from its seed: what users do, and which faults occur at what time.

A plan is data, so that a failure is shrunk by leaving entries out. The text of a seed names the
version of the format, a digest of the options, the seed, which entries are kept, and a checksum.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

from ...errors import InputValidationError

VERSION = 3
NEVER_PARKED = 1_000_000  # attempts, for a run that is killed often
_VERSION = re.compile(r"sim(\d{1,6})-[0-9a-f]{8}-\d")
_SEED = re.compile(r"sim\d{1,6}-([0-9a-f]{8})-(\d{1,20})(?:-([0-9a-f]{1,4096}))?-([0-9a-f]{8})")

USER_ACTIONS: Mapping[str, float] = {
    "say": 10.0,
    "interrupt": 1.0,
    "answer": 4.0,
    "answer_twice": 1.5,
    "answer_again": 0.5,
    "answer_unasked": 0.3,
    "stop_reading": 0.7,
    "leave": 1.5,
    "cancel": 1.0,
}
FAULTS: Mapping[str, float] = {
    "model_rate_limit": 1.0,
    "model_server_error": 1.0,
    "model_cut": 1.0,
    "model_malformed": 1.0,
    "tool_error": 1.0,
    "tool_timeout": 1.0,
    "store_slow": 1.0,
    "store_lost": 1.0,
    "store_full": 0.7,
    "death": 2.0,
    "lease_loss": 1.5,
    "clock_jump": 0.7,
    "loop_close": 0.0,
}
"""Kinds of faults, with how often each is drawn in relation to the others; 0 for never."""
HOST_WEIGHT = 1.0  # of each action of the host
SAYING = ("say", "interrupt", "stop_reading")
"""The user actions that send a message."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry of a plan.

    Attributes:
      time: when, in virtual seconds.
      kind: a kind of USER_ACTIONS or FAULTS, or the name of an action of the host.
      process: number of the simulated process that it concerns.
      session: number of the session.
      text: what a user says; else ''.
      amount: a number between 0 and 1 on which its extent depends.
    """

    time: float
    kind: str
    process: int
    session: int
    text: str = ""
    amount: float = 0.0

    def __str__(self) -> str:
        said = f" {self.text!r}" if self.text else ""
        return (
            f"{self.time:8.3f} s  process {self.process}, session {self.session}: {self.kind}{said}"
        )


@dataclass(frozen=True, slots=True)
class PlanOptions:
    """What a plan is drawn from, besides the seed.

    Attributes:
      actions: how many entries.
      processes: how many processes at a time.
      sessions: how many sessions.
      messages: what users say.
      faults: kinds of faults and their weights.
      seconds: mean time between two entries.
      lease_seconds: length of a lease.
      host_actions: names of the host's own actions.
      max_attempts: how often an invocation is started before it is parked.
      entries: the entries themselves; where there are any, none is drawn.
    """

    actions: int
    processes: int
    sessions: int
    messages: Sequence[str]
    faults: Mapping[str, float] = field(default_factory=lambda: dict(FAULTS))
    seconds: float = 1.0
    lease_seconds: float = 10.0
    host_actions: Sequence[str] = ()
    max_attempts: int = NEVER_PARKED
    entries: Sequence[Entry] = ()

    @property
    def digest(self) -> int:
        """A number that differs for other options, alike on every system."""
        faults = sorted(self.faults.items())
        text = repr(
            (
                self.actions,
                self.processes,
                self.sessions,
                [*self.messages],
                faults,
                self.seconds,
                self.lease_seconds,
                sorted(self.host_actions),
                self.max_attempts,
                [*self.entries],
            )
        )
        return zlib.crc32(text.encode())


@dataclass(frozen=True, slots=True)
class Seed:
    """A seed, and which entries of its plan are kept.

    Attributes:
      number: the seed.
      kept: indexes of entries; None for all.
    """

    number: int
    kept: tuple[int, ...] | None = None

    def format(self, options: PlanOptions) -> str:
        """Return the text that `parse` reads."""
        text = f"sim{VERSION}-{options.digest:08x}-{self.number}"
        if self.kept is not None:
            text += f"-{sum(1 << index for index in self.kept):x}"
        return f"{text}-{_checksum(text):08x}"

    @classmethod
    def parse(cls, text: str, options: PlanOptions) -> Seed:
        """Read the text of a seed.

        Raises:
          InputValidationError: it is not a seed, was altered, or is of another version or options.
        """
        shown = repr(text[:80])
        made_by = _VERSION.match(text)
        if made_by is not None and int(made_by[1]) != VERSION:
            raise InputValidationError(
                f"The seed {shown} was made by version {int(made_by[1])} of the simulation, and "
                f"this is version {VERSION}: it would run something else. Use the release of "
                "Ostinato that printed it."
            )
        found = _SEED.fullmatch(text)
        if found is None:
            raise InputValidationError(
                f"{shown} is not a seed of a simulation. Give an integer, or the text that a "
                f"failure prints, such as {cls(7).format(options)!r}."
            )
        digest, number, mask, check = found.groups()
        if int(check, 16) != _checksum(text.rpartition("-")[0]):
            raise InputValidationError(
                f"The seed {shown} was altered: its checksum does not fit. Copy the whole text "
                "that the failure printed."
            )
        if int(digest, 16) != options.digest:
            raise InputValidationError(
                f"The seed {shown} was made with other options. Call simulate with the same "
                "actions, processes, sessions, messages, faults, host_actions, seconds, "
                "lease_seconds, max_attempts and plan."
            )
        bits = None if mask is None else int(mask, 16)
        kept = None if bits is None else tuple(i for i in range(bits.bit_length()) if bits >> i & 1)
        return cls(int(number), kept)


def _checksum(text: str) -> int:
    return zlib.crc32(text.encode())


def draw_plan(seed: Seed, options: PlanOptions) -> list[tuple[int, Entry]]:
    """Return the entries of a plan with their indexes, by time.

    Only `Random.random` is drawn from, whose numbers are the same in every version of Python.
    """
    entries = [*enumerate(options.entries)] or _draw_entries(seed, options)
    if seed.kept is None:
        return entries
    kept = frozenset(seed.kept)
    return [item for item in entries if item[0] in kept]


def _draw_entries(seed: Seed, options: PlanOptions) -> list[tuple[int, Entry]]:
    chance = stream_of(seed.number, "plan")
    weights = [
        *USER_ACTIONS.items(),
        *sorted(options.faults.items()),
        *((name, HOST_WEIGHT) for name in sorted(options.host_actions)),
    ]
    entries: list[tuple[int, Entry]] = []
    time = 0.0
    for index in range(options.actions):
        time += chance.random() * 2 * options.seconds
        kind = "say" if index == 0 else _draw_kind(chance, weights)
        process = draw_index(chance, options.processes)
        session = draw_index(chance, options.sessions)
        text = options.messages[draw_index(chance, len(options.messages))]
        amount = chance.random()
        said = text if kind in SAYING else ""
        entries.append((index, Entry(time, kind, process, session, said, amount)))
    return entries


def stream_of(seed: int, name: str) -> Random:
    """Return a generator for one purpose, so that purposes do not disturb each other."""
    return Random(f"{seed}/{name}")


def draw_index(chance: Random, count: int) -> int:
    """Return a number from 0 up to `count`, without it."""
    return int(chance.random() * count)


def _draw_kind(chance: Random, weights: Sequence[tuple[str, float]]) -> str:
    left = chance.random() * sum(weight for _, weight in weights)
    for kind, weight in weights:
        left -= weight
        if left < 0:
            return kind
    return weights[-1][0]


def check_options(options: PlanOptions) -> None:
    """Raise InputValidationError for options with which nothing can be drawn."""
    for name in ("actions", "processes", "sessions", "max_attempts"):
        value: Any = getattr(options, name)
        if not isinstance(value, int) or value < 1:
            raise InputValidationError(f"simulate: {name} is {value!r}; give at least 1.")
    if isinstance(options.messages, str) or not options.messages:
        raise InputValidationError("simulate: messages is a list of at least one text.")
    unknown = sorted(options.faults.keys() - FAULTS.keys())
    if unknown:
        raise InputValidationError(
            f"simulate: there is no fault {unknown[0]!r}; there are {', '.join(FAULTS)}."
        )
    taken = sorted({*USER_ACTIONS, *FAULTS} & {*options.host_actions})
    if taken:
        raise InputValidationError(
            f"simulate: {taken[0]!r} is an action of simulate's own; give yours another name."
        )
    kinds = {*USER_ACTIONS, *options.faults, *options.host_actions}
    for entry in options.entries:
        there = entry.process < options.processes and entry.session < options.sessions
        if entry.kind not in kinds or not there:
            raise InputValidationError(
                f"simulate: the plan's entry {entry} has a process, a session, or a kind that "
                "there is not."
            )
    if any(not weight >= 0 for weight in options.faults.values()):
        raise InputValidationError("simulate: the weight of a fault is a number of at least 0.")
