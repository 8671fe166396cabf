"""What the model is told: instructions, state, schema, planners, code, compacted history."""

from pydantic import BaseModel

from ..registry import scenario


class Answer(BaseModel):
    city: str
    score: int


@scenario(60)
async def output_key(kit):
    talk = await kit.open(kit.agent("root", [kit.thought("Hm."), "Hel", "lo"], output_key="said"))
    await talk.say("Hi")


@scenario(59, 87, 215, show=("config",))
async def output_schema(kit):
    root = kit.agent(
        "root", '{"city": "Rome", "score": 3}', output_schema=Answer, output_key="found"
    )
    talk = await kit.open(root)
    await talk.say("Best city?")


@scenario(59, 94, 127, 215, "X13", show=("config",))
async def output_schema_with_tools(kit):
    def look(city: str) -> dict:
        return {"score": 3}

    root = kit.agent(
        "root", kit.call("look", city="Rome"), kit.call("set_model_response", city="Rome", score=3),
        '{"city": "Oslo", "score": 2}',
        output_schema=Answer, output_key="found", tools=[look],
    )  # fmt: skip
    talk = await kit.open(root)
    await talk.say("Best city?")
    await talk.say("And then?")


@scenario(59, 215, show=("config",))
async def output_schema_broken(kit):
    root = kit.agent("root", "not json", "Next.", output_schema=Answer, output_key="found")
    talk = await kit.open(root)
    await talk.say("Best city?", raises=("ValidationError",))


@scenario(53, 91, 182, show=("system",))
async def instruction_with_state(kit):
    root = kit.agent(
        "root", "Hi.",
        instruction="Talk to {name} of {user:team}; {app:rule}; {maybe?}; {temp:now}; "
        "{not a name}; {x.y}.",
    )  # fmt: skip
    talk = await kit.open(root, state={"name": "Ann", "user:team": "B", "app:rule": "short"})
    await talk.say("Hi", state_delta={"temp:now": "noon"})


@scenario(91, show=("system",))
async def instruction_with_missing_key(kit):
    talk = await kit.open(kit.agent("root", "Hi.", instruction="Talk to {ghost}."))
    await talk.say("Hi", raises=("KeyError", "ghost"))


@scenario(91, 196, adk="2.13.0", show=("system",))  # 2.3.0 writes the Python repr of the Part
async def instruction_with_artifact(kit):
    root = kit.agent("root", "Hi.", instruction="Read {artifact.note.txt}|{artifact.no.txt?}|")
    talk = await kit.open(root)
    await talk.artifacts.save_artifact(
        app_name="golden", user_id="u", session_id=talk.session.id, filename="note.txt",
        artifact=kit.types.Part(text="secret"),
    )  # fmt: skip
    await talk.say("Hi")


@scenario(53, show=("system",))
async def instruction_by_function(kit):
    async def instruct(context):
        return f"You are {context.agent_name}; {{name}} stays; {context.state['name']}."

    talk = await kit.open(kit.agent("root", "Hi.", instruction=instruct), state={"name": "Ann"})
    await talk.say("Hi")


@scenario(54, 89, 93, show=("system",))
async def static_instruction(kit):
    root = kit.agent(
        "root", "Hi.", "More.", static_instruction="Fixed {name}.", instruction="For {name}."
    )
    talk = await kit.open(root, state={"name": "Ann"})
    await talk.say("Hi")
    await talk.say("More")


@scenario(55, 89, 92, show=("system",))
async def global_instruction(kit):
    child = kit.agent(
        "child", "Child.", instruction="Child rule.", global_instruction="Unheard.",
        description="Helps.",
        disallow_transfer_to_parent=True, disallow_transfer_to_peers=True,
    )  # fmt: skip
    end = kit.agent("end", "End.", instruction="End rule.")
    plain = kit.agent(
        "plain",
        "Plain.",
        global_instruction="All: {name}.",
        instruction="Own rule.",
        description="A plain one.",
    )
    await (await kit.open(plain, state={"name": "Ann"})).say("Hi")
    await (await kit.open(kit.SequentialAgent(name="line", sub_agents=[child, end]))).say("Hi")


@scenario(182, 184, 187)
async def state_scopes(kit):
    def put(tool_context) -> dict:
        for key in ("plain", "app:all", "user:mine", "temp:now"):
            tool_context.state[key] = key
        return {"ok": True}

    def get(tool_context) -> dict:
        return {
            key: tool_context.state.get(key)
            for key in ("plain", "app:all", "user:mine", "temp:now")
        }

    sessions = kit.InMemorySessionService()

    def root(*calls):
        return kit.agent("root", *map(kit.call, calls), "Done.", tools=[put, get])

    one = await kit.open(root("put", "get"), sessions=sessions)
    await one.say("Put and get")
    two = await kit.open(root("get"), sessions=sessions)
    await two.say("Get, same user")
    three = await kit.open(root("get"), sessions=sessions, user="v")
    await three.say("Get, other user")


