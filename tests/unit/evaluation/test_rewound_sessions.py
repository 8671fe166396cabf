"""Rewound turns count neither in a case made of a session nor in a replay."""

from __future__ import annotations

from typing import Any

import pytest

from ostinato.agents import Agent
from ostinato.errors import InputValidationError
from ostinato.evaluation.eval_case import Invocation, get_all_tool_calls
from ostinato.evaluation.replay.comparison import compare_runs
from ostinato.evaluation.replay.lane import LaneRunner, LaneSettings, read_recorded
from ostinato.evaluation.replay.selection import Selection, select_exchanges
from ostinato.evaluation.session_case import make_session_case
from ostinato.runners import Runner
from ostinato.sessions.in_memory_session_service import InMemorySessionService
from ostinato.sessions.session import Session
from ostinato.testing import FunctionModel, call
from ostinato.tools.tool_context import ToolContext


def make_agent() -> Agent:
    def count(n: int, tool_context: ToolContext) -> dict[str, Any]:
        """Note how many messages there are."""
        tool_context.state["last"] = n
        tool_context.state[f"had {n}"] = True
        return {"n": n}

    def think(request: Any) -> Any:
        if request.contents[-1].parts[-1].function_response:
            return "Done."
        texts = [p for c in request.contents for p in c.parts or () if p.text and c.role == "user"]
        return call("count", n=len(texts))

    return Agent(name="clerk", model=FunctionModel(think), tools=[count])


class Talk:
    """Messages one, two, three; then back before two, and two again."""

    def __init__(self) -> None:
        self.service = InMemorySessionService()
        self.runner = Runner(app_name="a", agent=make_agent(), session_service=self.service)
        self.ids: list[str] = []

    async def say(self, text: str) -> None:
        invocation_id = ""
        async for event in self.runner.run_async(user_id="u", session_id="s", new_message=text):
            invocation_id = event.invocation_id
        self.ids.append(invocation_id)

    async def hold(self) -> Session:
        await self.service.create_session(app_name="a", user_id="u", session_id="s")
        for text in ("one", "two", "three"):
            await self.say(text)
        await self.runner.rewind_async(
            user_id="u", session_id="s", rewind_before_invocation_id=self.ids[1]
        )
        await self.say("two again")
        found = await self.service.get_session(app_name="a", user_id="u", session_id="s")
        assert found is not None
        return found


def texts(turns: list[Invocation] | None) -> list[str | None]:
    return [(turn.user_content.parts or [])[0].text for turn in turns or ()]


async def test_a_case_has_only_the_turns_that_no_rewind_hides() -> None:
    made = make_session_case(await Talk().hold(), "c")
    assert texts(made.case.conversation) == ["one", "two again"]
    calls = [
        [one.args for one in get_all_tool_calls(turn.intermediate_data)]
        for turn in made.case.conversation or ()
    ]
    assert calls == [[{"n": 1}], [{"n": 2}]]


async def test_the_history_of_a_single_turn_has_no_hidden_events_and_no_state_of_them() -> None:
    talk = Talk()
    case = make_session_case(await talk.hold(), "c", talk.ids[3]).case
    assert texts(case.conversation) == ["two again"]
    assert case.session_input is not None
    history = case.session_input.events
    assert {one.invocation_id for one in history} == {talk.ids[0]}
    state: dict[str, Any] = {}
    for one in history:
        state |= one.actions.state_delta
    assert state == {"last": 1, "had 1": True}


async def test_a_hidden_turn_cannot_become_a_case() -> None:
    talk = Talk()
    session = await talk.hold()
    with pytest.raises(InputValidationError, match="was rewound"):
        make_session_case(session, "c", talk.ids[1])


async def test_a_replay_leaves_hidden_turns_out() -> None:
    talk = Talk()
    await talk.hold()
    found = await select_exchanges(talk.service, Selection(app_name="a"))
    assert [one.invocation_id for one in found.exchanges] == [talk.ids[0], talk.ids[3]]
    assert found.skipped == {"it was rewound": 2}
    runs = await LaneRunner(make_agent(), LaneSettings()).run_all(found.exchanges)
    recorded = [read_recorded(one, {}, {}) for one in found.exchanges]
    outcomes = [compare_runs(*pair).outcome for pair in zip(recorded, runs, strict=True)]
    assert outcomes == ["same", "same"]
    assert found.exchanges[1].initial_state() == {"last": 1, "had 1": True}
