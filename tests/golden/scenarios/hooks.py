"""Agent, model and tool callbacks, and plugins: what each may replace."""

from ..registry import scenario


def _tool(kit):
    def tool(a: int = 0) -> dict:
        kit.note("tool ran", a)
        return {"a": a}

    return tool


@scenario(45, 46)
async def before_agent_answers(kit):
    def before(callback_context):
        callback_context.state["seen"] = True
        return kit.content("model", "Not now.")

    root = kit.agent(
        "root", "Never.", before_agent_callback=before,
        after_agent_callback=lambda callback_context: kit.note("after ran"),
    )  # fmt: skip
    talk = await kit.open(root)
    await talk.say("Hi")


@scenario(45, 47)
async def after_agent_adds(kit):
    def after(callback_context):
        callback_context.state["done"] = True
        return kit.content("model", "And more.")

    talk = await kit.open(kit.agent("root", "Hello.", "Again.", after_agent_callback=after))
    await talk.say("Hi")
    await talk.say("More")


@scenario(45, 187)
async def agent_callbacks_write_state(kit):
    def before(callback_context):
        callback_context.state["before"] = 1

    def after(callback_context):
        callback_context.state["after"] = callback_context.state["before"] + 1

    root = kit.agent("root", "Hello.", before_agent_callback=before, after_agent_callback=after)
    talk = await kit.open(root)
    await talk.say("Hi")


@scenario(113)
async def before_model_answers(kit):
    def before(callback_context, llm_request):
        callback_context.state["blocked"] = True
        return kit.text("Blocked.")

    talk = await kit.open(kit.agent("root", "Never.", before_model_callback=before))
    await talk.say("Hi")


@scenario(113, 161)
async def before_model_changes_request(kit):
    async def before(callback_context, llm_request):
        callback_context.state["calls"] = callback_context.state.get("calls", 0) + 1
        llm_request.contents.append(kit.content("user", "(be brief)"))

    talk = await kit.open(kit.agent("root", "One.", "Two.", before_model_callback=before))
    await talk.say("Hi")
    await talk.say("More")


@scenario(117)
async def after_model_replaces(kit):
    def after(callback_context, llm_response):
        callback_context.state["raw"] = llm_response.content.parts[0].text
        return kit.text("Cleaned.")

    talk = await kit.open(kit.agent("root", "Dirty.", "Next.", after_model_callback=after))
    await talk.say("Hi")
    await talk.say("More")


@scenario(113, 117, 157)
async def lists_of_callbacks(kit):
    def named(name, result=None):
        def callback(**_):
            kit.note(name)
            return result

        return callback

    root = kit.agent(
        "root", "Never.",
        before_model_callback=[named("b1"), named("b2", kit.text("From b2.")), named("b3")],
        after_model_callback=[named("a1"), named("a2")],
        before_agent_callback=[named("ba1"), named("ba2")],
        after_agent_callback=[named("aa1"), named("aa2")],
    )  # fmt: skip
    talk = await kit.open(root)
    await talk.say("Hi")


@scenario(133)
async def before_tool_answers(kit):
    def before(tool, args, tool_context):
        tool_context.state["skipped"] = tool.name
        return {"instead": args["a"]}

    root = kit.agent(
        "root", kit.call("tool", a=1), "Done", tools=[_tool(kit)], before_tool_callback=before
    )
    talk = await kit.open(root)
    await talk.say("Go")


@scenario(132, 133)
async def before_tool_changes_args(kit):
    def before(tool, args, tool_context):
        args["a"] = args["a"] + 41

    root = kit.agent(
        "root", kit.call("tool", a=1), "Done", tools=[_tool(kit)], before_tool_callback=before
    )
    talk = await kit.open(root)
    await talk.say("Go")


@scenario(133)
async def after_tool_replaces(kit):
    def after(tool, args, tool_context, tool_response):
        return {"was": tool_response, "by": tool.name}

    root = kit.agent(
        "root", kit.call("tool", a=1), "Done", tools=[_tool(kit)], after_tool_callback=after
    )
    talk = await kit.open(root)
    await talk.say("Go")


@scenario(45, 95, 133, 156)
async def order_of_hooks(kit):
    def hook(name):
        def callback(**_):
            kit.note(name)

        return callback

    names = [
        "before_agent",
        "after_agent",
        "before_model",
        "after_model",
        "before_tool",
        "after_tool",
    ]
    fields = {f"{name}_callback": hook(name) for name in names}
    root = kit.agent("root", kit.call("tool", a=1), "Done", tools=[_tool(kit)], **fields)
    talk = await kit.open(root, plugins=[_Everything.of(kit)])
    await talk.say("Go")


