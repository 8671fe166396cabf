"""`simulate`: sound agents hold, planted faults are found, and a seed replays exactly."""

from __future__ import annotations

import asyncio
import itertools
import os
import subprocess
import sys
import time
from typing import Any

import pytest

from ostinato.agents import LlmAgent, ParallelAgent, SequentialAgent
from ostinato.errors import InputValidationError
from ostinato.events import Event
from ostinato.testing import FAULTS, Entry, Host, Moment, SimulationReport, call, simulate
from ostinato.testing.simulation.plan import PlanOptions, Seed
from ostinato.tools import FunctionTool, LongRunningFunctionTool, ToolContext
from ostinato.types import Content, Part
from tests.support.planted_faults import PLANTED, plant

LONG = pytest.mark.long


async def act(what: str, tool_context: ToolContext) -> str:
    """Do something."""
    assert tool_context.idempotency_key
    tool_context.state["last"] = what
    return "ok"


async def order(what: str, tool_context: ToolContext) -> str:
    """Order something."""
    assert tool_context.idempotency_key
    return "ordered"


def pay(what: str, tool_context: ToolContext) -> str:
    """Pay."""
    assert tool_context.idempotency_key
    return "paid"


async def pay_without_key(amount: int) -> str:
    """Pay."""
    return "paid"


def make_agent(name: str = "root", **options: Any) -> LlmAgent:
    tools = [act, LongRunningFunctionTool(order), FunctionTool(pay, require_confirmation=True)]
    return LlmAgent(name=name, description=name, tools=tools, **options)


def make_tree() -> SequentialAgent:
    both = ParallelAgent(name="both", sub_agents=[make_agent("one"), make_agent("two")])
    return SequentialAgent(name="tree", sub_agents=[both, make_agent("last")])


async def append_note(host: Host) -> None:
    service = host.runner.session_service
    named: dict[str, Any] = {"user_id": host.user_id, "session_id": host.session_id}
    session = await service.get_session(app_name=host.app_name, **named)
    assert session is not None and session.id == host.session.id
    content = Content(role="user", parts=[Part(text=f"by the way {host.amount}")])
    await service.append_event(session, Event(author="front", content=content))


async def prune_and_rewind(host: Host) -> None:
    before = len(host.events)
    assert host.prune() == before - len(host.events)
    found = [event.invocation_id for event in host.events if event.author == "user"]
    if found:
        await host.runner.rewind_async(
            user_id=host.user_id,
            session_id=host.session_id,
            rewind_before_invocation_id=host.choose(found),
        )


@pytest.mark.parametrize("make", [make_agent, make_tree])
def test_sound_agents_break_no_invariant(make: Any) -> None:
    report = simulate(make, runs=2, actions=15, sessions=2)
    report.assert_held()
    assert report.runs == 2
    assert min(report.figures[one] for one in ("effects", "death", "commits")) > 0
    assert "No invariant was broken." in str(report)


def test_the_same_seed_does_the_same_and_another_one_something_else() -> None:
    first, second, other = (simulate(make_agent(), seed=seed, actions=8) for seed in (5, 5, 6))
    assert (first.digest, first.figures) == (second.digest, second.figures)
    assert first.digest != other.digest


def test_it_neither_waits_nor_changes_the_time_of_the_program() -> None:
    before, began = time.monotonic, time.time()
    report = simulate(make_agent(), actions=3, seconds=200.0)
    report.assert_held()
    assert time.monotonic is before
    assert time.time() - began < 200


async def test_it_runs_inside_of_a_running_loop() -> None:
    loop = asyncio.get_running_loop()
    simulate(make_agent(), actions=5).assert_held()
    assert asyncio.get_running_loop() is loop


def find_payment(agent: LlmAgent | None = None, **options: Any) -> SimulationReport:
    agent = agent or LlmAgent(name="shop", tools=[pay_without_key])
    return simulate(
        agent, runs=60, actions=20, model=[call("pay_without_key", amount=1), "Paid."], **options
    )


@pytest.mark.long
def test_a_payment_without_a_key_is_found_shrunk_and_replayed() -> None:
    report = find_payment()
    (failure,) = report.failures
    assert failure.violation.startswith("unkeyed: pay_without_key")
    assert len(failure.plan) <= 6 < failure.entries
    assert failure.seed in str(failure)
    replays = [find_payment(seed=failure.seed, shrink=False) for _ in range(2)]
    assert [one.failures[0].violation for one in replays] == [failure.violation] * 2
    assert replays[0].failures[0].trace == failure.trace
    assert replays[0].digest == replays[1].digest
    with pytest.raises(AssertionError, match="replay: simulate"):
        report.assert_held()


