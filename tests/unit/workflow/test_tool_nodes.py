"""Tools as nodes follow their policies: in doubt after a crash, and asking a person before."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from ostinato import types
from ostinato.agents import LlmAgent
from ostinato.apps import App
from ostinato.auth import AuthConfig
from ostinato.context.node import BaseNode, RetryConfig
from ostinato.errors import AgentConfigError, GraphError, NodeError, ToolTimeoutError
from ostinato.events import Event
from ostinato.events.tool_origin import ToolOrigin
from ostinato.runners import Runner
from ostinato.sessions.sqlite_session_service import SqliteSessionService
from ostinato.sessions.store.effect_ledger import EffectSettings
from ostinato.testing import crash_everywhere, simulate
from ostinato.tools import AgentTool, BaseTool, FunctionTool, ToolContext
from ostinato.tools.call_doubt import UnknownOutcome
from ostinato.workflow import START, FunctionNode, JoinNode, Workflow, node
from ostinato.workflow.node_errors import (
    NodeTimeoutError,
    ToolInDoubtError,
    ToolNotRunError,
    ToolOutcomeUnknownError,
)
from tests.unit.durable.crash import PLACE, WHO, DyingStore, Killed, flagged
from tests.unit.flows.kit import Store, Talk
from tests.unit.workflow.kit import asked, gives, lines, shows
from tests.unit.workflow.test_people import reply

ARGS = {"amount": 5}


class Bank:
    """What lies outside of the process, and a tool that acts on it.

    Attributes:
      paid: the calls that reached it, by call id.
      deaths: what happens in the next runs of the tool: `die`, `fail`, or anything else.
    """

    def __init__(self, *deaths: str) -> None:
        self.paid: list[str] = []
        self.keys: list[str] = []
        self.deaths = [*deaths]
        self.store: DyingStore | None = None

    def tool(self, **options: Any) -> FunctionTool:
        async def pay(amount: int, tool_context: ToolContext) -> dict[str, Any]:
            self.act(tool_context)
            return {"paid": amount}

        return FunctionTool(pay, **options)

    def act(self, context: ToolContext) -> None:
        self.paid.append((context.function_call_id or "").rpartition("/")[2])
        self.keys.append(context.idempotency_key)
        next_one = self.deaths.pop(0) if self.deaths else ""
        if next_one == "die":
            assert self.store is not None
            self.store.dead = True
            raise Killed
        if next_one == "fail":
            raise ValueError("no funds")

    def find(self, args: dict[str, Any], tool_context: ToolContext) -> dict[str, Any] | None:
        return {"paid": args["amount"], "found": True} if self.paid else None


def line_of(tool: Any, **options: Any) -> Workflow:
    pays = node(tool, **options) if options else tool
    return Workflow(name="flow", edges=[(START, gives("first", ARGS), pays, shows())])


class Service:
    """A session over processes, each of which may die in the tool of the bank."""

    def __init__(self, path: Path, bank: Bank, make: Callable[[], BaseNode]) -> None:
        self.path, self.bank, self.make = path, bank, make

    async def process(self, act: Callable[[Runner], Any]) -> bool:
        """Live for one process; return whether it survived."""
        store = DyingStore(self.path, effects=EffectSettings())
        self.bank.store = store
        app = App(name="talk", root_agent=self.make())
        runner = Runner(app=app, session_service=store, auto_create_session=True)
        try:
            await act(runner)
        except Killed:
            return False
        except BaseExceptionGroup as group:
            if group.subgroup(Killed) is None:
                raise
            return False
        finally:
            if not store.dead:
                await runner.close()
            store.dead = True
            await store.close()
            with closing(sqlite3.connect(self.path)) as db, db:
                db.execute("UPDATE ostinato_lease SET expires = 0")
        return True

    async def say(self, message: Any = "Go", **options: Any) -> bool:
        async def act(runner: Runner) -> None:
            given = {} if message is None else {"new_message": message}
            async for _ in runner.run_async(**WHO, **given, **options):
                pass

        return await self.process(act)

    async def resume(self) -> str:
        """Resume what a dead process left; return how that ended."""
        outcomes: list[str] = []

        async def act(runner: Runner) -> None:
            outcomes.extend(one.outcome for one in await runner.resume_open())

        return ",".join(outcomes) if await self.process(act) else "died"

    async def answer(self, yes: bool, index: int = -1) -> bool:
        return await self.say(reply(asked(await self.log())[index].id, {"result": yes}))

    async def log(self) -> list[Event]:
        store = SqliteSessionService(self.path)
        session = await store.get_session(**PLACE)
        await store.close()
        assert session is not None
        return [*session.events]

    async def outputs(self) -> list[Any]:
        return [event.output for event in await self.log() if event.output is not None]

    async def effects(self) -> list[tuple[Any, ...]]:
        store = SqliteSessionService(self.path, effects=EffectSettings())
        page = await store.effects()
        await store.close()
        return [
            (one.agent, one.outcome, one.resolution, one.attempts, one.approved_by)
            for one in reversed(page.effects)
        ]


@pytest.fixture
def service(tmp_path: Path) -> Callable[..., Service]:
    """A function that makes a service of a bank and the options of its tool."""

    def make(bank: Bank, retry: RetryConfig | None = None, **options: Any) -> Service:
        fields: dict[str, Any] = {} if retry is None else {"retry_config": retry}
        return Service(tmp_path / "s.db", bank, lambda: line_of(bank.tool(**options), **fields))

    return make


NOW = RetryConfig(max_attempts=3, initial_delay=0.0, jitter=0.0)
PAID = "show got {'paid': 5}"


def test_an_agent_is_a_node_itself() -> None:
    agent = LlmAgent(name="poet", model="offline")
    with pytest.raises(GraphError, match="make its agent 'poet' itself the node"):
        line_of(AgentTool(agent=agent))


def test_a_workflow_is_no_agent_for_a_tool() -> None:
    with pytest.raises(AgentConfigError, match="'flow' is a Workflow: list it in"):
        graph: Any = Workflow(name="flow", edges=[(START, gives("first"))])
        AgentTool(agent=graph)


async def test_a_tool_in_doubt_runs_again_with_its_key_and_the_event_says_so(service: Any) -> None:
    bank = Bank("die")
    one = service(bank)
    assert not await one.say()
    assert await one.resume() == "finished"
    assert bank.paid == ["pay@1", "pay@1"] and len(set(bank.keys)) == 1
    log = await one.log()
    assert (await one.outputs())[-1] == PAID
    assert {call.rpartition("/")[2] for call in flagged(log)} == {"pay@1"}
    assert await one.effects() == [("flow@1/pay@1", "done", "rerun", 2, "")]


async def test_at_most_once_ends_the_graph_instead_of_a_second_run(service: Any) -> None:
    bank = Bank("die")
    one = service(bank, in_doubt="at_most_once", retry=NOW)
    assert not await one.say()
    assert await one.resume() == "failed"
    (failed,) = [event for event in await one.log() if event.error_code]
    assert "Tool 'pay' of node flow@1/pay@1" in (failed.error_message or "")
    assert "unknown whether the call took effect. It was not run again" in str(failed.error_message)
    invocation_id = failed.invocation_id
    with pytest.raises(ToolInDoubtError):
        await one.say(None, invocation_id=invocation_id)
    assert bank.paid == ["pay@1"] and await one.resume() == ""
    assert (await one.effects())[0] == ("flow@1/pay@1", "unknown", "at_most_once", 1, "")


@pytest.mark.parametrize("found", [True, False])
async def test_a_check_decides_about_a_node_in_doubt(service: Any, found: bool) -> None:
    bank = Bank("die")
    one = service(bank, check=bank.find if found else lambda args, tool_context: None)
    assert not await one.say()
    assert await one.resume() == "finished"
    shown = "show got {'paid': 5, 'found': True}" if found else PAID
    assert (await one.outputs())[-1] == shown
    assert len(bank.paid) == (1 if found else 2)
    ((_, outcome, resolution, attempts, _),) = await one.effects()
    assert (outcome, attempts) == ("done", 1 if found else 2)
    assert resolution == ("check" if found else "rerun")


async def test_a_person_decides_on_each_doubt_anew(service: Any) -> None:
    bank = Bank("die", "die")
    one = service(bank, in_doubt="ask")
    assert not await one.say()
    assert await one.resume() == "paused"
    (question,) = asked(await one.log())
    assert "pay(amount=5)? The tool call pay() was interrupted" in question.args["message"]
    assert question.args["payload"] == {"tool": "pay", "args": ARGS}
    assert not await one.answer(True)  # it dies again
    assert await one.resume() == "paused" and len(bank.paid) == 2
    first, second = asked(await one.log())
    assert first.id != second.id
    assert await one.answer(True)
    assert (await one.outputs())[-1] == PAID and len(bank.paid) == 3
    assert [row[1:] for row in await one.effects()] == [
        ("unknown", "ask", 1, ""),
        ("unknown", "ask", 2, ""),
        ("done", "", 3, "ann"),
    ]


@pytest.mark.parametrize("options", [{"in_doubt": "ask"}, {"require_confirmation": True}])
async def test_a_rejected_second_run_ends_the_graph(service: Any, options: Any) -> None:
    bank = Bank("die")
    one = service(bank, retry=NOW, **options)
    if "in_doubt" in options:
        assert not await one.say()
    else:
        assert await one.say() and bank.paid == []
        assert not await one.answer(True)
    assert await one.resume() == "paused"
    with pytest.raises(ToolInDoubtError, match="a person rejected a second run"):
        await one.answer(False)
    assert bank.paid == ["pay@1"]
    assert [row[2] for row in await one.effects()] == ["ask", "rejected"]
    log = await one.log()
    assert len([event for event in log if event.error_code]) == 1
    before = len(asked(log))
    assert await one.say(None, invocation_id=log[0].invocation_id)  # asks anew
    assert bank.paid == ["pay@1"] and len(asked(await one.log())) == before + 1
    assert await one.answer(True)
    assert bank.paid == ["pay@1"] * 2 and (await one.outputs())[-1] == PAID


async def test_a_rejection_holds_if_the_tool_asks_no_more(store: Store) -> None:
    bank, limit = Bank(), [1]
    tool = bank.tool(require_confirmation=lambda amount: amount > limit[0])
    talk = Talk(line_of(tool), store)
    (question,) = asked(await talk.say())
    limit[0] = 100
    error = await talk.fails(reply(question.id, {"result": False}))
    assert isinstance(error, ToolNotRunError) and bank.paid == []


@pytest.mark.parametrize(
    "options", [{}, {"in_doubt": "at_most_once"}, {"check": lambda args, context: None}]
)
async def test_a_rejected_second_run_holds_whatever_the_policy_is_now(
    service: Any, options: Any
) -> None:
    bank = Bank("die")
    one = service(bank, in_doubt="ask")
    assert not await one.say()
    assert await one.resume() == "paused"
    later = service(bank, **options)
    with pytest.raises(ToolInDoubtError, match="a person rejected a second run"):
        await later.answer(False)
    assert bank.paid == ["pay@1"]


async def test_an_approval_is_asked_for_before_the_first_run(store: Store) -> None:
    bank = Bank()
    talk = Talk(line_of(bank.tool(require_confirmation=True)), store)
    (question,) = asked(await talk.say())
    assert bank.paid == [] and question.args["message"] == "Run pay(amount=5)?"
    assert question.args["response_schema"] == {"type": "boolean"}
    assert lines(await talk.say(reply(question.id, {"result": True})))[-1].endswith(f'"{PAID}"')
    assert bank.paid == ["pay@1"]


async def test_a_rejected_call_ends_the_graph(store: Store) -> None:
    bank = Bank()
    talk = Talk(line_of(bank.tool(require_confirmation=True), retry_config=NOW), store)
    (question,) = asked(await talk.say())
    error = await talk.fails(reply(question.id, {"result": False}))
    assert isinstance(error, ToolNotRunError) and "node flow@1/pay@1" in str(error)
    assert bank.paid == [] and len([e for e in await talk.stored() if e.error_code]) == 1


async def test_a_condition_decides_whether_to_ask(memory: Store) -> None:
    bank = Bank()
    for limit, asks in ((1, True), (10, False)):
        tool = bank.tool(require_confirmation=lambda amount, limit=limit: amount > limit)
        assert bool(asked(await Talk(line_of(tool), memory).say())) is asks
    assert bank.paid == ["pay@1"]


class Outside(FunctionTool):
    """A tool that a server has."""

    source = "shop"

    @property
    def tool_origin(self) -> ToolOrigin:
        return ToolOrigin("mcp", self.source, "pay")


@pytest.mark.parametrize("makes", ["function", "shop", "other"])
@pytest.mark.parametrize("made", ["function", "shop"])
async def test_an_approval_of_a_tool_runs_no_tool_of_another_origin(
    store: Store, made: str, makes: str
) -> None:
    bank = Bank()

    def make(origin: str) -> Any:
        tool = bank.tool(require_confirmation=True)
        if origin != "function":
            tool = Outside(tool.func, require_confirmation=True)
            tool.source = origin
        return line_of(tool)

    asking = Talk(make(made), store)
    (question,) = asked(await asking.say())
    later = Talk(make(makes), store)
    if makes == made:
        assert lines(await later.say(reply(question.id, {"result": True})))[-1].endswith(
            f'"{PAID}"'
        )
        return
    error = await later.fails(reply(question.id, {"result": True}))
    assert isinstance(error, ToolNotRunError) and "a person was asked about one of" in str(error)
    assert bank.paid == []


class Asking(BaseTool):
    """A tool that asks in its body, with something to fill in, and takes a no for an answer."""

    def __init__(self, bank: Bank) -> None:
        super().__init__(name="pay", description="Pay.")
        self.bank = bank

    async def run_async(self, *, args: dict[str, Any], tool_context: ToolContext) -> Any:
        answer = tool_context.tool_confirmation
        if answer is None:
            tool_context.request_confirmation(hint="How much?", payload={"amount": 0})
            return None
        if not answer.confirmed:
            return "declined"
        self.bank.act(tool_context)
        return answer.payload


async def test_a_tool_asks_in_its_body_and_reads_the_answer(store: Store) -> None:
    bank = Bank()
    talk = Talk(line_of(Asking(bank)), store)
    for answer, shown in (
        ({"confirmed": True, "payload": {"amount": 3}}, "show got {'amount': 3}"),
        ({"confirmed": False}, "show got 'declined'"),
    ):
        (question,) = asked(await talk.say())
        assert question.args["message"] == "Run pay(amount=5)? How much?"
        assert question.args["payload"]["payload"] == {"amount": 0}
        assert (await talk.say(reply(question.id, {"result": answer})))[-1].output == shown
    assert bank.paid == ["pay@1"]


async def test_a_tool_that_asked_in_its_body_is_not_in_doubt(tmp_path: Path) -> None:
    bank = Bank()
    one = Service(tmp_path / "s.db", bank, lambda: line_of(Asking(bank)))
    assert await one.say()
    (question,) = asked(await one.log())
    answer = {"result": {"confirmed": True, "payload": 7}}
    assert await one.say(reply(question.id, answer))
    log = await one.log()
    assert (await one.outputs())[-1] == "show got 7" and flagged(log) == set()


async def test_an_approval_stays_valid_if_the_process_dies_before_the_tool_begins(
    tmp_path: Path,
) -> None:
    class Late(FunctionTool):
        async def _call(self, values: dict[str, Any], ctx: Any) -> Any:
            return await super()._call(values, ctx)

        async def run_async(self, *, args: dict[str, Any], tool_context: ToolContext) -> Any:
            if tool_context.tool_confirmation is not None and bank.deaths:
                bank.deaths.clear()
                assert bank.store is not None
                bank.store.dead = True
                raise Killed
            return await super().run_async(args=args, tool_context=tool_context)

    bank = Bank("later")
    pay = bank.tool().func
    one = Service(tmp_path / "s.db", bank, lambda: line_of(Late(pay, require_confirmation=True)))
    assert await one.say()
    assert not await one.answer(True)
    assert await one.resume() == "finished"
    assert bank.paid == ["pay@1"] and len(asked(await one.log())) == 1
    assert await one.effects() == [("flow@1/pay@1", "done", "", 1, "ann")]


async def test_retries_in_one_process_are_not_in_doubt(service: Any) -> None:
    bank = Bank("fail", "fail")
    one = service(bank, in_doubt="at_most_once", retry=NOW)
    assert await one.say()
    assert bank.paid == ["pay@1"] * 3 and (await one.outputs())[-1] == PAID
    assert [row[1] for row in await one.effects()] == ["failed", "failed", "done"]


async def test_a_death_in_a_retry_is_a_doubt_with_a_question_of_its_own(service: Any) -> None:
    bank = Bank("die", "fail", "die")
    one = service(bank, in_doubt="ask", retry=NOW)
    assert not await one.say()
    assert await one.resume() == "paused"
    assert not await one.answer(True)  # fails, is retried and dies
    assert len(bank.paid) == 3
    assert await one.resume() == "paused" and len(bank.paid) == 3
    first, second = asked(await one.log())
    assert first.id != second.id
    assert await one.answer(True) and len(bank.paid) == 4
    assert (await one.outputs())[-1] == PAID


async def test_a_tool_that_failed_is_not_in_doubt_when_its_run_is_resumed(service: Any) -> None:
    bank = Bank("fail")
    one = service(bank, in_doubt="at_most_once")
    with pytest.raises(ValueError, match="no funds"):
        await one.say()
    assert await one.say(None, invocation_id=(await one.log())[0].invocation_id)
    assert bank.paid == ["pay@1"] * 2 and (await one.outputs())[-1] == PAID


async def test_each_run_of_a_node_in_a_loop_is_a_call_of_its_own(tmp_path: Path) -> None:
    bank = Bank("", "die")

    def make() -> Workflow:
        def again(ctx: Any, node_input: Any) -> Event:
            count = ctx.state.get("count", 0) + 1
            route = "again" if count < 3 else "done"
            return Event(output=ARGS, route=route, state={"count": count})

        pays = node(bank.tool(in_doubt="ask"))
        decide = FunctionNode(func=again, name="decide")
        return Workflow(
            name="flow",
            edges=[
                (START, gives("first", ARGS), pays, decide),
                (decide, {"again": pays, "done": shows()}),
            ],
        )

    one = Service(tmp_path / "s.db", bank, make)
    assert not await one.say()
    assert await one.resume() == "paused"
    assert await one.answer(True)
    assert bank.paid == ["pay@1", "pay@2", "pay@2", "pay@3"]


async def test_a_sibling_s_commit_does_not_settle_a_tool_beside_it(tmp_path: Path) -> None:
    bank, other = Bank("die"), Bank()

    def make() -> Workflow:
        async def log(amount: int, tool_context: ToolContext) -> str:
            other.act(tool_context)
            return "logged"

        wings = (bank.tool(in_doubt="at_most_once"), FunctionTool(log))
        chain = (START, gives("first", ARGS), wings, JoinNode(name="join"), shows())
        return Workflow(name="flow", edges=[chain])

    one = Service(tmp_path / "s.db", bank, make)
    assert not await one.say()
    assert await one.resume() == "failed"
    assert bank.paid == ["pay@1"]


async def test_tools_that_nodes_run_follow_their_policies_too(tmp_path: Path) -> None:
    bank = Bank("die")

    def make() -> Workflow:
        @node(rerun_on_resume=True)
        async def parent(ctx: Any, node_input: Any) -> Any:
            return await ctx.run_node(bank.tool(in_doubt="ask"), ARGS)

        return Workflow(name="flow", edges=[(START, parent, shows())])

    one = Service(tmp_path / "s.db", bank, make)
    assert not await one.say()
    assert await one.resume() == "paused"
    assert await one.answer(True)
    assert bank.paid == ["pay@1", "pay@1"] and (await one.outputs())[-1] == PAID


async def test_a_tool_without_a_result_leaves_its_row(tmp_path: Path) -> None:
    async def note() -> None:
        """Note."""

    bank = Bank()
    make = lambda: Workflow(  # noqa: E731
        name="flow", edges=[(START, gives("first", {}), FunctionTool(note), shows())]
    )
    one = Service(tmp_path / "s.db", bank, make)
    assert await one.say()
    assert await one.effects() == [("flow@1/note@1", "done", "", 1, "")]


def pay(amount: int) -> dict[str, Any]:
    """Pay."""
    return {"paid": amount}


def ask_first(node_input: Any) -> Any:
    from ostinato.events.request_input import RequestInput

    return RequestInput(message="Pay?", response_schema=bool)


def give_args(node_input: Any) -> dict[str, Any]:
    return dict(ARGS)


def graph(**options: Any) -> Workflow:
    return Workflow(
        name="flow", edges=[(START, ask_first, give_args, FunctionTool(pay, **options), shows())]
    )


STEPS = ["Go", {"answer": {"tool": "ask_first", "response": {"result": True}}}]


@pytest.mark.long
@pytest.mark.parametrize("options", [{"in_doubt": "at_most_once"}, {"in_doubt": "ask"}])
def test_prove_covers_tool_nodes_with_a_policy(options: Any) -> None:
    report = crash_everywhere(graph(**options), {"steps": STEPS}, kills=False)
    assert report.ok and report.told_unknown > 0 and report.tools["pay"].effects == 1


@pytest.mark.long
def test_prove_approves_tool_nodes() -> None:
    steps = {"steps": [*STEPS, {"approve": "pay"}]}
    report = crash_everywhere(graph(require_confirmation=True), steps, kills=False)
    assert report.ok and report.tools["pay"].effects == 1


def test_prove_finds_a_tool_node_that_acts_twice() -> None:
    report = crash_everywhere(
        Workflow(name="flow", edges=[(START, give_args, FunctionTool(pay))]),
        {"steps": ["Go"]},
        kills=False,
    )
    assert [(one.kind, one.tool) for one in report.findings] == [("repeated", "pay")]
    assert "in_doubt=" in report.findings[0].remedy


def test_a_tool_node_runs_again_for_an_answer() -> None:
    with pytest.raises(GraphError, match="'pay' calls a tool and needs rerun_on_resume=True"):
        node(FunctionTool(pay), rerun_on_resume=False)


async def test_arguments_of_rich_types_are_shown_as_json(memory: Store) -> None:
    async def send(data: bytes) -> int:
        return len(data)

    tool = FunctionTool(send, require_confirmation=True)
    chain = (START, gives("first", {"data": b"\xff"}), tool, shows())
    talk = Talk(Workflow(name="flow", edges=[chain]), memory)
    (question,) = asked(await talk.say())
    assert question.args["payload"]["args"] == {"data": "_w=="}
    assert (await talk.say(reply(question.id, {"result": True})))[-1].output == "show got 1"


@pytest.mark.long
def test_simulated_processes_keep_the_policies_of_tool_nodes() -> None:
    async def send(amount: int, tool_context: ToolContext) -> str:
        return f"sent {tool_context.idempotency_key and amount}"

    def make() -> Workflow:
        tools = (
            FunctionTool(send, in_doubt="ask"),
            FunctionTool(pay, require_confirmation=True, in_doubt="at_most_once"),
        )
        return Workflow(name="flow", edges=[(START, give_args, tools)])

    report = simulate(make, seed=3, runs=6, actions=20, sessions=2)
    report.assert_held()
    assert min(report.figures[one] for one in ("effects", "death", "commits")) > 0


async def test_a_tool_node_that_asks_for_a_credential_says_what_to_use(memory: Store) -> None:
    scheme = {"type": "apiKey", "in": "header", "name": "X-Key"}
    auth = AuthConfig.model_validate({"authScheme": scheme, "credentialKey": "key"})

    def fetch(tool_context: ToolContext) -> dict[str, Any]:
        tool_context.request_credential(auth)
        return {"pending": True}

    chain = (START, gives("first", {}), FunctionTool(fetch), shows())
    error = await Talk(Workflow(name="flow", edges=[chain]), memory).fails()
    assert isinstance(error, NodeError)
    assert "'fetch'" in str(error) and "auth_config=" in str(error)


async def test_a_question_has_the_type_of_its_answer(memory: Store) -> None:
    talk = Talk(line_of(Bank().tool(require_confirmation=True)), memory)
    (question,) = asked(await talk.say())
    assert isinstance(await talk.fails(reply(question.id, {"confirmed": True})), ValueError)
    assert isinstance(question, types.FunctionCall)


class Remote(BaseTool):
    """A tool whose requests get no answer in time or break, and then work.

    Args:
      bank: what the requests reach.
      faults: what happens to each: `hang`, `late` or `lost`; then they work.
      in_doubt: the policy.
    """

    def __init__(self, bank: Bank, *faults: str, **options: Any) -> None:
        super().__init__(name="pay", description="Pay.", **options)
        self.bank = bank
        self.faults = [*faults]

    async def run_async(self, *, args: dict[str, Any], tool_context: ToolContext) -> Any:
        self.bank.act(tool_context)
        fault = self.faults.pop(0) if self.faults else ""
        if fault == "hang":
            await asyncio.Event().wait()
        if fault == "late":
            raise ToolTimeoutError("No answer came in time.")
        if fault == "lost":
            return UnknownOutcome(error="The connection broke.")
        return {"paid": args["amount"]}


FAULTS = pytest.mark.parametrize("fault", ["hang", "late", "lost"])


def remote_line(tool: BaseTool, **options: Any) -> Workflow:
    return line_of(tool, timeout=0.05, **options)


@FAULTS
@pytest.mark.parametrize("retry", [None, NOW])
async def test_a_request_without_an_answer_is_made_at_most_once(
    store: Store, fault: str, retry: RetryConfig | None
) -> None:
    bank = Bank()
    tool = Remote(bank, fault, in_doubt="at_most_once")
    talk = Talk(remote_line(tool, retry_config=retry), store)
    error = await talk.fails()
    assert isinstance(error, ToolInDoubtError) and "node flow@1/pay@1" in str(error)
    assert bank.paid == ["pay@1"] and not [e for e in await talk.stored() if e.output == PAID]
    invocation_id = talk.seen[0].invocation_id
    again = await talk.fails(None, invocation_id=invocation_id)
    assert isinstance(again, ToolInDoubtError) and bank.paid == ["pay@1"]


@FAULTS
async def test_a_request_without_an_answer_is_retried_with_its_key(
    store: Store, fault: str
) -> None:
    bank = Bank()
    talk = Talk(remote_line(Remote(bank, fault, fault), retry_config=NOW), store)
    assert (await talk.say())[-1].output == PAID
    assert bank.paid == ["pay@1"] * 3 and len(set(bank.keys)) == 1
    assert {call.rpartition("/")[2] for call in flagged(await talk.stored())} == {"pay@1"}


@FAULTS
async def test_a_request_without_an_answer_fails_a_node_without_retries(
    store: Store, fault: str
) -> None:
    bank = Bank()
    error = await Talk(remote_line(Remote(bank, fault)), store).fails()
    expected = {
        "hang": NodeTimeoutError,
        "late": ToolTimeoutError,
        "lost": ToolOutcomeUnknownError,
    }
    assert type(error) is expected[fault] and bank.paid == ["pay@1"]


@FAULTS
async def test_a_person_decides_about_each_request_without_an_answer(
    store: Store, fault: str
) -> None:
    bank = Bank()
    tool = Remote(bank, fault, fault, in_doubt="ask")
    talk = Talk(remote_line(tool, retry_config=NOW), store)
    (first,) = asked(await talk.say())
    assert "was interrupted and may have taken effect" in first.args["message"]
    assert bank.paid == ["pay@1"]
    (second,) = asked(await talk.say(reply(first.id, {"result": True})))
    assert second.id != first.id and len(bank.paid) == 2
    assert (await talk.say(reply(second.id, {"result": True})))[-1].output == PAID
    assert len(bank.paid) == 3


async def test_a_rejected_second_request_ends_the_graph(store: Store) -> None:
    bank = Bank()
    talk = Talk(remote_line(Remote(bank, "hang", in_doubt="ask"), retry_config=NOW), store)
    (question,) = asked(await talk.say())
    error = await talk.fails(reply(question.id, {"result": False}))
    assert isinstance(error, ToolInDoubtError) and bank.paid == ["pay@1"]
    (again,) = asked(await talk.say(None, invocation_id=talk.seen[0].invocation_id))
    assert again.id != question.id and bank.paid == ["pay@1"]


@pytest.mark.parametrize("found", [True, False])
@FAULTS
async def test_a_check_decides_about_a_request_without_an_answer(
    store: Store, fault: str, found: bool
) -> None:
    bank = Bank()
    check = bank.find if found else lambda args, tool_context: None
    tool = Remote(bank, fault, in_doubt="at_most_once", check=check)
    talk = Talk(remote_line(tool, retry_config=NOW), store)
    shown = "show got {'paid': 5, 'found': True}" if found else PAID
    assert (await talk.say())[-1].output == shown
    assert len(bank.paid) == (1 if found else 2)


@pytest.mark.parametrize("kind", ["function", "graph"])
async def test_a_call_that_the_limit_of_a_node_around_it_cut_is_not_repeated(
    store: Store, kind: str
) -> None:
    bank = Bank()
    tool = Remote(bank, "hang", in_doubt="at_most_once")

    async def outer(node_input: Any, ctx: Any) -> Any:
        return await ctx.run_node(tool, ARGS)

    around: Any = Workflow(name="inner", edges=[(START, gives("one", ARGS), tool)])
    if kind == "function":
        around = FunctionNode(func=outer, name="outer", rerun_on_resume=True)
    limited = node(around, timeout=0.05, retry_config=NOW)
    talk = Talk(Workflow(name="flow", edges=[(START, limited, shows())]), store)
    error = await talk.fails()
    assert isinstance(error, ToolInDoubtError) and "was cut off" in str(error)
    assert len(bank.paid) == 1


async def test_the_ledger_says_that_an_outcome_is_unknown(service: Any, tmp_path: Path) -> None:
    bank = Bank()
    for number, fault in enumerate(("late", "lost")):
        tool = Remote(bank, fault, in_doubt="at_most_once")
        one = Service(tmp_path / f"{number}.db", bank, lambda tool=tool: line_of(tool))
        with pytest.raises(ToolInDoubtError):
            await one.say()
        assert await one.effects() == [("flow@1/pay@1", "unknown", "at_most_once", 1, "")]
