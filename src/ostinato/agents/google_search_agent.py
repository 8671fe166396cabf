"""An agent that only searches with Google, so that other tools can stand beside the search.
`tools.google_search_agent_tool` is the public face.
"""

from __future__ import annotations

from ..models.base_llm import BaseLlm
from ..tools.google_search_tool import google_search
from ..tools.searching_agent import SEARCHING_AGENT
from .llm_agent import LlmAgent


def create_google_search_agent(model: str | BaseLlm) -> LlmAgent:
    """Return an agent that searches with Google and tells what it found.

    Args:
      model: a Gemini, or its name.
    """
    return LlmAgent(**SEARCHING_AGENT, model=model, tools=[google_search])
