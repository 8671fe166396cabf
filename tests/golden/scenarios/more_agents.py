"""Further trees: escalation, nested branches, resumable shells, agent tools."""

import asyncio

from pydantic import BaseModel

from ..registry import scenario


class Order(BaseModel):
    what: str
    count: int = 1


def _resumable(kit):
    return {"resumability_config": kit.ResumabilityConfig(is_resumable=True)}


def _emitter(kit, name, **actions):
    class Emitter(kit.BaseAgent):
        async def _run_async_impl(self, ctx):
            yield kit.Event(
                author=self.name,
                invocation_id=ctx.invocation_id,
                content=kit.content("model", f"{self.name} speaks."),
                actions=kit.EventActions(**actions),
            )

    return Emitter(name=name)


@scenario(76)
async def loop_with_escalating_agent(kit):
    one, stop, never = (
        _emitter(kit, "one"),
        _emitter(kit, "stop", escalate=True),
        _emitter(kit, "no"),
    )
    talk = await kit.open(kit.LoopAgent(name="loop", sub_agents=[one, stop, never]))
    await talk.say("Go")


@scenario(76)
async def loop_within_loop_escalates(kit):
    inner = kit.LoopAgent(name="inner", sub_agents=[_emitter(kit, "stop", escalate=True)])
    after = _emitter(kit, "after")
    outer = kit.LoopAgent(name="outer", sub_agents=[inner, after], max_iterations=2)
    talk = await kit.open(outer)
    await talk.say("Go")


@scenario(74, 76)
async def sequence_ignores_escalate(kit):
    line = kit.SequentialAgent(
        name="line", sub_agents=[_emitter(kit, "one", escalate=True), _emitter(kit, "two")]
    )
    talk = await kit.open(line)
    await talk.say("Go")


@scenario(74, 75, 76)
async def empty_shells(kit):
    for shell in (kit.SequentialAgent, kit.ParallelAgent, kit.LoopAgent):
        talk = await kit.open(shell(name="empty"))
        await talk.say("Go")


@scenario(75, 103, "X5")
async def parallel_within_parallel(kit):
    inner = kit.ParallelAgent(name="inner", sub_agents=[kit.agent("leaf", "Leaf.")])
    outer = kit.ParallelAgent(name="outer", sub_agents=[inner])
    talk = await kit.open(outer)
    await talk.say("Go")


@scenario(75, 103, 107)
async def parallel_of_sequences(kit):
    left_done = asyncio.Event()

    async def late(request):
        await left_done.wait()
        return "Right one."

    left = kit.SequentialAgent(
        name="left",
        sub_agents=[kit.agent("left_one", "Left one."), kit.agent("left_two", "Left two.")],
        after_agent_callback=lambda **_: left_done.set(),
    )
    right = kit.SequentialAgent(
        name="right",
        sub_agents=[kit.agent("right_one", late), kit.agent("right_two", "Right two.")],
    )
    talk = await kit.open(kit.ParallelAgent(name="both", sub_agents=[left, right]))
    await talk.say("Go")


@scenario(75, 131)
async def parallel_agents_with_tools_and_state(kit):
    left_done = asyncio.Event()

    async def late(request):
        await left_done.wait()
        return kit.call("put", value="right")

    def put(value: str, tool_context) -> dict:
        tool_context.state["last"] = value
        tool_context.state[value] = True
        return {"put": value}

    left = kit.agent(
        "left", kit.call("put", value="left"), "Left.", tools=[put],
        after_agent_callback=lambda **_: left_done.set(),
    )  # fmt: skip
    right = kit.agent("right", late, "Right.", tools=[put])
    talk = await kit.open(kit.ParallelAgent(name="both", sub_agents=[left, right]))
    await talk.say("Go")


@scenario(75, adk="2.13.0")  # 2.3.0 raises an ExceptionGroup
async def parallel_with_failing_agent(kit):
    left_done = asyncio.Event()

    async def late(request):
        await left_done.wait()
        return ValueError("right is down")

    left = kit.agent("left", "Left.", after_agent_callback=lambda **_: left_done.set())
    right = kit.agent("right", late)
    talk = await kit.open(kit.ParallelAgent(name="both", sub_agents=[left, right]))
    await talk.say("Go", raises=("ValueError", "right is down"))


