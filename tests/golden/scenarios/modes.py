"""Agent modes: tasks that talk with the user until they are done, agents that run once, and what is
seen where."""

from typing import Any

from pydantic import BaseModel

from ..registry import scenario
from ..script import Stream

CONFIRM = "adk_request_confirmation"


class Topic(BaseModel):
    topic: str
    depth: int = 1


class Report(BaseModel):
    summary: str
    sources: int


def _task(kit, name, *replies, **fields):
    fields.setdefault("description", f"Does {name}.")
    return kit.agent(name, *replies, mode="task", **fields)


def _once(kit, name, *replies, **fields):
    fields.setdefault("description", f"Does {name}.")
    return kit.agent(name, *replies, mode="single_turn", **fields)


def _done(kit, result: Any = "Done.", **args):
    return kit.call("finish_task", **(args or {"result": result}))


@scenario(68, 69, 70, 72, 73)
async def task_in_one_turn(kit):
    research = _task(kit, "research", _done(kit, "Four."))
    root = kit.agent(
        "root", kit.call("research", request="2 + 2?"), "It is four.", sub_agents=[research]
    )
    talk = await kit.open(root)
    await talk.say("What is 2 + 2?")


@scenario(69, 70, 72, 73)
async def task_in_three_turns(kit):
    research = _task(kit, "research", "Which sea?", "How deep?", _done(kit, "The Baltic."))
    root = kit.agent(
        "root", kit.call("research", request="Find a sea"), "The Baltic it is.", "You are welcome.",
        sub_agents=[research],
    )  # fmt: skip
    talk = await kit.open(root)
    await talk.say("Find me a sea")
    await talk.say("A cold one")
    await talk.say("Not very")
    await talk.say("Thanks")


@scenario(70, 72)
async def task_sees_nothing_of_what_was_said_before(kit):
    research = _task(kit, "research", "What?", _done(kit))
    root = kit.agent(
        "root", "Hello.", kit.call("research", request="Look"), "Found.", sub_agents=[research]
    )
    talk = await kit.open(root)
    await talk.say("Hi")
    await talk.say("Look for it")
    await talk.say("That")


@scenario(70, 72, 73)
async def task_given_twice(kit):
    research = _task(kit, "research", _done(kit, "One."), _done(kit, "Two."))
    root = kit.agent(
        "root", kit.call("research", request="First"), kit.call("research", request="Second"),
        "Both.", sub_agents=[research],
    )  # fmt: skip
    talk = await kit.open(root)
    await talk.say("Twice")


@scenario(70, 72, 73)
async def tasks_of_one_response(kit):
    left = _task(kit, "left", "Left?", _done(kit, "L"))
    right = _task(kit, "right", "Right?", _done(kit, "R"))
    root = kit.agent(
        "root", [kit.call("left", request="l"), kit.call("right", request="r")], "Both done.",
        "Again.", sub_agents=[left, right],
    )  # fmt: skip
    talk = await kit.open(root)
    await talk.say("Do both")
    await talk.say("one")
    await talk.say("two")
    await talk.say("three")


@scenario(70, 72, 73)
async def task_within_task(kit):
    inner = _task(kit, "inner", "Inner asks?", _done(kit, "Inner done."))
    outer = _task(
        kit, "outer", kit.call("inner", request="inner"), _done(kit, "Outer done."),
        sub_agents=[inner],
    )  # fmt: skip
    root = kit.agent("root", kit.call("outer", request="outer"), "All done.", sub_agents=[outer])
    talk = await kit.open(root)
    await talk.say("Go")


@scenario(70, 73, words=("sources", "finish_task"))
async def task_with_schemas(kit):
    research = _task(
        kit, "research", _done(kit, summary="Wet."), _done(kit, summary="Wet.", sources=2),
        input_schema=Topic, output_schema=Report,
    )  # fmt: skip
    root = kit.agent("root", kit.call("research", topic="sea"), "It is wet.", sub_agents=[research])
    talk = await kit.open(root)
    await talk.say("Tell me of the sea")


@scenario(70, 73)
async def task_with_text_as_output(kit):
    research = _task(kit, "research", _done(kit, "wet"), output_schema=str)
    root = kit.agent("root", kit.call("research", request="sea"), "Wet.", sub_agents=[research])
    talk = await kit.open(root)
    await talk.say("Tell me")


