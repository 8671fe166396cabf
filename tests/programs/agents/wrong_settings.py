"""Settings that agents refuse or take, each tried alone."""

import warnings

from google.adk.agents import (
    Agent,
    BaseAgent,
    LoopAgent,
    ParallelAgent,
    SequentialAgent,
)
from google.adk.planners import BuiltInPlanner
from google.genai import types
from pydantic import BaseModel


class Out(BaseModel):
    a: int


def tool() -> str:
    """Does."""
    return ""


thinking = types.ThinkingConfig(include_thoughts=True)
config = types.GenerateContentConfig
schema = types.Schema(type="OBJECT", properties={})
for name, fields in {
    "tools in config": {"generate_content_config": config(tools=[types.Tool()])},
    "instruction in config": {"generate_content_config": config(system_instruction="x")},
    "schema in config": {"generate_content_config": config(response_schema=schema)},
    "temperature": {"generate_content_config": config(temperature=0.1)},
    "no config": {"generate_content_config": None},
    "thinking in config": {"generate_content_config": config(thinking_config=thinking)},
    "schema and tools": {"output_schema": Out, "tools": [tool]},
    "schema and sub-agents": {"output_schema": Out, "sub_agents": [Agent(name="s")]},
    "contents": {"include_contents": "some"},
    "mode": {"mode": "no such mode"},
    "tool that is none": {"tools": ["text"]},
    "tools that are no list": {"tools": tool},
    "callback that is none": {"before_model_callback": "text"},
    "planner": {"planner": BuiltInPlanner(thinking_config=thinking)},
    "name with a dash": {"name": "a-b"},
    "empty name": {"name": ""},
    "keyword": {"name": "class"},
    "model that is none": {"model": 3},
    "same sub-agent twice": {"sub_agents": [Agent(name="x"), Agent(name="y")]},
}.items():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            agent = Agent(**{"name": "a", **fields})
            print(name, "is taken")
        except (ValueError, TypeError):
            print(name, "is refused")
for make in (
    lambda: LoopAgent(name="l", max_iterations="many"),
    lambda: SequentialAgent(name="s", sub_agents=["text"]),
    lambda: ParallelAgent(name="p", tools=[tool]),
    lambda: BaseAgent(),
):
    try:
        make()
        print("taken")
    except Exception as error:
        print("refused", isinstance(error, ValueError))
