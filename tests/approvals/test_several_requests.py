"""A call that asks for more than one thing: each is asked once, and then the tool runs once."""

from __future__ import annotations

from typing import Any

import pytest

from ostinato import types
from ostinato.agents import LlmAgent
from ostinato.apps import App, ResumabilityConfig
from ostinato.auth import AuthConfig, AuthCredential
from ostinato.auth.asked import forget_requests
from ostinato.events.pending import Pending, pending_calls
from ostinato.events.request_input import TOOL_QUESTION
from ostinato.runners import Runner
from ostinato.testing import FunctionModel
from ostinato.tools import AuthenticatedFunctionTool, FunctionTool, ToolContext
from ostinato.tools.policy import Policy, Rule
from tests.approvals.kit import NAMES, PLACE

SECRET = "sesame-open-sesame"
EDIT = {"args": {"amount": 99}}


def need_key(name: str) -> AuthConfig:
    return AuthConfig.model_validate(
        {
            "authScheme": {"type": "apiKey", "in": "header", "name": "X-Key"},
            "credentialKey": name,
        }
    )


FIRST, SECOND = need_key("first"), need_key("second")


def has_key(context: ToolContext, config: AuthConfig) -> bool:
    """Return whether a call has its key; ask for it if not."""
    given = context.get_auth_response(config)
    if given is not None and given.api_key:
        assert given.api_key == f"{SECRET} {config.credential_key}"
        return True
    context.request_credential(config)
    return False


class Counter:
    """An agent with one tool, whose requests a person answers one after the other.

    Attributes:
      paid: what the tool was run with.
      asked: the kinds of the requests, in the order of the answers.
    """

    def __init__(self, service: Any, tool: Any, *, resumable: bool = False, policy: Any = None):
        def decide(request: Any) -> Any:
            if any(part.function_response for part in request.contents[-1].parts):
                return "Done."
            return types.FunctionCall(id="call", name="pay", args={"amount": 5})

        self.paid: list[int] = []
        self.asked: list[str] = []
        self.service, self._tool = service, tool
        agent = LlmAgent(name="clerk", model=FunctionModel(decide), tools=[self._make_tool()])
        config = ResumabilityConfig(is_resumable=True) if resumable else None
        self._app = App(name="desk", root_agent=agent, resumability_config=config, policy=policy)
        self._runner = self._make_runner()

    def _make_tool(self) -> Any:
        return self._tool(self.paid)

    def _make_runner(self) -> Runner:
        return Runner(app=self._app, session_service=self.service, auto_create_session=True)

    def restart(self) -> None:
        """Forget all that a process forgets when it dies."""
        forget_requests()
        self._runner = self._make_runner()

    async def say(self, message: Any) -> None:
        async for _ in self._runner.run_async(**PLACE, new_message=message):
            pass

    async def waiting(self) -> list[Pending]:
        session = await self.service.get_session(**NAMES)
        return pending_calls(session.events)

    async def settle(self, *, edit: Any = None, restart: bool = False, newest: bool = False) -> Any:
        """Answer what is open until nothing is; return the last result of the tool."""
        await self.say("Pay 5.")
        while waiting := await self.waiting():
            assert len(self.asked) < 5, f"the call asks without end: {self.asked}"
            one = waiting[-1 if newest else 0]
            self.asked.append(one.kind)
            given: dict[str, Any] = {"ok": True}
            if one.kind == "approval":
                given, edit = {"confirmed": True, **(edit or {})}, None
                if one.payload is not None:
                    given["payload"] = one.payload
            elif one.kind == "credential":
                config = AuthConfig.model_validate((one.call.args or {})["authConfig"])
                key = f"{SECRET} {config.credential_key}"
                given = {"exchangedAuthCredential": {"authType": "apiKey", "apiKey": key}}
            if restart:
                self.restart()
            await self.say(types.Content(role="user", parts=[one.answer(given)]))
        session = await self.service.get_session(**NAMES)
        assert SECRET not in str(session.events)
        results = [r for event in session.events for r in event.get_function_responses()]
        return [one.response for one in results if one.name == "pay"][-1]