@scenario(70, 73)
async def task_with_list_as_output(kit):
    research = _task(kit, "research", _done(kit, ["a", "b"]), output_schema=list[str])
    root = kit.agent("root", kit.call("research", request="sea"), "Two.", sub_agents=[research])
    talk = await kit.open(root)
    await talk.say("Tell me")


@scenario(70, words=("topic", "research"))
async def task_with_wrong_input(kit):
    research = _task(kit, "research", _done(kit), input_schema=Topic)
    root = kit.agent(
        "root", kit.call("research", nothing="sea"), "I cannot.", "Never.", sub_agents=[research]
    )
    talk = await kit.open(root)
    await talk.say("Tell me", raises=("ValueError", "research"))


@scenario(70)
async def task_finished_with_words(kit):
    research = _task(kit, "research", ["I am done.", _done(kit)])
    root = kit.agent(
        "root", ["I ask.", kit.call("research", request="it")], "Over.", sub_agents=[research]
    )
    talk = await kit.open(root)
    await talk.say("Go")


@scenario(70, 72)
async def task_with_tools(kit):
    def look(what: str) -> dict:
        return {"found": what}

    research = _task(
        kit, "research", kit.call("look", what="a"), "Is it a?",
        [kit.call("look", what="b"), _done(kit, "b")], tools=[look],
    )  # fmt: skip
    root = kit.agent(
        "root", kit.call("research", request="it"), "It is b.", "Yes.", sub_agents=[research]
    )
    talk = await kit.open(root)
    await talk.say("Go")
    await talk.say("No")
    await talk.say("Sure?")


@scenario(70, 72, 145, words=("pay", "confirmation"))
async def task_asks_for_confirmation(kit):
    def pay(amount: int) -> dict:
        return {"paid": amount}

    tool = kit.FunctionTool(pay, require_confirmation=True)
    buy = _task(kit, "buy", kit.call("pay", amount=3), "Paid. Done?", _done(kit), tools=[tool])
    root = kit.agent("root", kit.call("buy", request="it"), "Bought.", sub_agents=[buy])
    talk = await kit.open(root)
    await talk.say("Buy it")
    await talk.answer(CONFIRM, {"confirmed": True})
    await talk.say("Done")


@scenario(70, 72)
async def task_waits_for_long_running_tool(kit):
    def ask(what: str) -> None:
        return None

    tool = kit.LongRunningFunctionTool(ask)
    buy = _task(kit, "buy", kit.call("ask", what="price"), "Three?", _done(kit), tools=[tool])
    root = kit.agent("root", kit.call("buy", request="it"), "Bought.", sub_agents=[buy])
    talk = await kit.open(root)
    await talk.say("Buy it")
    await talk.answer("ask", {"price": 3})
    await talk.say("Yes")


@scenario(70, 107)
async def task_beside_chat_agent(kit):
    talker = kit.agent("talker", "I talk.", description="Talks.", disallow_transfer_to_parent=True)
    research = _task(kit, "research", "Which?", _done(kit), disallow_transfer_to_peers=True)
    root = kit.agent(
        "root", kit.call("transfer_to_agent", agent_name="talker"),
        kit.call("research", request="it"), "Found.", sub_agents=[talker, research],
    )  # fmt: skip
    talk = await kit.open(root)
    await talk.say("Talk to me")
    await talk.say("Research")
    await talk.say("This")


@scenario(70)
async def task_writes_state(kit):
    def note(what: str, tool_context) -> dict:
        tool_context.state["noted"] = what
        return {"ok": True}

    research = _task(
        kit, "research", kit.call("note", what="a"), "Noted?", _done(kit), tools=[note],
    )  # fmt: skip
    root = kit.agent(
        "root", kit.call("research", request="it"), "Over.", sub_agents=[research],
        output_key="said", instruction="Noted: {noted?}.",
    )  # fmt: skip
    talk = await kit.open(root)
    await talk.say("Go")
    await talk.say("Yes")