@pytest.mark.long
def test_a_key_that_only_a_callback_reads_mends_nothing() -> None:
    def read_key(tool: Any, args: Any, tool_context: ToolContext) -> None:
        assert tool_context.idempotency_key

    agent = LlmAgent(name="shop", tools=[pay_without_key], before_tool_callback=read_key)
    (failure,) = find_payment(agent, shrink=False).failures
    assert failure.violation.startswith("unkeyed: pay_without_key")


def test_without_faults_the_payment_happens_once() -> None:
    agent = LlmAgent(name="shop", tools=[pay_without_key])
    report = simulate(
        agent, actions=8, faults={}, model=[call("pay_without_key", amount=1), "Paid."]
    )
    report.assert_held()


def test_invariants_of_the_user_are_checked() -> None:
    def never_long(moment: Moment) -> bool:
        return "a longer text with spaces" not in str(moment.state.get("last"))

    def has_answered(moment: Moment) -> None:
        assert moment.events[-1].author == "nobody"

    always = simulate(make_agent(), runs=20, always=[never_long])
    assert always.failures[0].violation.startswith("always: never_long")
    eventually = simulate(make_agent(), eventually=[has_answered], shrink=False)
    assert eventually.failures[0].violation.startswith("eventually: has_answered")


class FalseLike:
    """An object such as `numpy.bool_(False)`."""

    def __bool__(self) -> bool:
        return False


class Unclear:
    """An object such as an array of two numbers."""

    def __bool__(self) -> bool:
        raise ValueError("the truth value is ambiguous")


async def answer_async(value: Any) -> Any:
    return value


@pytest.mark.parametrize("kind", ["always", "eventually"])
@pytest.mark.parametrize(
    "value",
    [False, Unclear(), *(pytest.param(v, marks=LONG) for v in (FalseLike(), [], 0, ""))],
)
@pytest.mark.parametrize("is_async", [False, True])
def test_an_invariant_with_a_false_result_does_not_hold(
    kind: str, value: Any, is_async: bool
) -> None:
    def check(moment: Moment) -> Any:
        return answer_async(value) if is_async else value

    named: dict[str, Any] = {kind: [check]}
    report = simulate(make_agent(), actions=2, shrink=False, **named)
    assert report.failures[0].violation.startswith(f"{kind}: check ")


@pytest.mark.parametrize(
    "value", [None, True, *(pytest.param(v, marks=LONG) for v in (1, "yes", [0]))]
)
@pytest.mark.parametrize("is_async", [False, True])
def test_an_invariant_with_none_or_a_true_result_holds(value: Any, is_async: bool) -> None:
    def check(moment: Moment) -> Any:
        return answer_async(value) if is_async else value

    simulate(make_agent(), actions=2, always=[check], eventually=[check]).assert_held()


async def wait_a_step(moment: Moment) -> bool:
    await asyncio.sleep(0)
    return True


async def yield_results(moment: Moment) -> Any:
    yield False


def yield_plain(moment: Moment) -> Any:
    yield False


@pytest.mark.parametrize("kind", ["always", "eventually"])
@pytest.mark.parametrize(
    ("check", "words"),
    [
        (wait_a_step, "may not wait"),
        (yield_results, "yields"),
        (yield_plain, "yields"),
    ],
)
def test_an_invariant_without_a_result_is_refused(kind: str, check: Any, words: str) -> None:
    named: dict[str, Any] = {kind: [check]}
    report = simulate(make_agent(), actions=2, shrink=False, **named)
    assert report.failures[0].violation.startswith(f"{kind}: {check.__name__} ")
    assert words in report.failures[0].violation


@pytest.mark.parametrize(
    "error", [SystemExit(0), asyncio.CancelledError(), pytest.fail.Exception("no")]
)
@pytest.mark.parametrize("kind", ["always", "eventually"])
def test_an_invariant_that_ends_the_program_is_a_failure(kind: str, error: BaseException) -> None:
    def leave(moment: Moment) -> None:
        raise error

    named: dict[str, Any] = {kind: [leave]}
    report = simulate(make_agent(), actions=2, shrink=False, **named)
    assert report.failures[0].violation == f"{kind}: leave in session-0: {error!r}"


def test_ctrl_c_in_an_invariant_ends_the_simulation() -> None:
    def interrupt(moment: Moment) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        simulate(make_agent(), actions=2, always=[interrupt])


