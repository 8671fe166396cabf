"""Agents in YAML: what their files make of them, and what they do."""

from typing import Any

from ..kit import FILES
from ..registry import scenario

MADE = (
    "plain", "fixed", "clerk", "hooked", "priced", "line", "rounds", "both", "team", "greeter",
    "polite", "house", "asks", "typed",
)  # fmt: skip
PLAIN = (
    "name", "description", "model", "instruction", "output_key", "include_contents",
    "disallow_transfer_to_parent", "disallow_transfer_to_peers", "max_iterations", "greeting",
    "times",
)  # fmt: skip
CALLBACKS = (
    "before_agent_callback", "after_agent_callback", "before_model_callback",
    "after_model_callback", "before_tool_callback", "after_tool_callback",
)  # fmt: skip


def plain(value):
    """A record as plain data."""
    return value.model_dump(mode="json", exclude_none=True)


def about(agent):
    """What an agent is, in plain data."""
    found: dict[str, Any] = {"class": type(agent).__name__}
    for name in PLAIN:
        value = getattr(agent, name, None)
        if isinstance(value, (str, int)) and value not in ("", False):
            found[name] = value
    for name in CALLBACKS:
        if getattr(agent, name, None):
            found[name] = [function.__name__ for function in getattr(agent, name)]
    for name in ("input_schema", "output_schema"):
        if getattr(agent, name, None):
            found[name] = getattr(agent, name).__name__
    for name in ("static_instruction", "generate_content_config"):
        if getattr(agent, name, None):
            found[name] = plain(getattr(agent, name))
    if getattr(agent, "tools", None):
        found["tools"] = [about_tool(tool) for tool in agent.tools]
    if agent.sub_agents:
        found["sub_agents"] = [about(one) for one in agent.sub_agents]
    return found


def about_tool(tool):
    found = [getattr(tool, "name", None) or tool.__name__, type(tool).__name__]
    if hasattr(tool, "agent"):
        found += [about(tool.agent), tool.skip_summarization]
    if hasattr(tool, "text"):
        found += [tool.text, tool.times]
    if hasattr(tool, "examples"):
        found += [[plain(one) for one in tool.examples]]
    return found


@scenario(57)
async def yaml_attributes(kit):
    for name in MADE:
        kit.note(name, about(kit.described(f"{name}.yaml")))


@scenario()
async def yaml_refused(kit):
    for file in sorted((FILES / "golden_desk").glob("bad_*.yaml")):
        try:
            kit.described(file.name)
        except Exception:  # which it is differs; that it is refused does not
            kit.note(file.stem, "refused")
        else:
            kit.note(file.stem, "made")


@scenario(57, show=("system", "config"))
async def yaml_plain(kit):
    root = kit.described("plain.yaml", plain=["Yes.", "No."])
    talk = await kit.open(root, state={"season": "spring"})
    await talk.say("Open?")
    await talk.say("And now?")


@scenario(show=("system",))
async def yaml_static_instruction(kit):
    talk = await kit.open(kit.described("fixed.yaml", fixed=["Monday."]))
    await talk.say("Which day?")


@scenario(128, 136)
async def yaml_tools(kit):
    clerk = [
        kit.call("look_up", item="tea"), kit.call("discount", price=3.0),
        [kit.call("stamp"), kit.call("seal")], kit.call("order", item="tea"), "Ordered.", "Here.",
    ]  # fmt: skip
    talk = await kit.open(kit.described("clerk.yaml", clerk=clerk))
    await talk.say("Tea")
    await talk.answer("order", {"status": "done"})


@scenario()
async def yaml_callbacks(kit):
    hooked = [kit.call("look_up", item="tea"), "Three.", "Never asked for."]
    talk = await kit.open(kit.described("hooked.yaml", hooked=hooked))
    await talk.say("Tea")
    await talk.say("And milk?")


@scenario(show=("config",))
async def yaml_model_and_schemas_in_code(kit):
    talk = await kit.open(kit.described("priced.yaml"))
    await talk.say("Tea")


@scenario(74)
async def yaml_sequential(kit):
    root = kit.described("line.yaml", writer=["Roses are red."], critic=["Dull."])
    talk = await kit.open(root)
    await talk.say("Write")


@scenario(76)
async def yaml_loop(kit):
    critic = ["Dull.", kit.call("exit_loop")]
    root = kit.described("rounds.yaml", writer=["Red.", "Blue."], critic=critic)
    talk = await kit.open(root)
    await talk.say("Write")


@scenario(75)
async def yaml_parallel(kit):
    talk = await kit.open(kit.described("both.yaml", writer=["Red."]))
    await talk.say("Go")


@scenario()
async def yaml_sub_agents(kit):
    hand_over = kit.call("transfer_to_agent", agent_name="writer")
    root = kit.described("team.yaml", team=[hand_over], writer=["Red.", "Blue."])
    talk = await kit.open(root)
    await talk.say("Write")
    await talk.say("More")


@scenario()
async def yaml_own_classes(kit):
    talk = await kit.open(kit.described("house.yaml"))
    await talk.say("Hello")


@scenario(129)
async def yaml_agent_tool_and_examples(kit):
    root = kit.described("asks.yaml", asks=[kit.call("writer", request="A line")], writer=["Red."])
    talk = await kit.open(root)
    await talk.say("Ask")
