"""An agent whose model follows rules, written in google-adk's words: both servers load it."""

from google.adk.agents import Agent
from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_response import LlmResponse
from google.adk.tools import FunctionTool, ToolContext


def add(a: int, b: int) -> dict:
    """Add two numbers."""
    return {"sum": a + b}


async def note(text: str, tool_context: ToolContext) -> dict:
    """Keep a note as a file, and remember that there is one."""
    from google.genai import types

    version = await tool_context.save_artifact("note.txt", types.Part(text=text))
    tool_context.state["noted"] = True
    return {"version": version}


def pay(amount: int, to: str) -> dict:
    """Pay somebody."""
    return {"paid": amount, "to": to}


CALLS = {
    "add": ("add", {"a": 1, "b": 2}),
    "note": ("note", {"text": "milk"}),
    "pay": ("pay", {"amount": 5000, "to": "bob"}),
}


class RuleLlm(BaseLlm):
    """Calls the tool that the message names, else repeats the message."""

    async def generate_content_async(self, llm_request, stream=False):
        parts = llm_request.contents[-1].parts
        response = parts[-1].function_response
        text = parts[-1].text or ""
        usage = {"promptTokenCount": 3, "candidatesTokenCount": 2, "totalTokenCount": 5}
        if response is not None:
            answer = f"{response.name} done"
        elif text in CALLS:
            name, args = CALLS[text]
            call = {"functionCall": {"name": name, "args": args}}
            yield LlmResponse(content={"role": "model", "parts": [call]}, usageMetadata=usage)
            return
        elif text == "boom":
            raise RuntimeError("the model fell over")
        elif text == "refused":
            yield LlmResponse(errorCode="SAFETY", errorMessage="not that")
            return
        else:
            answer = f"You said {text}"
        if stream:
            for word in answer.split():
                content = {"role": "model", "parts": [{"text": f"{word} "}]}
                yield LlmResponse(content=content, partial=True)
        content = {"role": "model", "parts": [{"text": answer}]}
        yield LlmResponse(content=content, usageMetadata=usage)


root_agent = Agent(
    name="desk",
    model=RuleLlm(model="rules"),
    description="Follows rules.",
    instruction="Follow the rules.",
    tools=[add, note, FunctionTool(pay, require_confirmation=True)],
)
