"""`crash_everywhere`: planted faults are found, each with the line that mends it."""

from __future__ import annotations

import _thread
import asyncio
import concurrent.futures
import contextvars
import dataclasses
import functools
import inspect
import itertools
import logging
import os
import pty
import subprocess
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import AsyncGenerator, Callable
from pathlib import Path
from typing import Any

import httpx
import pytest
from mcp import types as mcp_types

from ostinato import types
from ostinato.agents import LlmAgent
from ostinato.apps import App
from ostinato.errors import InputValidationError
from ostinato.plugins import BasePlugin
from ostinato.testing import CrashReport, FunctionModel, ScenarioError, crash_everywhere
from ostinato.testing.scenario import Scenario, Step
from ostinato.tools import AgentTool, BaseTool, FunctionTool, ToolContext
from tests.support.mcp.asking_shop import Shop

BASKET: list[str] = []
NUMBERS = itertools.count()
PAYMENTS = tempfile.TemporaryDirectory()


def pay(amount: int) -> dict[str, Any]:
    """Pay."""
    return {"paid": amount}


def pay_with_key(amount: int, tool_context: ToolContext) -> dict[str, Any]:
    """Pay."""
    return {"paid": amount, "by_key": bool(tool_context.idempotency_key)}


def pay_into_file(amount: int, tool_context: ToolContext) -> dict[str, Any]:
    """Pay."""
    (Path(PAYMENTS.name) / str(tool_context.function_call_id)).touch()
    return {"paid": amount}


def find_payment(args: dict[str, Any], tool_context: ToolContext) -> dict[str, Any] | None:
    """Return the result of a payment that happened."""
    happened = (Path(PAYMENTS.name) / str(tool_context.function_call_id)).exists()
    return {"paid": args["amount"]} if happened else None


def add_item(item: str) -> dict[str, Any]:
    """Add an item."""
    BASKET.append(item)
    return {"items": len(BASKET)}


def choose(room: str, tool_context: ToolContext) -> dict[str, Any]:
    """Choose a room."""
    tool_context.session.state["room"] = room
    return {"chosen": room}


def show_room(tool_context: ToolContext) -> dict[str, Any]:
    """Show the room."""
    return {"room": tool_context.state.get("room")}


def draw() -> dict[str, Any]:
    """Draw a number."""
    return {"number": next(NUMBERS)}


def start_work() -> dict[str, Any]:
    """Start work that outlives the call."""
    threading.Thread(target=threading.Event().wait, args=(0.5,), name="work").start()
    subprocess.run([sys.executable, "-c", ""], check=True)
    return {"started": True}


def shop(*tools: Any) -> LlmAgent:
    return LlmAgent(name="shop", tools=[*tools])


def scenario(*turns: Any, **fields: Any) -> dict[str, Any]:
    return {"steps": ["Go."], "model": [*turns, "Done."], **fields}


def call(name: str, **args: Any) -> dict[str, Any]:
    return {"call": name, "args": args}


def kinds(report: CrashReport) -> list[tuple[str, str]]:
    return sorted((one.kind, one.tool) for one in report.findings)


def test_in_one_process_a_payment_without_a_key_is_found() -> None:
    report = crash_everywhere(shop(pay), scenario(call("pay", amount=3)), kills=False)
    assert kinds(report) == [("repeated", "pay")]
    assert report.kills == report.points > 10
    assert (report.tools["pay"].effects, report.tools["pay"].unkeyed) == (1, 2)
    assert "idempotency_key" in report.findings[0].remedy
    assert "before append (shop: response of pay)" in report.findings[0].points
    with pytest.raises(AssertionError, match="pay would have acted twice"):
        report.assert_once()


def read_key(*args: Any, tool_context: ToolContext, **others: Any) -> None:
    """Read the key, and pass it on to nobody."""
    assert tool_context.idempotency_key


def check_nothing(args: dict[str, Any], tool_context: ToolContext) -> None:
    """Read the key, and never find the effect."""
    assert tool_context.idempotency_key


