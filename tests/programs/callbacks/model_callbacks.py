"""Model callbacks: one edits the request, one answers for the model, one edits the response."""

import asyncio

from google.adk.agents import Agent
from google.adk.models import BaseLlm, LlmResponse
from google.adk.runners import InMemoryRunner
from google.genai import types
from showing import show_request, show_session


class Scripted(BaseLlm):
    """Gives prepared replies, so that the program needs no key."""

    model: str = "scripted"
    replies: list = []

    async def generate_content_async(self, llm_request, stream=False):
        show_request(llm_request)
        yield LlmResponse(content=self.replies.pop(0))


def say(text):
    return types.ModelContent(text)


def before(callback_context, llm_request):
    last = llm_request.contents[-1].parts[-1].text
    callback_context.state["asked"] = callback_context.state.get("asked", 0) + 1
    if "BLOCK" in last:
        return LlmResponse(content=types.ModelContent("Blocked."))
    llm_request.contents[-1].parts[-1].text = last + "!"
    return None


async def after(callback_context, llm_response):
    text = llm_response.content.parts[0].text
    llm_response.content.parts[0].text = text.upper()
    return llm_response if text != "quiet" else None


root_agent = Agent(
    name="desk",
    model=Scripted(replies=[say("hello"), say("bye")]),
    before_model_callback=before,
    after_model_callback=after,
)


async def main():
    runner = InMemoryRunner(agent=root_agent, app_name="desk")
    service = runner.session_service
    session = await service.create_session(app_name=runner.app_name, user_id="u")
    for text in ["Hi", "BLOCK me", "Bye"]:
        async for _ in runner.run_async(
            user_id="u", session_id=session.id, new_message=types.UserContent(text)
        ):
            pass
    session = await service.get_session(
        app_name=runner.app_name, user_id="u", session_id=session.id
    )
    show_session(session)


asyncio.run(main())
