"""`crash_everywhere`: kill an agent at every commit point of a scenario and compare the effects."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ..agents.base_agent import BaseAgent
from ..agents.node_agent import as_agent
from ..errors import InputValidationError
from ..execution.routing.agent_choice import agents_below
from ..tools.agent_tool import AgentTool
from .crash_points import suggest
from .crash_report import CrashReport, ReportBuilder, first_difference
from .crash_trial import CrashTrials, TrialOutcome
from .scenario import Scenario

_HANG_SECONDS = 60.0


class ScenarioError(AssertionError):
    """The scenario does not run by itself, or does not run twice in the same way."""


def crash_everywhere(
    agent: Any,
    scenario: str | Path | Mapping[str, Any] | Scenario,
    *,
    kills: bool | None = None,
    max_points: int = 200,
    hang_seconds: float = _HANG_SECONDS,
    reset: Callable[[], object] | None = None,
) -> CrashReport:
    """Run a scenario once, then once for each of its commit points with the process killed there.

    A point lies before and after each commit of the session store, each model call and each tool
    body. At a point the process kills itself (SIGKILL); a second process resumes what it left, as
    a restarted service does. Each process is forked from this one, so it begins with the modules
    in their present state. Effects are counted by lines that are appended to a file right before a
    tool's body begins and right after it ends; that a tool used its key is known from its body's
    reading `tool_context.idempotency_key`.

    Args:
      agent: an agent, or an App.
      scenario: a file, its data, or a `Scenario`.
      kills: whether processes are really killed. False stays in this process: at a point the run is
        stopped by an exception and its store accepts nothing more. None kills where the system can
        fork.
      max_points: at most so many deaths, spread evenly over the points.
      hang_seconds: how long one process may take.
      reset: called before each run; puts the outside world back, which lives on between runs.

    Returns:
      The report: for each tool effects, attempts and repeats, and what to mend.

    Raises:
      ScenarioError: the scenario fails undisturbed, two undisturbed runs differ (the error names
        the first difference), or the scenario names tools, agents or replies that none of them
        used.
      InputValidationError: `scenario` does not describe one, or this system cannot fork and `kills`
        is true.
    """
    can_fork = hasattr(os, "fork")
    if kills and not can_fork:
        raise InputValidationError("This system cannot fork; pass kills=False.")
    if max_points < 1:
        raise InputValidationError(f"max_points must be at least 1, not {max_points}.")
    begun, wanted = time.monotonic(), Scenario.read(scenario)
    trials = CrashTrials(
        agent,
        wanted,
        kills=can_fork if kills is None else kills,
        seconds=hang_seconds,
        reset=reset,
    )
    trials.warm_up()
    root = as_agent(getattr(agent, "root_agent", agent))
    reference = _run_undisturbed(trials, wanted, root)
    problem = _find_unused(wanted, reference.marks, root)
    if problem:
        raise ScenarioError(f"The scenario {wanted.name!r} is not what ran: {problem}")
    builder = ReportBuilder(wanted.name, wanted.repeatable, reference)
    _try_points(trials, builder, len(reference.points), max_points)
    return builder.finish(time.monotonic() - begun)


def _try_points(trials: CrashTrials, builder: ReportBuilder, points: int, most: int) -> None:
    """Run a trial for each of at most so many points, spread evenly."""
    step = max(points / most, 1.0)
    for at in sorted({int(number * step) + 1 for number in range(min(points, most))}):
        builder.add(trials.run(at))
    if points > most:
        builder.report.notes.append(f"only {most} of {points} points were tried")


def _run_undisturbed(trials: CrashTrials, scenario: Scenario, root: BaseAgent) -> TrialOutcome:
    """Run the scenario twice without a death; return the first run."""
    first, name = trials.run(None, probe=True), scenario.name
    if first.error:
        hidden = _explain_hidden_question(scenario, root)
        raise ScenarioError(f"The scenario {name!r} fails by itself: {first.error}{hidden}")
    raised = [mark["error"] for mark in first.marks if mark["kind"] == "raised"]
    if raised:
        by = [
            mark["tool"] for mark in first.marks if mark.get("error") in raised and "tool" in mark
        ]
        who = f"tool {by[0]!r} raised " if by else ""
        raise ScenarioError(
            f"The scenario {name!r} fails by itself: {who}{raised[0].rstrip('.')}. A run "
            "that fails is not compared with one that resumes. Let the tool return what went "
            "wrong, or answer its error in on_tool_error_callback."
        )
    trials.replies = first.replies
    second = trials.run(None)
    difference = second.error or first_difference(first, second)
    if difference:
        raise ScenarioError(
            f"The scenario {name!r} is not deterministic by itself: {difference}. Fix clocks, "
            "random numbers and answers of outside services, or a global that a first run changes."
        )
    return first


def _find_unused(scenario: Scenario, marks: Sequence[Mapping[str, Any]], root: Any) -> str:
    """Return which agent, reply or repeatable tool of the scenario the undisturbed run lacks."""
    asked = [mark for mark in marks if mark["kind"] == "asked"]
    agents = list(dict.fromkeys(mark["agent"] for mark in asked))
    for name, replies in scenario.model.items():
        agent = name or root.name
        used = {mark["position"] for mark in asked if mark["agent"] == agent}
        if not used:
            return f"agent {agent!r} never asks its model; {suggest(agent, agents)}"
        unused = [number for number in range(len(replies)) if number not in used]
        if unused:
            return (
                f"reply {unused[0] + 1} of agent {agent!r} is never used. Remove it, or add the "
                "step that leads to it."
            )
    tools = {tool: None for mark in asked for tool in mark["tools"]}
    tools |= {mark["tool"]: None for mark in marks if mark["kind"] == "begin"}
    tools |= dict.fromkeys(_declared_tools(root))
    for tool in sorted(scenario.repeatable - tools.keys()):
        return f"`repeatable` names {tool!r}, which is no tool; {suggest(tool, [*tools])}"
    return ""


def _explain_hidden_question(scenario: Scenario, root: BaseAgent) -> str:
    """Return which of the scenario's answers are for an agent that is called as a tool; "" if none
    are."""
    hidden = {name: agent for agent in _list_called(root) for name in _declared_tools(agent)}
    answered = [step.text for step in scenario.steps if step.kind != "say"]
    tool = next((one for one in answered if one in hidden), None)
    if tool is None:
        return ""
    return (
        f". {tool!r} is a tool of agent {hidden[tool].name!r}, which is called as a tool "
        "(AgentTool): it runs in a session of its own, in which no person is asked. Make it a "
        "sub-agent, for instance with mode='single_turn'."
    )


def _list_called(root: BaseAgent) -> list[BaseAgent]:
    """Return the agents of a tree that are called as tools, directly or by each other."""
    found: list[BaseAgent] = []
    waiting = [*agents_below(root)]
    while waiting:
        for tool in getattr(waiting.pop(), "tools", ()):
            inner = as_agent(tool.agent) if isinstance(tool, AgentTool) else None
            if isinstance(inner, BaseAgent) and inner not in found:
                found.append(inner)
                waiting += agents_below(inner)
    return found


def _declared_tools(agent: Any) -> Iterator[str]:
    """Yield the names of the tools in the lists of an agent and its sub-agents."""
    for tool in getattr(agent, "tools", ()):
        yield getattr(tool, "name", None) or getattr(tool, "__name__", "")
    for one in getattr(agent, "sub_agents", ()):
        yield from _declared_tools(one)