@scenario(12, 35, 67, 75, 208, adk="2.13.0")  # 2.3.0 forgets the branch of the answer
async def resumable_parallel(kit):
    left_done = asyncio.Event()

    async def late(request):
        await left_done.wait()
        return kit.call("ask", what="tea")

    def ask(what: str) -> None:
        return None

    left = kit.agent("left", "Left.", after_agent_callback=lambda **_: left_done.set())
    right = kit.agent("right", late, "Granted.", tools=[kit.LongRunningFunctionTool(func=ask)])
    both = kit.ParallelAgent(name="both", sub_agents=[left, right])
    talk = await kit.open(both, app=_resumable(kit))
    await talk.say("Go")
    await talk.answer("ask", {"granted": True})


@scenario(26, 67, 74)
async def resumable_sequential_whole(kit):
    line = kit.SequentialAgent(
        name="line", sub_agents=[kit.agent("one", "1."), kit.agent("two", "2.")]
    )
    talk = await kit.open(line, app=_resumable(kit))
    await talk.say("Go")
    await talk.say(invocation_id=talk.invocation())


@scenario(66, 67, 154)
async def resumable_transfer_and_back(kit):
    child = kit.agent(
        "child", kit.call("transfer_to_agent", agent_name="root"), description="Helps."
    )
    root = kit.agent(
        "root", kit.call("transfer_to_agent", agent_name="child"), "I answer.", sub_agents=[child]
    )
    talk = await kit.open(root, app=_resumable(kit))
    await talk.say("Help")


@scenario(66, 209)
async def resume_in_child_after_crash(kit):
    child = kit.agent("child", RuntimeError("model down"), "Child.", description="Helps.")
    root = kit.agent("root", kit.call("transfer_to_agent", agent_name="child"), sub_agents=[child])
    talk = await kit.open(root, app=_resumable(kit))
    await talk.say("Help", raises=("RuntimeError", "model down"))
    await talk.say(invocation_id=talk.invocation())


@scenario(26, 82, 209)
async def resume_before_tool_ran(kit):
    ran = []

    def fragile() -> dict:
        ran.append(1)
        if len(ran) == 1:
            raise RuntimeError("crash")
        return {"ran": len(ran)}

    talk = await kit.open(
        kit.agent("root", kit.call("fragile"), "Done.", tools=[fragile]), app=_resumable(kit)
    )
    await talk.say("Go", raises=("RuntimeError", "crash"))
    await talk.say(invocation_id=talk.invocation())


@scenario("X15")
async def invocation_id_without_resumability(kit):
    talk = await kit.open(kit.agent("root", "One.", "Two."))
    await talk.say("Go")
    await talk.say("More", invocation_id=talk.invocation())


@scenario(8)
async def missing_session(kit):
    talk = await kit.open(kit.agent("root", "Never."))
    await talk.sessions.delete_session(app_name="golden", user_id="u", session_id=talk.session.id)
    await talk.say("Hi", raises=("ValueError", talk.session.id))
    talk.session = await talk.sessions.create_session(app_name="golden", user_id="u")


@scenario(3, 8)
async def session_created_on_demand(kit):
    talk = await kit.open(kit.agent("root", "Hello."), auto_create_session=True)
    await talk.sessions.delete_session(app_name="golden", user_id="u", session_id=talk.session.id)
    await talk.say("Hi")


@scenario(129)
async def agent_tool_with_schema(kit):
    helper = kit.agent(
        "helper", '{"what": "tea", "count": 2}', input_schema=Order, output_schema=Order
    )
    tool = kit.AgentTool(agent=helper, skip_summarization=True)
    root = kit.agent("root", kit.call("helper", what="tea"), "Next.", tools=[tool])
    talk = await kit.open(root)
    await talk.say("Order")
    await talk.say("And?")


