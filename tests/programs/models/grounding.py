"""Grounding, citations and log probabilities of a response are kept with the event."""

import asyncio

from google.adk.agents import Agent
from google.adk.models import BaseLlm, LlmResponse
from google.adk.runners import InMemoryRunner
from google.genai import types
from showing import show, show_session


class Grounded(BaseLlm):
    model: str = "grounded"

    async def generate_content_async(self, llm_request, stream=False):
        web = types.GroundingChunkWeb(uri="https://a.example", title="A")
        yield LlmResponse(
            content=types.ModelContent("As A says."),
            grounding_metadata=types.GroundingMetadata(
                grounding_chunks=[types.GroundingChunk(web=web)], web_search_queries=["a"]
            ),
            citation_metadata=types.CitationMetadata(
                citations=[types.Citation(start_index=0, end_index=2, uri="https://a.example")]
            ),
            avg_logprobs=-0.5,
        )


async def main():
    runner = InMemoryRunner(agent=Agent(name="desk", model=Grounded()), app_name="desk")
    service = runner.session_service
    await service.create_session(app_name="desk", user_id="u", session_id="s")
    async for event in runner.run_async(
        user_id="u", session_id="s", new_message=types.UserContent("A?")
    ):
        show(
            grounding=event.grounding_metadata,
            citations=event.citation_metadata,
            odds=event.avg_logprobs,
        )
    show_session(await service.get_session(app_name="desk", user_id="u", session_id="s"))


asyncio.run(main())
