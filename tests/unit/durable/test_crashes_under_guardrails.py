"""A process that dies at any commit of a guarded run: the next one ends with the same log. What a
guardrail found is there once, and nothing that was said got past the check."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ostinato import types
from ostinato.agents import BaseAgent, LlmAgent, ParallelAgent, SequentialAgent
from ostinato.context.guardrail import GUARDRAIL, Guardrail, GuardrailResult
from ostinato.events import Event
from ostinato.testing import FunctionModel, call
from ostinato.workflow import START, FunctionNode, Workflow
from tests.support.optionals import present
from tests.unit.durable.crash import Life, Scenario, World, flagged, lines_by_branch, unanswered
from tests.unit.durable.test_crash_points import clerk
from tests.unit.durable.test_crashes_in_tasks import desk

pytestmark = pytest.mark.long

BAD = "the secret"


def words(content: types.Content | None) -> str:
    return " ".join(part.text or "" for part in (content.parts if content else None) or ())


class Guards:
    """Guardrails, and what they have seen in any of the processes."""

    def __init__(self) -> None:
        self.seen: Counter[str] = Counter()

    def make(self, name: str, *, blocking: bool = True, info: Any = None) -> Guardrail:
        async def check(ctx: Any, content: types.Content) -> GuardrailResult:
            self.seen[words(content)] += 1
            return GuardrailResult(tripwire=BAD in words(content), info=info, message="No.")

        return Guardrail(check, name=name, blocking=blocking)


def passes(world: World, guards: Guards) -> BaseAgent:
    """Everything is looked at and noted, and all is well."""
    first = guards.make("first", info="seen")
    beside = [guards.make(name, blocking=False, info={"by": name}) for name in ("a", "b")]
    return clerk(
        world,
        input_guardrails=[first, *beside],
        output_guardrails=[guards.make("out", info="heard")],
    )


def input_trips(world: World, guards: Guards) -> BaseAgent:
    looks = [guards.make("first", info="seen"), guards.make("strict")]
    return clerk(world, input_guardrails=looks)


def input_trips_beside(world: World, guards: Guards) -> BaseAgent:
    looks = [guards.make(name, blocking=False, info=name) for name in ("one", "two")]
    return clerk(world, input_guardrails=looks)


def output_trips(world: World, guards: Guards) -> BaseAgent:
    bad = clerk(world, "bad", call("book"), f"It is {BAD}.")
    return SequentialAgent(
        name="line",
        sub_agents=[bad, LlmAgent(name="last", model=FunctionModel(lambda _: "Last."))],
        output_guardrails=[guards.make("out")],
    )


def one_of_two_trips(world: World, guards: Guards) -> BaseAgent:
    bad = clerk(world, "bad", call("book"), f"It is {BAD}.")
    first = clerk(world, "first", include_contents="none")
    return SequentialAgent(
        name="line",
        sub_agents=[
            ParallelAgent(name="fan", sub_agents=[first]),
            ParallelAgent(name="other", sub_agents=[bad]),
        ],
        output_guardrails=[guards.make("out", info="heard")],
    )


def task_trips(world: World, guards: Guards) -> BaseAgent:
    work = desk(world, "desk", call("book"), "Sure?", f"It is {BAD}.")
    work.output_guardrails = [guards.make("out", info="heard")]
    return clerk(world, "root", call("desk", request="Book"), "Done.", sub_agents=[work])


def node_trips(world: World, guards: Guards) -> Workflow:
    def begin(ctx: Any, node_input: Any) -> str:
        return "Begin"

    bad = clerk(world, "bad", call("book"), f"It is {BAD}.")
    bad.input_guardrails = [guards.make("in", blocking=False, info="seen")]
    bad.output_guardrails = [guards.make("out")]
    last = clerk(world, "last", call("book"), "Never.")
    node = FunctionNode(func=begin)
    return Workflow(name="flow", edges=[(START, node, bad, last)])


TREES: dict[str, tuple[Callable[[World, Guards], Any], tuple[str, ...]]] = {
    "passes": (passes, ("Go",)),
    "input_trips": (input_trips, (f"Tell {BAD}",)),
    "input_trips_beside": (input_trips_beside, (f"Tell {BAD}",)),
    "output_trips": (output_trips, ("Go",)),
    "one_of_two_trips": (one_of_two_trips, ("Go",)),
    "task_trips": (task_trips, ("Go", "Yes")),
    "node_trips": (node_trips, ("Go",)),
}


def results(log: list[Event]) -> Counter[tuple[str, str, bool]]:
    """How often the log says what each guardrail found."""
    found = [present(event.custom_metadata)[GUARDRAIL] for event in log if _is_result(event)]
    return Counter((one["name"], one["stage"], one["tripwire"]) for one in found)


def _is_result(event: Event) -> bool:
    return GUARDRAIL in (event.custom_metadata or {})


def said(log: list[Event]) -> list[str]:
    """What agents said, as it is stored."""
    spoken = [e for e in log if e.author != "user" and not _is_result(e)]
    return [words(event.content) for event in spoken if words(event.content)]


@pytest.mark.parametrize("resumable", [False, pytest.param(True, marks=pytest.mark.service)])
@pytest.mark.parametrize("name", TREES)
async def test_a_crash_at_any_commit_of_a_guarded_run(
    quick_path: Path, name: str, resumable: bool
) -> None:
    make, legs = TREES[name]

    def scenario(guards: Guards) -> Scenario:
        return Scenario(lambda world: make(world, guards), *legs)

    whole = Life(scenario(Guards()), quick_path / "whole.db", resumable)
    assert await whole.process()
    log = await whole.log()
    wanted, found, left = lines_by_branch(log), results(log), unanswered(log)
    assert left == (["desk"] if name == "task_trips" else [])  # it can be gone on with
    assert found and set(found.values()) <= {1, 2}
    assert BAD not in str(said(log))
    for at in range(1, whole.commits + 1):
        for after in (False, True):
            guards = Guards()
            life = Life(scenario(guards), quick_path / f"{at}-{after}.db", resumable)
            assert not await life.process(at, after), (at, after)
            assert BAD not in str(said(await life.log())), (at, after)
            assert await life.process(), (at, after)
            log = await life.log()
            assert lines_by_branch(log) == wanted, (at, after)
            assert results(log) == found, (at, after)
            assert [one for one in said(log) if not guards.seen[one]] == [], (at, after)
            repeated = {key.rpartition("/")[2] for key, n in life.world.effects.items() if n > 1}
            assert repeated <= flagged(log), (at, after)
            assert unanswered(log) == left, (at, after)