def need_nothing(amount: int, tool_context: ToolContext) -> bool:
    """Read the key, and want no approval."""
    return not tool_context.idempotency_key


class KeyLog(BasePlugin):
    """Reads the key of every call."""

    async def before_tool_callback(self, **given: Any) -> None:
        read_key(**given)

    after_tool_callback = before_tool_callback


@pytest.mark.long
@pytest.mark.parametrize(
    ("tool", "options"),
    [
        (FunctionTool(pay, check=check_nothing), {}),
        *(
            pytest.param(tool, options, marks=pytest.mark.long)
            for tool, options in (
                (FunctionTool(pay, require_confirmation=need_nothing, in_doubt="rerun"), {}),
                (pay, {"before_tool_callback": read_key}),
                (pay, {"after_tool_callback": read_key}),
                (pay, {"plugins": [KeyLog(name="keys")]}),
            )
        ),
    ],
)
def test_a_key_that_only_other_code_reads_mends_nothing(tool: Any, options: Any) -> None:
    plugins = options.pop("plugins", [])
    agent = LlmAgent(name="shop", tools=[tool], **options)
    app = App(name="shop", root_agent=agent, plugins=plugins)
    report = crash_everywhere(app, scenario(call("pay", amount=3)), kills=False)
    assert kinds(report) == [("repeated", "pay")]
    assert report.tools["pay"].keyed == 0


@pytest.mark.long
def test_a_key_that_code_called_by_the_body_reads_counts() -> None:
    async def pay_through_helper(amount: int, tool_context: ToolContext) -> str:
        """Pay."""
        return await asyncio.to_thread(lambda: tool_context.idempotency_key[:0])

    class Payment(BaseTool):
        def _get_declaration(self) -> types.FunctionDeclaration:
            return types.FunctionDeclaration(name=self.name, description=self.description)

        async def run_async(self, *, args: Any, tool_context: ToolContext) -> str:
            return tool_context.idempotency_key[:0]

    for tool in (FunctionTool(pay_through_helper), Payment(name="pay", description="Pay.")):
        report = crash_everywhere(shop(tool), scenario(call(tool.name, amount=3)), kills=False)
        assert kinds(report) == []
        assert report.tools[tool.name].keyed > 0


@pytest.mark.long
@pytest.mark.parametrize("kills", [True, False])
@pytest.mark.parametrize(
    "tool",
    [
        pay_with_key,
        FunctionTool(pay, in_doubt="at_most_once"),
        FunctionTool(pay, in_doubt="ask"),
        FunctionTool(pay_into_file, check=find_payment),
    ],
)
def test_what_mends_it_leaves_nothing_to_mend(kills: bool, tool: Any) -> None:
    name = getattr(tool, "name", "pay_with_key")
    report = crash_everywhere(shop(tool), scenario(call(name, amount=3)), kills=kills)
    assert kinds(report) == []
    assert report.tools[name].unkeyed == 0
    assert report.to_json()["ok"]


@pytest.mark.long
def test_a_check_that_finds_what_did_not_happen_is_named() -> None:
    hopeful = FunctionTool(pay, check=lambda args, tool_context: {"paid": 3})
    report = crash_everywhere(shop(hopeful), scenario(call("pay", amount=3)), kills=False)
    assert kinds(report) == [("lost", "pay")]
    assert "let check= of pay return None" in report.findings[0].remedy
    assert report.findings[0].points[0] == "after append (shop: call of pay)"


INVOICES = tempfile.TemporaryDirectory()


def pay_invoice(invoice: str) -> str:
    """Pay an invoice at a bank that knows no keys."""
    (Path(INVOICES.name) / invoice).write_text("paid")
    return "ok"


def find_invoice(args: dict[str, Any], tool_context: ToolContext) -> str | None:
    return "ok" if (Path(INVOICES.name) / args["invoice"]).exists() else None


