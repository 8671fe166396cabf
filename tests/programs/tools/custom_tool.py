"""Tools as classes of one's own: a declaration by hand, and one that edits the request."""

import asyncio

from google.adk.agents import Agent
from google.adk.models import BaseLlm, LlmResponse
from google.adk.runners import InMemoryRunner
from google.adk.tools import BaseTool
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


def call(name, **args):
    return types.ModelContent([types.Part.from_function_call(name=name, args=args)])


class Adder(BaseTool):
    def __init__(self):
        super().__init__(name="add", description="Adds.", custom_metadata={"team": "math"})

    def _get_declaration(self):
        return types.FunctionDeclaration(
            name=self.name,
            description=self.description,
            parameters=types.Schema(
                type=types.Type.OBJECT,
                properties={"a": types.Schema(type="INTEGER"), "b": types.Schema(type="INTEGER")},
                required=["a", "b"],
            ),
        )

    async def run_async(self, *, args, tool_context):
        tool_context.state["sum"] = args["a"] + args["b"]
        return args["a"] + args["b"]


class Hint(BaseTool):
    async def process_llm_request(self, *, tool_context, llm_request):
        llm_request.append_instructions([f"Hint for {tool_context.agent_name}."])
        show(hinted="Hint for desk." in llm_request.config.system_instruction)


root_agent = Agent(
    name="desk",
    model=Scripted(replies=[call("add", a=2, b=3), say("Five.")]),
    instruction="Add.",
    tools=[Adder(), Hint(name="hint", description="Hints.")],
)


async def main():
    runner = InMemoryRunner(agent=root_agent, app_name="desk")
    service = runner.session_service
    session = await service.create_session(app_name=runner.app_name, user_id="u")
    for text in ["2 + 3?"]:
        async for _ in runner.run_async(
            user_id="u", session_id=session.id, new_message=types.UserContent(text)
        ):
            pass
    session = await service.get_session(
        app_name=runner.app_name, user_id="u", session_id=session.id
    )
    show_session(session)


asyncio.run(main())
