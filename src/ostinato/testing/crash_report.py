"""The report of `crash_everywhere`: what each tool did over all deaths, and what to mend."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from .crash_trial import TrialOutcome

FindingKind = Literal[
    "repeated", "lost", "check", "extra", "order", "global", "state", "differs", "error"
]


@dataclass(slots=True)
class ToolReport:
    """What one tool did, over all trials.

    Attributes:
      effects: how many calls ran in the undisturbed run.
      attempts: how many times its body was begun over all trials.
      keyed: how many of its calls were begun again after reading their idempotency key.
      unkeyed: how many were begun again without.
      asked: how many were begun again because a person said so.
      policy: its `in_doubt`.
    """

    effects: int = 0
    attempts: int = 0
    keyed: int = 0
    unkeyed: int = 0
    asked: int = 0
    policy: str = "rerun"


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that a death of the process would do.

    Attributes:
      kind: what it is.
      tool: the tool; '' if it is not one tool's.
      text: what happens.
      remedy: the line that mends it.
      points: after deaths at which points, at most five.
    """

    kind: FindingKind
    tool: str
    text: str
    remedy: str
    points: tuple[str, ...] = ()


@dataclass(slots=True)
class CrashReport:
    """The result of `crash_everywhere`.

    Attributes:
      scenario: its name.
      points: how many points the undisturbed run passes.
      kills: at how many of them a process died.
      told_unknown: after how many of these the model or a person was told that a call may have
        taken effect; such a run may differ, and its call may be missing.
      seconds: how long all took.
      tools: what each tool did, by name.
      findings: what to mend.
      notes: what the report does not cover.
    """

    scenario: str
    points: int = 0
    kills: int = 0
    told_unknown: int = 0
    seconds: float = 0.0
    tools: dict[str, ToolReport] = field(default_factory=dict[str, ToolReport])
    findings: list[Finding] = field(default_factory=list[Finding])
    notes: list[str] = field(default_factory=list[str])

    @property
    def ok(self) -> bool:
        """Whether nothing has to be mended."""
        return not self.findings

    def assert_once(self) -> None:
        """Raise AssertionError with the report if something has to be mended."""
        if self.findings:
            raise AssertionError(str(self))

    def to_json(self) -> dict[str, Any]:
        """Return the report as a JSON object."""
        return {**asdict(self), "ok": self.ok}

    def __str__(self) -> str:
        lines = [
            f"{self.scenario}: {self.kills} deaths at {self.points} points in {self.seconds:.1f} s"
        ]
        for name, tool in self.tools.items():
            lines.append(
                f"  {name}: {tool.effects} effects, {tool.attempts} attempts, repeats: "
                f"{tool.keyed} with key, {tool.unkeyed} without, {tool.asked} as a person decided"
            )
        for one in self.findings:
            lines += [f"  {one.kind.upper()} {one.text}", f"    mend: {one.remedy}"]
            lines += [f"    after a death {point}" for point in one.points[:2]]
        if self.told_unknown:
            lines.append(
                f"  After {self.told_unknown} deaths the model or a person was told that the "
                "outcome of a call is unknown."
            )
        lines += [f"  note: {note}" for note in self.notes]
        if not self.tools:
            lines.append("  No tool ran, so nothing is shown about effects.")
        elif self.ok:
            lines.append("  Nothing has to be mended.")
        return "\n".join(lines)


