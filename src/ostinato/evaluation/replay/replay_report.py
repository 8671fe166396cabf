"""ReplayReport: the results of a replay by invocation, with totals, gates and three formats."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from ...errors import InputValidationError
from ..gates import Gate, read_gates
from ..markup import quote, quote_cell
from ..turn_usage import TurnUsage, add_usage
from .comparison import OUTCOME_WORDS, OUTCOMES, Comparison, Outcome, format_calls
from .lane import LaneRun

DEFAULT_GATES = "failed>0"
_COUNTS = (*OUTCOMES, "changed", "noise")
_DELTAS = ("cost", "tokens", "seconds")
_FORMAT = 1
_SHOWN = 50
_SHOWN_REASONS = 10
_LONGEST_CELL = 200


@dataclass(slots=True)
class InvocationReport:
    """The lanes of one recorded invocation.

    Attributes:
      app_name, user_id, session_id, invocation_id: what was replayed.
      message: the beginning of the user's message.
      recorded, new, old: the lanes; `old` is None without an old agent.
      change: how the new lane differs from the recording.
      noise: how the old lane does.
    """

    app_name: str
    user_id: str
    session_id: str
    invocation_id: str
    message: str
    recorded: LaneRun
    new: LaneRun
    change: Comparison
    old: LaneRun | None = None
    noise: Comparison | None = None

    @property
    def is_noise(self) -> bool:
        """Whether the old agent's run differs as much from the recording as the new agent's."""
        return self.noise is not None and 0 < self.change.rank <= self.noise.rank

    @property
    def outcome(self) -> Outcome:
        """How the new lane differs, unless the old lane does so too."""
        return "same" if self.is_noise else self.change.outcome


@dataclass(slots=True)
class ReplayReport:
    """The results of a replay.

    Attributes:
      agent: the agent, as the caller named it.
      invocations: the replayed invocations.
      skipped: how many invocations could not be replayed, by reason.
      parked: open invocations that the new agent would park, by session; None if not asked for.
      interrupted: whether the replay was cancelled before its end.
    """

    agent: str
    invocations: list[InvocationReport]
    skipped: dict[str, int] = field(default_factory=dict[str, int])
    parked: list[dict[str, str]] | None = None
    interrupted: bool = False

    @property
    def has_noise(self) -> bool:
        """Whether an old agent ran, too."""
        return any(one.noise is not None for one in self.invocations)

    def count(self, name: str) -> int:
        """Return how many invocations have an outcome.

        Args:
          name: an outcome; `calls` counts diverged ones, too; `changed` is everything but `same`;
            `noise` counts those in which the old agent's run differs from the recording.
        """
        if name == "noise":
            return sum(
                one.noise is not None and one.noise.outcome != "same" for one in self.invocations
            )
        found = Counter(one.outcome for one in self.invocations)
        if name == "changed":
            return found.total() - found["same"]
        if name == "calls":
            return found["calls"] + found["diverged"]
        return found[name]  # pyright: ignore[reportArgumentType]

    def usage(self) -> tuple[TurnUsage, TurnUsage]:
        """Return what the old and the new lane used where both came to their end.

        The old lane is that of the old agent, or else the recording.
        """
        ended = [
            one
            for one in self.invocations
            if one.change.outcome not in ("diverged", "failed")
            and (one.noise is None or one.noise.outcome not in ("diverged", "failed"))
        ]
        before = [(one.old or one.recorded).usage for one in ended]
        return add_usage(before), add_usage([one.new.usage for one in ended])

    def delta(self, name: str) -> float | None:
        """Return the relative change of cost, tokens or seconds; 0.1 is 10 % more.

        Args:
          name: the number.

        Returns:
          None if it is not known: a model has no price, or nothing was used before.
        """
        before, after = (getattr(usage, name) for usage in self.usage())
        if before is None or after is None:
            return None
        if not before:
            return None
        return (after - before) / before

    def find_broken_gates(self, expression: str) -> list[str]:
        """Return the gates that are broken, with the number that broke each.

        Args:
          expression: gates such as `calls>2%,cost>+10%`.

        Raises:
          InputValidationError: the expression is not valid, or a number is not known.
        """
        broken: list[str] = []
        for gate in parse_gates(expression):
            if gate.name in _DELTAS:
                found = self.delta(gate.name)
                if found is None:
                    raise InputValidationError(self._explain_unknown(gate.name))
                shown = f"{found:+.1%}"
            else:
                found = float(self.count(gate.name))
                shown = f"{found:g} of {len(self.invocations)}"
                if gate.is_percentage:
                    found /= max(1, len(self.invocations))
                    shown = f"{shown} ({found:.1%})"
            if gate.is_broken(found):
                broken.append(f"{gate.name} is {shown}: {gate.text} fails")
        return broken

    def _explain_unknown(self, name: str) -> str:
        before, after = self.usage()
        models = dict.fromkeys([*before.unpriced, *after.unpriced])
        if name == "cost" and models:
            names = ", ".join(one or "(unnamed)" for one in models)
            return f"The gate cost needs the prices of {names}: add --price MODEL=INPUT,OUTPUT."
        return f"The gate {name} has nothing to compare with: the recording has no {name}."


def parse_gates(expression: str) -> list[Gate]:
    """Return the gates of an expression.

    Args:
      expression: gates separated by commas.

    Raises:
      InputValidationError: a gate is not valid.
    """
    gates = read_gates(expression, "calls>2% or cost>+10%")
    for gate in gates:
        if gate.name in _DELTAS and not (gate.is_percentage and gate.is_signed):
            raise InputValidationError(
                f"The gate {gate.text!r} compares a change: write it as {gate.name}>+10%."
            )
        if gate.name in _COUNTS and gate.is_signed:
            raise InputValidationError(
                f"The gate {gate.text!r} compares a number: leave + or - out."
            )
        if gate.name not in (*_COUNTS, *_DELTAS):
            known = ", ".join((*_COUNTS, *_DELTAS))
            raise InputValidationError(f"There is no gate {gate.name!r}; known: {known}.")
    return gates


def format_json(report: ReplayReport) -> str:
    """Return a report as JSON.

    Args:
      report: the report.
    """
    invocations = [
        {**asdict(one), "outcome": one.outcome, "is_noise": one.is_noise}
        for one in report.invocations
    ]
    document: dict[str, Any] = {
        "format": _FORMAT,
        "agent": report.agent,
        "interrupted": report.interrupted,
        "totals": {"replayed": len(invocations), **{name: report.count(name) for name in _COUNTS}},
        "deltas": {name: report.delta(name) for name in _DELTAS},
        "skipped": report.skipped,
        "parked": report.parked,
        "invocations": invocations,
    }
    return json.dumps(document, indent=2, ensure_ascii=False, default=_to_json) + "\n"


def _to_json(value: Any) -> Any:
    return value.model_dump() if isinstance(value, TurnUsage) else str(value)


def format_summary(report: ReplayReport) -> str:
    """Return the totals in one line.

    Args:
      report: the report.
    """
    total = len(report.invocations)
    parts = [f"{total} invocation{'' if total == 1 else 's'} replayed"]
    found = Counter(one.outcome for one in report.invocations)
    parts += [f"{found[name]} {OUTCOME_WORDS[name]}" for name in OUTCOMES if found[name]]
    if report.has_noise:
        parts.append(f"noise in {report.count('noise')}")
    for name in _DELTAS:
        delta = report.delta(name)
        if delta is not None and any(getattr(usage, name) for usage in report.usage()):
            parts.append(f"{name} {delta:+.1%}")
    return ", ".join(parts) + (" (interrupted)" if report.interrupted else "")


def list_skipped(skipped: Mapping[str, int]) -> list[str]:
    """Return why invocations were not replayed, most frequent reasons first.

    Args:
      skipped: how many there are for each reason.
    """
    reasons = Counter(skipped).most_common()
    lines = [f"{number}, because {reason}" for reason, number in reasons[:_SHOWN_REASONS]]
    left = sum(number for _, number in reasons[_SHOWN_REASONS:])
    return [*lines, f"{left}, for other reasons"] if left else lines


def describe(comparison: Comparison, run: LaneRun) -> str:
    """Return in a few words how a run differs.

    Args:
      comparison: the comparison.
      run: the run.
    """
    words = OUTCOME_WORDS[comparison.outcome]
    if comparison.step is not None:
        words += f" at step {comparison.step}"
    if run.asked_otherwise:
        words += f" ({run.asked_otherwise})"
    elif run.stopped is not None and comparison.outcome == "diverged":
        words += f" ({format_calls([run.stopped])} was not recorded and may have effects)"
    if run.unanswered:
        words += " (a call that the user answered was not made)"
    if comparison.outcome == "failed":
        words += f": {run.error:.200}"
    return words


def format_markdown(report: ReplayReport) -> str:
    """Return a report as Markdown, for a pull request.

    Args:
      report: the report.
    """
    lines = [f"### Replay of {quote(report.agent)}", "", f"{format_summary(report)}.", ""]
    changed = [one for one in report.invocations if one.outcome != "same"]
    if changed:
        lines += ["| session | invocation | outcome | recorded | new |", "|---|---|---|---|---|"]
    for one in changed[:_SHOWN]:
        change = one.change
        recorded, new = one.recorded.answer, one.new.answer
        if recorded.split() == new.split():
            recorded, new = one.recorded.output, one.new.output
        if change.step is not None:
            places = change.expected_place, change.actual_place
            if places[0] == places[1]:
                places = "", ""
            recorded = format_calls(change.expected, places[0])
            new = format_calls(change.actual, places[1])
        cells = (one.session_id, one.invocation_id, describe(change, one.new), recorded, new)
        shown = [quote_cell(cell, _LONGEST_CELL) for cell in cells]
        lines.append(f"| {' | '.join(shown)} |")
    if len(changed) > _SHOWN:
        lines += ["", f"{len(changed) - _SHOWN} more changed; the JSON report has all."]
    for line in list_skipped(report.skipped):
        lines += ["", f"Not replayed: {quote(line)}."]
    if report.parked is not None:
        lines += ["", f"Open invocations that this agent would park: {len(report.parked)}."]
        lines += [
            f"- {quote(one['invocation_id'])} in session {quote(one['session_id'])}: "
            f"{quote(one['reason'], _LONGEST_CELL)}"
            for one in report.parked[:_SHOWN]
        ]
    return "\n".join(lines) + "\n"
