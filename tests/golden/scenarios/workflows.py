"""Workflows: graphs of functions, tools and agents; routes, loops, joins, people, dynamic nodes."""

import json
from typing import Any

from ..kit import Kit
from ..registry import scenario


def gives(kit: Kit, name: str, output: Any = None, route: Any = None, **options: Any) -> Any:
    """A node that gives its name, or `output`, and maybe a route."""

    def give(node_input: Any) -> Any:
        value = name if output is None else output
        return value if route is None else kit.Event(output=value, route=route)

    return kit.FunctionNode(func=give, name=name, **options)


def notes(kit: Kit, name: str, **options: Any) -> Any:
    """A node that notes what it got, and gives its name."""

    def see(node_input: Any) -> str:
        kit.note(name, json.loads(json.dumps(node_input, sort_keys=True)))
        return name

    return kit.FunctionNode(func=see, name=name, **options)


def asks(kit: Kit, name: str, **request: Any) -> Any:
    async def ask(node_input: Any) -> Any:
        yield kit.RequestInput(**request)

    return kit.FunctionNode(func=ask, name=name)


def flow(kit: Kit, *edges: Any, **options: Any) -> Any:
    return kit.Workflow(name="flow", edges=list(edges), **options)


def answer(kit: Kit, call_id: str, response: dict[str, Any]) -> Any:
    types = kit.types
    return types.Part(
        function_response=types.FunctionResponse(
            name="adk_request_input", id=call_id, response=response
        )
    )


@scenario(217, 218)
async def wf_sequence(kit: Kit) -> None:
    talk = await kit.open(flow(kit, (kit.START, gives(kit, "a"), notes(kit, "b"), notes(kit, "c"))))
    await talk.say("Go")
    await talk.say("Again")


@scenario(217)
async def wf_text_of_message(kit: Kit) -> None:
    def first(node_input: str) -> str:
        return node_input.upper()

    talk = await kit.open(flow(kit, (kit.START, first, notes(kit, "b"))))
    await talk.say("hello")


@scenario(217)
async def wf_state_parameters(kit: Kit) -> None:
    def first(node_input: Any, ctx: Any) -> dict[str, Any]:
        ctx.state["name"] = "Ann"
        return {"k": 1}

    def second(name: str, count: int, missing: str = "none") -> list[Any]:
        return [name, count, missing]

    talk = await kit.open(flow(kit, (kit.START, first, second)), state={"count": "7"})
    await talk.say("Go")


@scenario(217)
async def wf_input_parameters(kit: Kit) -> None:
    def add(a: int, b: int = 5) -> int:
        return a + b

    node = kit.FunctionNode(func=add, parameter_binding="node_input")
    talk = await kit.open(flow(kit, (kit.START, gives(kit, "first", {"a": "4"}), node)))
    await talk.say("Go")


@scenario(217)
async def wf_fan_out_and_join(kit: Kit) -> None:
    wings = (gives(kit, "a", 1), gives(kit, "b", 2))
    join = kit.JoinNode(name="join")
    talk = await kit.open(flow(kit, (kit.START, wings, join, notes(kit, "z"))))
    await talk.say("Go")


@scenario(217)
async def wf_nested_fans(kit: Kit) -> None:
    a, b, c, d = (gives(kit, name) for name in "abcd")
    inner, outer = kit.JoinNode(name="inner"), kit.JoinNode(name="outer")
    talk = await kit.open(
        flow(
            kit,
            (kit.START, (a, b)),
            (a, (c, d), inner),
            (inner, outer),
            (b, outer),
            (outer, notes(kit, "z")),
        )
    )
    await talk.say("Go")


@scenario(217)
async def wf_join_of_silent_node(kit: Kit) -> None:
    def silent(node_input: Any) -> None:
        return None

    join = kit.JoinNode(name="join")
    talk = await kit.open(flow(kit, (kit.START, (silent, gives(kit, "b")), join, notes(kit, "z"))))
    await talk.say("Go")


@scenario(217)
async def wf_several_ways_without_join(kit: Kit) -> None:
    last = kit.FunctionNode(func=lambda node_input: f"last of {node_input}", name="last")
    talk = await kit.open(flow(kit, (kit.START, (gives(kit, "a"), gives(kit, "b")), last)))
    await talk.say("Go")


