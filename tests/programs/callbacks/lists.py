"""Lists of callbacks: they run in order until one returns something."""

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


seen = []


def named(name, result=None):
    def callback(*args, **kwargs):
        seen.append(name)
        return result

    return callback


async def slow(callback_context, llm_request):
    await asyncio.sleep(0)
    seen.append("slow")


root_agent = Agent(
    name="desk",
    model=Scripted(replies=[say("Never asked.")]),
    before_agent_callback=[named("a1"), named("a2")],
    before_model_callback=[
        slow,
        named("m1"),
        named("m2", LlmResponse(content=types.ModelContent("From m2."))),
        named("m3"),
    ],
    after_model_callback=[named("after1"), named("after2")],
    after_agent_callback=[named("z1", types.ModelContent("From z1.")), named("z2")],
)


async def main():
    runner = InMemoryRunner(agent=root_agent, app_name="desk")
    service = runner.session_service
    session = await service.create_session(app_name=runner.app_name, user_id="u")
    for text in ["Hi"]:
        async for _ in runner.run_async(
            user_id="u", session_id=session.id, new_message=types.UserContent(text)
        ):
            pass
    session = await service.get_session(
        app_name=runner.app_name, user_id="u", session_id=session.id
    )
    show_session(session)


asyncio.run(main())

print(seen)
