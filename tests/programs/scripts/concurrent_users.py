"""Many users at once over one runner; each has a session and a state of its own."""

import asyncio

from google.adk.agents import Agent
from google.adk.models import BaseLlm, LlmResponse
from google.adk.runners import InMemoryRunner
from google.genai import types


class Counts(BaseLlm):
    model: str = "counts"

    async def generate_content_async(self, llm_request, stream=False):
        await asyncio.sleep(0.001)
        yield LlmResponse(content=types.ModelContent(f"{len(llm_request.contents)} seen"))


async def main():
    runner = InMemoryRunner(
        agent=Agent(name="desk", model=Counts(), output_key="last"), app_name="desk"
    )

    async def talk(user):
        service = runner.session_service
        await service.create_session(app_name="desk", user_id=user, session_id="s")
        for text in ("a", "b"):
            async for _ in runner.run_async(
                user_id=user, session_id="s", new_message=types.UserContent(text)
            ):
                pass
        session = await service.get_session(app_name="desk", user_id=user, session_id="s")
        return user, session.state["last"], [event.author for event in session.events]

    for line in await asyncio.gather(*(talk(f"u{number}") for number in range(5))):
        print(*line)


asyncio.run(main())