@scenario(60, 70)
async def task_with_output_key(kit):
    research = _task(kit, "research", "Which?", _done(kit, "This."), output_key="found")
    root = kit.agent("root", kit.call("research", request="it"), "Over.", sub_agents=[research])
    talk = await kit.open(root)
    await talk.say("Go")
    await talk.say("This")


@scenario(70, words=("broken",))
async def task_with_failing_tool(kit):
    def fail(what: str) -> dict:
        raise RuntimeError("broken")

    research = _task(kit, "research", kit.call("fail", what="a"), _done(kit), tools=[fail])
    root = kit.agent("root", kit.call("research", request="it"), "Over.", sub_agents=[research])
    talk = await kit.open(root)
    await talk.say("Go", raises=("RuntimeError", "broken"))
    await talk.say("Again")


@scenario(70)
async def task_in_stream(kit):
    research = _task(
        kit, "research", Stream([kit.text("Whi", partial=True), kit.text("Which?")]), _done(kit)
    )
    root = kit.agent("root", kit.call("research", request="it"), "Over.", sub_agents=[research])
    talk = await kit.open(root)
    config = kit.RunConfig(streaming_mode=kit.StreamingMode.SSE)
    await talk.say("Go", run_config=config)
    await talk.say("This", run_config=config)


def _hooks(kit, agent):
    def noting(hook):
        def note(*_, **named):
            tool = named.get("tool")
            kit.note(agent, hook, *([tool.name] if tool else []))

        return note

    hooks = ("before_agent", "after_agent", "before_model", "before_tool", "after_tool")
    return {f"{hook}_callback": noting(hook) for hook in hooks}


@scenario(69, 70, 71)
async def task_and_hooks(kit):
    research = _task(kit, "research", "Which?", _done(kit), **_hooks(kit, "research"))
    form = _once(kit, "form", "Formed.", **_hooks(kit, "form"))
    root = kit.agent(
        "root", kit.call("research", request="it"), kit.call("form", request="that"), "Over.",
        sub_agents=[research, form], **_hooks(kit, "root"),
    )  # fmt: skip
    talk = await kit.open(root)
    await talk.say("Go")
    await talk.say("This")


@scenario(70, 71)
async def task_uses_agent_that_runs_once(kit):
    form = _once(kit, "form", "Formed.")
    research = _task(kit, "research", kit.call("form", request="it"), _done(kit), sub_agents=[form])
    root = kit.agent("root", kit.call("research", request="it"), "Over.", sub_agents=[research])
    talk = await kit.open(root)
    await talk.say("Go")


@scenario(68, 69, 71, 72)
async def single_turn(kit):
    poet = _once(kit, "poet", "A haiku.", instruction="Write.")
    root = kit.agent("root", kit.call("poet", request="Of the sea"), "Here.", sub_agents=[poet])
    talk = await kit.open(root)
    await talk.say("A haiku!")


@scenario(69, 71, 72)
async def single_turn_in_two_turns(kit):
    poet = _once(kit, "poet", "A haiku.", "A sonnet.")
    root = kit.agent(
        "root", kit.call("poet", request="Short"), "Here.", kit.call("poet", request="Long"),
        "There.", "Over.", sub_agents=[poet],
    )  # fmt: skip
    talk = await kit.open(root)
    await talk.say("A haiku!")
    await talk.say("A sonnet!")
    await talk.say("Thanks")


@scenario(59, 60, 71, show=("config",))
async def single_turn_with_schemas(kit):
    poet = _once(
        kit, "poet", '{"summary": "Wet.", "sources": 2}', input_schema=Topic, output_schema=Report,
        output_key="report",
    )  # fmt: skip
    root = kit.agent("root", kit.call("poet", topic="sea"), "Here.", sub_agents=[poet])
    talk = await kit.open(root)
    await talk.say("Tell me")


@scenario(71, words=("topic",))
async def single_turn_with_wrong_input(kit):
    poet = _once(kit, "poet", "Never.", input_schema=Topic)
    root = kit.agent("root", kit.call("poet", nothing="sea"), "I cannot.", sub_agents=[poet])
    talk = await kit.open(root)
    await talk.say("Tell me")