class ReportBuilder:
    """Collects what trials left, compared with the undisturbed run.

    Args:
      scenario: name of the scenario.
      repeatable: tools whose repetition is harmless.
      reference: the undisturbed run.
    """

    def __init__(self, scenario: str, repeatable: frozenset[str], reference: TrialOutcome) -> None:
        self.report = CrashReport(scenario, points=len(reference.points))
        self._repeatable = repeatable
        self._reference = reference
        self._calls = _calls_of(reference.marks)
        self._found: dict[tuple[FindingKind, str], tuple[str, str, list[str]]] = {}
        for name, count in _count_tools(self._calls).items():
            self.report.tools[name] = ToolReport(effects=count)
        self._probe()

    def add(self, outcome: TrialOutcome) -> None:
        """Compare a trial in which a process died."""
        self.report.kills += 1
        calls = _calls_of(outcome.marks)
        if self._add_checks(outcome):
            return  # what follows comes of it
        if outcome.error:
            self._find("error", "", f"the resumed run fails: {outcome.error}", _SEE_POINT, outcome)
            return
        for call in calls.values():
            self._add_call(call, outcome)
        if outcome.told_unknown:
            self.report.told_unknown += 1
            return  # what follows depends on what the model or the person makes of it
        self._compare_counts(calls, outcome)
        self._compare_runs(calls, outcome)

    def finish(self, seconds: float) -> CrashReport:
        """Return the report."""
        self.report.seconds = seconds
        causes = {tool for kind, tool in self._found if kind in ("global", "state")}
        for (kind, tool), (text, remedy, points) in self._found.items():
            if kind == "differs" and causes:
                continue  # its cause is in the report
            self.report.findings.append(Finding(kind, tool, text, remedy, tuple(points[:5])))
        return self.report

    def _probe(self) -> None:
        """Add what the undisturbed run shows: globals, state outside of the delta, threads."""
        for mark in self._reference.marks:
            tool, name = mark.get("tool", ""), mark.get("name", "")
            if mark["kind"] == "global":
                text = f"{tool} changes {name}, which another process does not have"
                key = name.split("'")[1].lower()
                remedy = f"keep it in the session: tool_context.state[{key!r}] = ..."
                if name.startswith("the cache"):
                    remedy = f"let {tool} do what acts on the outside without a cache"
                self._find("global", tool, text, remedy)
            elif mark["kind"] == "state":
                self._find(
                    "state",
                    tool,
                    f"{tool} writes state {name!r} past the delta, so it is never stored",
                    f"write it through the context: tool_context.state[{name!r}] = ...",
                )
            elif mark["kind"] in ("starts", "nested"):
                note = f"{tool} calls {name} in its body: what {name} does counts as part of {tool}"
                if mark["kind"] == "starts":
                    what = mark["what"]
                    note = f"{tool} starts {what}: what that does after a death is not covered"
                if note not in self.report.notes:
                    self.report.notes.append(note)

    def _add_checks(self, outcome: TrialOutcome) -> bool:
        """Add what is wrong with answers of `check=`; return whether something is."""
        begun, is_wrong = set[str](), False
        for mark in outcome.marks:
            name, call = mark.get("tool", ""), str(mark.get("call"))
            if mark["kind"] == "begin":
                begun.add(call)
            elif mark["kind"] == "checked" and mark["error"]:
                text = f"check= of {name} raised, so the call in doubt got no answer from it: "
                remedy = f"mend check= of {name}: {_CHECK_ANSWERS}"
                self._find("check", name, text + mark["error"], remedy, outcome)
                is_wrong = True
            elif mark["kind"] == "checked" and mark["found"] and call not in begun:
                text = f"check= of {name} found an effect, though {name} had not begun in this run"
                remedy = _FOUND_EARLIER.format(name=name)
                self._find("lost", name, text, remedy, outcome)
                is_wrong = True
        return is_wrong

    def _add_call(self, call: _Call, outcome: TrialOutcome) -> None:
        tool = self.report.tools.setdefault(call.tool, ToolReport())
        tool.attempts += call.begins
        tool.policy = call.policy
        if call.begins < 2:
            return
        if call.has_key:
            tool.keyed += 1
            return
        if call.policy == "ask" and not call.has_check:
            tool.asked += 1
            return
        tool.unkeyed += 1
        if call.is_builtin or call.tool in self._repeatable:
            return
        name = call.tool
        if call.has_check and call.ended_before_repeat:
            remedy = f"let check= of {name} find the effect: it returned None though {name} had run"
        else:
            remedy = (
                f"pass tool_context.idempotency_key on in {name}; if no key can be passed on: "
                f'FunctionTool({name}, check=...) or FunctionTool({name}, in_doubt="ask"). '
                f"If {name} only reads, list it under `repeatable`"
            )
        text = f"{name} would have acted twice: {call.begins} times for one call, without a key"
        self._find("repeated", name, text, remedy, outcome)

    def _compare_counts(self, calls: Mapping[str, _Call], outcome: TrialOutcome) -> None:
        wanted, found = _count_tools(self._calls), _count_tools(calls)
        for name in {*wanted, *found}:
            if found[name] > wanted[name]:
                text = f"{name} ran for {found[name]} calls, and for {wanted[name]} undisturbed"
                self._find("extra", name, text, _SEE_CALLS, outcome)
            unended = [c for c in calls.values() if c.tool == name and not c.ended]
            was_unended = any(c.tool == name and not c.ended for c in self._calls.values())
            if found[name] < wanted[name] or (unended and not was_unended):
                text = f"{name} did not finish a call that it finishes undisturbed"
                has_check = any(c.tool == name and c.has_check for c in self._calls.values())
                remedy = f"let check= of {name} return None if the effect did not happen"
                self._find("lost", name, text, remedy if has_check else _SEE_CALLS, outcome)

    def _compare_runs(self, calls: Mapping[str, _Call], outcome: TrialOutcome) -> None:
        wanted = [f"{c.tool}({c.args})" for c in self._calls.values()]
        found = [f"{c.tool}({c.args})" for c in calls.values()]
        if sorted(wanted) == sorted(found) and wanted != found:
            if not any(c.overlaps for c in (*self._calls.values(), *calls.values())):
                text = f"the effects came in another order: {', '.join(found)}"
                self._find("order", "", text, _SEE_CALLS, outcome)
        difference = first_difference(self._reference, outcome)
        if difference:
            self._find("differs", "", f"the resumed run differs: {difference}", _SEE_STATE, outcome)

    def _find(
        self,
        kind: FindingKind,
        tool: str,
        text: str,
        remedy: str,
        outcome: TrialOutcome | None = None,
    ) -> None:
        points = self._found.setdefault((kind, tool), (text, remedy, []))[2]
        if outcome is not None:
            points.append(outcome.died)