@scenario(129, 182)
async def agent_tool_shares_state(kit):
    def put(tool_context) -> dict:
        seen = tool_context.state.get("from_parent")
        tool_context.state["from_child"] = 2
        return {"seen": seen}

    helper = kit.agent("helper", kit.call("put"), "Put.", tools=[put])
    root = kit.agent(
        "root", kit.call("helper", request="Do"), "Done.", tools=[kit.AgentTool(agent=helper)]
    )
    talk = await kit.open(root, state={"from_parent": 1})
    await talk.say("Go")


@scenario(129)
async def agent_tool_forwards_artifacts(kit):
    async def draw(tool_context) -> dict:
        version = await tool_context.save_artifact("drawing", kit.types.Part(text="x"))
        return {"version": version}

    helper = kit.agent("helper", kit.call("draw"), "Drawn.", tools=[draw])
    root = kit.agent(
        "root", kit.call("helper", request="Do"), "Done.", tools=[kit.AgentTool(agent=helper)]
    )
    talk = await kit.open(root)
    await talk.say("Go")


@scenario(29, 129)
async def agent_tool_fails(kit):
    helper = kit.agent("helper", ValueError("helper down"))
    root = kit.agent("root", kit.call("helper", request="Do"), tools=[kit.AgentTool(agent=helper)])
    talk = await kit.open(root)
    await talk.say("Go", raises=("ValueError", "helper down"))


@scenario(107, 131, 150)
async def transfer_beside_another_call(kit):
    def note(text: str) -> dict:
        return {"noted": text}

    child = kit.agent("child", "Child.", description="Helps.")
    root = kit.agent(
        "root", [kit.call("note", text="x"), kit.call("transfer_to_agent", agent_name="child")],
        tools=[note], sub_agents=[child],
    )  # fmt: skip
    talk = await kit.open(root)
    await talk.say("Go")


# 2.3.0 runs nobody; the contents are left out because 2.13.0 quotes other agents its own way.
@scenario(14, 16, "X16", adk="2.13.0", show=("no contents",))
async def answer_goes_to_untransferable_child(kit):
    def ask(what: str) -> None:
        return None

    child = kit.agent(
        "child", kit.call("ask", what="tea"), "Granted.", description="Asks.",
        tools=[kit.LongRunningFunctionTool(func=ask)],
        disallow_transfer_to_parent=True, disallow_transfer_to_peers=True,
    )  # fmt: skip
    root = kit.agent(
        "root",
        kit.call("transfer_to_agent", agent_name="child"),
        "Root took it.",
        sub_agents=[child],
    )
    talk = await kit.open(root)
    await talk.say("Ask")
    await talk.answer("ask", {"granted": True})


@scenario(14, 74, "X16", adk="2.13.0")  # 2.3.0 starts the sequence anew
async def answer_within_sequence(kit):
    def ask(what: str) -> None:
        return None

    one = kit.agent(
        "one",
        kit.call("ask", what="tea"),
        "Granted.",
        tools=[kit.LongRunningFunctionTool(func=ask)],
    )
    two = kit.agent("two", "Two.", "Two again.")
    talk = await kit.open(kit.SequentialAgent(name="line", sub_agents=[one, two]))
    await talk.say("Ask")
    await talk.answer("ask", {"granted": True})


@scenario(26, 82, 209)
async def resume_pending_call_in_sequence(kit):
    ran = []

    def fragile() -> dict:
        ran.append(1)
        if len(ran) == 1:
            raise RuntimeError("crash")
        return {"ran": len(ran)}

    one = kit.agent("one", kit.call("fragile"), "Done.", tools=[fragile])
    talk = await kit.open(kit.SequentialAgent(name="line", sub_agents=[one]), app=_resumable(kit))
    await talk.say("Go", raises=("RuntimeError", "crash"))
    await talk.say(invocation_id=talk.invocation())


