"""A custom BaseAgent that decides in Python which sub-agent runs and when to try again."""

import asyncio
from collections.abc import AsyncGenerator

from google.adk.agents import BaseAgent, LlmAgent
from google.adk.agents.invocation_context import InvocationContext
from google.adk.events import Event
from google.adk.models import BaseLlm, LlmResponse
from google.adk.runners import Runner
from google.adk.sessions import InMemorySessionService
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


class StoryFlowAgent(BaseAgent):
    generator: LlmAgent
    critic: LlmAgent
    rounds: int = 2

    model_config = {"arbitrary_types_allowed": True}

    def __init__(self, name: str, generator: LlmAgent, critic: LlmAgent):
        super().__init__(
            name=name, generator=generator, critic=critic, sub_agents=[generator, critic]
        )

    async def _run_async_impl(self, ctx: InvocationContext) -> AsyncGenerator[Event, None]:
        for number in range(1, self.rounds + 1):
            async for event in self.generator.run_async(ctx):
                yield event
            print("round", number)
            if not ctx.session.state.get("story"):
                return
            async for event in self.critic.run_async(ctx):
                yield event
            if ctx.session.state.get("tone") == "positive":
                break
        yield Event(
            author=self.name,
            invocation_id=ctx.invocation_id,
            content=types.Content(parts=[types.Part(text=f"Took {number} rounds.")]),
        )


story_agent = StoryFlowAgent(
    name="StoryFlowAgent",
    generator=LlmAgent(
        name="generator",
        model=Scripted(replies=[say("A cat died."), say("A cat lived.")]),
        instruction="Write about {topic}.",
        output_key="story",
    ),
    critic=LlmAgent(
        name="critic",
        model=Scripted(replies=[say("negative"), say("positive")]),
        instruction="Tone of {story}?",
        output_key="tone",
    ),
)


async def main():
    service = InMemorySessionService()
    session = await service.create_session(
        app_name="story", user_id="u", session_id="s", state={"topic": "a cat"}
    )
    runner = Runner(agent=story_agent, app_name="story", session_service=service)
    async for event in runner.run_async(
        user_id="u", session_id=session.id, new_message=types.UserContent("Tell")
    ):
        show(event)
    print(story_agent.find_agent("critic").parent_agent.name)


asyncio.run(main())
