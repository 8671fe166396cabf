"""Answers in an app that is not resumable: a sequence, a loop and an own class around who asked."""

import asyncio

from google.adk.agents import BaseAgent, LlmAgent, LoopAgent, SequentialAgent
from google.adk.models import BaseLlm, LlmResponse
from google.adk.runners import InMemoryRunner
from google.adk.tools import FunctionTool, LongRunningFunctionTool
from google.genai import types
from showing import show


class Counting(BaseLlm):
    """Gives prepared replies and then counts, so that the program needs no key."""

    model: str = "counting"
    replies: list = []
    asked: int = 0

    async def generate_content_async(self, llm_request, stream=False):
        self.asked += 1
        reply = self.replies.pop(0) if self.replies else f"Answer {self.asked}."
        yield LlmResponse(content=types.ModelContent(reply))


class Chain(BaseAgent):
    async def _run_async_impl(self, ctx):
        for agent in self.sub_agents:
            async for event in agent.run_async(ctx):
                yield event


def pay(amount: int) -> dict:
    """Pays."""
    return {"paid": amount}


def sign(document: str) -> None:
    """Asks for a signature."""


CALLS = {
    "pay": (FunctionTool(pay, require_confirmation=True), {"amount": 5}, {"confirmed": True}),
    "sign": (LongRunningFunctionTool(sign), {"document": "lease"}, {"by": "Ann"}),
}


def team(kind, name, first):
    tool, args, _ = CALLS[name]
    call = types.Part.from_function_call(name=name, args=args)
    agents = [
        LlmAgent(name="asker", model=Counting(replies=[[call]]), tools=[tool]),
        LlmAgent(name="second", model=Counting()),
    ]
    if first:
        agents.insert(0, LlmAgent(name="first", model=Counting()))
    if kind is LoopAgent:
        return LoopAgent(name="team", sub_agents=agents, max_iterations=2)
    return kind(name="team", sub_agents=agents)


async def talk(kind, name, first=False):
    print(kind.__name__, name)
    runner = InMemoryRunner(team(kind, name, first), app_name="desk")
    await runner.session_service.create_session(app_name="desk", user_id="u", session_id="s")
    message = types.UserContent("Go")
    for _ in range(2):
        asked = None
        async for event in runner.run_async(user_id="u", session_id="s", new_message=message):
            for one in event.get_function_calls():
                if one.id in (event.long_running_tool_ids or ()):
                    asked = one
            show(author=event.author, parts=event.content.parts)
        if asked:
            answer = types.FunctionResponse(id=asked.id, name=asked.name, response=CALLS[name][2])
            message = types.UserContent(types.Part(function_response=answer))
            print("answer")


async def main():
    for kind in (SequentialAgent, LoopAgent, Chain):
        for name in CALLS:
            await talk(kind, name)
    await talk(SequentialAgent, "sign", first=True)


asyncio.run(main())