@scenario(12, 14, "X16")
async def answer_to_unknown_call(kit):
    types = kit.types
    talk = await kit.open(kit.agent("root", "Hi.", "What?"))
    await talk.say("Hi")
    stray = types.Part(
        function_response=types.FunctionResponse(name="ask", id="ghost", response={"a": 1})
    )
    await talk.say([stray], raises=("ValueError", "ghost"))


@scenario(12, 109)
async def answer_with_words(kit):
    def ask(what: str) -> None:
        return None

    tool = kit.LongRunningFunctionTool(func=ask)
    talk = await kit.open(kit.agent("root", kit.call("ask", what="tea"), "Granted.", tools=[tool]))
    await talk.say("Ask")
    await talk.say(
        [talk.response("ask", {"granted": True}), kit.types.Part(text="and hurry")],
        raises=("ValueError", "function response"),
    )


@scenario(82, 207, 208)
async def two_long_running_answered_one_by_one(kit):
    def ask(what: str) -> None:
        return None

    def grant(what: str) -> None:
        return None

    tools = [kit.LongRunningFunctionTool(func=ask), kit.LongRunningFunctionTool(func=grant)]
    root = kit.agent(
        "root", [kit.call("ask", what="a"), kit.call("grant", what="b")], "Half.", "Both.", "More.",
        tools=tools,
    )  # fmt: skip
    talk = await kit.open(root, app=_resumable(kit))
    await talk.say("Ask")
    await talk.answer("ask", {"granted": True})
    await talk.answer("grant", {"granted": True})


@scenario(82, 207)
async def two_long_running_not_resumable(kit):
    def ask(what: str) -> None:
        return None

    root = kit.agent(
        "root", [kit.call("ask", what="a"), kit.call("ask", what="b")], "Half.", "Both.",
        tools=[kit.LongRunningFunctionTool(func=ask)],
    )  # fmt: skip
    talk = await kit.open(root)
    events = await talk.say("Ask")
    types = kit.types
    for call in events[0].get_function_calls():
        answer = types.FunctionResponse(name="ask", id=call.id, response={"granted": True})
        await talk.say([types.Part(function_response=answer)])


def _found(kit, text, query):
    return kit.text(
        text, grounding_metadata=kit.types.GroundingMetadata(web_search_queries=[query])
    )


def _searching(kit, *found, name="google_search_agent"):
    return kit.GoogleSearchAgentTool(kit.agent(name, *found))


@scenario(129)
async def search_agent_tells_its_sources(kit):
    def look() -> str:
        return "seen"

    search = kit.call("google_search_agent", request="sea")
    tools = [_searching(kit, _found(kit, "Wet.", "sea?")), look]
    root = kit.agent("root", search, kit.call("look"), "It is wet.", "Good bye.", tools=tools)
    talk = await kit.open(root)
    await talk.say("Tell me")
    await talk.say("Thanks")


@scenario(129)
async def search_agent_and_hooks(kit):
    def after(callback_context, llm_response):
        kit.note("sources seen", llm_response.grounding_metadata is not None)
        return kit.text("It is said.") if llm_response.content.parts[0].text else None

    search = kit.call("google_search_agent", request="sea")
    tools = [_searching(kit, _found(kit, "Wet.", "sea?"))]
    answer = _found(kit, "It is wet.", "of its own")
    talk = await kit.open(
        kit.agent("root", search, answer, tools=tools, after_model_callback=after)
    )
    await talk.say("Tell me")


@scenario(129)
async def search_agent_twice(kit):
    searches = [kit.call("google_search_agent", request=what) for what in ("sea", "land")]
    tools = [_searching(kit, _found(kit, "Wet.", "sea?"), "Dry.")]
    talk = await kit.open(kit.agent("root", *searches, "Wet and dry.", tools=tools))
    await talk.say("Tell me")


@scenario(129)
async def search_agent_of_another_name(kit):
    tools = [_searching(kit, _found(kit, "Wet.", "sea?"), name="seeker")]
    root = kit.agent("root", kit.call("seeker", request="sea"), "It is wet.", tools=tools)
    talk = await kit.open(root)
    await talk.say("Tell me")
