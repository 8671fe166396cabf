"""A graph with a graph in it."""

from ostinato import types
from ostinato.agents import Agent
from ostinato.models.base_llm import BaseLlm
from ostinato.models.llm_response import LlmResponse
from ostinato.workflow import START, Workflow


class Writer(BaseLlm):
    """Writes one word."""

    async def generate_content_async(self, llm_request, stream=False):
        content = types.Content(role="model", parts=[types.Part(text="drafted")])
        yield LlmResponse(content=content)


def plan(node_input: str) -> str:
    """Plan what is written."""
    return f"plan for {node_input}"


def check(node_input: str) -> str:
    """Check what was written."""
    return f"checked {node_input}"


draft = Agent(name="draft", model=Writer(model="writer"), instruction="Write.")
review = Workflow(name="review", edges=[(START, check)])
root_agent = Workflow(name="flow", edges=[(START, plan, draft, review)])
