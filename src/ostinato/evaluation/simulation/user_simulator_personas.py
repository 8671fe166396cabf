"""Personas: how a simulated user behaves."""

from __future__ import annotations

import difflib
from collections.abc import Sequence

from pydantic import BaseModel, ConfigDict

from ...errors import NotFoundError


class UserBehavior(BaseModel):
    """One behavior of a persona.

    Attributes:
      name: its name.
      description: what it is, for the simulated user and for the judge of it.
      behavior_instructions: what the simulated user must do.
      violation_rubrics: what shows the judge that it does not.
    """

    model_config = ConfigDict(defer_build=True)

    name: str
    description: str
    behavior_instructions: list[str]
    violation_rubrics: list[str]

    def get_behavior_instructions_str(self) -> str:
        """Return the instructions as lines of a list."""
        return "\n".join(f"  * {one}" for one in self.behavior_instructions)

    def get_violation_rubrics_str(self) -> str:
        """Return the rubrics as lines of a list."""
        return "\n".join(f"  * {one}" for one in self.violation_rubrics)


class UserPersona(BaseModel):
    """A kind of user.

    Attributes:
      id: its id.
      description: who it is.
      behaviors: how it behaves.
    """

    model_config = ConfigDict(defer_build=True)

    id: str
    description: str
    behaviors: Sequence[UserBehavior]


class UserPersonaRegistry:
    """Personas by id."""

    def __init__(self) -> None:
        self._personas: dict[str, UserPersona] = {}

    def get_persona(self, persona_id: str) -> UserPersona:
        """Return a persona.

        Args:
          persona_id: its id.

        Raises:
          NotFoundError: there is not one of this id.
        """
        if persona_id not in self._personas:
            near = difflib.get_close_matches(persona_id.upper(), self._personas, 1)
            hint = f" Did you mean {near[0]!r}?" if near else ""
            raise NotFoundError(
                f"There is no persona {persona_id!r}.{hint} Registered: "
                f"{', '.join(self._personas) or 'none'}."
            )
        return self._personas[persona_id]

    def register_persona(self, persona_id: str, user_persona: UserPersona) -> None:
        """Register a persona; an earlier one of this id is replaced.

        Args:
          persona_id: its id.
          user_persona: the persona.
        """
        self._personas[persona_id] = user_persona

    def get_registered_personas(self) -> list[UserPersona]:
        """Return all personas."""
        return list(self._personas.values())
