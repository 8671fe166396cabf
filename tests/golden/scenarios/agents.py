"""Trees of agents: transfer, shell agents, custom agents, whose turn is next."""

import asyncio

from ..registry import scenario


def _to(kit, name):
    return kit.call("transfer_to_agent", agent_name=name)


@scenario(14, 15, 66, 150, 151, 154, "X5")
async def transfer_to_child(kit):
    child = kit.agent("child", "I am the child.", "Still me.", description="Helps.")
    root = kit.agent("root", _to(kit, "child"), sub_agents=[child])
    talk = await kit.open(root)
    await talk.say("Help")
    await talk.say("Still there?")


@scenario(107, 151, 154)
async def transfer_child_back_to_parent(kit):
    child = kit.agent("child", ["Not mine.", _to(kit, "root")], description="Helps.")
    root = kit.agent("root", _to(kit, "child"), "I answer.", "Again me.", sub_agents=[child])
    talk = await kit.open(root)
    await talk.say("Help")
    await talk.say("Next")


@scenario(107, 151, 154)
async def transfer_to_peer(kit):
    one = kit.agent("one", _to(kit, "two"), description="First.")
    two = kit.agent("two", "Two here.", "Two again.", description="Second.")
    root = kit.agent("root", _to(kit, "one"), sub_agents=[one, two])
    talk = await kit.open(root)
    await talk.say("Help")
    await talk.say("Next")


@scenario(154, words=("ghost", "child"))
async def transfer_to_nobody(kit):
    child = kit.agent("child", "Me.", description="Helps.")
    root = kit.agent("root", _to(kit, "ghost"), "Next turn.", "Last.", sub_agents=[child])
    talk = await kit.open(root)
    await talk.say("Help", raises=("ValueError", "ghost"))
    await talk.say("Again")


@scenario(16, 62, 63, 151)
async def child_that_may_not_transfer(kit):
    child = kit.agent(
        "child", "Mine.", description="Helps.",
        disallow_transfer_to_parent=True, disallow_transfer_to_peers=True,
    )  # fmt: skip
    root = kit.agent("root", _to(kit, "child"), "Root again.", sub_agents=[child])
    talk = await kit.open(root)
    await talk.say("Help")
    await talk.say("Next")


@scenario(16, 62, 151)
async def child_that_may_not_go_back(kit):
    one = kit.agent("one", "One.", description="First.", disallow_transfer_to_parent=True)
    two = kit.agent("two", "Two.", description="Second.", disallow_transfer_to_peers=True)
    root = kit.agent("root", _to(kit, "one"), _to(kit, "two"), sub_agents=[one, two])
    talk = await kit.open(root)
    await talk.say("First")
    await talk.say("Second")


@scenario(15, 109, 151)
async def transfer_to_grandchild_step_by_step(kit):
    leaf = kit.agent("leaf", "Leaf.", "Leaf again.", description="Leaf.")
    middle = kit.agent("middle", _to(kit, "leaf"), description="Middle.", sub_agents=[leaf])
    root = kit.agent("root", _to(kit, "middle"), sub_agents=[middle])
    talk = await kit.open(root)
    await talk.say("Down")
    await talk.say("Who?")


@scenario(155)
async def tool_sets_transfer(kit):
    def go(tool_context) -> dict:
        tool_context.actions.transfer_to_agent = "child"
        return {"went": True}

    child = kit.agent("child", "Me.", description="Helps.")
    root = kit.agent("root", kit.call("go"), tools=[go], sub_agents=[child])
    talk = await kit.open(root)
    await talk.say("Help")


@scenario(74, 107, "X5")
async def sequential(kit):
    one = kit.agent("one", "Draft.", output_key="draft")
    two = kit.agent("two", "Better.", instruction="Improve {draft}")
    talk = await kit.open(kit.SequentialAgent(name="line", sub_agents=[one, two]))
    await talk.say("Write")


@scenario(15, 74)
async def sequential_two_turns(kit):
    one = kit.agent("one", "A1.", "A2.")
    two = kit.agent("two", "B1.", "B2.")
    talk = await kit.open(kit.SequentialAgent(name="line", sub_agents=[one, two]))
    await talk.say("First")
    await talk.say("Second")


@scenario(76)
async def loop_with_escalate(kit):
    def check(tool_context) -> dict:
        rounds = tool_context.state.get("rounds", 0) + 1
        tool_context.state["rounds"] = rounds
        if rounds == 2:
            tool_context.actions.escalate = True
        return {"rounds": rounds}

    writer = kit.agent("writer", "W1.", "W2.")
    critic = kit.agent(
        "critic", kit.call("check"), "Go on.", kit.call("check"), "Stop.", tools=[check]
    )
    talk = await kit.open(kit.LoopAgent(name="loop", sub_agents=[writer, critic], max_iterations=5))
    await talk.say("Write")


@scenario(76)
async def loop_with_exit_tool(kit):
    one = kit.agent("one", "1.", kit.call("exit_loop"), tools=[kit.exit_loop])
    two = kit.agent("two", "2.")
    talk = await kit.open(kit.LoopAgent(name="loop", sub_agents=[one, two]))
    await talk.say("Go")