@scenario(69, 71, 72)
async def single_turns_beside_tool(kit):
    def look(what: str) -> dict:
        return {"found": what}

    left = _once(kit, "left", "L")
    right = _once(kit, "right", "R")
    root = kit.agent(
        "root",
        [kit.call("look", what="1"), kit.call("left", request="l"), kit.call("right", request="r")],
        "All.", sub_agents=[left, right], tools=[look],
    )  # fmt: skip
    talk = await kit.open(root)
    await talk.say("Go")


@scenario(71, 72)
async def single_turn_with_tools(kit):
    def look(what: str) -> dict:
        return {"found": what}

    poet = _once(kit, "poet", kit.call("look", what="sea"), "A haiku.", tools=[look])
    root = kit.agent("root", kit.call("poet", request="sea"), "Here.", sub_agents=[poet])
    talk = await kit.open(root)
    await talk.say("A haiku!")


@scenario(71)
async def single_turn_in_stream(kit):
    poet = _once(kit, "poet", Stream([kit.text("A hai", partial=True), kit.text("A haiku.")]))
    root = kit.agent("root", kit.call("poet", request="sea"), "Here.", sub_agents=[poet])
    talk = await kit.open(root)
    await talk.say("Go", run_config=kit.RunConfig(streaming_mode=kit.StreamingMode.SSE))


@scenario(71, words=("broken", "poet"))
async def single_turn_with_failing_tool(kit):
    def fail(what: str) -> dict:
        raise RuntimeError("broken")

    poet = _once(kit, "poet", kit.call("fail", what="a"), "Never.", tools=[fail])
    root = kit.agent("root", kit.call("poet", request="it"), "Over.", sub_agents=[poet])
    talk = await kit.open(root)
    await talk.say("Go", raises=("RuntimeError", "broken"))


@scenario(67, 71)
async def single_turn_resumable(kit):
    poet = _once(kit, "poet", "A haiku.")
    root = kit.agent("root", kit.call("poet", request="sea"), "Here.", sub_agents=[poet])
    talk = await kit.open(
        root, app={"resumability_config": kit.ResumabilityConfig(is_resumable=True)}
    )
    await talk.say("Go")


@scenario(68)
async def chat_root(kit):
    root = kit.agent("root", "Hello.", mode="chat")
    talk = await kit.open(root)
    await talk.say("Hi")


@scenario(68)
async def root_becomes_chat(kit):
    child = kit.agent("child", description="Helps.")
    root = kit.agent("root", "Hello.", sub_agents=[child])
    talk = await kit.open(root)
    await talk.say("Hi")
    kit.note(root.mode, child.mode)


@scenario(60, 217)
async def wf_llm_agent_reads_input(kit):
    def prepare(node_input):
        return "A topic."

    def after(node_input):
        return {"got": node_input}

    poet = kit.agent("poet", "A haiku.", "A sonnet.", instruction="Write.", output_key="poem")
    graph = kit.Workflow(name="flow", edges=[(kit.START, prepare, poet, after)])
    talk = await kit.open(graph)
    await talk.say("A haiku!")
    await talk.say("A sonnet!")


@scenario(217)
async def wf_llm_agents_in_line(kit):
    one, two = kit.agent("one", "From one.", "Again."), kit.agent("two", "From two.", "And two.")
    talk = await kit.open(kit.Workflow(name="flow", edges=[(kit.START, one, two)]))
    await talk.say("Go")
    await talk.say("Again")


@scenario(59, 217)
async def wf_llm_agent_with_schemas(kit):
    def prepare(node_input):
        return {"topic": "sea", "depth": 2}

    def after(node_input):
        return {"got": node_input["summary"]}

    poet = kit.agent(
        "poet", '{"summary": "Wet.", "sources": 2}', input_schema=Topic, output_schema=Report
    )
    talk = await kit.open(kit.Workflow(name="flow", edges=[(kit.START, prepare, poet, after)]))
    await talk.say("Go")


@scenario(217)
async def wf_llm_agent_with_tool(kit):
    def look(what: str) -> dict:
        return {"found": what}

    def prepare(node_input):
        return ["sea", 2]

    poet = kit.agent("poet", kit.call("look", what="sea"), "Wet.", tools=[look])
    talk = await kit.open(kit.Workflow(name="flow", edges=[(kit.START, prepare, poet)]))
    await talk.say("Go")
