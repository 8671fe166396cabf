"""PlanReActPlanner, and a planner of one's own."""

import asyncio
from typing import Optional

from google.adk.agents import Agent
from google.adk.agents.callback_context import CallbackContext
from google.adk.agents.readonly_context import ReadonlyContext
from google.adk.models import BaseLlm, LlmRequest, LlmResponse
from google.adk.planners import BasePlanner, PlanReActPlanner
from google.adk.runners import InMemoryRunner
from google.genai import types
from printing import show, show_request


class Scripted(BaseLlm):
    """Gives prepared replies, so that the program needs no key and always does the same."""

    model: str = "scripted"
    replies: list[types.Content]

    async def generate_content_async(self, llm_request, stream=False):
        show_request(llm_request)
        yield LlmResponse(content=self.replies.pop(0))


def say(text):
    return types.Content(role="model", parts=[types.Part(text=text)])


def call(name, **args):
    return types.Content(role="model", parts=[types.Part.from_function_call(name=name, args=args)])


class ShyPlanner(BasePlanner):
    def build_planning_instruction(
        self, readonly_context: ReadonlyContext, llm_request: LlmRequest
    ) -> Optional[str]:
        print("plan for", readonly_context.agent_name, len(llm_request.contents))
        return "Think first."

    def process_planning_response(
        self, callback_context: CallbackContext, response_parts: list[types.Part]
    ) -> Optional[list[types.Part]]:
        callback_context.state["planned"] = True
        return [types.Part(text="(shy)", thought=True), *response_parts]


def find_fact(topic: str) -> dict:
    """Finds a fact."""
    return {"fact": f"{topic} is wet"}


PLAN = "/*PLANNING*/ 1. find it /*ACTION*/"
ANSWER = "/*REASONING*/ found /*FINAL_ANSWER*/ Water is wet."


async def run(agent):
    print("--", agent.name)
    runner = InMemoryRunner(agent=agent, app_name="plans")
    session = await runner.session_service.create_session(app_name="plans", user_id="u")
    async for event in runner.run_async(
        user_id="u", session_id=session.id, new_message=types.UserContent("Is water wet?")
    ):
        show(event)


async def main():
    with_call = types.Content(
        role="model",
        parts=[
            types.Part(text=PLAN),
            types.Part.from_function_call(name="find_fact", args={"topic": "water"}),
            types.Part(text="dropped"),
        ],
    )
    await run(
        Agent(
            name="planner",
            model=Scripted(replies=[with_call, say(ANSWER)]),
            planner=PlanReActPlanner(),
            tools=[find_fact],
        )
    )
    await run(Agent(name="shy", model=Scripted(replies=[say("Yes.")]), planner=ShyPlanner()))


asyncio.run(main())
