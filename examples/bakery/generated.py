"""The agent that bakery/root_agent.yaml describes.

Written by `ostinato generate`; run it again when the file changes.
"""

from ostinato import types
from ostinato.agents import LlmAgent
from ostinato.tools import FunctionTool

from .tools import is_large, list_breads, note_customer, order_bread

orders = LlmAgent(
    name="orders",
    description="Takes and confirms orders of bread.",
    instruction="""\
You take orders of bread. Use order_bread once you know which bread, and how many
loaves of it.
""",
    tools=[FunctionTool(func=order_bread, require_confirmation=is_large)],
    before_agent_callback=[note_customer],
    output_key="last_answer",
)

# The agent that people talk with first: it knows the breads and hands orders on.
root_agent = LlmAgent(
    name="bakery",
    description="Answers questions about the bakery's breads.",
    instruction="""\
You stand at the counter of a bakery. Use list_breads for what there is and what it
costs. Hand over to orders when somebody wants to buy.
""",
    tools=[list_breads],
    sub_agents=[orders],
    # Facts about bread, no poetry.
    generate_content_config=types.GenerateContentConfig(temperature=0.2),
)