async def _routed(kit: Kit, route: Any, ways: dict[Any, Any]) -> None:
    first = gives(kit, "first", "value", route)
    talk = await kit.open(flow(kit, (kit.START, first), (first, ways)))
    await talk.say("Go")


@scenario(217)
async def wf_route_text(kit: Kit) -> None:
    await _routed(kit, "b", {"a": notes(kit, "a"), "b": notes(kit, "b")})


@scenario(217)
async def wf_route_number(kit: Kit) -> None:
    await _routed(kit, 2, {1: notes(kit, "one"), 2: notes(kit, "two"), "2": notes(kit, "text")})


@scenario(217)
async def wf_route_bool(kit: Kit) -> None:
    await _routed(kit, False, {True: notes(kit, "yes"), False: notes(kit, "no")})


@scenario(217)
async def wf_route_true_is_one(kit: Kit) -> None:
    await _routed(kit, True, {1: notes(kit, "one"), 0: notes(kit, "zero")})


@scenario(217)
async def wf_route_default(kit: Kit) -> None:
    await _routed(kit, "other", {"a": notes(kit, "a"), kit.DEFAULT_ROUTE: notes(kit, "rest")})


@scenario(217)
async def wf_no_route_takes_default(kit: Kit) -> None:
    await _routed(kit, None, {"a": notes(kit, "a"), kit.DEFAULT_ROUTE: notes(kit, "rest")})


@scenario(217)
async def wf_no_route_ends(kit: Kit) -> None:
    await _routed(kit, None, {"a": notes(kit, "a")})


@scenario(217)
async def wf_several_routes(kit: Kit) -> None:
    first = gives(kit, "first", "value", ["a", "b"])
    join = kit.JoinNode(name="join")
    a, b, c = notes(kit, "a"), notes(kit, "b"), notes(kit, "c")
    talk = await kit.open(
        flow(kit, (kit.START, first), (first, {"a": a, "b": b, "c": c}), ((a, b), join))
    )
    await talk.say("Go")


@scenario(217)
async def wf_edge_with_several_routes(kit: Kit) -> None:
    first, second = gives(kit, "first", "value", "b"), notes(kit, "second")
    edges = [
        kit.Edge(from_node=kit.START, to_node=first),
        kit.Edge(from_node=first, to_node=second, route=["a", "b"]),
    ]
    talk = await kit.open(kit.Workflow(name="flow", edges=edges))
    await talk.say("Go")


@scenario(217)
async def wf_chain_with_routes_in_the_middle(kit: Kit) -> None:
    first = gives(kit, "first", "value", "b")
    ways = {"a": gives(kit, "a"), "b": gives(kit, "b")}
    talk = await kit.open(flow(kit, (kit.START, first, ways, notes(kit, "z"))))
    await talk.say("Go")


@scenario(217)
async def wf_loop(kit: Kit) -> None:
    def count(ctx: Any, node_input: Any) -> Any:
        n = ctx.state.get("n", 0) + 1
        return kit.Event(output=n, route="again" if n < 3 else "done", state={"n": n})

    node = kit.FunctionNode(func=count)
    ways = {"again": node, "done": notes(kit, "z")}
    talk = await kit.open(flow(kit, (kit.START, node), (node, ways)))
    await talk.say("Go")


@scenario(217)
async def wf_loop_with_fan(kit: Kit) -> None:
    def count(ctx: Any, node_input: Any) -> Any:
        n = ctx.state.get("n", 0) + 1
        return kit.Event(output=n, route="again" if n < 2 else "done", state={"n": n})

    node, wings = kit.FunctionNode(func=count), (gives(kit, "a"), gives(kit, "b"))
    talk = await kit.open(
        flow(
            kit,
            (kit.START, wings, kit.JoinNode(name="join"), node),
            (node, {"again": wings, "done": notes(kit, "z")}),
        )
    )
    await talk.say("Go")


