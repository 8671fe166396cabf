"""Plain turns, streaming, model errors and odd model responses."""

from ..registry import scenario
from ..script import Stream


@scenario(10, 13, 22, 79, 113, 172)
async def plain_turn(kit):
    talk = await kit.open(kit.agent("root", "Hello!"))
    await talk.say("Hi")


@scenario(10, 13, 101)
async def two_turns(kit):
    talk = await kit.open(kit.agent("root", "Hello!", "Fine."))
    await talk.say("Hi")
    await talk.say("How are you?")


@scenario(11, 182, 184)
async def turn_with_state_delta(kit):
    talk = await kit.open(kit.agent("root", "Hello!"), state={"a": 1})
    await talk.say("Hi", state_delta={"b": {"c": 2}, "temp:d": 3})


@scenario(19, adk="2.13.0")  # 2.3.0 leaves the user's event out
async def custom_metadata(kit):
    def tool():
        return {"ok": True}

    talk = await kit.open(kit.agent("root", kit.call("tool"), "Done", tools=[tool]))
    await talk.say("Hi", run_config=kit.RunConfig(custom_metadata={"trace": "t1"}))


@scenario(20, 116, 201, 202)
async def streaming_text(kit):
    stream = Stream(
        [kit.text("Hel", partial=True), kit.text("lo", partial=True), kit.text("Hello")]
    )
    talk = await kit.open(kit.agent("root", stream))
    await talk.say("Hi", run_config=kit.RunConfig(streaming_mode=kit.StreamingMode.SSE))


@scenario(20, 126, 202)
async def streaming_tool_call(kit):
    def tool(city: str) -> dict:
        return {"sun": city}

    stream = Stream(
        [
            kit.text("Let me", partial=True),
            kit.reply(kit.call("tool", city="Rome"), partial=True),
            kit.reply("Let me see", kit.call("tool", city="Rome")),
        ]
    )
    end = Stream([kit.text("Sun", partial=True), kit.text("Sunny")])
    talk = await kit.open(kit.agent("root", stream, end, tools=[tool]))
    await talk.say("Weather?", run_config=kit.RunConfig(streaming_mode=kit.StreamingMode.SSE))


@scenario(79)
async def streaming_ends_partial(kit):
    stream = Stream([kit.text("Hel", partial=True)])
    talk = await kit.open(kit.agent("root", stream, "Again"))
    await talk.say("Hi", run_config=kit.RunConfig(streaming_mode=kit.StreamingMode.SSE))


@scenario(120)
async def partials_without_streaming(kit):
    stream = Stream([kit.text("Hel", partial=True), kit.text("Hello")])
    talk = await kit.open(kit.agent("root", stream))
    await talk.say("Hi")


@scenario(29)
async def model_error(kit):
    talk = await kit.open(kit.agent("root", ValueError("model down"), "Back"))
    await talk.say("Hi", raises=("ValueError", "model down"))
    await talk.say("Again")


@scenario(65, 118)
async def model_error_answered(kit):
    def on_model_error(callback_context, llm_request, error):
        kit.note("on_model_error", callback_context.agent_name, type(error).__name__)
        return kit.text("Sorry")

    root = kit.agent("root", ValueError("down"), on_model_error_callback=on_model_error)
    talk = await kit.open(root)
    await talk.say("Hi")


@scenario(122)
async def empty_response(kit):
    talk = await kit.open(kit.agent("root", kit.LlmResponse(), "Second"))
    await talk.say("Hi")
    await talk.say("Hello?")


@scenario(101, 122)
async def response_without_parts(kit):
    empty = kit.LlmResponse(content=kit.types.Content(role="model", parts=[]))
    talk = await kit.open(kit.agent("root", empty, "Second"))
    await talk.say("Hi")
    await talk.say("Hello?")


@scenario(101, 119, 122)
async def error_code_response(kit):
    bad = kit.LlmResponse(error_code="MAX_TOKENS", error_message="cut")
    talk = await kit.open(kit.agent("root", bad, "Second"))
    await talk.say("Hi")
    await talk.say("Hello?")


@scenario(102)
async def thoughts_in_answer(kit):
    talk = await kit.open(kit.agent("root", [kit.thought("Hmm."), "Hello!"], "Yes."))
    await talk.say("Hi")
    await talk.say("Sure?")


@scenario(37, 115, 206)
async def max_llm_calls(kit):
    def tool():
        return {"ok": True}

    root = kit.agent("root", *[kit.call("tool") for _ in range(4)], "Done", tools=[tool])
    talk = await kit.open(root)
    await talk.say(
        "Go",
        run_config=kit.RunConfig(max_llm_calls=2),
        raises=("LlmCallsLimitExceededError", "2"),
    )
    await talk.say("Again")
