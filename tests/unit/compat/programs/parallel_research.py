"""ParallelAgent inside a SequentialAgent: three researchers, then one that merges."""

import asyncio

from google.adk.agents.llm_agent import LlmAgent
from google.adk.agents.parallel_agent import ParallelAgent
from google.adk.agents.sequential_agent import SequentialAgent
from google.adk.models import BaseLlm, LlmResponse
from google.adk.runners import InMemoryRunner
from google.genai import types
from printing import content_text, show, show_request


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


def researcher(number):
    return LlmAgent(
        name=f"researcher_{number}",
        model=Scripted(replies=[say(f"Finding {number}.")]),
        output_key=f"finding_{number}",
    )


merger = LlmAgent(
    name="merger",
    model=Scripted(replies=[say("All merged.")]),
    instruction="Merge {finding_1} {finding_2} {finding_3}",
    include_contents="none",
)
root = SequentialAgent(
    name="root",
    sub_agents=[
        ParallelAgent(name="all_three", sub_agents=[researcher(n) for n in (1, 2, 3)]),
        merger,
    ],
)


async def main():
    runner = InMemoryRunner(agent=root, app_name="research")
    session = await runner.session_service.create_session(app_name="research", user_id="u")
    events = [
        event
        async for event in runner.run_async(
            user_id="u", session_id=session.id, new_message=types.UserContent("Find out")
        )
    ]
    for event in sorted(events[:-1], key=lambda event: event.author):
        show(event)
    print(events[-1].author, content_text(events[-1].content))


asyncio.run(main())