@scenario(76)
async def loop_with_max_iterations(kit):
    one = kit.agent("one", "1.", "2.")
    talk = await kit.open(kit.LoopAgent(name="loop", sub_agents=[one], max_iterations=2))
    await talk.say("Go")


@scenario(75, 103, "X5")
async def parallel(kit):
    first_done = asyncio.Event()

    async def late(request):
        await first_done.wait()
        return "Right."

    left = kit.agent(
        "left", "Left.", output_key="l", after_agent_callback=lambda **_: first_done.set()
    )
    right = kit.agent("right", late, output_key="r")
    both = kit.ParallelAgent(name="both", sub_agents=[left, right])
    end = kit.agent("end", "Merged.")
    talk = await kit.open(kit.SequentialAgent(name="line", sub_agents=[both, end]))
    await talk.say("Go")


@scenario(75, 103)
async def parallel_two_turns(kit):
    gates = [asyncio.Event(), asyncio.Event()]

    def after(gate):
        async def reply(request):
            await gate.wait()
            return "Right."

        return reply

    open_gates = iter(gates)
    left = kit.agent("left", "L1.", "L2.", after_agent_callback=lambda **_: next(open_gates).set())
    right = kit.agent("right", *[after(gate) for gate in gates])
    talk = await kit.open(kit.ParallelAgent(name="both", sub_agents=[left, right]))
    await talk.say("Go")
    await talk.say("Go on")


@scenario(74, 75, 76)
async def nested_shells(kit):
    one = kit.agent("one", "1.", "2.")
    loop = kit.LoopAgent(name="loop", sub_agents=[one], max_iterations=2)
    two = kit.agent("two", "Two.")
    branch = kit.ParallelAgent(name="branch", sub_agents=[two])
    inner = kit.SequentialAgent(name="inner", sub_agents=[loop, branch])
    end = kit.agent("end", "End.")
    talk = await kit.open(kit.SequentialAgent(name="outer", sub_agents=[inner, end]))
    await talk.say("Go")


@scenario(15, 151)
async def shell_below_llm_agent(kit):
    one = kit.agent("one", "1.")
    two = kit.agent("two", "2.")
    line = kit.SequentialAgent(name="line", sub_agents=[one, two], description="Works in line.")
    root = kit.agent("root", _to(kit, "line"), "Root.", sub_agents=[line])
    talk = await kit.open(root)
    await talk.say("Work")
    await talk.say("Next")


@scenario(44, 188)
async def custom_agent(kit):
    class Custom(kit.BaseAgent):
        async def _run_async_impl(self, ctx):
            yield kit.Event(
                author=self.name, invocation_id=ctx.invocation_id, partial=True,
                content=kit.content("model", "Wor"),
                actions=kit.EventActions(state_delta={"no": 1}),
            )  # fmt: skip
            yield kit.Event(
                author=self.name, invocation_id=ctx.invocation_id,
                content=kit.content("model", "Working"),
                actions=kit.EventActions(state_delta={"step": 1}),
            )  # fmt: skip
            kit.note("after the yield", ctx.session.state.get("step"), ctx.session.state.get("no"))
            yield kit.Event(
                author=self.name, invocation_id=ctx.invocation_id,
                actions=kit.EventActions(state_delta={"step": 2}),
            )  # fmt: skip
            async for event in self.sub_agents[0].run_async(ctx):
                yield event

    root = Custom(name="custom", sub_agents=[kit.agent("helper", "Helped.")])
    talk = await kit.open(root)
    await talk.say("Go")


@scenario(44)
async def custom_agent_below_llm_agent(kit):
    class Custom(kit.BaseAgent):
        async def _run_async_impl(self, ctx):
            yield kit.Event(
                author=self.name,
                invocation_id=ctx.invocation_id,
                content=kit.content("model", "Custom."),
            )

    custom = Custom(name="custom", description="Does it by hand.")
    root = kit.agent("root", _to(kit, "custom"), "Root.", sub_agents=[custom])
    talk = await kit.open(root)
    await talk.say("Go")
    await talk.say("Next")


@scenario(61, 112)
async def include_contents_none(kit):
    def tool() -> dict:
        return {"ok": True}

    root = kit.agent(
        "root", "One.", kit.call("tool"), "Two.", include_contents="none", tools=[tool]
    )
    talk = await kit.open(root)
    await talk.say("First")
    await talk.say("Second")


@scenario(61, 107, 112)
async def include_contents_none_in_line(kit):
    one = kit.agent("one", "Draft.")
    two = kit.agent("two", "Better.", include_contents="none")
    talk = await kit.open(kit.SequentialAgent(name="line", sub_agents=[one, two]))
    await talk.say("Write")


@scenario(107)
async def others_calls_as_context(kit):
    def tool(a: int) -> dict:
        return {"b": a}

    one = kit.agent(
        "one", [kit.thought("Hm."), "Calling.", kit.call("tool", a=1)],
        [kit.thought("Ok."), "Called."],
        tools=[tool],
    )  # fmt: skip
    two = kit.agent("two", "Seen.")
    talk = await kit.open(kit.SequentialAgent(name="line", sub_agents=[one, two]))
    await talk.say("Go")
