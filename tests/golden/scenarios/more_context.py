"""Further requests: streaming hooks, compaction by tokens, toolsets, credentials, state."""

import copy

from pydantic import BaseModel

from ..registry import scenario
from ..script import Stream


class Answer(BaseModel):
    city: str


@scenario(117, 202)
async def after_model_in_stream(kit):
    def after(callback_context, llm_response):
        kit.note(llm_response.partial, llm_response.content.parts[0].text)

    stream = Stream([kit.text("Hel", partial=True), kit.text("Hello")])
    talk = await kit.open(kit.agent("root", stream, after_model_callback=after, output_key="said"))
    await talk.say("Hi", run_config=kit.RunConfig(streaming_mode=kit.StreamingMode.SSE))


@scenario(113, 115, 206)
async def skipped_calls_do_not_count(kit):
    def tool() -> dict:
        return {"ok": True}

    def before(callback_context, llm_request):
        done = callback_context.state.get("done", 0)
        callback_context.state["done"] = done + 1
        return kit.reply(kit.call("tool")) if done < 3 else None

    root = kit.agent("root", "Done.", tools=[tool], before_model_callback=before)
    talk = await kit.open(root)
    await talk.say("Go", run_config=kit.RunConfig(max_llm_calls=1))


@scenario(155)
async def callback_escalates(kit):
    def after(callback_context):
        callback_context.actions.escalate = True
        callback_context.state["stopped"] = True

    one = kit.agent("one", "1.", "2.", after_agent_callback=after)
    talk = await kit.open(kit.LoopAgent(name="loop", sub_agents=[one], max_iterations=3))
    await talk.say("Go")


@scenario(60)
async def output_key_in_tool_turn(kit):
    def tool() -> dict:
        return {"ok": True}

    root = kit.agent(
        "root", ["Looking.", kit.call("tool")], "Found.", tools=[tool], output_key="said"
    )
    talk = await kit.open(root)
    await talk.say("Go")


@scenario(60, 154)
async def output_key_of_parent(kit):
    child = kit.agent("child", "Child says.", description="Helps.")
    root = kit.agent(
        "root",
        kit.call("transfer_to_agent", agent_name="child"),
        sub_agents=[child],
        output_key="said",
    )
    talk = await kit.open(root)
    await talk.say("Go")


@scenario(59, 94, 215, adk="2.13.0", words=("city",))  # 2.3.0 raises the ValidationError
async def set_model_response_with_wrong_args(kit):
    def look() -> dict:
        return {"ok": True}

    root = kit.agent(
        "root", kit.call("set_model_response", town="Rome"),
        kit.call("set_model_response", city="Rome"),
        output_schema=Answer, tools=[look],
    )  # fmt: skip
    talk = await kit.open(root)
    await talk.say("Best?")


@scenario(59, 62, 215, show=("config",))
async def output_schema_below_parent(kit):
    child = kit.agent(
        "child", '{"city": "Rome"}', '{"city": "Oslo"}', output_schema=Answer, output_key="c",
        description="City."
    )  # fmt: skip
    root = kit.agent(
        "root", kit.call("transfer_to_agent", agent_name="child"), "Next.", sub_agents=[child]
    )
    talk = await kit.open(root)
    await talk.say("Go")
    await talk.say("More")


@scenario(105, 210)
async def compaction_by_tokens(kit):
    usage = kit.types.GenerateContentResponseUsageMetadata(prompt_token_count=1000)
    config = kit.EventsCompactionConfig(
        summarizer=kit.LlmEventSummarizer(
            llm=kit.model("summarizer", "Summary 1.", "Summary 2.", "Summary 3."),
            prompt_template="Sum up: {conversation_history}",
        ),
        compaction_interval=100, overlap_size=0, token_threshold=500, event_retention_size=2,
    )  # fmt: skip
    root = kit.agent(
        "root", kit.text("A1."), kit.text("A2.", usage_metadata=usage), kit.text("A3."),
    )  # fmt: skip
    talk = await kit.open(root, app={"events_compaction_config": config})
    for text in ("Q1", "Q2", "Q3"):
        await talk.say(text)


@scenario(100, 196)
async def rewind_first_of_three(kit):
    talk = await kit.open(kit.agent("root", "A1.", "A2.", "A3.", "A4."))
    await talk.say("Q1")
    await talk.say("Q2")
    second = talk.invocation()
    await talk.say("Q3")
    await talk.runner.rewind_async(
        user_id="u", session_id=talk.session.id, rewind_before_invocation_id=second
    )
    await talk.say("Q4")


@scenario(100, 101)
async def rewind_twice(kit):
    talk = await kit.open(kit.agent("root", "A1.", "A2.", "A3.", "A4."))
    for text in ("Q1", "Q2"):
        await talk.say(text)
        await talk.runner.rewind_async(
            user_id="u", session_id=talk.session.id, rewind_before_invocation_id=talk.invocation()
        )
    await talk.say("Q3")