def confirmed_tool(paid: list[int]) -> FunctionTool:
    """A tool that is confirmed first; its body needs a key."""

    def pay(amount: int, tool_context: ToolContext) -> Any:
        if not has_key(tool_context, FIRST):
            return {"status": "pending"}
        paid.append(amount)
        return {"paid": amount}

    return FunctionTool(pay, require_confirmation=True)


def plain_tool(paid: list[int]) -> FunctionTool:
    """A tool that needs a key and that no code of its own has confirmed."""
    return FunctionTool(confirmed_tool(paid).func)


def keyed_tool(paid: list[int]) -> AuthenticatedFunctionTool:
    """A tool whose key is asked first; its body wants a confirmation."""

    def pay(amount: int, tool_context: ToolContext, credential: AuthCredential) -> Any:
        if tool_context.tool_confirmation is None:
            tool_context.request_confirmation(hint="Pay?")
            return {"status": "pending"}
        paid.append(amount)
        return {"paid": amount}

    return AuthenticatedFunctionTool(func=pay, auth_config=FIRST)


def greedy_tool(paid: list[int]) -> FunctionTool:
    """A tool whose body asks for all that it lacks at once."""

    def pay(amount: int, tool_context: ToolContext) -> Any:
        answer = tool_context.tool_confirmation
        if answer is None:
            tool_context.request_confirmation(hint="Pay?")
        if not has_key(tool_context, FIRST) or answer is None:
            return {"status": "pending"}
        paid.append(amount)
        return {"paid": amount}

    return FunctionTool(pay)


def two_keys_tool(paid: list[int]) -> FunctionTool:
    """A tool that needs two keys and asks for them one after the other."""

    def pay(amount: int, tool_context: ToolContext) -> Any:
        if not has_key(tool_context, FIRST) or not has_key(tool_context, SECOND):
            return {"status": "pending"}
        paid.append(amount)
        return {"paid": amount}

    return FunctionTool(pay)


def two_steps_tool(paid: list[int]) -> FunctionTool:
    """A tool that wants a second confirmation after the first one."""

    def pay(amount: int, tool_context: ToolContext) -> Any:
        answer = tool_context.tool_confirmation
        if answer is None or answer.payload is None:
            payload = {"step": 2} if answer is not None else None
            tool_context.request_confirmation(hint="Pay?", payload=payload)
            tool_context.actions.skip_summarization = True
            return {"status": "pending"}
        paid.append(amount)
        return {"paid": amount}

    return FunctionTool(pay)


def asking_tool(paid: list[int]) -> FunctionTool:
    """A tool that is confirmed first, asks a question, and then needs a key."""

    def pay(amount: int, tool_context: ToolContext) -> Any:
        answer = tool_context.tool_confirmation
        if answer is None or answer.payload is None:
            asked = {TOOL_QUESTION: {"open": {}}, "payload": None, "response_schema": None}
            tool_context.request_confirmation(hint="For whom?", payload=asked)
            tool_context.actions.skip_summarization = True
            return {"status": "pending"}
        if not has_key(tool_context, FIRST):
            return {"status": "pending"}
        paid.append(amount)
        return {"paid": amount}

    return FunctionTool(pay, require_confirmation=True)


@pytest.mark.parametrize("resumable", [False, True])
@pytest.mark.parametrize("restart", [False, True])
@pytest.mark.parametrize("edit", [None, EDIT])
async def test_a_confirmed_call_that_needs_a_key_runs_once(
    service: Any, resumable: bool, restart: bool, edit: Any
) -> None:
    counter = Counter(service, confirmed_tool, resumable=resumable)
    amount = 99 if edit else 5
    assert await counter.settle(edit=edit, restart=restart) == {"paid": amount}
    assert counter.asked == ["approval", "credential"]
    assert counter.paid == [amount]


@pytest.mark.parametrize("resumable", [False, True])
@pytest.mark.parametrize("edit", [None, EDIT])
async def test_a_call_that_needs_a_key_before_its_confirmation_runs_once(
    service: Any, resumable: bool, edit: Any
) -> None:
    counter = Counter(service, keyed_tool, resumable=resumable)
    amount = 99 if edit else 5
    assert await counter.settle(edit=edit) == {"paid": amount}
    assert counter.asked == ["credential", "approval"]
    assert counter.paid == [amount]


