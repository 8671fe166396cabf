"""SkillRegistry: the port of a place from which skills come by name."""

from __future__ import annotations

from abc import ABC, abstractmethod

from .models import Frontmatter, Skill


class SkillRegistry(ABC):
    """Finds skills and returns them by name; subclasses say where they are."""

    @abstractmethod
    async def get_skill(self, *, name: str) -> Skill:
        """Return a skill.

        Args:
          name: its name.
        """

    @abstractmethod
    async def search_skills(self, *, query: str) -> list[Frontmatter]:
        """Return the frontmatter of the skills that fit a query, the best first.

        Args:
          query: what the skill should do.
        """

    def search_tool_description(self) -> str | None:
        """Return what the model is told of `search_skills`; None for the usual text."""
        return None
