"""Function tools: results, arguments, state, several at once."""

from typing import Optional

from pydantic import BaseModel

from ..registry import scenario


class Place(BaseModel):
    city: str
    days: int = 1


@scenario(84, 124, 129, 138)
async def tool_turn(kit):
    def weather(city: str) -> dict:
        """Weather of a city."""
        return {"city": city, "sky": "clear"}

    root = kit.agent("root", kit.call("weather", city="Rome"), "Clear.", tools=[weather])
    talk = await kit.open(root)
    await talk.say("Weather in Rome?")


@scenario(144, 219)
async def async_tool(kit):
    async def weather(city: str) -> dict:
        return {"city": city}

    root = kit.agent(
        "root", ["Looking.", kit.call("weather", city="Rome")], "Clear.", tools=[weather]
    )
    talk = await kit.open(root)
    await talk.say("Weather in Rome?")


@scenario(111, 124)
async def model_gives_call_id(kit):
    def tool():
        return {"ok": True}

    talk = await kit.open(kit.agent("root", kit.call("tool", _id="call_7"), "Done", tools=[tool]))
    await talk.say("Go")


@scenario(138, 184, 187)
async def tool_writes_state(kit):
    def put(key: str, value: str, tool_context) -> dict:
        tool_context.state[key] = value
        kit.note("seen at once", tool_context.state[key])
        return {"was": tool_context.state.get("old", "nothing")}

    root = kit.agent(
        "root", kit.call("put", key="a", value="1"), kit.call("put", key="a", value="2"), "Done",
        tools=[put],
    )  # fmt: skip
    talk = await kit.open(root, state={"old": 0})
    await talk.say("Go")


@scenario(79, 84, 109)
async def several_tool_steps(kit):
    def add(a: int, b: int) -> int:
        return a + b

    root = kit.agent(
        "root", kit.call("add", a=1, b=2), kit.call("add", a=3, b=4),
        kit.call("add", a=7, b=8), "15",
        tools=[add],
    )  # fmt: skip
    talk = await kit.open(root)
    await talk.say("Add")


@scenario(109, 131, 139)
async def parallel_tools(kit):
    def one(x: int) -> dict:
        return {"one": x}

    async def two(x: int) -> dict:
        return {"two": x}

    root = kit.agent(
        "root", [kit.call("one", x=1), kit.call("two", x=2)], "Both.", tools=[one, two]
    )
    talk = await kit.open(root)
    await talk.say("Go")


@scenario(131, 139)
async def parallel_tools_with_state(kit):
    async def put(name: str, tool_context) -> dict:
        tool_context.state[name] = name
        tool_context.state["last"] = name
        tool_context.state["nested"] = {name: 1, "same": name}
        return {"put": name}

    root = kit.agent("root", [kit.call("put", name=n) for n in "abc"], "All.", tools=[put])
    talk = await kit.open(root)
    await talk.say("Go")


@scenario(131, 137)
async def tool_results_not_dict(kit):
    def text() -> str:
        return "plain"

    def nothing() -> None:
        return None

    def many() -> list:
        return [1, {"a": 2}]

    def number() -> int:
        return 0

    def empty() -> dict:
        return {}

    calls = [kit.call(n) for n in ("text", "nothing", "many", "number", "empty")]
    root = kit.agent("root", calls, "Done", tools=[text, nothing, many, number, empty])
    talk = await kit.open(root)
    await talk.say("Go")


@scenario(141)
async def tool_result_is_model(kit):
    def place() -> Place:
        return Place(city="Rome")

    talk = await kit.open(kit.agent("root", kit.call("place"), "Done", tools=[place]))
    await talk.say("Go")


@scenario(143, words=("weather", "city", "day", "unit"))
async def missing_argument(kit):
    def weather(city: str, day: str, unit: str = "C") -> dict:
        return {"city": city}

    root = kit.agent(
        "root", kit.call("weather", unit="F"), kit.call("weather", city="Rome", day="today"),
        "Clear.",
        tools=[weather],
    )  # fmt: skip
    talk = await kit.open(root)
    await talk.say("Go")


