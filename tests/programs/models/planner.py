"""PlanReActPlanner splits an answer; a planner of one's own edits the request and the parts."""

import asyncio

from google.adk.agents import Agent, SequentialAgent
from google.adk.models import BaseLlm, LlmResponse
from google.adk.planners import BasePlanner, PlanReActPlanner
from google.adk.runners import InMemoryRunner
from google.genai import types
from showing import show, show_session


class Scripted(BaseLlm):
    """Gives prepared replies, so that the program needs no key."""

    model: str = "scripted"
    replies: list = []

    async def generate_content_async(self, llm_request, stream=False):
        yield LlmResponse(content=self.replies.pop(0))


def say(text):
    return types.ModelContent(text)


class Short(BasePlanner):
    def build_planning_instruction(self, readonly_context, llm_request):
        show(planned_for=readonly_context.agent_name)
        return "Plan shortly."

    def process_planning_response(self, callback_context, response_parts):
        callback_context.state["planned"] = len(response_parts)
        return [types.Part(text=part.text.upper()) for part in response_parts]


text = "/*PLANNING*/ one, two /*REASONING*/ so /*FINAL_ANSWER*/ three"
root_agent = SequentialAgent(
    name="both",
    sub_agents=[
        Agent(name="react", model=Scripted(replies=[say(text)]), planner=PlanReActPlanner()),
        Agent(name="short", model=Scripted(replies=[say("hi")]), planner=Short()),
    ],
)


async def main():
    runner = InMemoryRunner(agent=root_agent, app_name="desk")
    service = runner.session_service
    session = await service.create_session(app_name=runner.app_name, user_id="u")
    for text in ["Count"]:
        async for _ in runner.run_async(
            user_id="u", session_id=session.id, new_message=types.UserContent(text)
        ):
            pass
    session = await service.get_session(
        app_name=runner.app_name, user_id="u", session_id=session.id
    )
    show_session(session)


asyncio.run(main())
