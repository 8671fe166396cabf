"""A code executor of one's own, and UnsafeLocalCodeExecutor: code in the answer is run."""

import asyncio

from google.adk.agents import Agent, SequentialAgent
from google.adk.code_executors import BaseCodeExecutor, UnsafeLocalCodeExecutor
from google.adk.code_executors.code_execution_utils import CodeExecutionResult
from google.adk.models import BaseLlm, LlmResponse
from google.adk.runners import InMemoryRunner
from google.genai import types
from showing import show, show_request, show_session


class Scripted(BaseLlm):
    """Gives prepared replies, so that the program needs no key."""

    model: str = "scripted"
    replies: list = []

    async def generate_content_async(self, llm_request, stream=False):
        show_request(llm_request)
        yield LlmResponse(content=self.replies.pop(0))


def say(text):
    return types.ModelContent(text)


class Fake(BaseCodeExecutor):
    def execute_code(self, invocation_context, code_execution_input):
        show(code=code_execution_input.code.strip())
        return CodeExecutionResult(stdout="7\n", stderr="")


code = "I compute:\n```python\nprint(3 + 4)\n```\n"
root_agent = SequentialAgent(
    name="both",
    sub_agents=[
        Agent(
            name="fake", model=Scripted(replies=[say(code), say("It is 7.")]), code_executor=Fake()
        ),
        Agent(
            name="local",
            model=Scripted(replies=[say(code.replace("3", "5")), say("It is 9.")]),
            code_executor=UnsafeLocalCodeExecutor(),
        ),
    ],
)


async def main():
    runner = InMemoryRunner(agent=root_agent, app_name="desk")
    service = runner.session_service
    session = await service.create_session(app_name=runner.app_name, user_id="u")
    for text in ["3 + 4?"]:
        async for _ in runner.run_async(
            user_id="u", session_id=session.id, new_message=types.UserContent(text)
        ):
            pass
    session = await service.get_session(
        app_name=runner.app_name, user_id="u", session_id=session.id
    )
    show_session(session)


if __name__ == "__main__":
    asyncio.run(main())
