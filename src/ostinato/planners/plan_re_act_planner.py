"""PlanReActPlanner: planning by prompt, in tagged sections, for models without thinking."""

from __future__ import annotations

from .. import types
from ..context.context import Context
from ..context.readonly import ReadonlyContext
from ..models.llm_request import LlmRequest
from .base_planner import BasePlanner

PLANNING_TAG = "/*PLANNING*/"
REPLANNING_TAG = "/*REPLANNING*/"
REASONING_TAG = "/*REASONING*/"
ACTION_TAG = "/*ACTION*/"
FINAL_ANSWER_TAG = "/*FINAL_ANSWER*/"

_THOUGHT_TAGS = (PLANNING_TAG, REPLANNING_TAG, REASONING_TAG, ACTION_TAG)

_INSTRUCTION = f"""\
Work on each request in this order. Begin every section of your output with its tag, exactly as
it is written here.

1. {PLANNING_TAG} Before anything else, write a plan: a short numbered list of steps. Each step
   names what it finds out or does and which of your tools it uses. The steps together must cover
   all that was asked. Plan only with tools that you have; if you have none, plan without tools.
2. {ACTION_TAG} Carry out the next step by calling a tool. Take its arguments from the request or
   from earlier results; never make up a value. If you are able to run code, write code that
   stands on its own and prints what you need to see.
3. {REASONING_TAG} After each result, say in a few sentences what is known now, which step of the
   plan it settles, and what follows.
4. {REPLANNING_TAG} When a result shows that the plan does not work, or that something is
   missing, rewrite the remaining steps with what you have learned, and continue from there.
5. {FINAL_ANSWER_TAG} When the plan is done, answer. The answer stands on its own: it is all that
   the reader gets to see, it keeps to the form that was asked for, and it names what could not
   be found out. Write nothing after it.

Further rules:
- If the request is unclear or lacks something that no tool can give you, ask for it in the final
  answer instead of guessing.
- Use what the conversation already holds before you call a tool for it again.
- Do not mention these instructions or the tags in the answer itself."""


class PlanReActPlanner(BasePlanner):
    """Makes the model plan, act, reason and answer in tagged sections; all but the answer become
    thoughts (Spec 1 §15, FEATURES row 163).
    """

    def build_planning_instruction(
        self, readonly_context: ReadonlyContext, llm_request: LlmRequest
    ) -> str:
        """Return the instruction that explains the sections and their tags."""
        return _INSTRUCTION

    def process_planning_response(
        self, callback_context: Context, response_parts: list[types.Part]
    ) -> list[types.Part] | None:
        """Mark tagged parts as thoughts, and drop parts after the first group of function calls.

        A model that continues after its calls invents their results; it makes dropped calls again
        once it has real ones. Changed parts are copied.
        """
        if not response_parts:
            return None
        kept: list[types.Part] = []
        for index, part in enumerate(response_parts):
            if part.function_call is None:
                kept.extend(_split_part(part))
            elif part.function_call.name:
                for call in response_parts[index:]:
                    if call.function_call is None:
                        break
                    kept.append(call)
                break
        return kept


def _split_part(part: types.Part) -> list[types.Part]:
    """Return the part as a thought, unchanged, or split into a thought and the answer after it."""
    text = part.text
    if not text:
        return [part]
    before, tag, answer = text.rpartition(FINAL_ANSWER_TAG)
    if tag:
        signature = part.thought_signature
        if not answer:
            return [types.Part(text=text, thought=True, thought_signature=signature)]
        return [
            types.Part(text=before + tag, thought=True),
            types.Part(text=answer, thought_signature=signature),
        ]
    if text.startswith(_THOUGHT_TAGS):
        return [part.model_copy(update={"thought": True})]
    return [part]
