"""ToolCallIntegrityPlugin: calls that were changed in the store do not run."""

from typing import Any

import pytest

from ostinato.agents import Agent
from ostinato.errors import AgentConfigError, InvalidAnswerError
from ostinato.events.event import Event
from ostinato.plugins import BasePlugin, ToolCallIntegrityError, ToolCallIntegrityPlugin
from ostinato.runners import Runner
from ostinato.sessions import InMemorySessionService
from ostinato.testing import Conversation, ScriptedModel, call
from ostinato.tools import FunctionTool

KEY, OTHER = b"k" * 32, b"o" * 32
STAMPS = "__adk_internal_fc_hmac"


class Till:
    """A tool that must only be called as the model asked."""

    def __init__(self) -> None:
        self.paid: list[int] = []

    def pay(self, amount: int) -> str:
        """Pay."""
        self.paid.append(amount)
        return "paid"


def talk_with(
    till: Till,
    sessions: Any,
    *plugins: BasePlugin,
    session_id: str = "session",
    confirm: bool = True,
) -> Conversation:
    tool = FunctionTool(till.pay, require_confirmation=confirm)
    model = ScriptedModel([call("pay", amount=1)] if not sessions_begun(sessions) else [])
    model.add("Done.")
    agent = Agent(name="root", model=model, tools=[tool])
    runner = Runner(app_name="app", agent=agent, session_service=sessions, plugins=list(plugins))
    return Conversation(runner, session_id=session_id)


def sessions_begun(sessions: Any) -> bool:
    return getattr(sessions, "begun", False)


class Copied(InMemorySessionService):
    """A store in which the first session's events were changed by somebody."""

    begun = True


async def waiting(*plugins: BasePlugin) -> tuple[list[Event], Any]:
    """Return the events of a run that waits for a confirmation, and the question."""
    talk = talk_with(Till(), InMemorySessionService(), *plugins)
    await talk.say("Pay")
    (question,) = [c for c in talk.pending() if c.name == "adk_request_confirmation"]
    return list((await talk.session()).events), question


async def confirm(
    events: list[Event], question: Any, *plugins: BasePlugin, session_id: str = "session"
) -> list[int]:
    """Confirm in a session with these events; return what was paid."""
    sessions = Copied()
    session = await sessions.create_session(app_name="app", user_id="user", session_id=session_id)
    for event in events:
        await sessions.append_event(session, event)
    till = Till()
    talk = talk_with(till, sessions, *plugins, session_id=session_id)
    await talk.answer(question, {"confirmed": True})
    return till.paid


def calls_of(events: list[Event], name: str) -> list[Any]:
    return [c for event in events for c in event.get_function_calls() if c.name == name]


async def test_an_untouched_call_runs() -> None:
    events, question = await waiting(ToolCallIntegrityPlugin(KEY))
    assert [bool((e.custom_metadata or {}).get(STAMPS)) for e in events][:3] == [False, True, True]
    assert await confirm(events, question, ToolCallIntegrityPlugin(KEY)) == [1]
    assert await confirm(events, question, ToolCallIntegrityPlugin([OTHER, KEY])) == [1]


def change_arguments(events: list[Event]) -> None:
    calls_of(events, "pay")[0].args = {"amount": 1000}


def change_the_question(events: list[Event]) -> None:
    calls_of(events, "adk_request_confirmation")[0].args["originalFunctionCall"]["args"] = {
        "amount": 9
    }


def change_the_tool(events: list[Event]) -> None:
    calls_of(events, "pay")[0].name = "drain"


def drop_the_stamps(events: list[Event]) -> None:
    for event in events:
        event.custom_metadata = None


def forge_the_stamps(events: list[Event]) -> None:
    for event in events:
        stamps = (event.custom_metadata or {}).get(STAMPS)
        if stamps:
            event.custom_metadata = {STAMPS: dict.fromkeys(stamps, "v1:é")}


@pytest.mark.parametrize(
    "change",
    [change_arguments, change_the_question, drop_the_stamps, forge_the_stamps],
)
async def test_a_changed_call_does_not_run(change: Any) -> None:
    events, question = await waiting(ToolCallIntegrityPlugin(KEY))
    change(events)
    with pytest.raises(RuntimeError) as caught:
        await confirm(events, question, ToolCallIntegrityPlugin(KEY))
    assert isinstance(caught.value.__cause__, ToolCallIntegrityError)


async def test_a_call_of_another_tool_does_not_run() -> None:
    events, question = await waiting(ToolCallIntegrityPlugin(KEY))
    change_the_tool(events)
    with pytest.raises(InvalidAnswerError, match="drain"):
        await confirm(events, question, ToolCallIntegrityPlugin(KEY))


async def test_neither_does_one_of_another_key_or_session() -> None:
    events, question = await waiting(ToolCallIntegrityPlugin(KEY))
    for plugin, session_id in ((ToolCallIntegrityPlugin(OTHER), "session"), (None, "other")):
        with pytest.raises(RuntimeError, match="does not match its signature"):
            await confirm(
                events, question, plugin or ToolCallIntegrityPlugin(KEY), session_id=session_id
            )


async def test_older_calls_may_be_allowed() -> None:
    events, question = await waiting()
    with pytest.raises(RuntimeError, match="has no signature"):
        await confirm(events, question, ToolCallIntegrityPlugin(KEY))
    plugin = ToolCallIntegrityPlugin(KEY, allow_unstamped_calls=True)
    assert await confirm(events, question, plugin) == [1]


async def test_restored_events_carry_no_signature() -> None:
    events, question = await waiting(ToolCallIntegrityPlugin(KEY))
    restored = [ToolCallIntegrityPlugin.prepare_restored_event(event) for event in events]
    assert any((event.custom_metadata or {}).get(STAMPS) for event in events)
    assert not any((event.custom_metadata or {}).get(STAMPS) for event in restored)
    with pytest.raises(RuntimeError, match="has no signature"):
        await confirm(restored, question, ToolCallIntegrityPlugin(KEY))


class Changes(BasePlugin):
    async def before_tool_callback(self, *, tool_args: dict[str, Any], **rest: Any) -> None:
        tool_args["amount"] = 5


async def test_a_hook_before_it_may_not_change_arguments_and_one_after_it_may() -> None:
    till = Till()
    plugins = [Changes("changes"), ToolCallIntegrityPlugin(KEY)]
    with pytest.raises(RuntimeError, match="does not match its signature"):
        await talk_with(till, InMemorySessionService(), *plugins, confirm=False).say("Pay")
    assert till.paid == []
    await talk_with(till, InMemorySessionService(), *plugins[::-1], confirm=False).say("Pay")
    assert till.paid == [5]


@pytest.mark.parametrize("key", [b"", [], [b""], "text", [b"a", "text"]])
def test_keys_are_bytes(key: Any) -> None:
    with pytest.raises(AgentConfigError, match="non-empty bytes"):
        ToolCallIntegrityPlugin(key)