@scenario(217, 218)
async def wf_nested(kit: Kit) -> None:
    inner = kit.Workflow(name="inner", edges=[(kit.START, gives(kit, "a"), notes(kit, "b"))])
    talk = await kit.open(flow(kit, (kit.START, inner, notes(kit, "z"))))
    await talk.say("Go")


@scenario(218)
async def wf_output_of_nested_ends(kit: Kit) -> None:
    inner = kit.Workflow(name="inner", edges=[(kit.START, gives(kit, "a"))])
    middle = kit.Workflow(name="middle", edges=[(kit.START, inner)])
    talk = await kit.open(flow(kit, (kit.START, middle)))
    await talk.say("Go")


@scenario(217)
async def wf_tool_node(kit: Kit) -> None:
    def add(a: int, b: int) -> int:
        """Add."""
        return a + b

    first = gives(kit, "first", {"a": 1, "b": 2})
    talk = await kit.open(flow(kit, (kit.START, first, kit.FunctionTool(add), notes(kit, "z"))))
    await talk.say("Go")


@scenario(217)
async def wf_generator_node(kit: Kit) -> None:
    async def node(node_input: Any) -> Any:
        yield kit.Event(state={"k": 1})
        yield kit.Event(content=kit.content("model", "On the way."))
        yield kit.Event(content=kit.content("model", "Piece."), partial=True)
        yield "out"
        yield kit.Event(content=kit.content("model", "Late."))

    talk = await kit.open(flow(kit, (kit.START, node, notes(kit, "z"))))
    await talk.say("Go")


@scenario(217)
async def wf_content_is_said_and_no_output(kit: Kit) -> None:
    def node(node_input: Any) -> Any:
        return kit.content("model", "Said.")

    talk = await kit.open(flow(kit, (kit.START, node, notes(kit, "z"))))
    await talk.say("Go")


@scenario(217)
async def wf_output_by_context(kit: Kit) -> None:
    def node(ctx: Any, node_input: Any) -> None:
        ctx.output, ctx.route = "by context", "on"
        ctx.state["k"] = 1

    first = kit.FunctionNode(func=node, name="first")
    talk = await kit.open(flow(kit, (kit.START, first), (first, {"on": notes(kit, "z")})))
    await talk.say("Go")


@scenario(217)
async def wf_class_nodes(kit: Kit) -> None:
    class Own(kit.Node):
        async def run_node_impl(self, *, ctx: Any, node_input: Any) -> Any:
            kit.note("own", ctx.node_path, ctx.run_id, ctx.attempt_count)
            yield f"own {node_input}"

    class Base(kit.BaseNode):
        async def _run_impl(self, *, ctx: Any, node_input: Any) -> Any:
            yield f"base {node_input}"

    chain = (kit.START, gives(kit, "a"), Own(name="own"), Base(name="base"))
    talk = await kit.open(flow(kit, chain))
    await talk.say("Go")


@scenario(217)
async def wf_parallel_worker(kit: Kit) -> None:
    def double(node_input: int) -> int:
        return node_input * 2

    worker = kit.node(double, parallel_worker=True)
    talk = await kit.open(
        flow(kit, (kit.START, gives(kit, "list", [1, 2, 3]), worker, notes(kit, "z")))
    )
    await talk.say("Go")


@scenario(217)
async def wf_parallel_worker_of_one(kit: Kit) -> None:
    worker = kit.node(
        kit.FunctionNode(func=lambda node_input: node_input, name="same"), parallel_worker=True
    )
    talk = await kit.open(
        flow(kit, (kit.START, gives(kit, "one", "single"), worker, notes(kit, "z")))
    )
    await talk.say("Go")


@scenario(217)
async def wf_parallel_worker_class(kit: Kit) -> None:
    class Own(kit.Node):
        async def run_node_impl(self, *, ctx: Any, node_input: Any) -> Any:
            yield f"own {node_input}"

    worker = Own(name="own", parallel_worker=True)
    talk = await kit.open(flow(kit, (kit.START, gives(kit, "list", ["a", "b"]), worker)))
    await talk.say("Go")


