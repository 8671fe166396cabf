"""Trees and graphs of agents that ask people, for simulations: each with tasks, single-turn agents
or approvals in another place."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from typing import Any

from ostinato import App, Context, types
from ostinato.agents import LlmAgent, ParallelAgent, SequentialAgent
from ostinato.apps import ResumabilityConfig
from ostinato.events.request_input import RequestInput
from ostinato.models.base_llm import BaseLlm
from ostinato.models.llm_response import LlmResponse
from ostinato.tools import FunctionTool, ToolContext
from ostinato.workflow import START, FunctionNode, JoinNode, RetryConfig, Workflow, node

Step = tuple[str, dict[str, Any]]


class Planned(BaseLlm):
    """Calls the tools of its plan once after each message of the user, then says `done`.

    Attributes:
      plan: the calls of each of its responses.
    """

    model: str = "planned"
    plan: Sequence[Sequence[Step]] = ()

    async def generate_content_async(
        self, llm_request: Any, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        """Answer with the first calls of the plan that have no response yet."""
        heard = count_responses(llm_request.contents)
        for calls in self.plan:
            if heard <= 0:
                parts = [types.Part.from_function_call(name=n, args=a) for n, a in calls]
                yield LlmResponse(content=types.Content(role="model", parts=parts))
                return
            heard -= len(calls)
        parts = [types.Part(text="done")]
        yield LlmResponse(content=types.Content(role="model", parts=parts))


def count_responses(contents: Sequence[types.Content]) -> int:
    """Return how many responses came since the user's last words."""
    count = 0
    for content in reversed(contents):
        texts = [part.text for part in content.parts or () if part.text]
        if content.role == "user" and texts and not texts[0].startswith("For context"):
            break
        count += sum(part.function_response is not None for part in content.parts or ())
    return count


def pay(amount: int, tool_context: ToolContext) -> dict[str, Any]:
    """Pay an amount."""
    return {"paid": amount, "key": tool_context.idempotency_key}


def payment() -> FunctionTool:
    return FunctionTool(pay, require_confirmation=True)


def amount(node_input: Any) -> dict[str, Any]:
    return {"amount": 5}


def ask(node_input: Any) -> RequestInput:
    return RequestInput(message="Is it right?")


def note(node_input: Any) -> str:
    return f"noted {node_input!r}"


def agent(name: str, *plan: Sequence[Step], **fields: Any) -> LlmAgent:
    return LlmAgent(name=name, description="It works.", model=Planned(plan=plan), **fields)


def task(name: str = "clerk") -> LlmAgent:
    plan = [("pay", {"amount": 1})], [("finish_task", {"result": "r"})]
    return agent(name, *plan, mode="task", tools=[payment()])


def single(name: str = "check") -> LlmAgent:
    return agent(name, [("pay", {"amount": 2})], mode="single_turn", tools=[payment()])


TASK: Step = ("clerk", {"request": "x"})
SINGLE: Step = ("check", {"request": "y"})
PAY: Step = ("pay", {"amount": 9})


def a_task() -> LlmAgent:
    return agent("root", [TASK], sub_agents=[task()])


def a_single_turn_beside_a_payment() -> LlmAgent:
    return agent("root", [SINGLE, PAY], tools=[payment()], sub_agents=[single()])


def all_three() -> LlmAgent:
    calls = [TASK, SINGLE, PAY]
    return agent("root", calls, tools=[payment()], sub_agents=[single(), task()])


def payments_in_parallel() -> ParallelAgent:
    wings = [agent(f"wing{n}", [PAY], tools=[payment()], output_key=f"k{n}") for n in range(3)]
    return ParallelAgent(name="root", sub_agents=[*wings])


def payments_in_sequence() -> SequentialAgent:
    steps = [agent(f"step{n}", [PAY], tools=[payment()], output_key=f"k{n}") for n in range(2)]
    return SequentialAgent(name="root", sub_agents=[*steps])


def a_task_in_a_graph() -> Workflow:
    return Workflow(name="root", edges=[(START, note, task(), ask)])


