"""SequentialAgent: write, review, refactor; each step reads the one before through state."""

import asyncio

from google.adk.agents import LlmAgent, SequentialAgent
from google.adk.models import BaseLlm, LlmRequest, LlmResponse
from google.adk.runners import InMemoryRunner
from google.genai import types
from printing import show


class Writer(BaseLlm):
    says: str

    async def generate_content_async(self, llm_request: LlmRequest, stream: bool = False):
        print("    system:", llm_request.config.system_instruction.split("\n")[0])
        yield LlmResponse(
            content=types.Content(role="model", parts=[types.Part.from_text(text=self.says)])
        )


writer = LlmAgent(
    name="CodeWriterAgent",
    model=Writer(model="w", says="print(1)"),
    instruction="Write code.",
    output_key="generated_code",
)
reviewer = LlmAgent(
    name="CodeReviewerAgent",
    model=Writer(model="w", says="Fine."),
    instruction="Review {generated_code} for {user:name?}{missing?}.",
    output_key="review_comments",
)
refactorer = LlmAgent(
    name="CodeRefactorerAgent",
    model=Writer(model="w", says="print(2)"),
    instruction="Refactor {generated_code} after {review_comments}",
    output_key="refactored_code",
)
root_agent = SequentialAgent(
    name="CodePipelineAgent",
    sub_agents=[writer, reviewer, refactorer],
    description="Writes, reviews and refactors.",
)


async def main():
    runner = InMemoryRunner(agent=root_agent, app_name="pipeline")
    session = await runner.session_service.create_session(
        app_name="pipeline", user_id="u", state={"user:name": "Ann"}
    )
    async for event in runner.run_async(
        user_id="u", session_id=session.id, new_message=types.UserContent("A number")
    ):
        show(event)
    session = await runner.session_service.get_session(
        app_name="pipeline", user_id="u", session_id=session.id
    )
    print(sorted(session.state.items()))


asyncio.run(main())
