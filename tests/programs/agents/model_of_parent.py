"""Which model an agent takes: its own, its parent's, and what the names resolve to."""

from google.adk.agents import LlmAgent
from google.adk.models import BaseLlm, Gemini, LLMRegistry, LlmResponse
from google.genai import types
from showing import show


class Scripted(BaseLlm):
    """Gives prepared replies, so that the program needs no key."""

    model: str = "scripted"
    replies: list = []

    async def generate_content_async(self, llm_request, stream=False):
        yield LlmResponse(content=self.replies.pop(0))


def say(text):
    return types.ModelContent(text)


child = LlmAgent(name="child")
own = LlmAgent(name="own", model="gemini-2.0-flash")
root_agent = LlmAgent(name="root", model=Scripted(replies=[say("Hi.")]), sub_agents=[child, own])
show(
    child=child.canonical_model is root_agent.canonical_model,
    own=own.canonical_model.model,
    kind=isinstance(own.canonical_model, Gemini),
    registered=LLMRegistry.resolve("gemini-2.5-pro").__name__,
)
for name in ("gemini-2.5-pro", "projects/p/locations/l/publishers/google/models/gemini-2.0-flash"):
    show(name=name, made=type(LLMRegistry.new_llm(name)).__name__)
try:
    LLMRegistry.resolve("no-such-model")
except ValueError:
    print("no such model")
