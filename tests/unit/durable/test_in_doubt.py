"""A call that had begun when its process died: what becomes of it, as its tool says."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ostinato import types
from ostinato.agents import LlmAgent
from ostinato.errors import AgentConfigError
from ostinato.testing import call, trace
from ostinato.tools import BaseTool, FunctionTool
from ostinato.tools.call_doubt import UNKNOWN
from tests.support.optionals import present
from tests.unit.durable.crash import Killed, Life, Scenario, World, calls_named, flagged
from tests.unit.durable.test_crash_points import answer, step_model

# The commits of a plain turn are: message, call, response, final. At the third one the tool has run
# and its response is not stored.
RESPONSE = 3


def paying(world: World, **options: Any) -> FunctionTool:
    def pay(tool_context: Any) -> str:
        world.effect(tool_context, "pay")
        return "paid"

    return FunctionTool(pay, **options)


def clerk(make_tool: Callable[[World], Any], **options: Any) -> Callable[[World], LlmAgent]:
    return lambda world: LlmAgent(
        name="clerk",
        model=step_model(call("pay"), "Done."),
        tools=[make_tool(world)],
        **options,
    )


async def interrupted(path: Path, make_tool: Any, *legs: Any, at: int = RESPONSE) -> Life:
    """A conversation whose process died when the tool had run, and that went on."""
    life = Life(Scenario(clerk(make_tool), *(legs or ("Go",))), path, resumable=False)
    assert not await life.process(at)
    assert list(life.world.effects.values()) in ([1], [])
    return life


def given(log: Any) -> list[Any]:
    return [r.response for e in log for r in e.get_function_responses() if r.name == "pay"]


async def test_it_runs_again_with_the_same_key_a_flag_and_a_warning(
    quick_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    life = await interrupted(quick_path / "s.db", paying)
    with caplog.at_level(logging.WARNING):
        assert await life.process()
    log = await life.log()
    (asked,) = calls_named(log, "pay")
    ((key, times),) = life.world.effects.items()
    assert times == 2 and key.split("/")[0] == "talk" and key.endswith(f"/{asked.id}")
    assert flagged(log) == {asked.id}
    (event,) = [e for e in log if e.custom_metadata]
    assert event.custom_metadata == {"ostinato:rerun": [asked.id]}
    assert event.get_function_responses()[0].response == {"result": "paid"}
    assert "'pay'" in caplog.text and (asked.id or "-") in caplog.text


async def test_at_most_once_tells_the_model_that_the_outcome_is_unknown(quick_path: Path) -> None:
    life = await interrupted(quick_path / "s.db", lambda w: paying(w, in_doubt="at_most_once"))
    assert await life.process()
    log = await life.log()
    assert list(life.world.effects.values()) == [1]
    (response,) = given(log)
    assert "unknown" in response["error"]
    assert flagged(log) == {calls_named(log, "pay")[0].id}
    assert trace(log)[-1] == "clerk: Done."


@pytest.mark.parametrize("plain", [True, False])
@pytest.mark.parametrize("happened", [True, False])
async def test_a_check_finds_out(quick_path: Path, plain: bool, happened: bool) -> None:
    seen: list[Any] = []

    def check(args: dict[str, Any], tool_context: Any) -> Any:
        seen.append((args, tool_context.idempotency_key))
        return {"result": "paid before"} if happened else None

    async def check_later(args: dict[str, Any], tool_context: Any) -> Any:
        return check(args, tool_context)

    probe = check if plain else check_later
    life = await interrupted(quick_path / "s.db", lambda w: paying(w, check=probe))
    assert await life.process()
    log = await life.log()
    ((key, times),) = life.world.effects.items()
    assert seen == [({}, key)]
    assert given(log) == [{"result": "paid before" if happened else "paid"}]
    assert times == (1 if happened else 2) and flagged(log) == set()


@pytest.mark.parametrize("approved", [True, False])
@pytest.mark.parametrize("confirming", [True, False])
async def test_a_person_is_asked(quick_path: Path, approved: bool, confirming: bool) -> None:
    options: dict[str, Any] = {"require_confirmation": True} if confirming else {"in_doubt": "ask"}

    def confirm(log: Any) -> Any:
        return answer(calls_named(log, "adk_request_confirmation")[-1], {"confirmed": True})

    def decide(log: Any) -> Any:
        return answer(calls_named(log, "adk_request_confirmation")[-1], {"confirmed": approved})

    legs = ("Go", confirm, decide) if confirming else ("Go", decide)
    # With confirmation: message, call, request, response; answer, begin, response.
    at = 7 if confirming else RESPONSE
    life = await interrupted(quick_path / "s.db", lambda w: paying(w, **options), *legs, at=at)
    assert list(life.world.effects.values()) == [1]
    assert await life.process()
    log = await life.log()
    hints = [
        present(c.args)["toolConfirmation"]["hint"]
        for c in calls_named(log, "adk_request_confirmation")
    ]
    assert "interrupted" in hints[-1] and len(hints) == (2 if confirming else 1)
    assert list(life.world.effects.values()) == [2 if approved else 1]
    if approved:
        assert given(log)[-1] == {"result": "paid"}
    else:
        assert given(log)[-1]["error"].startswith("This tool call is rejected.")
        assert confirming or given(log)[-1]["error"].endswith(UNKNOWN)
    assert trace(log)[-1] == "clerk: Done."


async def test_a_call_that_waits_for_confirmation_has_not_begun(quick_path: Path) -> None:
    """Killed between request and response, and before the confirmed tool began."""

    def confirm(log: Any) -> Any:
        return answer(calls_named(log, "adk_request_confirmation")[-1], {"confirmed": True})

    for at in range(2, 7):
        life = Life(
            Scenario(clerk(lambda w: paying(w, require_confirmation=True)), "Go", confirm),
            quick_path / f"{at}.db",
            resumable=False,
        )
        assert not await life.process(at)
        assert life.world.effects == {}
        assert await life.process()
        log = await life.log()
        assert len(calls_named(log, "adk_request_confirmation")) == 1, at
        assert list(life.world.effects.values()) == [1] and flagged(log) == set()


async def test_a_finished_call_runs_no_hook_and_no_tool_again(quick_path: Path) -> None:
    """Two calls of one response: the first has ended, the second was cut off."""
    hooks: list[str] = []

    def tree(world: World) -> LlmAgent:
        async def quick(tool_context: Any) -> str:
            world.effect(tool_context, "quick")
            tool_context.state["quick"] = 1
            tool_context.state["temp:secret"] = "s3cret"
            return "raw"

        async def slow(tool_context: Any) -> str:
            world.effect(tool_context, "slow")
            if world.effects[tool_context.idempotency_key] == 1:
                await life.store.done(3)  # message, call, end of `quick`
                life.store.dead = True
                raise Killed
            return "slow"

        def after(tool: BaseTool, **_: Any) -> Any:
            hooks.append(tool.name)
            return {"result": "changed"} if tool.name == "quick" else None

        return LlmAgent(
            name="clerk",
            model=step_model([call("quick"), call("slow")], "Done."),
            tools=[quick, slow],
            after_tool_callback=after,
        )

    life = Life(Scenario(tree), quick_path / "s.db", resumable=False)
    assert not await life.process()
    finished = [row for row in life.rows("tool, status, result") if row[1] == "finished"]
    assert [row[0] for row in finished] == ["quick"] and "s3cret" not in finished[0][2]
    assert await life.process()
    log = await life.log()
    (event,) = [e for e in log if e.get_function_responses()]
    assert [r.response for r in event.get_function_responses()] == [
        {"result": "changed"},
        {"result": "slow"},
    ]
    assert event.actions.state_delta == {"quick": 1}
    assert hooks == ["quick", "slow"]
    assert {life.world.names[k]: n for k, n in life.world.effects.items()} == {
        "quick": 1,
        "slow": 2,
    }
    assert flagged(log) == {calls_named(log, "slow")[0].id}


async def test_a_call_behind_a_hook_has_not_begun_before_its_hook_let_it(quick_path: Path) -> None:
    def tree(world: World) -> LlmAgent:
        def die(**_: Any) -> None:
            if not world.asked:
                world.asked = 1
                life.store.dead = True
                raise Killed

        make = clerk(paying, before_tool_callback=die)
        return make(world)

    life = Life(Scenario(tree), quick_path / "s.db", resumable=False)
    assert not await life.process()
    assert [row for row in life.rows("status") if row[0] == "started"] == []
    assert await life.process()
    assert list(life.world.effects.values()) == [1] and flagged(await life.log()) == set()


async def test_a_plain_turn_costs_no_commit_of_its_own(quick_path: Path) -> None:
    life = Life(Scenario(clerk(paying)), quick_path / "s.db", resumable=False)
    assert await life.process()
    assert life.commits == 4


def test_a_policy_that_does_not_exist_is_refused() -> None:
    with pytest.raises(AgentConfigError, match=r"in_doubt is 'never'.*rerun, at_most_once, ask"):
        FunctionTool(lambda: None, in_doubt="never")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, "rerun"),
        ({"require_confirmation": True}, "ask"),
        ({"require_confirmation": True, "in_doubt": "rerun"}, "rerun"),
        ({"in_doubt": "at_most_once"}, "at_most_once"),
    ],
)
def test_a_tool_that_asks_for_confirmation_asks_in_doubt_too(
    options: dict[str, Any], expected: str
) -> None:
    assert FunctionTool(lambda: None, **options).in_doubt == expected


async def test_a_tool_of_the_user_s_own_class_may_say_so_in_its_class(quick_path: Path) -> None:
    class Pays(BaseTool):
        in_doubt = "at_most_once"

        def __init__(self, world: World) -> None:
            super().__init__(name="pay", description="Pays.")
            self.world = world

        def _get_declaration(self) -> types.FunctionDeclaration:
            return types.FunctionDeclaration(name="pay", description="Pays.")

        async def run_async(self, *, args: dict[str, Any], tool_context: Any) -> Any:
            self.world.effect(tool_context, "pay")
            return "paid"

    life = await interrupted(quick_path / "s.db", Pays)
    assert await life.process()
    assert list(life.world.effects.values()) == [1]
    assert "unknown" in given(await life.log())[0]["error"]