@scenario(217)
async def wf_typed_output(kit: Kit) -> None:
    from pydantic import BaseModel

    class Trip(BaseModel):
        days: int

    def first(node_input: Any) -> Trip:
        return {"days": "3"}  # type: ignore[return-value]

    def second(node_input: Trip) -> str:
        return f"{type(node_input).__name__} of {node_input.days}"

    talk = await kit.open(flow(kit, (kit.START, first, second)))
    await talk.say("Go")


@scenario(217)
async def wf_typed_input_of_workflow(kit: Kit) -> None:
    from pydantic import BaseModel

    class Trip(BaseModel):
        days: int

    def first(node_input: Trip) -> int:
        return node_input.days

    talk = await kit.open(flow(kit, (kit.START, first), input_schema=Trip))
    await talk.say('{"days": 4}')


@scenario(217)
async def wf_state_schema(kit: Kit) -> None:
    from pydantic import BaseModel

    class Known(BaseModel):
        n: int = 0

    def wrong(ctx: Any, node_input: Any) -> None:
        ctx.state["unknown"] = 1

    talk = await kit.open(flow(kit, (kit.START, wrong), state_schema=Known))
    await talk.say("Go", raises=("StateSchemaError", "unknown", "Known"))


@scenario(217, words=("boom",))
async def wf_node_raises(kit: Kit) -> None:
    def fail(node_input: Any) -> None:
        raise ValueError("boom")

    talk = await kit.open(flow(kit, (kit.START, gives(kit, "a"), fail, gives(kit, "z"))))
    await talk.say("Go", raises=("ValueError", "boom"))


@scenario(217)
async def wf_retry(kit: Kit) -> None:
    tries: list[int] = []

    def shaky(ctx: Any, node_input: Any) -> str:
        tries.append(ctx.attempt_count)
        if len(tries) < 3:
            raise ValueError("boom")
        return f"after {tries}"

    node = kit.FunctionNode(
        func=shaky, retry_config=kit.RetryConfig(max_attempts=3, initial_delay=0)
    )
    talk = await kit.open(flow(kit, (kit.START, node, notes(kit, "z"))))
    await talk.say("Go")


@scenario(217)
async def wf_retry_of_other_errors_only(kit: Kit) -> None:
    def shaky(node_input: Any) -> str:
        raise ValueError("boom")

    config = kit.RetryConfig(max_attempts=3, initial_delay=0, exceptions=["KeyError"])
    talk = await kit.open(flow(kit, (kit.START, kit.FunctionNode(func=shaky, retry_config=config))))
    await talk.say("Go", raises=("ValueError", "boom"))


@scenario(217)
async def wf_timeout(kit: Kit) -> None:
    import asyncio

    async def slow(node_input: Any) -> None:
        await asyncio.Event().wait()

    talk = await kit.open(flow(kit, (kit.START, kit.FunctionNode(func=slow, timeout=0.01))))
    await talk.say("Go", raises=("NodeTimeoutError", "slow", "0.01"))


@scenario(217)
async def wf_request(kit: Kit) -> None:
    node = asks(kit, "ask", interrupt_id="q", message="Sure?", payload={"p": 1})
    talk = await kit.open(flow(kit, (kit.START, gives(kit, "a"), node, notes(kit, "z"))))
    await talk.say("Go")
    await talk.say([answer(kit, "q", {"result": "yes"})])


@scenario(217)
async def wf_request_resumable(kit: Kit) -> None:
    node = asks(kit, "ask", interrupt_id="q", message="Sure?")
    talk = await kit.open(
        flow(kit, (kit.START, gives(kit, "a"), node, notes(kit, "z"))),
        app={"resumability_config": kit.ResumabilityConfig(is_resumable=True)},
    )
    await talk.say("Go")
    await talk.say([answer(kit, "q", {"result": "yes"})])


@scenario(217)
async def wf_request_answered_by_dict(kit: Kit) -> None:
    node = asks(kit, "ask", interrupt_id="q")
    talk = await kit.open(flow(kit, (kit.START, node, notes(kit, "z"))))
    await talk.say("Go")
    await talk.say([answer(kit, "q", {"city": "Rome"})])


