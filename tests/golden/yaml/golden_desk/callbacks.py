"""Hooks that leave a trace in state, arguments and results."""

from typing import Any

from golden_package import content, reply


def before_agent(callback_context: Any) -> None:
    callback_context.state["before_agent"] = callback_context.agent_name


def after_agent(callback_context: Any) -> Any:
    return content("model", "Thanks for asking.")


def before_model(callback_context: Any, llm_request: Any) -> None:
    callback_context.state["models"] = callback_context.state.get("models", 0) + 1


def answer_at_once(callback_context: Any, llm_request: Any) -> Any:
    if callback_context.state.get("models", 0) > 2:
        return reply("That is enough.")
    return None


def after_model(callback_context: Any, llm_response: Any) -> None:
    callback_context.state["answered"] = True


def before_tool(tool: Any, args: dict[str, Any], tool_context: Any) -> None:
    args["item"] = args["item"].upper()


def after_tool(tool: Any, args: dict[str, Any], tool_context: Any, tool_response: Any) -> Any:
    return {**tool_response, "seen": True}
