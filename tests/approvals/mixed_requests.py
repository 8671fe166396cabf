"""Agents whose one response makes calls of several kinds, each of which waits for a person."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

from ostinato import types
from ostinato.agents import LlmAgent
from ostinato.apps import App, ResumabilityConfig
from ostinato.events import Event
from ostinato.events.pending import Pending, pending_calls
from ostinato.runners import Runner
from ostinato.testing import FunctionModel, call
from ostinato.tools import FunctionTool, LongRunningFunctionTool, ToolContext
from tests.approvals.kit import NAMES, PLACE

KINDS = ("pay", "single", "task", "slow", "move", "job")
PLACES = ("root", "single", "task")
PLACEHOLDER = "requires confirmation"
RESULT = "{'status': 'ended'}"
LATE = f"`slow` tool returned result: {RESULT}"
DONE = "is done"


class Bureau:
    """A tree of agents in which one makes calls of the given kinds in one response.

    Args:
      service: the session service.
      kinds: what the host calls: a tool that asks, a single-turn agent or a task whose tool asks,
        a long-running tool, a transfer to an agent whose tool asks, a single-turn agent whose
        long-running tool returns nothing at first.
      place: where the host is: the root, or a single-turn agent or a task below it.
      resumable: whether the app is resumable.

    Attributes:
      paid: the calls whose tool ran.
      seen: what each agent's model was sent, in order.
    """

    def __init__(
        self,
        service: Any,
        kinds: Sequence[str],
        place: str = "root",
        *,
        resumable: bool = False,
        **options: Any,
    ) -> None:
        self.service = service
        self.paid: list[str] = []
        self.seen: list[tuple[str, list[types.Content]]] = []
        self.options = options
        config = ResumabilityConfig(is_resumable=True) if resumable else None
        self.app = App(name="desk", root_agent=self._tree(kinds, place), resumability_config=config)
        self.runner = Runner(app=self.app, session_service=service, auto_create_session=True)

    def _tree(self, kinds: Sequence[str], place: str) -> LlmAgent:
        calls: list[types.FunctionCall] = []
        below: list[LlmAgent] = []
        for number, kind in enumerate(kinds):
            name = f"{kind}{number}"
            if kind == "pay":
                calls.append(call("pay", who=name))
            elif kind == "slow":
                calls.append(call("slow", who=name))
            elif kind == "move":
                below.append(self.agent(name, [call("pay", who=name)]))
                calls.append(call("transfer_to_agent", agent_name=name))
            else:
                mode = "task" if kind == "task" else "single_turn"
                made = call("job" if kind == "job" else "pay", who=name)
                below.append(self.agent(name, [made], mode=mode))
                calls.append(call(name, request="Pay."))
        if place == "root":
            return self.agent("root", calls, below, **self.options)
        mode = "task" if place == "task" else "single_turn"
        host = self.agent("host", calls, below, mode=mode, **self.options)
        return self.agent("root", [call("host", request="Go.")], [host])

    def agent(
        self,
        name: str,
        calls: Sequence[types.FunctionCall],
        below: Sequence[LlmAgent] = (),
        **options: Any,
    ) -> LlmAgent:
        """Return an agent that makes calls at first, and then ends."""

        def pay(who: str, tool_context: ToolContext) -> dict[str, str]:
            """Pay."""
            self.paid.append(tool_context.function_call_id or "")
            return {"paid": who}

        def slow(who: str) -> dict[str, str]:
            """Begin to pay."""
            return {"status": "begun"}

        def job(who: str) -> None:
            """Pay later."""

        def reply(request: Any) -> Any:
            self.seen.append((name, list(request.contents)))
            last = request.contents[-1].parts[-1]
            if last.function_response is not None:
                is_task = options.get("mode") == "task"
                text = f"{name} {DONE}"
                return call("finish_task", result=text) if is_task else text
            if LATE in (last.text or "") and not name.startswith("move"):
                return f"{name} has heard"  # the called agent that began it has ended
            return "Hello." if last.text == "Hello?" else [one.model_copy() for one in calls]

        pays = FunctionTool(pay, require_confirmation=True)
        return LlmAgent(
            name=name,
            description="Pays.",
            model=FunctionModel(reply),
            tools=[pays, LongRunningFunctionTool(slow), LongRunningFunctionTool(job)],
            sub_agents=list(below),
            **options,
        )

    async def say(self, message: Any, **options: Any) -> list[Event]:
        run = self.runner.run_async(**PLACE, new_message=message, **options)
        return [event async for event in run]

    async def events(self) -> list[Event]:
        return list((await self.service.get_session(**NAMES)).events)

    async def waiting(self) -> list[Pending]:
        return pending_calls(await self.events())

    async def settle(self, order: str, *, confirmed: bool = True) -> list[str]:
        """Answer what waits until nothing does.

        Args:
          order: `oldest`, `newest` or `all`.
          confirmed: whether to approve.

        Returns:
          The decided calls of tools.
        """
        decided: list[str] = []
        await self.say("Go.")
        for _ in range(9):
            waiting = await self.waiting()
            if not waiting:
                return decided
            some = waiting if order == "all" else [waiting[-1 if order == "newest" else 0]]
            await self.say(answer(some, confirmed))
            decided += [call_behind(one) for one in some if one.kind == "approval"]
        raise AssertionError("the agents ask without end")


def answer(some: Sequence[Pending], confirmed: bool = True) -> types.Content:
    """Return the message that answers requests."""
    parts = [
        one.answer({"confirmed": confirmed} if one.kind == "approval" else {"status": "ended"})
        for one in some
    ]
    return types.Content(role="user", parts=parts)


def call_behind(one: Pending) -> str:
    """Return the id of the tool's call that a request for confirmation is about."""
    return (one.call.args or {})["originalFunctionCall"]["id"]