@scenario(217)
async def wf_request_with_schema(kit: Kit) -> None:
    from pydantic import BaseModel

    class Trip(BaseModel):
        days: int

    node = asks(kit, "ask", interrupt_id="q", response_schema=Trip)
    talk = await kit.open(flow(kit, (kit.START, node, notes(kit, "z"))))
    await talk.say("Go")
    await talk.say([answer(kit, "q", {"result": '{"days": 4}'})])


@scenario(217)
async def wf_request_of_rerun_node(kit: Kit) -> None:
    async def ask(ctx: Any, node_input: Any) -> Any:
        kit.note(dict(ctx.resume_inputs), ctx.run_id)
        if "q" not in ctx.resume_inputs:
            yield kit.RequestInput(interrupt_id="q", message="Sure?")
            return
        yield f"answer {ctx.resume_inputs['q']}"

    node = kit.FunctionNode(func=ask, rerun_on_resume=True)
    talk = await kit.open(flow(kit, (kit.START, node, notes(kit, "z"))))
    await talk.say("Go")
    await talk.say([answer(kit, "q", {"result": "yes"})])


@scenario(217)
async def wf_two_requests_of_one_node(kit: Kit) -> None:
    async def ask(node_input: Any) -> Any:
        yield kit.RequestInput(interrupt_id="one")
        yield kit.RequestInput(interrupt_id="two")

    talk = await kit.open(flow(kit, (kit.START, ask, notes(kit, "z"))))
    await talk.say("Go")
    await talk.say([answer(kit, "one", {"result": 1})])
    await talk.say([answer(kit, "two", {"result": 2})])


@scenario(217)
async def wf_requests_side_by_side(kit: Kit) -> None:
    one, two = asks(kit, "one", interrupt_id="q1"), asks(kit, "two", interrupt_id="q2")
    join = kit.JoinNode(name="join")
    wings = (one, two, gives(kit, "three"))
    talk = await kit.open(flow(kit, (kit.START, wings, join, notes(kit, "z"))))
    await talk.say("Go")
    await talk.say([answer(kit, "q2", {"result": 2})])
    await talk.say([answer(kit, "q1", {"result": 1})])


@scenario(217)
async def wf_request_within_nested(kit: Kit) -> None:
    chain = (kit.START, gives(kit, "a"), asks(kit, "ask", interrupt_id="q"), notes(kit, "b"))
    inner = kit.Workflow(name="inner", edges=[chain])
    talk = await kit.open(flow(kit, (kit.START, gives(kit, "p"), inner, notes(kit, "z"))))
    await talk.say("Go")
    await talk.say([answer(kit, "q", {"result": "yes"})])


@scenario(217)
async def wf_message_while_a_request_waits(kit: Kit) -> None:
    talk = await kit.open(
        flow(kit, (kit.START, asks(kit, "ask", interrupt_id="q"), notes(kit, "z")))
    )
    await talk.say("Go")
    await talk.say("Something else")
    await talk.say([answer(kit, "q", {"result": "yes"})])


@scenario(217)
async def wf_answer_to_unknown_request(kit: Kit) -> None:
    talk = await kit.open(flow(kit, (kit.START, asks(kit, "ask", interrupt_id="q"))))
    await talk.say("Go")
    await talk.say([answer(kit, "other", {"result": 1})], raises=("ValueError", "other"))


@scenario(217)
async def wf_dynamic_nodes(kit: Kit) -> None:
    def double(node_input: int) -> int:
        return node_input * 2

    async def parent(ctx: Any, node_input: Any) -> Any:
        first = await ctx.run_node(double, 2)
        second = await ctx.run_node(double, first)
        third = await ctx.run_node(double, 5, run_id="named")
        fourth = await ctx.run_node(double, 6, use_sub_branch=True)
        return [first, second, third, fourth]

    node = kit.FunctionNode(func=parent, rerun_on_resume=True)
    talk = await kit.open(flow(kit, (kit.START, node, notes(kit, "z"))))
    await talk.say("Go")


@scenario(217)
async def wf_dynamic_node_gives_the_output(kit: Kit) -> None:
    async def parent(ctx: Any, node_input: Any) -> None:
        await ctx.run_node(gives(kit, "child"), 2, use_as_output=True)

    node = kit.FunctionNode(func=parent, rerun_on_resume=True)
    talk = await kit.open(flow(kit, (kit.START, node)))
    await talk.say("Go")


