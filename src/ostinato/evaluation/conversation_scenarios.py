"""Scenarios of conversations, which a simulated user plays."""

from __future__ import annotations

from typing import Any

from pydantic import Field, field_validator

from .eval_base_model import EvalBaseModel
from .simulation.pre_built_personas import get_default_persona_registry
from .simulation.user_simulator_personas import UserPersona


class ConversationScenario(EvalBaseModel):
    """A conversation that a simulated user leads.

    Attributes:
      starting_prompt: the first message, sent unchanged.
      conversation_plan: what the simulated user wants and knows.
      user_persona: how the simulated user behaves: a persona, or the id of a built-in one (EXPERT,
        NOVICE, EVALUATOR).
    """

    starting_prompt: str
    conversation_plan: str
    user_persona: UserPersona | None = None

    @field_validator("user_persona", mode="before")
    @classmethod
    def validate_user_persona(cls, value: Any) -> Any:
        """Replace the id of a built-in persona by the persona."""
        if isinstance(value, str):
            return get_default_persona_registry().get_persona(value)
        return value


class ConversationScenarios(EvalBaseModel):
    """The content of a scenarios file.

    Attributes:
      scenarios: the scenarios.
    """

    scenarios: list[ConversationScenario] = Field(default_factory=list[ConversationScenario])


class ConversationGenerationConfig(EvalBaseModel):
    """Settings of google-adk's generator of scenarios, which runs on Vertex AI only.

    Attributes:
      count: number of scenarios.
      generation_instruction: what the scenarios are about.
      environment_context: what data the agent's tools can reach.
      model_name: the model that writes them.
    """

    count: int
    generation_instruction: str | None = None
    environment_context: str | None = None
    model_name: str