class _Everything:
    """Makes a plugin that notes each hook and answers at the chosen one."""

    @staticmethod
    def of(kit, **answers):
        hooks = (
            "on_user_message", "before_run", "on_event", "after_run", "before_agent", "after_agent",
            "before_model", "after_model", "on_model_error", "before_tool", "after_tool",
            "on_tool_error",
        )  # fmt: skip

        def method(hook):
            async def run(self, **given):
                kit.note("plugin", hook, sorted(given))
                answer = answers.get(hook)
                return answer(**given) if callable(answer) else answer

            return run

        members = {(f"{hook}_callback"): method(hook) for hook in hooks}
        return type("Everything", (kit.BasePlugin,), members)(name="everything")


@scenario(10, 158)
async def plugin_changes_user_message(kit):
    plugin = _Everything.of(kit, on_user_message=kit.content("user", "Hello, changed."))
    talk = await kit.open(kit.agent("root", "Hi."), plugins=[plugin])
    await talk.say("Hello")


@scenario(18, "X17", adk="2.13.0")
async def plugin_ends_run_early(kit):
    plugin = _Everything.of(kit, before_run=kit.content("model", "Closed."))
    talk = await kit.open(kit.agent("root", "Never."), plugins=[plugin])
    await talk.say("Hello")


@scenario(21, "X3")
async def plugin_changes_events(kit):
    def change(invocation_context, event):
        if event.content and event.content.parts[0].text:
            changed = event.model_copy(deep=True)
            changed.content.parts[0].text = changed.content.parts[0].text.upper()
            changed.custom_metadata = {"seen": True}
            return changed
        return None

    talk = await kit.open(
        kit.agent("root", "hi.", "more."), plugins=[_Everything.of(kit, on_event=change)]
    )
    await talk.say("Hello")
    await talk.say("Again")


@scenario(157, 158)
async def plugin_before_agent_answers(kit):
    plugin = _Everything.of(kit, before_agent=kit.content("model", "From the plugin."))
    root = kit.agent(
        "root", "Never.", before_agent_callback=lambda callback_context: kit.note("agent's own")
    )
    talk = await kit.open(root, plugins=[plugin])
    await talk.say("Hello")


@scenario(157, 158)
async def plugin_after_agent_adds(kit):
    plugin = _Everything.of(kit, after_agent=kit.content("model", "From the plugin."))
    talk = await kit.open(kit.agent("root", "Hi."), plugins=[plugin])
    await talk.say("Hello")


@scenario(113, 157, 158)
async def plugin_before_model_answers(kit):
    plugin = _Everything.of(kit, before_model=kit.text("From the plugin."))
    root = kit.agent("root", "Never.", before_model_callback=lambda **_: kit.note("agent's own"))
    talk = await kit.open(root, plugins=[plugin])
    await talk.say("Hello")


@scenario(117, 157, 158)
async def plugin_after_model_replaces(kit):
    plugin = _Everything.of(kit, after_model=kit.text("From the plugin."))
    root = kit.agent("root", "Hi.", after_model_callback=lambda **_: kit.note("agent's own"))
    talk = await kit.open(root, plugins=[plugin])
    await talk.say("Hello")


@scenario(118, 157, 158)
async def plugin_answers_model_error(kit):
    plugin = _Everything.of(kit, on_model_error=kit.text("From the plugin."))
    talk = await kit.open(kit.agent("root", ValueError("down")), plugins=[plugin])
    await talk.say("Hello")


@scenario(133, 157, 158)
async def plugin_before_tool_answers(kit):
    plugin = _Everything.of(kit, before_tool={"from": "plugin"})
    root = kit.agent("root", kit.call("tool", a=1), "Done.", tools=[_tool(kit)])
    talk = await kit.open(root, plugins=[plugin])
    await talk.say("Hello")


@scenario(133, 157, 158)
async def plugin_after_tool_replaces(kit):
    plugin = _Everything.of(kit, after_tool=lambda result, **_: {"from": "plugin", "was": result})
    root = kit.agent("root", kit.call("tool", a=1), "Done.", tools=[_tool(kit)])
    talk = await kit.open(root, plugins=[plugin])
    await talk.say("Hello")


@scenario(134, 157, 158)
async def plugin_answers_tool_error(kit):
    def fail() -> dict:
        raise RuntimeError("broken")

    plugin = _Everything.of(kit, on_tool_error={"from": "plugin"})
    root = kit.agent("root", kit.call("fail"), "Done.", tools=[fail])
    talk = await kit.open(root, plugins=[plugin])
    await talk.say("Hello")


@scenario(39, 45, 81)
async def end_invocation_in_callback(kit):
    def before(callback_context):
        callback_context._invocation_context.end_invocation = True

    talk = await kit.open(kit.agent("root", "Never.", before_agent_callback=before))
    await talk.say("Hello")