@pytest.mark.parametrize(
    ("seed", "words"),
    [
        ("sim1-00000000-7", "made by version 1"),
        ("sim2-00000000-7", "made by version 2"),
        ("sim4-00000000-7", "made by version 4"),
        ("sim3-00000000-7", "is not a seed"),
        ("sim3-00000000-7-00000000", "was altered"),
        ("seven", "is not a seed"),
        ("sim3-00000000-" + "9" * 40, "is not a seed"),
        (-1, "from 0"),
        (True, "from 0"),
    ],
)
def test_a_seed_that_cannot_be_replayed_is_refused(seed: Any, words: str) -> None:
    with pytest.raises(InputValidationError, match=words):
        simulate(make_agent(), seed=seed)


@pytest.mark.parametrize("kept", [None, (), (0, 2, 5)])
def test_each_alteration_of_a_seed_is_refused(kept: tuple[int, ...] | None) -> None:
    options = PlanOptions(6, 2, 1, ["Go"])
    text = Seed(49, kept).format(options)
    assert Seed.parse(text, options) == Seed(49, kept)
    for at in range(len(text)):
        for other in (
            text[:at] + text[at + 1 :],
            f"{text[:at]}0{text[at:]}",
            f"{text[:at]}1{text[at + 1 :]}",
        ):
            if other != text:
                with pytest.raises(InputValidationError):
                    Seed.parse(other, options)


def test_a_seed_of_other_options_is_refused() -> None:
    text = Seed(49).format(PlanOptions(6, 2, 1, ["Go"]))
    with pytest.raises(InputValidationError, match="other options"):
        Seed.parse(text, PlanOptions(7, 2, 1, ["Go"]))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"actions": 0}, "actions is 0"),
        ({"processes": "two"}, "processes is 'two'"),
        ({"messages": "Go"}, "messages is a list"),
        ({"messages": []}, "messages is a list"),
        ({"faults": {"flood": 1.0}}, "no fault 'flood'"),
        ({"faults": {"death": float("nan")}}, "weight"),
        ({"faults": {"death": -1.0}}, "weight"),
        ({"runs": 0}, "runs 0"),
        ({"host_actions": {"death": append_note}}, "another name"),
        ({"host_actions": [append_note]}, "host_actions is a list, and has to be a mapping"),
        ({"faults": ["death"]}, "faults is a list, and has to be a mapping"),
        ({"plan": [Entry(0.0, "flood", 0, 0)]}, "the plan's entry"),
        ({"plan": [Entry(0.0, "say", 2, 0)]}, "the plan's entry"),
        ({"max_attempts": 0}, "max_attempts is 0"),
        ({"settle_seconds": 0}, "settle_seconds is 0"),
        ({"settle_seconds": float("nan")}, "settle_seconds is nan"),
    ],
)
def test_options_that_cannot_be_used_are_refused(options: dict[str, Any], words: str) -> None:
    with pytest.raises(InputValidationError, match=words):
        simulate(make_agent(), **options)


def test_a_tool_that_uses_the_network_fails_with_a_word_about_it() -> None:
    seen: list[str] = []

    async def fetch() -> str:
        """Fetch."""
        try:
            await asyncio.open_connection("127.0.0.1", 1)
        except NotImplementedError as error:
            seen.append(str(error))
        return "fetched"

    agent = LlmAgent(name="root", tools=[fetch])
    simulate(agent, actions=4, faults={}, model=[call("fetch"), "Done"])
    assert "no network" in seen[0]


@pytest.mark.long
@pytest.mark.parametrize("name", sorted(FAULTS))
def test_each_kind_of_fault_alone_breaks_nothing(name: str) -> None:
    report = simulate(make_agent(), actions=12, faults={name: 12.0})
    report.assert_held()
    assert report.figures[name] > 0


@pytest.mark.parametrize(
    "name",
    [
        "the fence is not checked",
        pytest.param("a claim clears the journal", marks=pytest.mark.long),
    ],
)
def test_a_fault_of_the_runtime_is_found(name: str) -> None:
    with plant(name):
        report = simulate(make_agent, seed=1000, runs=20, shrink=False)
    assert report.failures


@pytest.mark.long
@pytest.mark.parametrize("name", PLANTED)
def test_each_planted_fault_is_found_within_100_000_steps(name: str) -> None:
    # Only agents that run side by side commit several events at once.
    make = make_tree if name.startswith("a commit ") else make_agent
    with plant(name):
        report = simulate(make, seed=1000, runs=60, shrink=False)
    assert report.failures, f"{report.steps} steps"
    assert report.steps <= 100_000
    simulate(make, seed=report.failures[0].seed, shrink=False).assert_held()


