"""Runners inside of tools, one agent in two apps, two event loops one after another, threads."""

import asyncio
import threading

from google.adk.agents import LlmAgent
from google.adk.models import BaseLlm, LlmResponse
from google.adk.runners import InMemoryRunner, Runner
from google.adk.sessions import InMemorySessionService
from google.adk.tools import ToolContext
from google.genai import types
from printing import show


class Echo(BaseLlm):
    async def generate_content_async(self, llm_request, stream=False):
        last = llm_request.contents[-1].parts[-1]
        if last.text and last.text.startswith("ask "):
            part = types.Part.from_function_call(name="ask", args={"what": last.text[4:]})
        elif last.function_response:
            part = types.Part(text=f"It said {last.function_response.response['result']}")
        else:
            part = types.Part(text=f"{last.text} of {len(llm_request.contents)}")
        yield LlmResponse(content=types.Content(role="model", parts=[part]))


async def ask(what: str, tool_context: ToolContext) -> str:
    """Asks another agent, in a runner of its own."""
    inner = InMemoryRunner(agent=LlmAgent(name="inner", model=Echo(model="e")), app_name="inner")
    await inner.session_service.create_session(app_name="inner", user_id="u", session_id="s")
    said = ""
    async for event in inner.run_async(
        user_id="u", session_id="s", new_message=types.UserContent(what)
    ):
        said = event.content.parts[0].text
    tool_context.state["asked"] = what
    return said


agent = LlmAgent(name="echo", model=Echo(model="e"), tools=[ask])


async def say(runner, name, text, printed=True):
    found = []
    async for event in runner.run_async(
        user_id="u", session_id=name, new_message=types.UserContent(text)
    ):
        found.append(event)
        if printed:
            show(event)
    return found[-1].content.parts[0].text


async def nested_and_shared(service):
    first = Runner(agent=agent, app_name="first", session_service=service)
    second = Runner(agent=agent, app_name="second", session_service=service)
    for app_name in ("first", "second"):
        await service.create_session(app_name=app_name, user_id="u", session_id="s")
    await say(first, "s", "ask tea")
    await say(second, "s", "hello")
    print(await asyncio.gather(*(say(r, "s", "again", printed=False) for r in (first, second))))
    for app_name in ("first", "second"):
        session = await service.get_session(app_name=app_name, user_id="u", session_id="s")
        print(app_name, len(session.events), session.state)


async def several_sessions(runner):
    names = [f"s{n}" for n in range(5)]
    for name in names:
        await runner.session_service.create_session(app_name="many", user_id="u", session_id=name)
    print(await asyncio.gather(*(say(runner, name, name, printed=False) for name in names)))


def in_a_thread(runner, name, answers):
    async def once():
        await runner.session_service.create_session(app_name="many", user_id="u", session_id=name)
        answers.append(await say(runner, name, f"ask {name}", printed=False))
        answers.append(await say(runner, name, name, printed=False))

    asyncio.run(once())


def main():
    service = InMemorySessionService()
    asyncio.run(nested_and_shared(service))
    runner = Runner(agent=agent, app_name="many", session_service=service)
    asyncio.run(several_sessions(runner))
    print(asyncio.run(say(runner, "s0", "another loop", printed=False)))
    answers = []
    threads = [
        threading.Thread(target=in_a_thread, args=(runner, f"t{n}", answers)) for n in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print(sorted(answers))
    message = types.UserContent("sync")
    events = list(runner.run(user_id="u", session_id="t0", new_message=message))
    print(len(events), events[-1].content.parts[0].text)


if __name__ == "__main__":
    main()