@scenario(217)
async def wf_dynamic_workflow(kit: Kit) -> None:
    inner = kit.Workflow(name="inner", edges=[(kit.START, gives(kit, "a"), notes(kit, "b"))])

    async def parent(ctx: Any, node_input: Any) -> Any:
        return [await ctx.run_node(inner, "in"), await ctx.run_node(inner, "in")]

    node = kit.FunctionNode(func=parent, rerun_on_resume=True)
    talk = await kit.open(flow(kit, (kit.START, node, notes(kit, "z"))))
    await talk.say("Go")


@scenario(217)
async def wf_dynamic_node_fails_and_is_caught(kit: Kit) -> None:
    def fail(node_input: Any) -> None:
        raise ValueError("boom")

    async def parent(ctx: Any, node_input: Any) -> Any:
        try:
            await ctx.run_node(fail, 1)
        except Exception as raised:
            error: Any = raised
            kit.note(type(error).__name__, str(error.error), error.error_node_path)
        return "went on"

    node = kit.FunctionNode(func=parent, rerun_on_resume=True)
    talk = await kit.open(flow(kit, (kit.START, node, notes(kit, "z"))))
    await talk.say("Go")


@scenario(217)
async def wf_dynamic_node_fails(kit: Kit) -> None:
    def fail(node_input: Any) -> None:
        raise ValueError("boom")

    async def parent(ctx: Any, node_input: Any) -> Any:
        return await ctx.run_node(fail, 1)

    node = kit.FunctionNode(func=parent, rerun_on_resume=True)
    talk = await kit.open(flow(kit, (kit.START, node, notes(kit, "z"))))
    await talk.say("Go", raises=("ValueError", "boom"))


@scenario(217)
async def wf_dynamic_node_asks(kit: Kit) -> None:
    worked: list[Any] = []

    def work(node_input: Any) -> Any:
        worked.append(node_input)
        return node_input * 2

    ask = asks(kit, "ask", interrupt_id="q", message="Sure?")

    async def parent(ctx: Any, node_input: Any) -> Any:
        before = await ctx.run_node(work, 2)
        said = await ctx.run_node(ask, 1)
        after = await ctx.run_node(work, 3)
        return [before, said, after, list(worked)]

    node = kit.FunctionNode(func=parent, rerun_on_resume=True)
    talk = await kit.open(flow(kit, (kit.START, node)))
    await talk.say("Go")
    await talk.say([answer(kit, "q", {"result": "yes"})])


@scenario(217)
async def wf_custom_agent_as_node(kit: Kit) -> None:
    class Own(kit.BaseAgent):
        async def _run_async_impl(self, ctx: Any) -> Any:
            said = kit.content("model", "From the agent.")
            yield kit.Event(author=self.name, invocation_id=ctx.invocation_id, content=said)

    talk = await kit.open(flow(kit, (kit.START, gives(kit, "a"), Own(name="own"), notes(kit, "z"))))
    await talk.say("Go")


@scenario(217)
async def wf_agent_with_output(kit: Kit) -> None:
    class Own(kit.BaseAgent):
        async def _run_async_impl(self, ctx: Any) -> Any:
            yield kit.Event(author=self.name, invocation_id=ctx.invocation_id, output={"k": 1})

    talk = await kit.open(flow(kit, (kit.START, Own(name="own"), notes(kit, "z"))))
    await talk.say("Go")


@scenario(217)
async def wf_bad_graphs(kit: Kit) -> None:
    def tried(*edges: Any) -> None:
        try:
            flow(kit, *edges)
        except ValueError as error:
            words = ("Duplicate node names", "unreachable", "Unconditional cycle", "DEFAULT_ROUTE")
            more = ("START", "Duplicate edge", "incoming")
            kit.note([word for word in (*words, *more) if word in str(error)])
        else:
            kit.note("fine")

    x, y, z = (gives(kit, name) for name in "xyz")
    tried((x, y))
    tried((kit.START, x), (y, z))
    tried((kit.START, x, y), (y, x))
    tried((kit.START, x, y), (y, {"again": x}))
    tried((kit.START, x), (kit.START, x))
    tried((kit.START, x), (x, kit.START))
    tried((kit.START, x, gives(kit, "x")))
    tried((kit.START, x), (x, {kit.DEFAULT_ROUTE: y}), (x, {kit.DEFAULT_ROUTE: z}))
    tried(("START", x))
    talk = await kit.open(flow(kit, (kit.START, x)))
    await talk.say("Go")