@scenario(43, 148)
async def credential_oauth2(kit):
    config = kit.AuthConfig.model_validate(
        {
            "authScheme": {
                "type": "oauth2",
                "flows": {
                    "authorizationCode": {
                        "authorizationUrl": "https://auth.example/authorize",
                        "tokenUrl": "https://auth.example/token",
                        "scopes": {"read": "Read"},
                    }
                },
            },
            "rawAuthCredential": {
                "authType": "oauth2",
                "oauth2": {
                    "clientId": "c",
                    "clientSecret": "s",
                    "redirectUri": "https://app.example/back",
                },
            },
            "credentialKey": "golden_oauth",
        }
    )

    def fetch(tool_context) -> dict:
        credential = tool_context.get_auth_response(config)
        if credential is None:
            tool_context.request_credential(config)
            return {"status": "needs login"}
        return {"token": credential.oauth2.access_token}

    talk = await kit.open(kit.agent("root", kit.call("fetch"), "Got it.", tools=[fetch]))
    events = await talk.say("Fetch")
    calls = [call for event in events for call in event.get_function_calls()]
    kit.note(sorted(calls[-1].args["authConfig"]))
    oauth2 = calls[-1].args["authConfig"].get("exchangedAuthCredential", {}).get("oauth2", {})
    kit.note(sorted(oauth2), oauth2.get("authUri", "").split("state=")[0])
    answer = copy.deepcopy(calls[-1].args["authConfig"])
    answer["exchangedAuthCredential"] = {
        "authType": "oauth2",
        "oauth2": {"clientId": "c", "clientSecret": "s", "accessToken": "tok"},
    }
    await talk.answer("adk_request_credential", answer)


@scenario(95, 130)
async def toolset(kit):
    def a() -> dict:
        return {"a": 1}

    def b() -> dict:
        return {"b": 1}

    class Set(kit.BaseToolset):
        async def get_tools(self, readonly_context=None):
            kit.note(readonly_context.agent_name if readonly_context else None)
            return [kit.FunctionTool(a), kit.FunctionTool(b)]

        async def close(self):
            kit.note("closed")

    root = kit.agent("root", kit.call("my_b"), "Done.", tools=[Set(tool_name_prefix="my")])
    talk = await kit.open(root)
    await talk.say("Go")
    await talk.runner.close()


@scenario(95, 128)
async def tool_changes_request(kit):
    class Teller(kit.BaseTool):
        def __init__(self):
            super().__init__(name="teller", description="Tells.")

        async def process_llm_request(self, *, tool_context, llm_request):
            llm_request.append_instructions(["Told by the tool."])
            kit.note(tool_context.function_call_id, sorted(llm_request.tools_dict))

    root = kit.agent("root", "Hi.", instruction="Own.", tools=[Teller()])
    talk = await kit.open(root)
    await talk.say("Hi")


@scenario(182, 185)
async def state_overwritten_by_callbacks(kit):
    def before(callback_context):
        callback_context.state.update({"a": 1, "b": {"x": 1}})

    def tool(tool_context) -> dict:
        tool_context.state["b"] = {"y": tool_context.state["b"]["x"] + 1}
        tool_context.state.setdefault("c", 3)
        return {"has": "a" in tool_context.state, "all": tool_context.state.to_dict()}

    def after(callback_context):
        callback_context.state["a"] = 2

    root = kit.agent(
        "root", kit.call("tool"), "Done.", tools=[tool],
        before_agent_callback=before, after_agent_callback=after,
    )  # fmt: skip
    talk = await kit.open(root)
    await talk.say("Go")


@scenario(111)
async def response_with_other_parts(kit):
    types = kit.types
    blob = types.Part(inline_data=types.Blob(data=b"abc", mime_type="image/png"))
    talk = await kit.open(kit.agent("root", ["Look", blob], "Nice."))
    await talk.say("Draw")
    await talk.say(["And this", blob])


@scenario(101, 106)
async def transcriptions_in_history(kit):
    types = kit.types
    talk = await kit.open(kit.agent("root", "Seen."))
    session = await talk.load()
    said = [
        ("user", "input", "Hel"),
        ("user", "input", "lo"),
        ("root", "output", "Good"),
        ("root", "output", " day"),
    ]
    for author, side, text in said:
        event = kit.Event(author=author, invocation_id="before")
        setattr(event, f"{side}_transcription", types.Transcription(text=text))
        await talk.sessions.append_event(session, event)
    await talk.say("Now")


@scenario(103, 107)
async def strangers_in_history(kit):
    talk = await kit.open(kit.agent("root", "Seen."))
    session = await talk.load()
    for branch, text in ((None, "Hello from outside."), ("other.branch", "On a branch.")):
        event = kit.Event(author="stranger", branch=branch, content=kit.content("model", text))
        event.invocation_id = "before"
        await talk.sessions.append_event(session, event)
    await talk.say("Now")


@scenario(101, 104, adk="2.13.0")  # 2.3.0 shows adk_request_input
async def foreign_events_in_history(kit):
    talk = await kit.open(kit.agent("root", "Seen."))
    session = await talk.load()
    events = [
        kit.Event(author="user", content=kit.content("user", "")),
        kit.Event(
            author="root",
            content=kit.content("model", kit.call("adk_request_input", _id="q1", message="?")),
        ),
        kit.Event(author="root", content=kit.content("model", kit.thought("Only thinking."))),
        kit.Event(
            author="root", branch="other.branch", content=kit.content("model", "On a branch.")
        ),
        kit.Event(author="root", actions=kit.EventActions(state_delta={"k": 1})),
    ]
    for event in events:
        event.invocation_id = "before"
        await talk.sessions.append_event(session, event)
    await talk.say("Now")


@scenario("218a", adk="2.13.0")  # 2.3.0 loads everything for an LlmAgent root
async def recent_events_only(kit):
    talk = await kit.open(kit.agent("root", "A1.", "A2.", "A3."))
    await talk.say("Q1")
    await talk.say("Q2")
    config = kit.RunConfig(get_session_config=kit.GetSessionConfig(num_recent_events=1))
    await talk.say("Q3", run_config=config)
