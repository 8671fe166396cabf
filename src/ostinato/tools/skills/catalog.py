"""The skills of a toolset: its own ones and those of its registry."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from ..._log import get_logger
from ...code_executors.base_code_executor import BaseCodeExecutor
from ...errors import AgentConfigError
from ...skills.models import Frontmatter, Skill
from ...skills.skill_registry import SkillRegistry
from ..base_tool import BaseTool, InDoubt
from ..tool_ranking import ToolRanking
from .lifecycle import RunView, SkillLifecycleConfig, read_active
from .skill_environment import SkillEnvironment

MAX_FOUND = 8
"""Own skills that one search returns."""


_log = get_logger(__name__)


class RegistryError(Exception):
    """The registry failed; the text is for the model."""


@dataclass(frozen=True)
class ScriptSettings:
    """How a toolset runs scripts.

    Attributes:
      code_executor: runs them; None for that of the agent.
      environment: runs them instead.
      timeout: seconds that a script may take.
      saves_artifacts: whether files that scripts make become artifacts.
      in_doubt: the policy for scripts that a crash interrupted.
    """

    code_executor: BaseCodeExecutor | None
    environment: SkillEnvironment | None
    timeout: float
    saves_artifacts: bool
    in_doubt: InDoubt


class SkillCatalog:
    """Finds skills by name and by what they do.

    A skill of the registry is fetched once per invocation.

    Args:
      skills: the toolset's own skills.
      registry: where other skills come from.
      lifecycle: how long loaded skills stay active.
      scripts: how scripts are run.
      restricts_calls: whether `allowed-tools` of active skills bind the agent.

    Raises:
      AgentConfigError: two skills have one name.
    """

    def __init__(
        self,
        skills: Sequence[Skill],
        registry: SkillRegistry | None,
        lifecycle: SkillLifecycleConfig,
        scripts: ScriptSettings,
        *,
        restricts_calls: bool = True,
    ) -> None:
        self.skills: dict[str, Skill] = {}
        for skill in skills:
            if skill.name in self.skills:
                raise AgentConfigError(
                    f"Duplicate skill name {skill.name!r}. Give each skill of a toolset its own."
                )
            self.skills[skill.name] = skill
        self.registry = registry
        self.lifecycle = lifecycle
        self.scripts = scripts
        self.restricts_calls = restricts_calls
        self._fetched: tuple[str, dict[str, Skill | RegistryError | None]] = ("", {})
        self._ranking: ToolRanking | None = None

    def find_limit(self, skill: Skill) -> str | None:
        """Return what a skill's `allowed-tools` say, if they bind the agent."""
        return skill.frontmatter.allowed_tools if self.restricts_calls else None

    async def find(self, name: str, invocation_id: str, *, again: bool = False) -> Skill | None:
        """Return a skill by name, or None.

        Args:
          name: the skill's name.
          invocation_id: the invocation that needs it.
          again: ask a registry that has failed in this invocation once more.

        Raises:
          RegistryError: the registry failed.
        """
        own = self.skills.get(name)
        if own is not None or self.registry is None:
            return own
        if self._fetched[0] != invocation_id:
            self._fetched = (invocation_id, {})
        fetched = self._fetched[1]
        if name not in fetched or (again and isinstance(fetched[name], RegistryError)):
            try:
                found: Any = await self.registry.get_skill(name=name)
            except Exception as error:  # boundary: a registry is foreign code, and may be down
                fetched[name] = RegistryError(
                    f"Failed to fetch skill '{name}' from registry: {error}"
                )
            else:
                fetched[name] = found if isinstance(found, Skill) else None
        known = fetched[name]
        if isinstance(known, RegistryError):
            raise known
        return known

    async def list_active(self, view: RunView | None, *, strict: bool = False) -> list[Skill]:
        """Return an agent's active skills that still exist, in the order of loading.

        Args:
          view: the context; no skill is active without one.
          strict: raise if the registry fails; else log it, and leave its skills out.

        Raises:
          RegistryError: the registry failed.
        """
        found: list[Skill] = []
        for name in read_active(view):
            try:
                skill = await self.find(name, "" if view is None else view.invocation_id)
            except RegistryError as error:
                if strict:
                    raise
                _log.warning("Skill %r is active, but left out: %s", name, error)
                continue
            if skill is not None:
                found.append(skill)
        return found

    async def search(self, query: str) -> list[Frontmatter]:
        """Return the skills that fit a query best, own ones first.

        Raises:
          RegistryError: the registry failed.
        """
        if self._ranking is None:
            self._ranking = rank_skills(skill.frontmatter for skill in self.skills.values())
        names = [one.name for one in self._ranking.find(query, MAX_FOUND)]
        found = {name: self.skills[name].frontmatter for name in names}
        if self.registry is not None:
            try:
                for one in await self.registry.search_skills(query=query):
                    found.setdefault(one.name, one)
            except Exception as error:  # boundary: a registry is foreign code, and may be down
                raise RegistryError(f"Failed to search skills from registry: {error}") from error
        return list(found.values())


class _SkillEntry(BaseTool):
    """A skill as an entry of the ranking."""


def rank_skills(skills: Iterable[Frontmatter]) -> ToolRanking:
    """Return the index in which a search finds skills by their names and descriptions."""
    return ToolRanking([_SkillEntry(name=one.name, description=one.description) for one in skills])
