"""Prompts of the simulated user."""

from __future__ import annotations

from ..prompt_template import fill_template, find_placeholders
from .user_simulator_personas import UserPersona

_RULES = """\
You play a user who talks to an AI agent, in order to test the agent. Write the user's next message.

React to what the agent said last. The plan below says what the user wants and knows; it is not a
script.
"""

_DEFAULT_BEHAVIOR = """\
Choose one of these:
- The agent asked something: answer with information of the plan only, and with no more than it
  asked for. If the plan does not say, say that you do not know.
- The agent completed the current request: make the next request of the plan. Skip requests that
  are already completed.
- The plan says that the user changes their mind: say so.
- The agent is wrong, or failed for the first time: point it out and ask it to try again.
- The conversation is over: the whole plan is completed, a request failed twice, the agent cannot
  repair a mistake, or the agent handed over to a person. Then answer with `{{ stop_signal }}` and
  nothing else. Do not end earlier.
"""

_END = """\
Answer with the text of the user's message only.

# Plan

{{ conversation_plan }}

# Conversation so far

{{ conversation_history }}
"""

_REQUIRED = ("stop_signal", "conversation_plan", "conversation_history")


def is_valid_user_simulator_template(template_str: str, required_params: list[str]) -> bool:
    """Return whether a template is well-formed and uses all required placeholders.

    Args:
      template_str: the template.
      required_params: the placeholders.
    """
    try:
        return set(required_params) <= find_placeholders(template_str)
    except ValueError:
        return False


def get_llm_backed_user_simulator_prompt(
    conversation_plan: str,
    conversation_history: str,
    stop_signal: str,
    custom_instructions: str | None = None,
    user_persona: UserPersona | None = None,
) -> str:
    """Return the prompt for the next message.

    Args:
      conversation_plan: the plan of the scenario.
      conversation_history: the conversation so far.
      stop_signal: the text that ends the conversation.
      custom_instructions: a template in place of the built-in one.
      user_persona: how the user behaves.

    Raises:
      ValueError: there is a persona, and custom instructions do not use it.
    """
    values: dict[str, object] = {
        "stop_signal": stop_signal,
        "conversation_plan": conversation_plan,
        "conversation_history": conversation_history,
    }
    if user_persona is not None:
        values["persona"] = user_persona
    if custom_instructions is not None:
        required = [*_REQUIRED, *(["persona"] if user_persona is not None else [])]
        if not is_valid_user_simulator_template(custom_instructions, required):
            needed = ", ".join(f"{{{{ {name} }}}}" for name in required)
            raise ValueError(f"custom_instructions must use the placeholders {needed}.")
        return fill_template(custom_instructions, values)
    behavior = _DEFAULT_BEHAVIOR if user_persona is None else _describe_persona(user_persona)
    return "\n".join(
        (_RULES, fill_template(behavior, {"stop_signal": stop_signal}), fill_template(_END, values))
    )


def _describe_persona(persona: UserPersona) -> str:
    lines = ["# Who the user is", "", persona.description, ""]
    for behavior in persona.behaviors:
        lines += [f"## {behavior.name}", "", behavior.description, ""]
        lines += [behavior.get_behavior_instructions_str(), ""]
    return "\n".join(lines)
