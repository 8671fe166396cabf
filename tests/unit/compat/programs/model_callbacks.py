"""before_model, after_model and on_model_error: a guardrail, an edit and a fallback answer."""

import asyncio

from google.adk.agents import LlmAgent
from google.adk.agents.callback_context import CallbackContext
from google.adk.models import BaseLlm, LlmRequest, LlmResponse
from google.adk.runners import InMemoryRunner
from google.genai import types
from printing import show


class Fragile(BaseLlm):
    async def generate_content_async(self, llm_request: LlmRequest, stream: bool = False):
        print("    system:", llm_request.config.system_instruction.split("\n")[0])
        asked = llm_request.contents[-1].parts[-1].text
        if "crash" in asked:
            raise ConnectionError("no line")
        yield LlmResponse(
            content=types.Content(role="model", parts=[types.Part(text=f"You said {asked}")])
        )


def guard(callback_context: CallbackContext, llm_request: LlmRequest) -> LlmResponse | None:
    last = llm_request.contents[-1].parts[0].text or ""
    callback_context.state["last_asked"] = last
    if "BLOCK" in last.upper():
        return LlmResponse(
            content=types.Content(role="model", parts=[types.Part(text="I cannot do that.")])
        )
    llm_request.append_instructions(["Be brief."])
    llm_request.config.system_instruction = "[checked] " + llm_request.config.system_instruction
    llm_request.contents[-1].parts[0].text = last + "!"
    return None


def rewrite(callback_context: CallbackContext, llm_response: LlmResponse) -> LlmResponse | None:
    text = llm_response.content.parts[0].text
    if "joke" not in text:
        return None
    part = types.Part(text=text.replace("joke", "story"))
    return LlmResponse(content=types.Content(role="model", parts=[part]))


async def rescue(*, callback_context, llm_request, error):
    return LlmResponse(
        content=types.Content(role="model", parts=[types.Part(text=f"Failed: {error}")])
    )


agent = LlmAgent(
    name="guarded",
    model=Fragile(model="fragile-1"),
    instruction="Answer.",
    before_model_callback=guard,
    after_model_callback=rewrite,
    on_model_error_callback=rescue,
)


async def main():
    runner = InMemoryRunner(agent=agent, app_name="guard")
    session = await runner.session_service.create_session(app_name="guard", user_id="u")
    for text in ["Hello", "block this", "Tell a joke", "crash now"]:
        async for event in runner.run_async(
            user_id="u", session_id=session.id, new_message=types.UserContent(text)
        ):
            show(event)
    session = await runner.session_service.get_session(
        app_name="guard", user_id="u", session_id=session.id
    )
    print([event.content.parts[0].text for event in session.events], session.state)


asyncio.run(main())