def test_a_check_that_finds_the_effect_of_an_earlier_run_is_told() -> None:
    tool, plan = (
        FunctionTool(pay_invoice, check=find_invoice),
        scenario(call("pay_invoice", invoice="A-1")),
    )
    report = crash_everywhere(shop(tool), plan, kills=False)
    assert kinds(report) == [("lost", "pay_invoice")]
    assert (
        "found an effect, though pay_invoice had not begun in this run" in report.findings[0].text
    )
    assert "lives on between runs" in report.findings[0].remedy
    assert "reset=" in report.findings[0].remedy

    def forget() -> None:
        (Path(INVOICES.name) / "A-1").unlink(missing_ok=True)

    report = crash_everywhere(shop(tool), plan, kills=False, reset=forget)
    assert kinds(report) == []


def test_a_check_that_raises_is_told() -> None:
    def ask_bank(args: dict[str, Any], tool_context: ToolContext) -> None:
        raise ValueError("no such invoice")

    tool = FunctionTool(pay, check=ask_bank)
    report = crash_everywhere(shop(tool), scenario(call("pay", amount=3)), kills=False)
    assert kinds(report) == [("check", "pay")]
    assert "check= of pay raised" in report.findings[0].text
    assert "ValueError: no such invoice" in report.findings[0].text
    assert report.findings[0].remedy.startswith("mend check= of pay: it returns None if")


@pytest.mark.long
def test_a_check_that_finds_nothing_is_named() -> None:
    blind = FunctionTool(pay, check=lambda args, tool_context: None)
    report = crash_everywhere(shop(blind), scenario(call("pay", amount=3)))
    assert kinds(report) == [("repeated", "pay")]
    assert "check=" in report.findings[0].remedy


@pytest.mark.long
def test_a_global_is_found() -> None:
    turns = scenario(call("add_item", item="a"), call("add_item", item="b"))
    report = crash_everywhere(shop(add_item), {**turns, "repeatable": ["add_item"]})
    assert kinds(report) == [("global", "add_item")]
    assert "'BASKET'" in report.findings[0].text
    assert "tool_context.state['basket']" in report.findings[0].remedy
    assert BASKET == []


class Till:
    count = 0


def count_in_class(n: int, tool_context: ToolContext) -> str:
    """Count."""
    Till.count += n
    return tool_context.idempotency_key[:0]


def count_in_function(n: int, tool_context: ToolContext) -> str:
    """Count."""
    vars(count_in_function)["seen"] = vars(count_in_function).get("seen", 0) + n
    return tool_context.idempotency_key[:0]


@functools.lru_cache
def pay_once(n: int) -> int:
    """Pay, and remember it."""
    return n


def pay_by_cache(n: int, tool_context: ToolContext) -> str:
    """Pay."""
    pay_once(n)
    return tool_context.idempotency_key[:0]


def count_in_environment(n: int, tool_context: ToolContext) -> str:
    """Count."""
    os.environ["OSTINATO_COUNT"] = str(int(os.environ.get("OSTINATO_COUNT", "0")) + n)
    return tool_context.idempotency_key[:0]


def count_in_default(n: int, tool_context: ToolContext, seen: list[int] = []) -> str:  # noqa: B006
    """Count."""
    seen.append(n)
    return tool_context.idempotency_key[:0]


def make_counter() -> Callable[..., str]:
    count = [0]

    def count_in_closure(n: int, tool_context: ToolContext) -> str:
        """Count."""
        count[0] += n
        return tool_context.idempotency_key[:0]

    return count_in_closure


