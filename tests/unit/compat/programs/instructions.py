"""Static, global and computed instructions, and a history that is left out."""

import asyncio

from google.adk.agents import LlmAgent
from google.adk.agents.readonly_context import ReadonlyContext
from google.adk.models import BaseLlm, LlmResponse
from google.adk.runners import InMemoryRunner
from google.adk.utils.instructions_utils import inject_session_state
from google.genai import types
from printing import content_text, show


class Echo(BaseLlm):
    async def generate_content_async(self, llm_request, stream=False):
        system = llm_request.config.system_instruction
        print("    system:", repr(system))
        for content in llm_request.contents:
            print("    asked:", content_text(content))
        yield LlmResponse(content=types.ModelContent("Yes."))


async def computed(context: ReadonlyContext) -> str:
    return await inject_session_state("Serve {user:name}, {not a name} {unknown?}.", context)


def plain(context: ReadonlyContext) -> str:
    return f"Mood {context.state['mood']}, braces {{kept}}."


async def run(agent, turns=1):
    print("--", agent.name)
    runner = InMemoryRunner(agent=agent, app_name="rules")
    session = await runner.session_service.create_session(
        app_name="rules", user_id="u", state={"user:name": "Ann", "mood": "calm"}
    )
    for number in range(turns):
        async for event in runner.run_async(
            user_id="u", session_id=session.id, new_message=types.UserContent(f"Turn {number}")
        ):
            show(event)


async def main():
    await run(LlmAgent(name="by_template", model=Echo(model="e"), instruction="Calm: {mood}."))
    await run(LlmAgent(name="by_function", model=Echo(model="e"), instruction=plain))
    await run(LlmAgent(name="by_provider", model=Echo(model="e"), instruction=computed))
    await run(
        LlmAgent(
            name="static",
            model=Echo(model="e"),
            static_instruction="Never changes {mood}.",
            instruction="Changes: {mood}.",
        ),
        turns=2,
    )
    await run(LlmAgent(name="forgetful", model=Echo(model="e"), include_contents="none"), turns=2)
    await run(
        LlmAgent(
            name="described", model=Echo(model="e"), description="Says yes.", instruction="Do."
        )
    )


asyncio.run(main())