def task_giver(kit: Kit, *said: Any, **fields: Any) -> Any:
    """A chat agent that gives a task, and says that it is over."""
    work = kit.agent("work", *said, mode="task", description="Does work.")
    asks_for_it = kit.call("work", request="Find it")
    return kit.agent("giver", asks_for_it, "Found.", mode="chat", sub_agents=[work], **fields)


def finished(kit: Kit, result: Any = "This.") -> Any:
    return kit.call("finish_task", result=result)


@scenario(217)
async def wf_chat_agent(kit: Kit) -> None:
    talk = await kit.open(flow(kit, (kit.START, kit.agent("desk", "Hello.", "Bye.", mode="chat"))))
    await talk.say("Good day")
    await talk.say("Goodbye")


@scenario(69, 70, 72, 217)
async def wf_task_in_one_turn(kit: Kit) -> None:
    talk = await kit.open(flow(kit, (kit.START, task_giver(kit, finished(kit)))))
    await talk.say("Go")


@scenario(69, 70, 72, 217)
async def wf_task_in_two_turns(kit: Kit) -> None:
    talk = await kit.open(flow(kit, (kit.START, task_giver(kit, "Which?", finished(kit)))))
    await talk.say("Go")
    await talk.say("That")


@scenario(70, 217)
async def wf_task_by_run_node(kit: Kit) -> None:
    work = kit.agent("work", finished(kit), mode="task")

    @kit.node(rerun_on_resume=True)
    async def parent(ctx: Any, node_input: Any) -> Any:
        return {"work": await ctx.run_node(work, "Go")}

    talk = await kit.open(flow(kit, (kit.START, parent, notes(kit, "after"))))
    await talk.say("Go")


def needs_key(kit: Kit, name: str) -> Any:
    """A node that needs a key, and notes it."""
    config = kit.AuthConfig.model_validate(
        {
            "authScheme": {"type": "apiKey", "in": "header", "name": "X-Key"},
            "credentialKey": "golden_key",
        }
    )

    def fetch(ctx: Any, node_input: Any) -> str:
        kit.note(name, ctx.get_auth_response(config).api_key)
        return f"{name} fetched"

    return kit.FunctionNode(func=fetch, name=name, auth_config=config, rerun_on_resume=True)


async def give_key(talk: Any) -> None:
    asked = [call for event in talk.events for call in event.get_function_calls()][-1]
    given = {"authType": "apiKey", "apiKey": "k1"}
    await talk.answer(
        "adk_request_credential", {**asked.args["authConfig"], "exchangedAuthCredential": given}
    )


@scenario(148, 217)
async def wf_credential(kit: Kit) -> None:
    nodes = (gives(kit, "a"), needs_key(kit, "one"), needs_key(kit, "two"), notes(kit, "z"))
    talk = await kit.open(flow(kit, (kit.START, *nodes)))
    await talk.say("Go")
    await give_key(talk)
    await talk.say("Again")


@scenario(148, 217)
async def wf_credential_resumable(kit: Kit) -> None:
    app = {"resumability_config": kit.ResumabilityConfig(is_resumable=True)}
    talk = await kit.open(flow(kit, (kit.START, needs_key(kit, "one"), notes(kit, "z"))), app=app)
    await talk.say("Go")
    await give_key(talk)


@scenario(217)
async def wf_credential_needs_rerun(kit: Kit) -> None:
    async def fetch(node_input: Any) -> None: ...

    config = {"authScheme": {"type": "apiKey", "in": "header", "name": "X-Key"}}
    try:
        kit.FunctionNode(func=fetch, auth_config=kit.AuthConfig.model_validate(config))
    except ValueError as error:
        kit.note("refused", "rerun_on_resume=True" in str(error))
