"""Answers to calls below sequences, loops and own classes, in apps that are not resumable."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterator
from typing import Any

import pytest

from ostinato import types
from ostinato._adk_mode import set_follows_adk
from ostinato.agents import BaseAgent, LlmAgent, LoopAgent, ParallelAgent, SequentialAgent
from ostinato.context.invocation import InvocationContext
from ostinato.events import Event
from ostinato.testing import ScriptedModel, call, final_text
from ostinato.tools import FunctionTool, LongRunningFunctionTool
from tests.unit.flows.kit import SESSION, USER, Store, Talk, answer_to


@pytest.fixture
def adk_ways() -> Iterator[None]:
    """Run as programs do that come through the alias."""
    set_follows_adk(True)
    yield
    set_follows_adk(False)


def ask(what: str = "it") -> None:
    """Ask somebody outside; the answer comes later."""


def agent(name: str, *turns: Any, tools: Any = ()) -> LlmAgent:
    return LlmAgent(name=name, model=ScriptedModel(list(turns)), tools=list(tools))


def asking(name: str, *turns: Any) -> LlmAgent:
    return agent(name, call("ask"), *turns, tools=[LongRunningFunctionTool(ask)])


def asked(events: list[Event]) -> list[types.FunctionCall]:
    return [
        c for e in events for c in e.get_function_calls() if c.id in (e.long_running_tool_ids or ())
    ]


def spoken(events: list[Event]) -> list[str]:
    return [f"{e.author}: {text}" for e in events if (text := final_text([e]))]


class Chain(BaseAgent):
    """An own class that runs its sub-agents in order, whatever they wait for."""

    async def _run_async_impl(self, ctx: InvocationContext) -> AsyncGenerator[Event, None]:
        for one in self.sub_agents:
            async for event in one.run_async(ctx):
                yield event


async def say_and_answer(root: BaseAgent, store: Store, result: Any) -> tuple[list[str], list[str]]:
    """Return what is said before and after the answer to the one call that waits."""
    talk = Talk(root, store)
    first = await talk.say()
    (wanted,) = asked(first)
    second = await talk.answer(wanted, result)
    await talk.check_sound()
    return spoken(first), spoken(second)


@pytest.mark.usefixtures("adk_ways")
class TestThroughTheAlias:
    """As in google-adk, the outermost shell is run anew, and its agents act on the answer."""

    async def test_a_sequence_is_run_anew(self, store: Store) -> None:
        subs: list[BaseAgent] = [
            agent("one", "1a", "1b"),
            asking("two", "Two."),
            agent("three", "3"),
        ]
        root = SequentialAgent(name="line", sub_agents=subs)
        said = await say_and_answer(root, store, {"ok": 1})
        assert said == (["one: 1a"], ["one: 1b", "two: Two.", "three: 3"])

    async def test_a_loop_begins_with_its_first_round(self, store: Store) -> None:
        subs: list[BaseAgent] = [asking("one", "1a", "1b"), agent("two", "2a", "2b")]
        root = LoopAgent(name="loop", sub_agents=subs, max_iterations=2)
        said = await say_and_answer(root, store, {"ok": 1})
        assert said == ([], ["one: 1a", "two: 2a", "one: 1b", "two: 2b"])

    async def test_an_own_class_is_run_anew(self, store: Store) -> None:
        root = Chain(name="chain", sub_agents=[asking("one", "1a"), agent("two", "2a", "2b")])
        said = await say_and_answer(root, store, {"ok": 1})
        assert said == (["two: 2a"], ["one: 1a", "two: 2b"])

    async def test_a_fan_out_is_run_anew_on_its_branches(self, store: Store) -> None:
        root = ParallelAgent(name="both", sub_agents=[asking("one", "1a"), agent("two", "2a", "b")])
        before, after = await say_and_answer(root, store, {"ok": 1})
        assert (before, sorted(after)) == (["two: 2a"], ["one: 1a", "two: b"])
        talk = Talk(root, store)
        branches = {event.author: event.branch for event in await talk.stored()}
        assert {branches["one"], branches["two"]} == {"both.one", "both.two"}

    async def test_a_shell_below_a_team_is_run_anew(self, store: Store) -> None:
        line = SequentialAgent(name="line", sub_agents=[asking("one", "1a"), agent("two", "2a")])
        model = ScriptedModel([call("transfer_to_agent", agent_name="line")])
        root = LlmAgent(name="root", model=model, sub_agents=[line])
        assert await say_and_answer(root, store, {"ok": 1}) == ([], ["one: 1a", "two: 2a"])

    async def test_an_approved_call_runs_once(self, store: Store) -> None:
        paid: list[int] = []

        def pay(amount: int) -> str:
            paid.append(amount)
            return "paid"

        payer = agent(
            "payer",
            call("pay", amount=3),
            "Paid.",
            tools=[FunctionTool(pay, require_confirmation=True)],
        )
        root = SequentialAgent(name="line", sub_agents=[payer, agent("last", "Last.")])
        said = await say_and_answer(root, store, {"confirmed": True})
        assert said == ([], ["payer: Paid.", "last: Last."])
        assert paid == [3]

    async def test_two_answers_in_one_message_run_the_shell_once(self, store: Store) -> None:
        subs: list[BaseAgent] = [
            asking("one", "1a"),
            asking("two", "2a"),
            agent("three", "3a", "3b"),
        ]
        talk = Talk(Chain(name="chain", sub_agents=subs), store)
        first = await talk.say()
        pairs = [item for wanted in asked(first) for item in (wanted, {"ok": 1})]
        second = await talk.say(answer_to(*pairs))
        assert spoken(second) == ["one: 1a", "two: 2a", "three: 3b"]
        await talk.check_sound()

    async def test_a_crash_after_the_answer_resumes_in_the_shell(self, store: Store) -> None:
        subs: list[BaseAgent] = [
            asking("one", "1a"),
            agent("two", "2a"),
            agent("three", "3a", "3b"),
        ]
        talk = Talk(SequentialAgent(name="line", sub_agents=subs), store)
        first = await talk.say()
        (wanted,) = asked(first)
        await talk.answer(wanted, {"ok": 1})
        *kept, last = await talk.stored()
        assert last.author == "three"
        place = {"app_name": "talk", "user_id": USER, "session_id": SESSION}
        await store.service.delete_session(**place)
        session = await store.service.create_session(**place)
        for event in kept:  # what a process that died before the last event leaves
            await store.service.append_event(session, event)
        again = await talk.say(None, invocation_id=last.invocation_id)
        assert spoken(again) == ["three: 3b"]


async def test_natively_an_answer_goes_to_the_agent_that_asked(store: Store) -> None:
    root = SequentialAgent(name="line", sub_agents=[asking("one", "1a"), agent("two", "2a")])
    assert await say_and_answer(root, store, {"ok": 1}) == ([], ["one: 1a"])