def agents_and_a_question_in_a_graph() -> Workflow:
    return Workflow(name="root", edges=[(START, note, single("s1"), ask, single("s2"), amount)])


def a_graph_in_a_sequence() -> SequentialAgent:
    flow: Any = Workflow(name="flow", edges=[(START, ask, amount, payment(), note)])
    return SequentialAgent(name="root", sub_agents=[flow, agent("a2", [PAY], tools=[payment()])])


def a_graph_in_a_graph() -> Workflow:
    inner = Workflow(name="inner", edges=[(START, ask, amount, payment())])
    return Workflow(name="root", edges=[(START, note, inner, single("s1"), amount)])


def three_that_ask_side_by_side() -> Workflow:
    join = JoinNode(name="join")
    lines = [(START, amount, payment(), join), (START, single(), join), (START, task(), join)]
    return Workflow(name="root", edges=[*lines, (join, note)])


def a_task_that_calls_agents() -> LlmAgent:
    plan = [SINGLE, TASK], [("finish_task", {"result": "r"})]
    boss = agent("boss", *plan, mode="task", sub_agents=[single(), task()])
    return agent("root", [("boss", {"request": "z"})], sub_agents=[boss])


def _callers() -> list[LlmAgent]:
    calls = [("check2", {"request": "y"})]
    first = agent("first", [TASK, TASK], sub_agents=[task()])
    return [first, agent("second", calls, sub_agents=[single("check2")])]


def callers_in_sequence() -> SequentialAgent:
    return SequentialAgent(name="root", sub_agents=[*_callers()])


def callers_in_parallel() -> ParallelAgent:
    third = agent("third", [PAY], tools=[payment()])
    return ParallelAgent(name="root", sub_agents=[*_callers(), third])


def an_agent_that_calls_agents_in_a_graph() -> Workflow:
    below: dict[str, Any] = {"tools": [payment()], "sub_agents": [single(), task()]}
    boss = agent("boss", [SINGLE, TASK, PAY], mode="single_turn", **below)
    return Workflow(name="root", edges=[(START, boss, note)])


def nodes_run_by_code() -> Workflow:
    one: Any = single("one")
    pays: Any = payment()

    async def run_both(ctx: Context, node_input: Any) -> Any:
        await ctx.run_node(one, "x")
        return await ctx.run_node(pays, {"amount": 4})

    code = FunctionNode(func=run_both, name="code", rerun_on_resume=True)
    return Workflow(name="root", edges=[(START, code, note)])


def a_graph_that_is_retried() -> Workflow:
    retry = RetryConfig(max_attempts=2, initial_delay=0.1)
    inner = Workflow(name="inner", edges=[(START, single("one"), note), (START, ask)])
    line = (START, node(inner, retry_config=retry, timeout=30.0), note)
    return Workflow(name="root", edges=[line])


def a_graph_in_a_sequence_beside_an_agent() -> ParallelAgent:
    inner: Any = Workflow(name="inner", edges=[(START, task(), note)])
    caller = agent("caller", [SINGLE], sub_agents=[single()])
    steps = SequentialAgent(name="steps", sub_agents=[inner, caller])
    payer = agent("payer", [PAY], tools=[payment()])
    return ParallelAgent(name="root", sub_agents=[steps, payer])


SHAPES = (
    a_task,
    a_single_turn_beside_a_payment,
    all_three,
    payments_in_parallel,
    payments_in_sequence,
    a_task_in_a_graph,
    agents_and_a_question_in_a_graph,
    a_graph_in_a_sequence,
    a_graph_in_a_graph,
    three_that_ask_side_by_side,
    a_task_that_calls_agents,
    callers_in_sequence,
    callers_in_parallel,
    an_agent_that_calls_agents_in_a_graph,
    nodes_run_by_code,
    a_graph_that_is_retried,
    a_graph_in_a_sequence_beside_an_agent,
)


def make_app(make: Any, *, resumable: bool = False) -> App:
    config = ResumabilityConfig(is_resumable=resumable)
    return App(name="shapes", root_agent=make(), resumability_config=config)
