"""Notebook style: top-level objects, one cell after the other in one loop."""

import asyncio

from google.adk.agents import Agent
from google.adk.models import BaseLlm, LlmResponse
from google.adk.runners import InMemoryRunner
from google.genai import types
from showing import show_session


class Scripted(BaseLlm):
    """Gives prepared replies, so that the program needs no key."""

    model: str = "scripted"
    replies: list = []

    async def generate_content_async(self, llm_request, stream=False):
        yield LlmResponse(content=self.replies.pop(0))


def say(text):
    return types.ModelContent(text)


loop = asyncio.new_event_loop()

# Cell 1
agent = Agent(name="tutor", model=Scripted(replies=[say("2 + 2 is 4."), say("And 8.")]))

# Cell 2
runner = InMemoryRunner(agent=agent)
session = loop.run_until_complete(
    runner.session_service.create_session(app_name=runner.app_name, user_id="me")
)


# Cell 3
async def ask(question):
    content = types.Content(role="user", parts=[types.Part(text=question)])
    answers = []
    async for event in runner.run_async(user_id="me", session_id=session.id, new_message=content):
        if event.is_final_response() and event.content:
            answers.append(event.content.parts[0].text)  # noqa: PERF401
    return answers


print(loop.run_until_complete(ask("2 + 2?")))

# Cell 4
print(loop.run_until_complete(ask("Doubled?")))
print(runner.app_name)

# Cell 5: the objects show what they are
print(agent.name, type(agent).__name__, session.app_name)
session = loop.run_until_complete(
    runner.session_service.get_session(
        app_name=runner.app_name, user_id="me", session_id=session.id
    )
)
show_session(session)
loop.run_until_complete(runner.close())
loop.close()