_CHECK_ANSWERS = (
    "it returns None if the effect did not happen, or the response if it did; it gets the "
    "arguments of the call and its context"
)
_FOUND_EARLIER = (
    "let check= of {name} return None if the effect did not happen. If it found what an earlier "
    "run of the scenario did: the outside world lives on between runs. Let {name} pass "
    "tool_context.idempotency_key on and let check= look that up, or put the outside back before "
    "each run: crash_everywhere(agent, scenario, reset=...)"
)
_SEE_POINT = "run the scenario with --fast and a debugger; the point of the death is named"
_SEE_CALLS = "compare the calls: something outside of the session decides what is called"
_SEE_STATE = "keep what tools remember in tool_context.state, which is committed with the response"


_ADDRESS = re.compile(r" at 0x[0-9a-f]+")  # of an object; another one in each process


@dataclass(slots=True)
class _Call:
    """The lines that one call left."""

    tool: str
    args: str
    policy: str
    has_check: bool
    is_builtin: bool
    keys: list[bool] = field(default_factory=list[bool])  # by attempt: whether it read its key
    ends: list[bool] = field(default_factory=list[bool])  # by attempt: whether its body ended
    overlaps: bool = False

    @property
    def begins(self) -> int:
        """How many attempts began."""
        return len(self.keys)

    @property
    def ended(self) -> bool:
        """Whether a body ended."""
        return any(self.ends)

    @property
    def ended_before_repeat(self) -> bool:
        """Whether a body ended and the call began again."""
        return any(self.ends[:-1])

    @property
    def has_key(self) -> bool:
        """Whether a body read its key, and so did each one that ended."""
        ended = zip(self.keys, self.ends, strict=True)
        return any(self.keys) and all(key or not end for key, end in ended)


def _calls_of(marks: Sequence[Mapping[str, Any]]) -> dict[str, _Call]:
    """Return the calls that ran, in the order of their first begin."""
    calls: dict[str, _Call] = {}
    running: set[tuple[int, str]] = set()
    for mark in marks:
        name, pid = str(mark.get("call")), mark["pid"]
        if mark["kind"] == "begin":
            facts = (mark[key] for key in ("policy", "has_check", "is_builtin"))
            new = _Call(mark["tool"], _ADDRESS.sub("", repr(mark["args"])), *facts)
            call = calls.setdefault(name, new)
            call.keys.append(False)
            call.ends.append(False)
            running.add((pid, name))
            beside = [calls[other] for process, other in running if process == pid]
            for one in beside if len(beside) > 1 else ():
                one.overlaps = True
        elif name in calls and mark["kind"] == "key":
            calls[name].keys[-1] = True
        elif name in calls and mark["kind"] == "end":
            calls[name].ends[-1] = True
            running.discard((pid, name))
    return calls


def _count_tools(calls: Mapping[str, _Call]) -> Counter[str]:
    return Counter(call.tool for call in calls.values())


def first_difference(wanted: TrialOutcome, found: TrialOutcome) -> str:
    """Return where two runs of a scenario first differ; '' if they are equal."""
    difference = _differing_line(wanted.trace, found.trace, "event", "no further event")
    for node in () if difference else {**wanted.outputs, **found.outputs}:
        outputs = wanted.outputs.get(node, []), found.outputs.get(node, [])
        difference = _differing_line(*outputs, f"output of {node}", "no output")
        if difference:
            break
    difference = difference or _differing_call(wanted.marks, found.marks)
    if not difference and wanted.state != found.state:
        keys = [
            key
            for key in {**wanted.state, **found.state}
            if wanted.state.get(key, ...) != found.state.get(key, ...)
        ]
        return (
            f"state {keys[0]!r} is {found.state.get(keys[0])!r:.200}, "
            f"and was {wanted.state.get(keys[0])!r:.200}"
        )
    return difference


def _differing_line(wanted: Sequence[str], found: Sequence[str], what: str, none: str) -> str:
    for at in range(max(len(wanted), len(found))):
        one = wanted[at] if at < len(wanted) else none
        other = found[at] if at < len(found) else none
        if one != other:
            return f"{what} {at + 1} is {other!r:.300}, and was {one!r:.300}"
    return ""


def _differing_call(wanted: Sequence[Mapping[str, Any]], found: Sequence[Mapping[str, Any]]) -> str:
    """Return which call of a tool one of two runs has only; '' if none.

    The trace lacks those that an agent makes which is a tool: it has a session of its own.
    """
    before, now = (
        Counter(f"{one.tool}({one.args})" for one in _calls_of(marks).values())
        for marks in (wanted, found)
    )
    new, gone = next(iter(now - before), "no such call"), next(iter(before - now), "no such call")
    return f"a call is {new:.300}, and was {gone:.300}" if new != gone else ""