@pytest.mark.parametrize("resumable", [False, True])
@pytest.mark.parametrize("edit", [None, EDIT])
async def test_a_key_that_died_with_its_process_is_asked_for_again_but_no_approval(
    service: Any, resumable: bool, edit: Any
) -> None:
    counter = Counter(service, keyed_tool, resumable=resumable)
    amount = 99 if edit else 5
    assert await counter.settle(edit=edit, restart=True) == {"paid": amount}
    assert counter.asked == ["credential", "approval", "credential"]
    assert counter.paid == [amount]


@pytest.mark.parametrize("resumable", [False, True])
@pytest.mark.parametrize("restart", [False, True])
@pytest.mark.parametrize("edit", [None, EDIT])
@pytest.mark.parametrize("newest", [False, True])
async def test_a_body_that_asks_for_everything_at_once_runs_once(
    service: Any, resumable: bool, restart: bool, edit: Any, newest: bool
) -> None:
    counter = Counter(service, greedy_tool, resumable=resumable)
    amount = 99 if edit else 5
    given = await counter.settle(edit=edit, restart=restart, newest=newest)
    assert given == {"paid": amount}
    assert counter.asked == ["approval", "credential"]
    assert counter.paid == [amount]


@pytest.mark.parametrize("resumable", [False, True])
async def test_a_call_that_needs_two_keys_runs_once(service: Any, resumable: bool) -> None:
    counter = Counter(service, two_keys_tool, resumable=resumable)
    assert await counter.settle() == {"paid": 5}
    assert counter.asked == ["credential", "credential"]
    assert counter.paid == [5]


@pytest.mark.parametrize("restart", [False, True])
async def test_an_edit_outlives_a_second_confirmation(service: Any, restart: bool) -> None:
    counter = Counter(service, two_steps_tool)
    assert await counter.settle(edit=EDIT, restart=restart) == {"paid": 99}
    assert counter.asked == ["approval", "approval"]
    assert counter.paid == [99]


@pytest.mark.parametrize("restart", [False, True])
async def test_an_edit_outlives_a_question_and_a_key(service: Any, restart: bool) -> None:
    counter = Counter(service, asking_tool)
    assert await counter.settle(edit=EDIT, restart=restart) == {"paid": 99}
    assert counter.asked == ["approval", "input", "credential"]
    assert counter.paid == [99]


@pytest.mark.parametrize("tool", [plain_tool, confirmed_tool, two_steps_tool])
@pytest.mark.parametrize("edit", [None, EDIT])
async def test_a_policy_and_a_tool_that_ask_run_the_call_once(
    service: Any, tool: Any, edit: Any
) -> None:
    policy = Policy(rules=[Rule(id="pays", tool="pay", verdict="ask")])
    counter = Counter(service, tool, policy=policy)
    amount = 99 if edit else 5
    assert await counter.settle(edit=edit, restart=True) == {"paid": amount}
    assert counter.asked == ["approval", "approval" if tool is two_steps_tool else "credential"]
    assert counter.paid == [amount]


async def test_a_rejection_ends_a_call_that_would_need_a_key(service: Any) -> None:
    counter = Counter(service, confirmed_tool)
    await counter.say("Pay 5.")
    (asked,) = await counter.waiting()
    rejection = asked.answer({"confirmed": False})
    await counter.say(types.Content(role="user", parts=[rejection]))
    assert await counter.waiting() == []
    assert counter.paid == []


async def test_the_model_is_not_called_before_everything_is_answered(service: Any) -> None:
    counter = Counter(service, confirmed_tool)
    assert await counter.settle() == {"paid": 5}
    session = await service.get_session(**NAMES)
    texts = [p.text for e in session.events for p in e.content.parts if e.author == "clerk"]
    assert [text for text in texts if text] == ["Done."]


async def test_an_approval_is_for_its_own_call_only(service: Any) -> None:
    """A later call under the same id is asked about anew."""
    counter = Counter(service, confirmed_tool)
    assert await counter.settle() == {"paid": 5}
    counter.asked.clear()
    assert await counter.settle() == {"paid": 5}
    assert counter.asked == ["approval", "credential"]
    assert counter.paid == [5, 5]
