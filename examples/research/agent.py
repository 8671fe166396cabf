"""A pipeline: two researchers side by side, then a writer and a reviewer in a loop.

Try:
- Write a short report about electric ferries
"""

from typing import Any

from ostinato.agents import Agent, LoopAgent, ParallelAgent, SequentialAgent
from ostinato.tools import exit_loop

from .library import FACTS, FIGURES, look_up


def search_facts(topic: str) -> dict[str, Any]:
    """Search the library for facts on a topic.

    Args:
      topic: What to look for, in a few words.
    """
    return {"result": look_up(FACTS, topic)}


def search_figures(topic: str) -> dict[str, Any]:
    """Search the library for figures and numbers on a topic.

    Args:
      topic: What to look for, in a few words.
    """
    return {"result": look_up(FIGURES, topic)}


facts = Agent(
    name="facts",
    description="Gathers facts.",
    instruction="Use search_facts to find facts on the user's topic. Report only them.",
    tools=[search_facts],
    output_key="facts",
)

figures = Agent(
    name="figures",
    description="Gathers figures.",
    instruction="Use search_figures to find numbers on the user's topic. Report only them.",
    tools=[search_figures],
    output_key="figures",
)

writer = Agent(
    name="writer",
    description="Writes the report.",
    instruction=(
        "Write a short report on the user's topic from what the researchers found. If the reviewer "
        "asked for changes, make them. Facts: {facts?} Figures: {figures?}"
    ),
    output_key="report",
)

reviewer = Agent(
    name="reviewer",
    description="Reviews the report.",
    instruction=(
        "Read the report. If it covers the facts and the figures, call exit_loop. Otherwise say in "
        "one sentence what is missing."
    ),
    tools=[exit_loop],
)

root_agent = SequentialAgent(
    name="research",
    description="Researches a topic and writes a short report.",
    sub_agents=[
        ParallelAgent(name="gather", sub_agents=[facts, figures]),
        LoopAgent(name="edit", sub_agents=[writer, reviewer], max_iterations=3),
    ],
)
