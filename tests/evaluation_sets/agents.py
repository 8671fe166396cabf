"""Agents of the eval sets, made with google-adk or with Ostinato under the same names.

The model is a script: it looks at the last message, and answers the same each time.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any


def make_agents(package: str) -> dict[str, Any]:
    """Return the agents by name.

    Args:
      package: `google.adk` or `ostinato`.
    """
    agents = import_module(f"{package}.agents")
    tools = import_module(f"{package}.tools.agent_tool")
    model = _make_model(package)

    def get_weather(city: str) -> dict[str, Any]:
        """Return the weather of a city."""
        return {"city": city, "sky": "clear"}

    def look_up(order: str) -> dict[str, Any]:
        """Return an order."""
        return {"order": order, "amount": 9.99}

    def refund(order: str, amount: float) -> dict[str, Any]:
        """Pay an order back."""
        return {"status": "declined"}

    def remember(key: str, value: str, tool_context: Any) -> dict[str, Any]:
        """Keep a value."""
        tool_context.state[key] = value
        return {"kept": True}

    remember.__annotations__["tool_context"] = import_module(f"{package}.tools").ToolContext

    billing = agents.LlmAgent(
        name="billing", model=model, description="Pays back.", tools=[look_up, refund]
    )
    researcher = agents.LlmAgent(
        name="researcher", model=model, description="Looks things up.", tools=[get_weather]
    )
    desk = agents.LlmAgent(
        name="desk",
        model=model,
        instruction="You help at a desk.",
        tools=[get_weather, look_up, refund, remember, tools.AgentTool(agent=researcher)],
        sub_agents=[billing],
    )
    return {"desk": desk, "billing": billing}


def _make_model(package: str) -> Any:
    base = import_module(f"{package}.models.base_llm").BaseLlm
    response = import_module(f"{package}.models.llm_response").LlmResponse
    types = import_module("google.genai.types" if package == "google.adk" else "ostinato.types")

    class Scripted(base):  # type: ignore[misc]
        """Answers by what was said last."""

        @classmethod
        def supported_models(cls) -> list[str]:
            return ["scripted-.*"]

        async def generate_content_async(self, llm_request: Any, stream: bool = False) -> Any:
            said = _said(llm_request)
            if said == "break":
                raise RuntimeError("the model is broken")
            parts = [
                types.Part(text=one)
                if isinstance(one, str)
                else types.Part(function_call=types.FunctionCall(name=one[0], args=one[1]))
                for one in answer(said, _results(llm_request))
            ]
            yield response(content=types.Content(role="model", parts=parts))

    registry = import_module(f"{package}.models.registry").LLMRegistry
    registry.register(Scripted)
    return Scripted(model="scripted-1")


def _said(request: Any) -> str:
    """Return the user's last message, or the prompt of a simulated user in short."""
    texts = [
        part.text
        for content in request.contents
        if content.role == "user"
        for part in content.parts or ()
        if part.text and not part.text.startswith(("For context:", "["))
    ]
    text = texts[-1] if texts else ""
    return "simulate" if "plan-of-the-test" in text else text


def _results(request: Any) -> int:
    """Return how many responses of tools came after the last message."""
    number, transferred = 0, False
    for content in request.contents:
        for part in content.parts or ():
            if part.text and part.text.startswith("For context:"):
                transferred = True  # the calls of another agent are told as text
            elif part.text and content.role == "user" and not transferred:
                number = 0
            elif part.function_response:
                number += 1
    return number + transferred


Call = tuple[str, dict[str, Any]]


def answer(said: str, results: int) -> list[str | Call]:
    """Return the parts of the next answer.

    Args:
      said: the last message.
      results: how many responses of tools came after it.
    """
    if said.startswith("say "):
        return [said.removeprefix("say ")]
    if said.startswith("simulate"):
        return ["</finished>"]
    steps = SCRIPTS.get(said)
    if steps is None:
        return [f"I do not know about {said!r}."]
    for needed, parts in reversed(steps):
        if results >= needed:
            return parts
    raise AssertionError(f"the script of {said!r} has no beginning")


_ROME: Call = ("get_weather", {"city": "Rome"})
_OSLO: Call = ("get_weather", {"city": "Oslo"})
_FIND: Call = ("look_up", {"order": "A-1"})
_PAY: Call = ("refund", {"order": "A-1", "amount": 9.99})

# By message: how many results of tools there are, and what is answered then.
SCRIPTS: dict[str, list[tuple[int, list[str | Call]]]] = {
    "weather in Rome?": [(0, [_ROME]), (1, ["It is sunny in Rome."])],
    "both": [(0, [_ROME, _OSLO]), (2, ["Sunny in Rome, cold in Oslo."])],
    "refund A-1": [(0, [_FIND]), (1, ["One moment.", _PAY]), (2, ["The refund was not approved."])],
    "remember me": [
        (0, [("remember", {"key": "name", "value": "Ann"})]),
        (1, ["I will remember you, Ann."]),
    ],
    "to billing": [
        (0, [("transfer_to_agent", {"agent_name": "billing"})]),
        (1, [_FIND]),
        (2, ["Billing found order A-1."]),
    ],
    "research": [(0, [("researcher", {"request": "weather in Rome?"})]), (1, ["It is clear."])],
    "hello": [(0, ["Hello! How can I help?"])],
}