@scenario(142)
async def extra_argument(kit):
    def weather(city: str) -> dict:
        return {"city": city}

    root = kit.agent(
        "root", kit.call("weather", city="Rome", mood="sad"), "Clear.", tools=[weather]
    )
    talk = await kit.open(root)
    await talk.say("Go")


@scenario(141)
async def model_argument(kit):
    def trip(place: Place, back: Optional[Place] = None) -> dict:
        kit.note(type(place).__name__, type(back).__name__)
        return {"city": place.city, "days": place.days}

    root = kit.agent(
        "root", kit.call("trip", place={"city": "Rome"}, back={"city": "Oslo", "days": 2}), "Go!",
        tools=[trip],
    )  # fmt: skip
    talk = await kit.open(root)
    await talk.say("Go")


@scenario(132)
async def arguments_are_copies(kit):
    def eat(items: list[str]) -> dict:
        items.append("eaten")
        return {"n": len(items)}

    talk = await kit.open(kit.agent("root", kit.call("eat", items=["a"]), "Done", tools=[eat]))
    await talk.say("Go")


@scenario(135, "X10", adk="2.13.0", words=("ghost", "known"))
async def unknown_tool(kit):
    def known():
        return {"ok": True}

    talk = await kit.open(kit.agent("root", kit.call("ghost", a=1), "Sorry.", tools=[known]))
    await talk.say("Go")


@scenario(135)
async def unknown_tool_answered(kit):
    def on_tool_error(tool, args, tool_context, error):
        kit.note(tool.name, args, type(error).__name__)
        return {"error": "no such tool"}

    root = kit.agent(
        "root",
        kit.call("ghost", a=1),
        "Sorry.",
        tools=[lambda: 1],
        on_tool_error_callback=on_tool_error,
    )
    root.tools[0].__name__ = "known"
    talk = await kit.open(root)
    await talk.say("Go")


@scenario(65, 134)
async def tool_error_answered(kit):
    def fail(a: int) -> dict:
        raise RuntimeError("broken")

    def on_tool_error(tool, args, tool_context, error):
        kit.note(tool.name, args, str(error))
        tool_context.state["failed"] = tool.name
        return {"error": str(error)}

    root = kit.agent(
        "root", kit.call("fail", a=1), "Sorry.", tools=[fail], on_tool_error_callback=on_tool_error
    )
    talk = await kit.open(root)
    await talk.say("Go")


@scenario(29, 134)
async def tool_error_raised(kit):
    def fail() -> dict:
        raise RuntimeError("broken")

    talk = await kit.open(kit.agent("root", kit.call("fail"), "Later.", tools=[fail]))
    await talk.say("Go", raises=("RuntimeError", "broken"))
    await talk.say("Again")


@scenario(155, 172)
async def skip_summarization(kit):
    def tool(tool_context) -> dict:
        tool_context.actions.skip_summarization = True
        return {"answer": 42}

    talk = await kit.open(kit.agent("root", kit.call("tool"), "Next.", tools=[tool]))
    await talk.say("Go")
    await talk.say("And?")


@scenario(129, 138)
async def agent_tool(kit):
    helper = kit.agent("helper", "Forty-two.", description="Knows numbers.", output_key="number")
    root = kit.agent(
        "root",
        kit.call("helper", request="What?"),
        "It is 42.",
        tools=[kit.AgentTool(agent=helper)],
    )
    talk = await kit.open(root)
    await talk.say("Go")


@scenario(43, 176, 197)
async def tool_saves_artifact(kit):
    async def save(tool_context) -> dict:
        part = kit.types.Part(text="v")
        first = await tool_context.save_artifact("a.txt", part)
        second = await tool_context.save_artifact("a.txt", part)
        names = await tool_context.list_artifacts()
        got = await tool_context.load_artifact("a.txt")
        return {"versions": [first, second], "names": names, "got": got.text}

    talk = await kit.open(kit.agent("root", kit.call("save"), "Saved.", tools=[save]))
    await talk.say("Go")
