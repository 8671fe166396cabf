"""The plugins that come with the package: retries, filters, instructions, files."""

from ..registry import NEWER, scenario


def failing(times):
    """A tool that fails the first times it is called."""
    left = [times]

    def fragile(x: int) -> dict:
        if left[0]:
            left[0] -= 1
            raise ValueError("too small")
        return {"x": x}

    return fragile


@scenario(134, 158, words=("fragile", "too small"))
async def reflect_and_retry_tool(kit):
    root = kit.agent(
        "root", kit.call("fragile", x=1), kit.call("fragile", x=2), kit.call("fragile", x=3),
        "Done",
        tools=[failing(2)],
    )  # fmt: skip
    talk = await kit.open(root, app={"plugins": [kit.ReflectAndRetryToolPlugin()]})
    await talk.say("Go")


@scenario(134, 158, words=("fragile", "too small"))
async def reflect_and_retry_gives_up(kit):
    plugin = kit.ReflectAndRetryToolPlugin(max_retries=1, throw_exception_if_retry_exceeded=False)
    root = kit.agent(
        "root", kit.call("fragile", x=1), kit.call("fragile", x=2), "It does not work.",
        tools=[failing(9)],
    )  # fmt: skip
    talk = await kit.open(root, app={"plugins": [plugin]})
    await talk.say("Go")


@scenario(117, 158, adk=NEWER)
async def reflect_and_retry_model(kit):
    def broken():
        return kit.LlmResponse(
            error_code="MALFORMED_FUNCTION_CALL",
            error_message="Malformed",
            finish_reason="MALFORMED_FUNCTION_CALL",
        )

    root = kit.agent("root", broken(), broken(), "Done")
    talk = await kit.open(root, app={"plugins": [kit.ReflectAndRetryModelPlugin()]})
    await talk.say("Go")


@scenario(158)
async def context_filter_keeps_last(kit):
    def tool() -> dict:
        return {"ok": True}

    root = kit.agent(
        "root", "A1.", kit.call("tool"), "A2.", kit.call("tool"), "A3.",
        tools=[tool],
    )  # fmt: skip
    talk = await kit.open(
        root, app={"plugins": [kit.ContextFilterPlugin(num_invocations_to_keep=2)]}
    )
    for question in ("Q1", "Q2", "Q3"):
        await talk.say(question)


@scenario(158)
async def context_filter_keeps_late_answer(kit):
    def ask() -> dict:
        return {"status": "asked"}

    root = kit.agent(
        "root", kit.call("ask"), "Asked.", "A2.", "Granted.",
        tools=[kit.LongRunningFunctionTool(ask)],
    )  # fmt: skip
    talk = await kit.open(
        root, app={"plugins": [kit.ContextFilterPlugin(num_invocations_to_keep=1)]}
    )
    await talk.say("Ask")
    await talk.say("And?")
    await talk.answer("ask", {"status": "granted"})


@scenario(158)
async def context_filter_by_function(kit):
    plugin = kit.ContextFilterPlugin(custom_filter=lambda contents: contents[-1:])
    talk = await kit.open(kit.agent("root", "A1.", "A2."), app={"plugins": [plugin]})
    await talk.say("Q1")
    await talk.say("Q2")


@scenario(158, show=("system",))
async def global_instruction_plugin(kit):
    alone = kit.agent("alone", "Alone.", instruction="Own rule.")
    plugin = kit.GlobalInstructionPlugin(global_instruction="Be {how}.")
    talk = await kit.open(alone, app={"plugins": [plugin]}, state={"how": "kind"})
    await talk.say("Go")


@scenario(158, 201)
async def files_become_artifacts(kit):
    types = kit.types
    file = types.Part(
        inline_data=types.Blob(data=b"abc", mime_type="image/png", display_name="a.png")
    )
    nameless = types.Part(inline_data=types.Blob(data=b"def", mime_type="text/plain"))
    root = kit.agent("root", "Seen.", "Yes.")
    talk = await kit.open(root, app={"plugins": [kit.SaveFilesAsArtifactsPlugin()]})
    await talk.say(["Look", file, nameless, "please"])
    await talk.say("Again")
    place = {"app_name": "golden", "user_id": "u", "session_id": talk.session.id}
    kit.note(await talk.artifacts.list_artifact_keys(**place))


@scenario(138, 158)
async def tool_returns_image(kit):
    types = kit.types

    def draw() -> list:
        blob = types.Blob(data=b"abc", mime_type="image/png")
        return [types.Part(text="a dot"), types.Part(inline_data=blob)]

    root = kit.agent("root", kit.call("draw"), "A dot.", "Yes.", tools=[draw])
    talk = await kit.open(root, app={"plugins": [kit.MultimodalToolResultsPlugin()]})
    await talk.say("Draw")
    await talk.say("Sure?")
