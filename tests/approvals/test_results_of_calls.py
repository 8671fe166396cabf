"""Results of long-running calls reach a model in the turn of their message, whoever made the call
and whoever runs now."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from ostinato import types
from ostinato.agents import BaseAgent, LlmAgent, ParallelAgent, SequentialAgent
from ostinato.apps import App, ResumabilityConfig
from ostinato.events import Event
from ostinato.events.pending import Pending, pending_calls
from ostinato.runners import Runner
from ostinato.sessions import InMemorySessionService
from ostinato.sessions.sqlite_session_service import SqliteSessionService
from ostinato.testing import FunctionModel, call
from ostinato.tools import FunctionTool, LongRunningFunctionTool, ToolContext
from ostinato.workflow import START, Workflow
from tests.approvals.kit import NAMES, PLACE

STARTED = {"status": "started"}
PENDING = "pending"


class Team:
    """A runner over agents that each make some calls once, and then speak.

    Args:
      make: makes the root.
      returns: what the long-running tool returns at first.

    Attributes:
      ran: the calls whose tools ran.
      asked: what each model was sent since `asked` was last cleared.
    """

    def __init__(
        self,
        make: Callable[[Team], Any],
        *,
        service: Any = None,
        resumable: bool = False,
        returns: Any = None,
    ) -> None:
        self.ran: list[str] = []
        self.asked: list[tuple[str, list[types.Content]]] = []
        self.returns = returns
        self.service = service or InMemorySessionService()
        config = ResumabilityConfig(is_resumable=True) if resumable else None
        self.runner = Runner(
            app=App(name="desk", root_agent=make(self), resumability_config=config),
            session_service=self.service,
            auto_create_session=True,
        )

    def agent(
        self,
        name: str,
        calls: Sequence[types.FunctionCall] = (),
        below: Sequence[BaseAgent] = (),
        **options: Any,
    ) -> LlmAgent:
        def job(tool_context: ToolContext) -> Any:
            """Begin a job."""
            self.ran.append(tool_context.function_call_id or "")
            return self.returns

        def pay(tool_context: ToolContext) -> dict[str, str]:
            """Pay."""
            self.ran.append(tool_context.function_call_id or "")
            return {"status": "paid"}

        def reply(request: Any) -> Any:
            self.asked.append((name, list(request.contents)))
            check_paired(request.contents)
            parts = [part for content in request.contents for part in content.parts or ()]
            if calls and not any(part.function_call for part in parts):
                return [one.model_copy() for one in calls]
            is_task = options.get("mode") == "task"
            return call("finish_task", result=f"{name} is done") if is_task else f"{name} is done"

        return LlmAgent(
            name=name,
            description="Works.",
            model=FunctionModel(reply),
            tools=[LongRunningFunctionTool(job), FunctionTool(pay, require_confirmation=True)],
            sub_agents=list(below),
            **options,
        )

    async def say(self, message: Any, **options: Any) -> list[Event]:
        """Run one turn; `asked` holds its requests then."""
        self.asked.clear()
        run = self.runner.run_async(**PLACE, new_message=message, **options)
        return [event async for event in run]

    async def events(self) -> list[Event]:
        session: Any = await self.service.get_session(**NAMES)
        return list(session.events)

    async def waiting(self) -> dict[str, Pending]:
        """Return what waits, by the agent that asks."""
        events = await self.events()
        authors = {event.id: event.author for event in events}
        return {
            authors[one.event_id]: replace(one, asker=authors[one.event_id])
            for one in pending_calls(events)
        }

    def told(self) -> list[tuple[str, str]]:
        """Return each asked agent of this turn, with all that its model was sent."""
        return [(name, str(contents)) for name, contents in self.asked]


def check_paired(contents: Sequence[types.Content]) -> None:
    """Each call has its response directly behind it."""
    for content, after in pairwise([*contents, types.Content(parts=[])]):
        calls = [str(p.function_call.name) for p in content.parts or () if p.function_call]
        given = [str(p.function_response.name) for p in after.parts or () if p.function_response]
        assert sorted(given) == sorted(calls)


def answer(*some: Pending, words: str = "") -> types.Content:
    """Return a message with results and approvals; each result names its agent."""
    parts = [
        one.answer(
            {"confirmed": True} if one.kind == "approval" else {"result": f"for {one.asker}"}
        )
        for one in some
    ]
    return types.Content(role="user", parts=parts + ([types.Part(text=words)] if words else []))


def result_for(name: str) -> str:
    return str({"result": f"for {name}"})


@pytest.fixture(params=["memory", "file"])
def service(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    if request.param == "memory":
        return InMemorySessionService()
    return SqliteSessionService(str(tmp_path / "sessions.db"))


resumes = pytest.mark.parametrize("resumable", [False, True], ids=["plain", "resumable"])


def called_with_two_jobs(team: Team) -> LlmAgent:
    """Return a root that calls an agent, which makes two long-running calls."""
    x = team.agent("x", [call("job"), call("job")], mode="single_turn")
    return team.agent("root", [call("x", request="Go.")], [x])


def two_called(first: str = "job", second: str = "job") -> Callable[[Team], LlmAgent]:
    def make(team: Team) -> LlmAgent:
        x = team.agent("x", [call(first)], mode="single_turn")
        y = team.agent("y", [call(second)], mode="single_turn")
        return team.agent("root", [call("x", request="Go."), call("y", request="Go.")], [x, y])

    return make


def two_nodes(team: Team) -> Workflow:
    def end(node_input: Any) -> None: ...

    x = team.agent("x", [call("job")], mode="task")
    y = team.agent("y", [call("job")], mode="task")
    return Workflow(name="root", edges=[(START, (x, y), end)])


def node_that_calls(team: Team) -> Workflow:
    x = team.agent("x", [call("job")], mode="single_turn")
    y = team.agent("y", [call("job")], mode="single_turn")
    calls = [call("x", request="Go."), call("y", request="Go.")]
    return Workflow(
        name="graph", edges=[(START, team.agent("root", calls, [x, y], mode="single_turn"))]
    )


def two_branches(team: Team) -> ParallelAgent:
    each: list[BaseAgent] = [team.agent(name, [call("job")]) for name in ("x", "y")]
    return ParallelAgent(name="root", sub_agents=each)


class TestSeveralAgents:
    @resumes
    @pytest.mark.parametrize("words", ["", "Hurry!"])
    @pytest.mark.parametrize(
        ("make", "after"),
        [
            pytest.param(two_called(), ["root"], id="called"),
            pytest.param(node_that_calls, ["root"], id="called by a node"),
            pytest.param(two_nodes, [], id="task nodes"),
            pytest.param(two_branches, [], id="parallel"),
        ],
    )
    async def test_each_gets_its_result_from_one_message(
        self, service: Any, make: Any, after: list[str], words: str, resumable: bool
    ) -> None:
        team = Team(make, service=service, resumable=resumable)
        await team.say("Go.")
        waiting = await team.waiting()
        await team.say(answer(waiting["x"], waiting["y"], words=words))
        told = team.told()
        assert sorted(name for name, _ in told[:2]) == ["x", "y"]
        assert [name for name, _ in told[2:]] == after
        for name, contents in told[:2]:
            other = {"x": "y", "y": "x"}[name]
            assert result_for(name) in contents and result_for(other) not in contents
            assert PENDING not in contents and words in contents
        if after:
            assert "x is done" in told[2][1] and "y is done" in told[2][1]
        assert len(team.ran) == 2 and await team.waiting() == {}

    @resumes
    @pytest.mark.parametrize("order", ["xy", "yx"])
    async def test_a_result_and_an_approval_in_one_message(
        self, service: Any, order: str, resumable: bool
    ) -> None:
        team = Team(two_called("job", "pay"), service=service, resumable=resumable)
        await team.say("Go.")
        waiting = await team.waiting()
        await team.say(answer(*(waiting[name] for name in order)))
        told = dict(team.told())
        assert result_for("x") in told["x"] and "paid" in told["y"]
        assert list(told)[-1] == "root" and len(team.asked) == 3
        assert len(team.ran) == len(set(team.ran)) == 2

    @resumes
    @pytest.mark.parametrize("order", ["xy", "yx"])
    async def test_one_after_the_other(self, service: Any, order: str, resumable: bool) -> None:
        team = Team(two_called(), service=service, resumable=resumable)
        await team.say("Go.")
        waiting = await team.waiting()
        for number, name in enumerate(order):
            await team.say(answer(waiting[name]))
            told = team.told()
            assert told[0][0] == name and result_for(name) in told[0][1]
            assert [one for one, _ in told[1:]] == (["root"] if number else [])

    @resumes
    @pytest.mark.parametrize("both", [True, False])
    async def test_two_results_of_one_called_agent(
        self, service: Any, both: bool, resumable: bool
    ) -> None:
        team = Team(called_with_two_jobs, service=service, resumable=resumable)
        await team.say("Go.")
        first, second = pending_calls(await team.events())
        if both:
            await team.say(answer(first, second))
        else:
            await team.say(answer(first))
            assert team.told() == []  # it waits for the other one
            await team.say(answer(second))
        told = team.told()
        assert [name for name, _ in told] == ["x", "root"]
        assert told[0][1].count(result_for("x")) == 2 and PENDING not in told[0][1]


class TestOtherInvocations:
    """An idempotency key gives a message an invocation of its own."""

    @resumes
    @pytest.mark.parametrize("kind", ["job", "pay"])
    @pytest.mark.parametrize("below", [False, True], ids=["", "nested"])
    async def test_a_called_agent_is_resumed_by_a_message_with_a_key(
        self, service: Any, below: bool, kind: str, resumable: bool
    ) -> None:
        def make(team: Team) -> LlmAgent:
            x = team.agent("x", [call(kind)], mode="single_turn")
            host = team.agent("host", [call("x", request="Go.")], [x], mode="single_turn")
            return team.agent("root", [call("host", request="Go.")], [host])

        one = two_called(kind, kind) if not below else make
        team = Team(one, service=service, resumable=resumable)
        await team.say("Go.")
        waiting = await team.waiting()
        await team.say(answer(*waiting.values()), idempotency_key="key")
        told = team.told()
        names = ["x", "host", "root"] if below else ["x", "y", "root"]
        assert [name for name, _ in told] == names
        assert all(PENDING not in contents for _, contents in told)
        assert (result_for("x") if kind == "job" else "paid") in told[0][1]
        assert len(team.ran) == len(set(team.ran)) == len(waiting) and not await team.waiting()

    @resumes
    async def test_it_waits_until_all_of_its_calls_have_results(
        self, service: Any, resumable: bool
    ) -> None:
        team = Team(called_with_two_jobs, service=service, resumable=resumable)
        await team.say("Go.")
        first, second = pending_calls(await team.events())
        await team.say(answer(first), idempotency_key="one")
        assert team.told() == []
        await team.say(answer(second), idempotency_key="two")
        told = team.told()
        assert [name for name, _ in told] == ["x", "root"]
        assert told[0][1].count(result_for("x")) == 2

    @resumes
    @pytest.mark.parametrize("order", ["xy", "yx"])
    async def test_one_message_resumes_agents_of_two_invocations(
        self, service: Any, order: str, resumable: bool
    ) -> None:
        def make(team: Team) -> LlmAgent:
            x = team.agent("x", [call("job")], mode="single_turn")
            y = team.agent("y", [call("job")], mode="single_turn")
            root = team.agent("root", [], [x, y])
            turns = iter([call("x", request="Go."), call("y", request="Go."), "root is done"])

            def reply(request: Any) -> Any:
                team.asked.append(("root", list(request.contents)))
                check_paired(request.contents)
                return next(turns)

            root.model = FunctionModel(reply)
            return root

        team = Team(make, service=service, resumable=resumable)
        await team.say("Go.")
        await team.say("Go on.")
        waiting = await team.waiting()
        await team.say(answer(*(waiting[name] for name in order)))
        told = dict(team.told())
        assert sorted(told) == ["root", "x", "y"] and list(told)[-1] == "root"
        assert result_for("x") in told["x"] and result_for("y") in told["y"]
        assert "x is done" in told["root"] and "y is done" in told["root"]


def one_called(mode: str) -> Callable[[Team], LlmAgent]:
    def make(team: Team) -> LlmAgent:
        x = team.agent("x", [call("job")], mode=mode)
        return team.agent("root", [call("x", request="Go.")], [x])

    return make


def called_twice_below(team: Team) -> LlmAgent:
    x = team.agent("x", [call("job")], mode="single_turn")
    host = team.agent("host", [call("x", request="Go.")], [x], mode="single_turn")
    return team.agent("root", [call("host", request="Go.")], [host])


def called_in_a_sequence(team: Team) -> SequentialAgent:
    return SequentialAgent(name="all", sub_agents=[one_called("single_turn")(team)])


def called_by_a_node(team: Team) -> Workflow:
    x = team.agent("x", [call("job")], mode="single_turn")
    root = team.agent("root", [call("x", request="Go.")], [x], mode="single_turn")
    return Workflow(name="graph", edges=[(START, root)])


class TestEndedAgents:
    @resumes
    @pytest.mark.parametrize("words", ["", "Hurry!"])
    @pytest.mark.parametrize(
        "make",
        [
            pytest.param(one_called("single_turn"), id="single_turn"),
            pytest.param(one_called("task"), id="task"),
            pytest.param(called_twice_below, id="nested"),
            pytest.param(called_in_a_sequence, id="sequence"),
            pytest.param(called_by_a_node, id="node"),
        ],
    )
    async def test_the_caller_reads_the_result(
        self, service: Any, make: Any, words: str, resumable: bool
    ) -> None:
        team = Team(make, service=service, resumable=resumable, returns=STARTED)
        await team.say("Go.")
        waiting = await team.waiting()
        events = await team.say(answer(waiting["x"], words=words))
        assert [name for name, _ in team.told()] == ["root"]
        told = team.told()[0][1]
        assert f"[x] `job` tool returned result: {result_for('x')}" in told and words in told
        assert any(event.author == "root" and event.content for event in events)
        assert len(team.ran) == 1

    @resumes
    async def test_each_update_reaches_it_and_stays_in_the_history(
        self, service: Any, resumable: bool
    ) -> None:
        make = one_called("single_turn")
        team = Team(make, service=service, resumable=resumable, returns=STARTED)
        await team.say("Go.")
        one = (await team.waiting())["x"]
        for number in range(3):
            part = one.answer({"update": number})
            words = types.Part(text=f"Words {number}.")
            await team.say(types.Content(role="user", parts=[part, words]))
            told = team.told()
            assert [name for name, _ in told] == ["root"]
            for seen in range(number + 1):
                assert str({"update": seen}) in told[0][1] and f"Words {seen}." in told[0][1]
        await team.say("And now?")
        assert str({"update": 2}) in team.told()[0][1] and "Words 0." in team.told()[0][1]

    @resumes
    async def test_a_caller_that_waits_for_another_agent_reads_it_later(
        self, service: Any, resumable: bool
    ) -> None:
        """One message answers an agent that has ended, and one that its caller waits for."""

        def begin() -> dict[str, str]:
            """Begin at once."""
            return STARTED

        def make(team: Team) -> LlmAgent:
            x = team.agent("x", [call("begin")], mode="single_turn")
            x.tools = [LongRunningFunctionTool(begin)]
            y = team.agent("y", [call("job")], mode="single_turn")
            host = team.agent("host", [], [x, y], mode="single_turn")
            turns = iter([call("x", request="Go."), call("y", request="Go."), "host is done"])

            def reply(request: Any) -> Any:
                team.asked.append(("host", list(request.contents)))
                check_paired(request.contents)
                return next(turns)

            host.model = FunctionModel(reply)
            return team.agent("root", [call("host", request="Go.")], [host])

        team = Team(make, service=service, resumable=resumable)
        await team.say("Go.")
        waiting = await team.waiting()
        await team.say(answer(waiting["x"], waiting["y"], words="Hurry!"))
        (first, to_y), (second, to_host), (third, to_root) = team.told()
        assert (first, second, third) == ("y", "host", "root")
        late = f"[x] `begin` tool returned result: {result_for('x')}"
        assert result_for("y") in to_y and result_for("x") not in to_y and "Hurry!" in to_y
        assert late in to_host and "y is done" in to_host and result_for("y") not in to_host
        assert "host is done" in to_root and late not in to_root


class TestHandedOver:
    @resumes
    @pytest.mark.parametrize("kind", ["job", "pay"])
    @pytest.mark.parametrize("steps", ["one", "two"])
    async def test_the_agent_of_the_call_is_asked(
        self, service: Any, kind: str, steps: str, resumable: bool
    ) -> None:
        """The other agent, which took over, has ended by then."""

        def make(team: Team) -> LlmAgent:
            return handing_over(team, [call(kind)], in_two_steps=steps == "two")

        team = Team(make, service=service, resumable=resumable, returns=STARTED)
        await team.say("Go.")
        if kind == "pay" and (resumable or steps == "two"):
            return  # the hand-over waits for the approval
        waiting = await team.waiting()
        events = await team.say(answer(waiting["root"]))
        assert [name for name, _ in team.told()] == ["root"]
        assert ("paid" if kind == "pay" else result_for("root")) in team.told()[0][1]
        assert any(event.author == "root" and event.content for event in events)
        assert len(team.ran) == 1

    async def test_an_open_call_of_an_app_that_is_not_resumable(self, service: Any) -> None:
        team = Team(lambda team: handing_over(team, [call("job")]), service=service)
        await team.say("Go.")
        await team.say(answer((await team.waiting())["root"]))
        assert [name for name, _ in team.told()] == ["root"]
        assert result_for("root") in team.told()[0][1]

    async def test_the_active_agent_is_asked_if_the_other_one_is_gone(self, service: Any) -> None:
        def make(team: Team) -> LlmAgent:
            kid = team.agent("kid", [call("job"), call("transfer_to_agent", agent_name="peer")])
            first = call("transfer_to_agent", agent_name="kid")
            return team.agent("root", [first], [kid, team.agent("peer")])

        team = Team(make, service=service)
        await team.say("Go.")
        waiting = await team.waiting()
        later = Team(lambda team: team.agent("root", [], [team.agent("peer")]), service=service)
        await later.say(answer(waiting["kid"]))
        assert [name for name, _ in later.told()] == ["peer"]
        assert result_for("kid") in later.told()[0][1]

    @resumes
    @pytest.mark.parametrize("returns", [None, STARTED], ids=["nothing", "interim"])
    @pytest.mark.parametrize("order", [("root",), ("kid",), ("root", "kid"), ("kid", "root")])
    async def test_updates_of_both_agents_reach_one_in_each_turn(
        self, service: Any, order: tuple[str, ...], returns: Any, resumable: bool
    ) -> None:
        def make(team: Team) -> LlmAgent:
            kid = team.agent("kid", [call("job")])
            calls = [call("job"), call("transfer_to_agent", agent_name="kid")]
            return team.agent("root", calls, [kid])

        team = Team(make, service=service, resumable=resumable, returns=returns)
        await team.say("Go.")
        known = await team.waiting()
        if "kid" not in known:  # the hand-over waits for the first result
            await team.say(answer(known["root"]))
            assert [name for name, _ in team.told()] == ["kid"]
            known |= await team.waiting()
        unread: list[str] = []
        is_paused = resumable and returns is None
        for number, name in enumerate(order * 2):
            part = known[name].answer({"update": number})
            await team.say(types.Content(role="user", parts=[part]))
            unread.append(str({"update": number}))
            is_paused = is_paused and name != "kid"
            if is_paused:  # a resumable run waits for the call of the agent that took over
                assert team.told() == []
                continue
            assert len(team.told()) == 1
            assert all(one in team.told()[0][1] for one in unread[-2:])
            unread.clear()
        if is_paused:
            return
        await team.say(answer(*(known[name] for name in order)))
        assert len(team.told()) == 1
        assert all(result_for(name) in team.told()[0][1] for name in order)
        assert len(team.ran) == 2


def handing_over(
    team: Team, calls: list[types.FunctionCall], *, in_two_steps: bool = False
) -> LlmAgent:
    """Return an agent that makes calls and transfers, in one response or in two."""
    transfer = call("transfer_to_agent", agent_name="kid")
    root = team.agent("root", [*calls, transfer], [team.agent("kid")])
    if in_two_steps:
        turns = iter([calls, [transfer]])

        def reply(request: Any) -> Any:
            team.asked.append(("root", list(request.contents)))
            check_paired(request.contents)
            return next(turns, "root is done")

        root.model = FunctionModel(reply)
    return root


class TestNodes:
    @resumes
    @pytest.mark.parametrize("returns", [None, STARTED], ids=["nothing", "interim"])
    async def test_a_node_that_spoke_meanwhile_reads_the_result_that_it_waits_for(
        self, service: Any, returns: Any, resumable: bool
    ) -> None:
        said: list[str] = []

        def end(node_input: str) -> None:
            said.append(node_input)

        def make(team: Team) -> Workflow:
            return Workflow(
                name="graph",
                edges=[(START, team.agent("x", [call("job")], mode="single_turn"), end)],
            )

        team = Team(make, service=service, resumable=resumable, returns=returns)
        await team.say("Go.")
        await team.say(answer((await team.waiting())["x"]))
        assert [name for name, _ in team.told()] == ["x"]
        assert result_for("x") in team.told()[0][1] and said == ["x is done"]


async def test_words_beside_results_of_several_steps_reach_the_model() -> None:
    turns = iter([call("job"), call("job"), "Wait.", "Seen.", "Again."])
    asked: list[str] = []

    def make(team: Team) -> LlmAgent:
        def reply(request: Any) -> Any:
            asked.append(str(request.contents))
            check_paired(request.contents)
            return next(turns)

        root = team.agent("root")
        root.model = FunctionModel(reply)
        return root

    team = Team(make, returns=STARTED)
    await team.say("Go.")
    first, second = pending_calls(await team.events())
    await team.say(answer(first, second, words="Hurry!"))
    assert "Hurry!" in asked[-1] and asked[-1].count(result_for("root")) == 2
    await team.say(answer(first))
    assert "Hurry!" in asked[-1]
