"""An agent that only searches with Google, so that other agents can combine it with more tools.

`tools.google_search_agent_tool` is its public face.
"""

from __future__ import annotations

from ..models.base_llm import BaseLlm
from ..tools.google.searching_agent import SEARCHING_AGENT
from ..tools.google_search_tool import google_search
from .llm_agent import LlmAgent


def create_google_search_agent(model: str | BaseLlm) -> LlmAgent:
    """Return an agent that searches with Google and reports the results.

    Args:
      model: a Gemini model or its name.
    """
    return LlmAgent(**SEARCHING_AGENT, model=model, tools=[google_search])