@pytest.mark.long
def test_neither_the_process_nor_the_order_of_hashes_matters() -> None:
    code = (
        "from tests.unit.testing.test_simulate import *;"
        "print(simulate(make_tree, seed=3, runs=2).digest)"
    )
    found = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("0", "1", "random")
    }
    assert found == {f"{simulate(make_tree, seed=3, runs=2).digest}\n"}


def test_a_failure_prints_a_seed_that_replays_it() -> None:
    def never(moment: Moment) -> bool:
        return not moment.effects

    report = simulate(make_agent(), actions=6, seed=1, always=[never])
    (failure,) = report.failures
    assert len(failure.plan) < failure.entries == 6
    again = simulate(make_agent(), actions=6, seed=failure.seed, always=[never], shrink=False)
    assert again.failures[0].trace == failure.trace


@pytest.mark.long
def test_actions_of_the_host_are_drawn_and_carried_out() -> None:
    actions = {"note": append_note, "prune": prune_and_rewind}
    report = simulate(make_agent, runs=4, host_actions=actions)
    report.assert_held()
    assert min(report.figures[name] for name in actions) > 0


def test_an_error_of_an_action_of_the_host_is_a_failure() -> None:
    async def fail(host: Host) -> None:
        raise KeyError(host.session_id)

    report = simulate(make_agent, runs=9, faults={}, host_actions={"fail": fail})
    assert report.failures[0].violation == "action: fail raised KeyError('session-0')"
    assert [entry.kind for entry in report.failures[0].plan] == ["fail"]


def test_an_assertion_of_the_model_is_a_failure() -> None:
    def answer(request: Any) -> str:
        assert len(request.contents) < 2, "it reads too much"
        return "Done."

    report = simulate(make_agent, faults={}, model=answer)
    assert report.failures[0].violation.startswith("model: it reads too much")


def test_a_plan_that_was_written_is_carried_out_under_many_schedules() -> None:
    plan = [
        Entry(0.5, "stop_reading", 0, 0, "Go", 1.0),
        Entry(1.0, "loop_close", 0, 0),
        Entry(2.0, "say", 1, 0, "Go on"),
    ]
    report = simulate(make_agent, runs=5, plan=plan, faults={"loop_close": 1.0})
    report.assert_held()
    assert report.figures["loop_close"] == report.figures["say"] == 5


def test_an_invocation_that_is_started_too_often_is_parked() -> None:
    plan = [Entry(0.5, "say", 0, 0, "Go"), Entry(0.8, "death", 0, 0)]
    report = simulate(make_agent, runs=5, plan=plan, max_attempts=1)
    report.assert_held()


async def render(tool_context: ToolContext) -> str:
    """Render a video."""
    assert tool_context.idempotency_key
    await asyncio.sleep(400)
    return "rendered"


async def wait_for_ever(tool_context: ToolContext) -> str:
    """Wait."""
    assert tool_context.idempotency_key
    await asyncio.Event().wait()
    return "never"


async def poll_for_ever(tool_context: ToolContext) -> str:
    """Poll."""
    assert tool_context.idempotency_key
    for _ in itertools.count():
        await asyncio.sleep(30)
    return "never"


def run_slow(tool: Any, **options: Any) -> SimulationReport:
    agent = LlmAgent(name="root", tools=[tool])
    turns = [call(tool.__name__), "Done."]
    return simulate(agent, actions=2, faults={}, model=turns, seed=3, shrink=False, **options)


@pytest.mark.long
def test_a_tool_that_takes_long_is_waited_for() -> None:
    run_slow(render, runs=3).assert_held()


@pytest.mark.long
@pytest.mark.parametrize(
    ("tool", "options", "seconds"),
    [
        (wait_for_ever, {}, "300"),
        (poll_for_ever, {"settle_seconds": 500.0}, "500"),
        (render, {"settle_seconds": 350.0}, "350"),
    ],
)
def test_a_run_that_does_not_end_is_told_alike_each_time(
    tool: Any, options: dict[str, Any], seconds: str
) -> None:
    first, again = (run_slow(tool, **options).failures[0].violation for _ in range(2))
    expected = f"settle: after {seconds} s there is still a run of a caller: "
    assert first.startswith(f"{expected}message '")
    assert first == again