@scenario(185, "X11")
async def none_removes_key(kit):
    def drop(tool_context) -> dict:
        tool_context.state["a"] = None
        return {"ok": True}

    talk = await kit.open(
        kit.agent("root", kit.call("drop"), "Done.", tools=[drop]), state={"a": 1, "b": {"c": None}}
    )
    await talk.say("Drop")


@scenario(163)
async def plan_react_planner(kit):
    def look() -> dict:
        return {"ok": True}

    plan = "/*PLANNING*/ First look. /*ACTION*/"
    answer = "/*REASONING*/ I looked. /*FINAL_ANSWER*/ It is fine."
    root = kit.agent(
        "root", [plan, kit.call("look"), kit.call("look"), "ignored"], answer, "Plain.",
        planner=kit.PlanReActPlanner(), tools=[look],
    )  # fmt: skip
    talk = await kit.open(root)
    await talk.say("Look")
    await talk.say("More")


@scenario(162, show=("config",))
async def built_in_planner(kit):
    config = kit.types.ThinkingConfig(include_thoughts=True, thinking_budget=7)
    root = kit.agent(
        "root", [kit.thought("Hm."), "Fine."], planner=kit.BuiltInPlanner(thinking_config=config)
    )
    talk = await kit.open(root)
    await talk.say("Hi")


@scenario(167, 168)
async def code_execution(kit):
    code = "Let me count.\n```tool_code\nprint(1 + 2)\n```\nand more"
    root = kit.agent("root", code, "It is 3.", "More.", code_executor=kit.UnsafeLocalCodeExecutor())
    talk = await kit.open(root)
    await talk.say("Count")
    await talk.say("More")


@scenario(167, 168)
async def code_execution_error(kit):
    code = "```python\nraise ValueError('no')\n```"
    root = kit.agent("root", code, "Sorry.", code_executor=kit.UnsafeLocalCodeExecutor())
    talk = await kit.open(root)
    await talk.say("Count")


@scenario(57, 114, show=("config",))
async def generate_content_config(kit):
    config = kit.types.GenerateContentConfig(temperature=0.5)
    root = kit.agent("root", "Hi.", "More.", generate_content_config=config)
    talk = await kit.open(root)
    await talk.say("Hi")
    await talk.say("More")


@scenario(25, 105, 210, 211, "X14")
async def compaction(kit):
    base = kit.LlmEventSummarizer.__mro__[1]

    class Summarizer(base):
        async def maybe_summarize_events(self, *, events):
            kit.note([part.text for e in events if e.content for part in e.content.parts])
            compaction = {
                "start_timestamp": events[0].timestamp,
                "end_timestamp": events[-1].timestamp,
                "compacted_content": kit.content("model", f"Summary of {len(events)}."),
            }
            return kit.Event(
                author="user",
                invocation_id="compacted",
                actions=kit.EventActions(compaction=compaction),
            )

    config = kit.EventsCompactionConfig(
        summarizer=Summarizer(), compaction_interval=2, overlap_size=1
    )
    root = kit.agent("root", *[f"A{i}." for i in range(1, 6)])
    talk = await kit.open(root, app={"events_compaction_config": config})
    for i in range(1, 6):
        await talk.say(f"Q{i}")


@scenario(211, 105)
async def compaction_by_model(kit):
    summarizer = kit.LlmEventSummarizer(
        llm=kit.model("summarizer", "The summary."),
        prompt_template="Sum up: {conversation_history}",
    )
    config = kit.EventsCompactionConfig(
        summarizer=summarizer, compaction_interval=1, overlap_size=0
    )
    root = kit.agent("root", "A1.")
    talk = await kit.open(root, app={"events_compaction_config": config})
    await talk.say("Q1")


@scenario(100)
async def rewind(kit):
    def put(value: int, tool_context) -> dict:
        tool_context.state["v"] = value
        tool_context.state[f"only{value}"] = True
        return {"ok": True}

    root = kit.agent(
        "root",
        kit.call("put", value=1),
        "One.",
        kit.call("put", value=2),
        "Two.",
        "Three.",
        tools=[put],
    )
    talk = await kit.open(root)
    await talk.say("First")
    await talk.say("Second")
    await talk.runner.rewind_async(
        user_id="u", session_id=talk.session.id, rewind_before_invocation_id=talk.invocation()
    )
    await talk.say("Third")


@scenario(196)
async def save_input_blobs(kit):
    types = kit.types
    blob = types.Part(inline_data=types.Blob(data=b"abc", mime_type="text/plain"))
    talk = await kit.open(kit.agent("root", "Saved."))
    await talk.say(
        ["Keep this", blob], run_config=kit.RunConfig(save_input_blobs_as_artifacts=True)
    )
    keys = await talk.artifacts.list_artifact_keys(
        app_name="golden", user_id="u", session_id=talk.session.id
    )
    kit.note("artifacts", len(keys))