def results(events: Sequence[Event]) -> dict[str, list[str]]:
    """Return the runtime's responses to each call, oldest first."""
    found: dict[str, list[str]] = {}
    for event in events:
        for one in event.get_function_responses():
            if event.author != "user" or event.node_info.path:
                found.setdefault(one.id or "", []).append(str(one.response))
    return found


def find_faults(bureau: Bureau, events: Sequence[Event], decided: Sequence[str], yes: bool) -> str:
    """Return what is wrong once every request was answered; empty if nothing is."""
    faults = [*_check_outcomes(bureau, events, decided, yes), *_check_ends(events)]
    return "\n".join([*faults, *_check_requests(bureau)])


def _check_outcomes(
    bureau: Bureau, events: Sequence[Event], decided: Sequence[str], yes: bool
) -> Iterator[str]:
    """Each approved call ran once, and each rejected one did not."""
    told = results(events)
    for call_id in decided:
        ran, last = bureau.paid.count(call_id), told[call_id][-1]
        if ran != yes or ("paid" if yes else "rejected") not in last:
            yield f"{call_id} ran {ran} times, and its response is {last}"
    if len(bureau.paid) != len(set(bureau.paid)):
        yield f"some ran twice: {bureau.paid}"


def _check_ends(events: Sequence[Event]) -> Iterator[str]:
    """Each call has a response; an agent's end and its result come after those of its calls."""
    told: dict[str | None, int] = {}
    answered = {one.id for event in events for one in event.get_function_responses()}
    for index, event in enumerate(events):
        if event.author != "user" or event.node_info.path:
            told.update({one.id: index for one in event.get_function_responses()})
        for one in event.get_function_responses():
            told.setdefault(one.id, index)  # the user's result is the only response of some
    ends: dict[str | None, int] = {}
    for event in events:
        for one in event.get_function_calls():
            if one.name == "adk_request_confirmation":
                continue
            # Whoever ends a long-running call may be the first to respond to it, after a death.
            if one.id not in (answered if one.name == "slow" else told):
                yield f"{event.author}: call {one.name} has no response"
            ends[event.branch] = max(ends.get(event.branch, 0), told.get(one.id, 0))
    for branch, end in ends.items():
        caller = (branch or "").partition("@")[2].rpartition("@")[2]
        caller = caller or (branch or "").partition("@")[2]
        if caller and told.get(caller, len(events)) < end:
            yield f"the agent of branch {branch} returned before its calls had ended"
    for index, event in enumerate(events):
        if event.actions.end_of_agent and event.branch and index < ends.get(event.branch, 0):
            yield f"{event.author} ended before its calls"


def _check_requests(bureau: Bureau) -> Iterator[str]:
    """A called agent's model is not called while a call of its agent waits; every call that a last
    request holds has its final response."""
    last: dict[str, list[types.Content]] = {}
    for name, contents in bureau.seen:
        is_chat = name == "root" or name.startswith("move")
        if PLACEHOLDER in str(contents) and not is_chat:
            yield f"the model of {name} was called while a call of its waited"
        last[name] = contents
    for name, contents in last.items():
        if name.startswith("job") and RESULT not in str(contents[-1]):
            yield f"the model of {name} was not sent the result that its agent waited for"
        if PLACEHOLDER in str(contents) and name == "root":
            yield f"the last request to {name} holds an open call"
        for content, after in pairwise([*contents, types.Content(parts=[])]):
            calls = sum(part.function_call is not None for part in content.parts or ())
            given = sum(part.function_response is not None for part in after.parts or ())
            if calls and given != calls:
                yield f"{name}: {calls} calls have {given} responses"
