"""A code executor of one's own, which never runs anything, and the one that runs here."""

import asyncio

from google.adk.agents import LlmAgent
from google.adk.code_executors import UnsafeLocalCodeExecutor
from google.adk.code_executors.base_code_executor import BaseCodeExecutor
from google.adk.code_executors.code_execution_utils import CodeExecutionInput, CodeExecutionResult
from google.adk.models import BaseLlm, LlmResponse
from google.adk.runners import InMemoryRunner
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


class DryExecutor(BaseCodeExecutor):
    def execute_code(self, invocation_context, code_execution_input: CodeExecutionInput):
        print("would run:", code_execution_input.code.strip())
        return CodeExecutionResult(stdout="dry run\n", stderr="")


async def run(executor):
    code = "I compute.\n```python\nprint(6 * 7)\n```"
    agent = LlmAgent(
        name="calculator",
        model=Scripted(replies=[say(code), say("It is done.")]),
        code_executor=executor,
    )
    runner = InMemoryRunner(agent=agent, app_name="code")
    session = await runner.session_service.create_session(app_name="code", user_id="u")
    async for event in runner.run_async(
        user_id="u", session_id=session.id, new_message=types.UserContent("6 times 7?")
    ):
        show(event)


async def main():
    await run(DryExecutor())
    await run(UnsafeLocalCodeExecutor())


if __name__ == "__main__":
    asyncio.run(main())
