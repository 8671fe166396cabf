"""The tools that come with the package: artifacts, memory, choices, commands, searches."""

from ..registry import scenario


@scenario(129, 197)
async def load_artifacts(kit):
    types = kit.types
    root = kit.agent(
        "root", kit.call("load_artifacts", artifact_names=["n.txt", "user:p.png"]), "Read.", "Yes.",
        tools=[kit.load_artifacts],
    )  # fmt: skip
    talk = await kit.open(root)
    place = {"app_name": "golden", "user_id": "u", "session_id": talk.session.id}
    await talk.artifacts.save_artifact(**place, filename="n.txt", artifact=types.Part(text="hello"))
    image = types.Part(inline_data=types.Blob(data=b"abc", mime_type="image/png"))
    await talk.artifacts.save_artifact(**place, filename="user:p.png", artifact=image)
    await talk.say("Read")
    await talk.say("Sure?")


@scenario(129, 197)
async def load_artifacts_where_none_are(kit):
    root = kit.agent("root", kit.call("load_artifacts"), "None.", tools=[kit.load_artifacts])
    talk = await kit.open(root)
    await talk.say("Read")


async def remembering(kit):
    """A memory service that remembers one earlier talk."""
    memory = kit.InMemoryMemoryService()
    event = kit.Event(author="user", content=kit.content("user", "I love Rome"), timestamp=1.7e9)
    sessions = kit.InMemorySessionService()
    session = await sessions.create_session(app_name="golden", user_id="u")
    await sessions.append_event(session, event)
    await memory.add_session_to_memory(session)
    return memory


@scenario(129)
async def load_memory(kit):
    root = kit.agent(
        "root", kit.call("load_memory", query="rome"), kit.call("load_memory", query="tea"),
        kit.call("load_memory"), "You love Rome.",
        tools=[kit.load_memory],
    )  # fmt: skip
    talk = await kit.open(root, memory_service=await remembering(kit))
    await talk.say("What do I love?")


@scenario(129)
async def preload_memory(kit):
    def see(callback_context, llm_request):
        system = llm_request.config.system_instruction
        kit.note([word for word in ("user: I love Rome", "PAST_CONVERSATIONS") if word in system])

    root = kit.agent("root", "Rome.", "Hm.", tools=[kit.preload_memory], before_model_callback=see)
    talk = await kit.open(root, memory_service=await remembering(kit))
    await talk.say("Do I love Rome?")
    await talk.say("And tea?")


@scenario(129, 136)
async def user_choice(kit):
    root = kit.agent(
        "root", kit.call("get_user_choice", options=["tea", "coffee"]), "Tea it is.",
        tools=[kit.get_user_choice],
    )  # fmt: skip
    talk = await kit.open(root)
    await talk.say("Serve")
    await talk.answer("get_user_choice", {"result": "tea"})


@scenario(104, 129, 136)
async def request_input(kit):
    root = kit.agent(
        "root", kit.call("adk_request_input", message="Your name?"), "Hello Ada.",
        tools=[kit.request_input],
    )  # fmt: skip
    talk = await kit.open(root)
    await talk.say("Greet")
    await talk.answer("adk_request_input", {"result": "Ada"})


@scenario(129, 146)
async def bash_confirmed(kit):
    root = kit.agent(
        "root", kit.call("execute_bash", command="echo 'a; b' | c"), "Done.",
        tools=[kit.ExecuteBashTool()],
    )  # fmt: skip
    talk = await kit.open(root)
    await talk.say("Run")
    await talk.answer("adk_request_confirmation", {"confirmed": True})


@scenario(129, 146)
async def bash_rejected(kit):
    root = kit.agent(
        "root", kit.call("execute_bash", command="echo a"), "Not done.",
        tools=[kit.ExecuteBashTool()],
    )  # fmt: skip
    talk = await kit.open(root)
    await talk.say("Run")
    await talk.answer("adk_request_confirmation", {"confirmed": False})


@scenario(129)
async def model_side_tools(kit):
    def see(callback_context, llm_request):
        dumped = [tool.model_dump(exclude_none=True) for tool in llm_request.config.tools]
        kit.note(llm_request.model, dumped)

    search = kit.VertexAiSearchTool(data_store_id="store", max_results=3)
    root = kit.agent(
        "root", "Found.",
        tools=[kit.url_context, kit.google_maps_grounding, kit.enterprise_web_search],
        before_model_callback=see,
    )  # fmt: skip
    root.model.model = "gemini-2.5-flash"
    talk = await kit.open(root)
    await talk.say("Search")
    store = kit.agent("store", "Found.", tools=[search], before_model_callback=see)
    store.model.model = "gemini-3-pro"
    talk = await kit.open(store)
    await talk.say("Search")
    old = kit.agent("old", "Found.", tools=[kit.google_search], before_model_callback=see)
    old.model.model = "gemini-1.5-flash"
    talk = await kit.open(old)
    await talk.say("Search")


@scenario(129, words=("gpt-9",))
async def model_side_tool_on_other_model(kit):
    root = kit.agent("root", "Found.", tools=[kit.google_search])
    root.model.model = "gpt-9"
    talk = await kit.open(root)
    await talk.say("Search", raises=("ValueError", "Google search tool", "gpt-9"))
