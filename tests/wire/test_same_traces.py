"""The five examples give the same event traces over every adapter, streamed and not: what a model
says on the wire makes no difference to what happens.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import pytest

from ostinato.context.run_config import RunConfig, StreamingMode
from ostinato.models.base_llm import BaseLlm
from ostinato.testing import Conversation, ScriptedModel, call
from ostinato.testing.event_trace import trace
from tests.unit.examples.loading import agents_of, example, put_models
from tests.wire.fake_server import FakeServer
from tests.wire.turns import Call, Turn

pytestmark = pytest.mark.long

FORMATS = ("gemini", "chat", "responses", "anthropic")


@dataclass(frozen=True)
class Story:
    """What is said in an example.

    Attributes:
      question: the user's message.
      turns: each agent's responses, by its name.
      confirms: whether the run ends with a question for the user's leave, which is given.
    """

    question: str
    turns: dict[str, Sequence[Turn]]
    confirms: bool = False


def _calls(*names_and_args: tuple[str, dict[str, Any]]) -> tuple[Call, ...]:
    pairs = enumerate(names_and_args, 1)
    return tuple(Call(name, args, f"call_{number}") for number, (name, args) in pairs)


# Formats without ids get some of ours; a question for leave names its call's among its arguments.
_ID = re.compile(r"'(adk-[\w-]+|call_\w+)'")

_CODE = "print(6 * 7)"

STORIES = {
    "weather": Story(
        "How hot is it in Cairo?",
        {
            "weather": [
                Turn(
                    "Let me look.",
                    _calls(
                        ("switch_unit", {"unit": "fahrenheit"}),
                        ("last_city", {}),
                    ),
                ),
                Turn(calls=_calls(("get_weather", {"city": "Cairo"}))),
                Turn("It is hot: 88 degrees — «Fahrenheit» ☀."),
            ]
        },
    ),
    "travel_desk": Story(
        "A trip to Lisbon, please",
        {
            "travel_desk": [Turn(calls=_calls(("transfer_to_agent", {"agent_name": "flights"})))],
            "flights": [
                Turn(
                    calls=_calls(
                        (
                            "search_flights",
                            {"origin": "Berlin", "destination": "Lisbon", "day": "Monday"},
                        )
                    )
                ),
                Turn(calls=_calls(("transfer_to_agent", {"agent_name": "hotels"}))),
            ],
            "hotels": [
                Turn(calls=_calls(("search_hotels", {"city": "Lisbon", "max_price": 100.5}))),
                Turn("Casa do Rio."),
            ],
        },
    ),
    "approvals": Story(
        "Pay A-102 and A-103",
        {
            "accounts": [
                Turn(
                    calls=_calls(
                        ("pay_invoice", {"invoice_id": "A-102"}),
                        ("pay_invoice", {"invoice_id": "A-103"}),
                    )
                ),
                Turn("Both are paid."),
            ]
        },
        confirms=True,
    ),
    "research": Story(
        "Write about ferries",
        {
            "facts": [
                Turn(calls=_calls(("search_facts", {"topic": "ferries"}))),
                Turn("Ferries float."),
            ],
            "figures": [
                Turn(calls=_calls(("search_figures", {"topic": "ferries"}))),
                Turn("Two of them."),
            ],
            "writer": [Turn("Draft."), Turn("Better draft.")],
            "reviewer": [Turn("Figures are missing."), Turn(calls=_calls(("exit_loop", {})))],
        },
    ),
    "analyst": Story(
        "What is six times seven?",
        {"analyst": [Turn(f"Let me count.\n```python\n{_CODE}\n```"), Turn("It is 42.")]},
    ),
}


async def _talk(
    name: str, model_for: Callable[[str], BaseLlm], *, streaming: bool = False
) -> list[str]:
    """Tell an example's story and return what happened, agent by agent.

    Agents side by side come in any order; each one's own events do not.
    """
    story = STORIES[name]
    config = RunConfig(streaming_mode=StreamingMode.SSE if streaming else StreamingMode.NONE)
    with example(name) as module:
        root = module.root_agent
        put_models(root, model_for)
        talk = Conversation(getattr(module, "app", root))
        events = list(await talk.say(story.question, run_config=config))
        if story.confirms:
            (question,) = talk.pending()
            events += await talk.answer(question, {"confirmed": True}, run_config=config)
        lines = trace(events)
        authors = [agent.name for agent in agents_of(root)]
    lines = [_ID.sub("'ID'", line) for line in lines]
    return [line for author in authors for line in lines if line.startswith(f"{author}: ")]


async def _scripted(name: str) -> list[str]:
    """Return what happens with a model of no provider."""
    models = {
        agent: ScriptedModel([_neutral(turn) for turn in turns])
        for agent, turns in STORIES[name].turns.items()
    }
    return await _talk(name, lambda agent: models.get(agent) or ScriptedModel())


def _neutral(turn: Turn) -> list[Any]:
    calls = [call(one.name, **one.args) for one in turn.calls]
    return [turn.text, *calls] if turn.text else calls


@pytest.mark.parametrize("streaming", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("name", STORIES)
@pytest.mark.parametrize("wire", FORMATS)
async def test_an_example_over_every_adapter(wire: str, name: str, streaming: bool) -> None:
    script = import_module(f"tests.wire.{wire}.script")
    expected = await _scripted(name)
    async with AsyncExitStack() as stack:
        servers: dict[str, FakeServer] = {}
        models: dict[str, BaseLlm] = {}
        for agent, turns in STORIES[name].turns.items():
            answers = script.answers(turns, stream=streaming)
            servers[agent] = await stack.enter_async_context(FakeServer(answers))
            models[agent] = script.llm(servers[agent].url)
            stack.push_async_callback(models[agent].aclose)
        seen = await _talk(
            name, lambda agent: models.get(agent) or ScriptedModel(), streaming=streaming
        )
        assert seen == expected
        for agent, turns in STORIES[name].turns.items():
            assert len(servers[agent].requests) == len(turns)


@pytest.mark.parametrize("name", STORIES)
async def test_the_stories_themselves_use_every_example(name: str) -> None:
    lines = await _scripted(name)
    assert any("-> {" in line or "42" in line for line in lines)
    assert {line.partition(":")[0] for line in lines} >= set(STORIES[name].turns)