@pytest.mark.parametrize(
    ("tool", "what", "remedy"),
    [
        (count_in_class, "'Till.count' of its module", "tool_context.state['till.count'] = ..."),
        (count_in_function, "'count_in_function.seen' of its module", "tool_context.state["),
        (pay_by_cache, "the cache of 'pay_once' of its module", "without a cache"),
        (count_in_environment, "os.environ['OSTINATO_COUNT']", "tool_context.state["),
        (count_in_default, "the default of its parameter 'seen'", "tool_context.state['seen']"),
        (make_counter(), "'count' of its closure", "tool_context.state['count'] = ..."),
    ],
)
def test_what_outlives_a_call_in_a_process_is_found(
    tool: Any, what: str, remedy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OSTINATO_COUNT", "0")
    report = crash_everywhere(
        shop(tool), scenario(call(tool.__name__, n=1)), kills=False, max_points=1
    )
    assert kinds(report) == [("global", tool.__name__)]
    expected = f"{tool.__name__} changes {what}, which another process does not have"
    assert report.findings[0].text == expected
    assert remedy in report.findings[0].remedy


def use_warm_cache(n: int, tool_context: ToolContext) -> str:
    """Read a class, a function and a cache that hold what they did."""
    home = os.environ.get("HOME", "")[:0]
    return f"{Till.count}{pay_once(0)}{home}{tool_context.idempotency_key[:0]}"


def test_what_only_is_read_is_no_finding() -> None:
    pay_once(0)
    report = crash_everywhere(
        shop(use_warm_cache), scenario(call("use_warm_cache", n=1)), kills=False, max_points=1
    )
    assert kinds(report) == []


LOG = logging.getLogger(__name__)
CLIENT = httpx.Client(transport=httpx.MockTransport(lambda request: httpx.Response(200)))
ASYNC_LOCK, LOCK = asyncio.Lock(), threading.Lock()
COUNTER = contextvars.ContextVar("COUNTER", default=0)
made_client: Any = None


def help_out(n: int) -> str:
    """Help."""
    return "helped"


HELPER = FunctionTool(help_out)


async def use_packages(n: int, tool_context: ToolContext) -> str:
    """Use objects of other packages that fill their own caches."""
    global made_client
    LOG.info("paying %s", n)
    CLIENT.post("http://bank/pay")  # noqa: ASYNC212 - it sends nothing
    made_client = made_client or httpx.Client()
    COUNTER.set(n)
    async with ASYNC_LOCK:
        with LOCK:
            await HELPER.run_async(args={"n": n}, tool_context=tool_context)
    return HELPER.name[:0] + tool_context.idempotency_key[:0]


def test_objects_of_other_packages_are_no_finding() -> None:
    report = crash_everywhere(
        shop(use_packages), scenario(call("use_packages", n=1)), kills=False, max_points=1
    )
    assert kinds(report) == []


class Stock:
    def __init__(self) -> None:
        self.sold = 0


class Slotted:
    __slots__ = ("sold",)

    def __init__(self) -> None:
        self.sold = 0


class OwnClient(httpx.Client):
    sold = 0


@dataclasses.dataclass
class Sales:
    counts: dict[str, Stock] = dataclasses.field(default_factory=dict[str, Stock])


STOCK, SLOTTED, OWN_CLIENT = Stock(), Slotted(), OwnClient()
SALES = Sales({"it": Stock()})
COUNTS: Counter[str] = Counter()
CLIENTS: dict[str, httpx.Client] = {}
REBOUND = 0


def count_in_object(n: int, tool_context: ToolContext) -> str:
    """Count."""
    STOCK.sold += n
    return tool_context.idempotency_key[:0]


def count_in_slot(n: int, tool_context: ToolContext) -> str:
    """Count."""
    SLOTTED.sold += n
    return tool_context.idempotency_key[:0]


def count_in_own_client(n: int, tool_context: ToolContext) -> str:
    """Count."""
    OWN_CLIENT.sold += n
    return tool_context.idempotency_key[:0]


def count_deep_inside(n: int, tool_context: ToolContext) -> str:
    """Count."""
    SALES.counts["it"].sold += n
    return tool_context.idempotency_key[:0]


def count_in_counter(n: int, tool_context: ToolContext) -> str:
    """Count."""
    COUNTS["it"] += n
    return tool_context.idempotency_key[:0]


def keep_client(n: int, tool_context: ToolContext) -> str:
    """Keep a client in a dict."""
    CLIENTS[str(n)] = CLIENT
    return tool_context.idempotency_key[:0]


def rebind(n: int, tool_context: ToolContext) -> str:
    """Rebind."""
    global REBOUND
    REBOUND += n
    return tool_context.idempotency_key[:0]


@pytest.mark.parametrize(
    ("tool", "name"),
    [
        (count_in_object, "STOCK"),
        (count_in_slot, "SLOTTED"),
        (count_in_own_client, "OWN_CLIENT"),
        (count_deep_inside, "SALES"),
        (count_in_counter, "COUNTS"),
        (keep_client, "CLIENTS"),
        (rebind, "REBOUND"),
    ],
)
def test_data_of_the_own_modules_is_found(tool: Any, name: str) -> None:
    report = crash_everywhere(
        shop(tool), scenario(call(tool.__name__, n=1)), kills=False, max_points=1
    )
    assert kinds(report) == [("global", tool.__name__)]
    assert f"{name!r} of its module" in report.findings[0].text


class Measured(BaseTool):
    """A tool around another one."""

    def __init__(self, inner: FunctionTool) -> None:
        super().__init__(name=inner.name, description=inner.description)
        self.inner = inner

    def _get_declaration(self) -> types.FunctionDeclaration | None:
        return self.inner._get_declaration()

    async def run_async(self, *, args: dict[str, Any], tool_context: ToolContext) -> Any:
        return await self.inner.run_async(args=args, tool_context=tool_context)


class MeasuredFunction(FunctionTool):
    async def run_async(self, *, args: dict[str, Any], tool_context: ToolContext) -> Any:
        return await super().run_async(args=args, tool_context=tool_context)


async def pay_by_other_tool(amount: int, tool_context: ToolContext) -> Any:
    """Pay."""
    return await FunctionTool(pay).run_async(args={"amount": amount}, tool_context=tool_context)


def make_asking(tool: Any) -> Any:
    tool.in_doubt = "ask"
    return tool


@pytest.mark.long
@pytest.mark.parametrize(
    ("tool", "keyed"),
    [
        (Measured(FunctionTool(pay_with_key)), 2),
        (MeasuredFunction(pay_with_key), 2),
        (make_asking(Measured(FunctionTool(pay))), 0),
        (FunctionTool(pay_by_other_tool, in_doubt="ask"), 0),
    ],
)
def test_a_tool_in_the_body_of_another_one_is_part_of_its_call(tool: Any, keyed: int) -> None:
    report = crash_everywhere(shop(tool), scenario(call(tool.name, amount=3)), kills=False)
    assert kinds(report) == []
    assert [*report.tools] == [tool.name]
    found = report.tools[tool.name]
    assert (found.effects, found.keyed, found.unkeyed, found.asked) == (1, keyed, 0, 0)


@pytest.mark.long
@pytest.mark.parametrize("tool", [Measured(FunctionTool(pay)), FunctionTool(pay_by_other_tool)])
def test_a_call_whose_inner_tool_has_no_key_is_found(tool: Any) -> None:
    report = crash_everywhere(shop(tool), scenario(call(tool.name, amount=3)), kills=False)
    assert kinds(report) == [("repeated", tool.name)]
    assert f"{tool.name} calls pay in its body" in report.notes[0]


@pytest.mark.long
def test_state_outside_of_the_delta_is_found() -> None:
    turns = scenario(call("choose", room="Blue"), call("show_room"))
    report = crash_everywhere(
        shop(choose, show_room), {**turns, "repeatable": ["choose", "show_room"]}
    )
    assert kinds(report) == [("state", "choose")]
    assert "tool_context.state['room'] = ..." in report.findings[0].remedy


@pytest.mark.long
def test_own_threads_and_processes_are_not_covered() -> None:
    turns = scenario(call("start_work"), repeatable=["start_work"])
    report = crash_everywhere(shop(start_work), turns, max_points=2)
    assert report.notes[:2] == [
        "start_work starts a thread: what that does after a death is not covered",
        "start_work starts a process: what that does after a death is not covered",
    ]
    assert "only 2 of" in report.notes[2]


POOL = concurrent.futures.ThreadPoolExecutor(1)


def run_system() -> None:
    os.system("true")


def run_spawn() -> None:
    os.waitpid(os.posix_spawn("/bin/true", ["true"], {}), 0)


def run_fork() -> None:
    pid = os.fork()
    if not pid:
        os._exit(0)
    os.waitpid(pid, 0)


def run_fork_with_threads() -> None:
    """Fork as in a program whose libraries start their threads anew in each child."""
    pid = os.fork()
    if not pid:
        try:
            run_thread()
        finally:
            os._exit(0)
    os.waitpid(pid, 0)


def run_pty() -> None:
    pid, terminal = pty.fork()
    if not pid:
        os._exit(0)
    os.waitpid(pid, 0)
    os.close(terminal)


def run_thread() -> None:
    thread = threading.Thread(target=lambda: None)
    thread.start()
    thread.join()


def run_raw_thread() -> None:
    _thread.start_new_thread(lambda: None, ())


def run_pool() -> None:
    POOL.submit(lambda: None).result()


async def run_executor() -> None:
    asyncio.get_running_loop().run_in_executor(None, lambda: None)


async def await_thread() -> None:
    await asyncio.to_thread(lambda: None)


def run_nothing() -> None: ...


@pytest.mark.parametrize(
    ("work", "what"),
    [
        (run_system, "a process"),
        pytest.param(run_spawn, "a process", marks=pytest.mark.long),
        pytest.param(run_fork, "a process", marks=pytest.mark.long),
        pytest.param(run_fork_with_threads, "a process", marks=pytest.mark.long),
        pytest.param(run_pty, "a process", marks=pytest.mark.long),
        (run_thread, "a thread"),
        pytest.param(run_raw_thread, "a thread", marks=pytest.mark.long),
        (run_pool, "a thread"),
        pytest.param(run_executor, "a thread", marks=pytest.mark.long),
        pytest.param(await_thread, "", marks=pytest.mark.long),
        (run_nothing, ""),
    ],
)
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_what_a_tool_starts_is_noted(work: Any, what: str) -> None:
    async def start(tool_context: ToolContext) -> str:
        """Start."""
        found = work()
        if found is not None:
            await found
        return tool_context.idempotency_key[:0]

    def start_in_thread(tool_context: ToolContext) -> str:
        """Start."""
        work()
        return tool_context.idempotency_key[:0]

    for tool in (start,) if inspect.iscoroutinefunction(work) else (start, start_in_thread):
        turns = scenario(call(tool.__name__))
        report = crash_everywhere(shop(tool), turns, kills=False, max_points=1)
        noted = [note for note in report.notes if "starts" in note]
        expected = f"{tool.__name__} starts {what}: what that does after a death is not covered"
        assert noted == ([expected] if what else [])


def test_a_scenario_that_is_not_deterministic() -> None:
    with pytest.raises(ScenarioError, match=r"first|event 3 is .*'number': [0-9]+.*and was"):
        crash_everywhere(shop(draw), scenario(call("draw")), kills=False)


def test_a_question_of_an_mcp_server_is_deterministic() -> None:
    steps = ["Go.", {"answer": {"tool": "order", "response": {"size": 42}}}]
    hints = mcp_types.ToolAnnotations(idempotent_hint=True)
    agent = LlmAgent(name="shop", tools=[Shop(hints=hints).toolset()])
    asked = scenario(call("order"), steps=steps)
    report = crash_everywhere(agent, asked, kills=False, max_points=6)
    assert (kinds(report), report.tools["order"].effects) == ([], 1)


def test_a_scenario_that_fails_by_itself() -> None:
    with pytest.raises(ScenarioError, match="1 replies of agent 'shop', and one more was asked"):
        crash_everywhere(
            shop(pay), {"steps": ["Go."], "model": [call("pay", amount=1)]}, kills=False
        )
    with pytest.raises(ScenarioError, match="wants to approve a call of 'pay'; these wait: none"):
        crash_everywhere(
            shop(pay), {"steps": ["Go.", {"approve": "pay"}], "model": ["Hi."]}, kills=False
        )


def test_an_approval_that_no_person_sees_is_explained() -> None:
    asking = LlmAgent(name="payer", tools=[FunctionTool(pay, require_confirmation=True)])
    turns = {
        "steps": ["Go.", {"approve": "pay"}],
        "model": {
            "shop": [call("payer", request="Pay."), "Done."],
            "payer": [call("pay", amount=1)],
        },
    }
    hidden = r"these wait: none\. 'pay' is a tool of agent 'payer', which is called as a tool"
    with pytest.raises(ScenarioError, match=hidden):
        crash_everywhere(shop(AgentTool(asking)), turns, kills=False)


def decline(amount: int, tool_context: ToolContext) -> str:
    """Decline."""
    raise ValueError(f"declined {tool_context.idempotency_key[:0]}{amount}")


async def stream(amount: int) -> AsyncGenerator[str]:
    """Stream."""
    yield "one"


def fail_in_callback(tool: BaseTool, args: Any, tool_context: ToolContext) -> None:
    raise KeyError("no such account")


@pytest.mark.parametrize(
    ("tool", "options", "error"),
    [
        (decline, {}, "fails by itself: tool 'decline' raised ValueError: declined 3"),
        (stream, {}, r"fails by itself: tool 'stream' raised .*Runner.run_live"),
        (pay, {"before_tool_callback": fail_in_callback}, "fails by itself: .*no such account"),
    ],
)
def test_a_run_that_raises_undisturbed_is_no_finding(tool: Any, options: Any, error: str) -> None:
    agent = LlmAgent(name="shop", tools=[tool], **options)
    with pytest.raises(ScenarioError, match=error):
        crash_everywhere(agent, scenario(call(tool.__name__, amount=3)), kills=False)


@pytest.mark.long
def test_an_error_that_a_callback_answers_fails_nothing() -> None:
    def answer(**given: Any) -> dict[str, str]:
        return {"error": str(given["error"])}

    agent = LlmAgent(name="shop", tools=[decline], on_tool_error_callback=answer)
    report = crash_everywhere(agent, scenario(call("decline", amount=3)), kills=False)
    assert kinds(report) == []


@pytest.mark.parametrize(
    ("data", "error"),
    [
        (
            {"steps": ["Go."], "model": [call("pai", amount=1), "Done."]},
            "agent 'shop' calls 'pai', which is no tool of it; did you mean 'pay'",
        ),
        (
            {"steps": ["Go."], "model": [call("zzz"), "Done."]},
            "calls 'zzz', which is no tool of it; it has: pay, pay_with_key",
        ),
        (
            {"steps": ["Go."], "model": ["Hi.", "Done.", "More."]},
            "reply 2 of agent 'shop' is never used",
        ),
        (
            {"steps": ["Go."], "model": {"shop": ["Hi."], "shp": ["Hi."]}},
            "agent 'shp' never asks its model; did you mean 'shop'",
        ),
        (
            {"steps": ["Go."], "model": ["Hi."], "repeatable": ["pai"]},
            "`repeatable` names 'pai', which is no tool; did you mean 'pay'",
        ),
    ],
)
def test_a_misspelt_scenario_proves_nothing(data: Any, error: str) -> None:
    with pytest.raises(ScenarioError, match=error):
        crash_everywhere(shop(pay, pay_with_key), data, kills=False)


@pytest.mark.long
def test_tools_that_are_not_reached_may_be_repeatable() -> None:
    clerk = LlmAgent(name="clerk", description="Pays.", tools=[pay_with_key])
    agent = LlmAgent(name="shop", tools=[pay], sub_agents=[clerk])
    data = {"steps": ["Go."], "model": ["Hi."], "repeatable": ["pay", "pay_with_key"]}
    report = crash_everywhere(agent, data, kills=False, max_points=1)
    assert report.ok
    assert "No tool ran, so nothing is shown about effects." in str(report)
    assert "Nothing has to be mended" not in str(report)


@pytest.mark.long
async def test_recorded_models_apps_and_a_running_loop(tmp_path: Path) -> None:
    said = tmp_path / "said"

    def reply(request: Any) -> Any:
        with said.open("a") as file:
            file.write("x")
        return "Hello."

    agent = LlmAgent(name="greeter", model=FunctionModel(reply))
    report = crash_everywhere(App(name="greetings", root_agent=agent), {"steps": ["Hi.", "Hi."]})
    assert kinds(report) == []
    assert said.read_text() == "xx"  # once for each reply: then they are replayed


@pytest.mark.long
def test_an_agent_that_runs_as_a_tool_waits_for_no_lease() -> None:
    clerk = LlmAgent(name="clerk", description="Pays.", tools=[pay_with_key])
    model = {
        "shop": [call("clerk", request="Pay."), "Done."],
        "clerk": [call("pay_with_key", amount=3), "Paid."],
    }
    report = crash_everywhere(
        shop(AgentTool(clerk)), {"steps": ["Go."], "model": model}, kills=False, max_points=5
    )
    assert kinds(report) == []
    assert report.seconds < 10  # the length of one lease


@pytest.mark.long
def test_the_fixture_fails_a_test(crash_everywhere: Callable[..., CrashReport]) -> None:
    with pytest.raises(AssertionError, match="pay would have acted twice"):
        crash_everywhere(shop(pay), scenario(call("pay", amount=3)))
    report = crash_everywhere(
        shop(pay), scenario(call("pay", amount=3), repeatable=["pay"]), max_points=3
    )
    assert report.kills == 3


def test_arguments_are_checked() -> None:
    with pytest.raises(InputValidationError, match="max_points"):
        crash_everywhere(shop(pay), scenario(), max_points=0)


def test_scenarios_are_read(tmp_path: Path) -> None:
    (tmp_path / "pay.json").write_text(
        '{"steps": ["Go.", {"approve": "pay"}, {"answer": {"tool": "ask", "response": {"a": 1}}}],'
        ' "model": {"shop": ["Hi.", [{"call": "pay", "args": {"amount": 1}}, "text"]]}}'
    )
    found = Scenario.read(tmp_path / "pay.json")
    assert found.name == "pay"
    assert found.steps == [
        Step("say", "Go."),
        Step("approve", "pay"),
        Step("answer", "ask", {"a": 1}),
    ]
    assert len(found.model["shop"]) == 2
    (tmp_path / "pay.yaml").write_text("steps:\n- Go.\nmodel:\n- call: pay\n- Done.\n")
    assert [step.text for step in Scenario.read(str(tmp_path / "pay.yaml")).steps] == ["Go."]
    assert Scenario.read(found) is found


@pytest.mark.parametrize(
    ("data", "error"),
    [
        ({"steps": []}, "`steps` is empty"),
        ({"steps": "Go."}, "`steps` has to be a list"),
        ({"steps": ["Go."], "models": []}, "'models' is no field"),
        ({"steps": [{"shout": "Go."}]}, r"steps\[0\] is no step"),
        ({"steps": ["Go."], "model": [{"call": 3}]}, r"model \[0\] is no reply"),
        ({"steps": ["Go."], "model": 3}, "`model` is a list"),
        ({"steps": ["Go."], "model": []}, "`model` has no replies"),
        ({"steps": ["Go."], "model": {}}, "`model` has no replies"),
        ({"steps": ["Go."], "model": {"shop": []}}, "model shop has no replies"),
        ({"steps": ["Go."], "model": {"shop": "Hi."}}, "model shop is no list of replies"),
    ],
)
def test_a_wrong_scenario_names_its_field(data: Any, error: str) -> None:
    with pytest.raises(InputValidationError, match=error):
        Scenario.read(data)


@pytest.mark.parametrize("reads_first", [True, False])
def test_a_body_that_reads_no_key_is_found_though_another_one_of_the_call_reads_it(
    reads_first: bool,
) -> None:
    seen: set[str] = set()

    def pay_sometimes_by_key(amount: int, tool_context: ToolContext) -> dict[str, Any]:
        """Pay."""
        call_id = str(tool_context.function_call_id)
        key = tool_context.idempotency_key if (call_id not in seen) is reads_first else None
        seen.add(call_id)
        return {"paid": amount, "by_key": bool(key)}

    plan = scenario(call("pay_sometimes_by_key", amount=3))
    report = crash_everywhere(shop(pay_sometimes_by_key), plan, kills=False, reset=seen.clear)
    assert ("repeated", "pay_sometimes_by_key") in kinds(report)
