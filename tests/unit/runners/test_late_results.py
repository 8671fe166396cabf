"""Results that come after the history with their calls was compacted reach the model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ostinato import types
from ostinato.agents import LlmAgent
from ostinato.apps import App, EventsCompactionConfig
from ostinato.apps.llm_event_summarizer import LlmEventSummarizer
from ostinato.context.context_policy import ContextPolicy
from ostinato.models import LlmRequest
from ostinato.testing import FunctionModel, call
from ostinato.tools import FunctionTool, LongRunningFunctionTool
from tests.unit.flows.kit import Store, Talk, answer_to

OK = {"confirmed": True}


def pay(amount: int) -> str:
    """Pay."""
    return f"paid {amount}"


def order(amount: int) -> dict[str, str]:
    """Order."""
    return {"status": f"ordered {amount}"}


class Desk:
    """An agent whose tool waits, over a store that each turn reads as a new process does."""

    def __init__(self, place: Path | str, kind: str, settings: dict[str, Any], **app: Any) -> None:
        self.place = place
        self.requests: list[list[types.Content]] = []
        summarizer = LlmEventSummarizer(llm=FunctionModel(lambda request: "SUMMARY"))
        config = EventsCompactionConfig(summarizer=summarizer, **settings)
        self.app = App(
            name="talk", root_agent=self.make_root(kind), events_compaction_config=config, **app
        )

    def make_root(self, kind: str) -> LlmAgent:
        tool = LongRunningFunctionTool(order)
        if kind != "order":
            tool = FunctionTool(pay, require_confirmation=True)
        if kind != "task":
            return LlmAgent(name="root", model=FunctionModel(self.reply), tools=[tool])
        inner = LlmAgent(
            name="helper",
            mode="task",
            model=FunctionModel(self.help),
            tools=[tool],
            description="h",
        )
        return LlmAgent(name="root", model=FunctionModel(self.delegate), sub_agents=[inner])

    def reply(self, request: LlmRequest) -> Any:
        self.requests.append(request.contents)
        said = request.contents[-1].parts or []
        name = "pay" if "pay" in request.tools_dict else "order"
        return call(name, amount=5) if said[-1].text == "go" else "ok"

    def delegate(self, request: LlmRequest) -> Any:
        said = request.contents[-1].parts or []
        return call("helper", request="pay 5") if said[-1].text == "go" else "ok"

    def help(self, request: LlmRequest) -> Any:
        self.requests.append(request.contents)
        parts = [part for content in request.contents for part in content.parts or []]
        if not any(part.function_response for part in parts):
            return call("pay", amount=5)
        return call("finish_task", result="done") if "paid" in str(parts) else "Waiting."

    async def say(self, message: Any) -> list[types.FunctionCall]:
        """Run one turn; return the calls that wait."""
        store = Store(self.place)
        events = await Talk(self.app, store).say(message)
        await store.close()
        return [
            one
            for event in events
            for one in event.get_function_calls()
            if one.id in (event.long_running_tool_ids or ())
        ]


def results(contents: list[types.Content]) -> list[Any]:
    """Return the results in contents; each stands directly behind its call."""
    asked: list[str | None] = []
    found: list[Any] = []
    for content in contents:
        given = [p.function_response for p in content.parts or [] if p.function_response]
        assert [one.name for one in given] == asked
        asked = [p.function_call.name for p in content.parts or [] if p.function_call]
        found += [one.response for one in given]
    assert asked == []
    return found


WINDOW = {"compaction_interval": 2, "overlap_size": 1}
WIDE = {"compaction_interval": 3, "overlap_size": 0}
TOKENS = {
    "compaction_interval": 100,
    "overlap_size": 0,
    "token_threshold": 1,
    "event_retention_size": 1,
}


@pytest.mark.spec(105, 109)
@pytest.mark.parametrize("settings", [WINDOW, WIDE, TOKENS], ids=["window", "wide", "tokens"])
@pytest.mark.parametrize("kind", ["pay", "order", "task"])
@pytest.mark.parametrize("app", [{}, {"context": ContextPolicy()}], ids=["", "policy"])
async def test_a_result_that_waited_through_a_compaction_reaches_the_model(
    tmp_path: Path, settings: dict[str, Any], kind: str, app: dict[str, Any]
) -> None:
    desk = Desk(tmp_path / "s.db", kind, settings, **app)
    (asked,) = await desk.say("go")
    for n in range(settings["compaction_interval"] if settings is not TOKENS else 2):
        await desk.say(f"words {n}")
    desk.requests.clear()
    await desk.say(answer_to(asked, {"status": "arrived"} if kind == "order" else OK))
    wanted = {"status": "arrived"} if kind == "order" else {"result": "paid 5"}
    assert wanted in results(desk.requests[0])


@pytest.mark.parametrize("url", ["", "sqlite+aiosqlite:///"], ids=["sqlite", "sql"])
async def test_each_update_of_a_long_running_call_reaches_the_model(
    tmp_path: Path, url: str
) -> None:
    place = tmp_path / "s.db"
    desk = Desk(
        f"{url}{place}" if url else place, "order", {"compaction_interval": 2, "overlap_size": 0}
    )
    (asked,) = await desk.say("go")
    await desk.say("hello")  # from here on each second turn compacts
    for update in range(3):
        await desk.say("words")
        await desk.say("more words")
        desk.requests.clear()
        await desk.say(answer_to(asked, {"update": update}))
        await desk.say("and now?")  # a new process, which reads the tail of the log
        assert [results(contents) for contents in desk.requests] == [[{"update": update}]] * 2
