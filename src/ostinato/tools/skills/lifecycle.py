"""How long a loaded skill stays active, and the session state that says which skills are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Protocol, cast

from ...errors import AgentConfigError

_ACTIVE = "_adk_activated_skill_"
_NOTES = "_adk_skill_meta_"
LIMITS = "_ostinato_skill_limits_"


class SkillLifecycleMode(StrEnum):
    """How long a loaded skill stays active."""

    PERSISTENT = "persistent"
    """For the rest of the session."""
    BOUNDED = "bounded"
    """Until more than `max_active_skills` are active; the one loaded longest ago ends first."""
    EPHEMERAL = "ephemeral"
    """For the invocation that loads it."""


@dataclass(frozen=True)
class SkillLifecycleConfig:
    """How long the skills of a toolset stay active; gives the model `unload_skill`, too.

    Attributes:
      enabled: if not, every loaded skill stays active for the session.
      default_mode: the lifecycle of skills that `skill_overrides` does not name.
      max_active_skills: how many BOUNDED skills may be active at once.
      skill_overrides: lifecycles by the names of skills.
      revalidate_skills: state the instructions of an active skill again in each request if they
        are no longer those that the model has read.

    Raises:
      AgentConfigError: `max_active_skills` is less than 1.
    """

    enabled: bool = True
    default_mode: SkillLifecycleMode = SkillLifecycleMode.PERSISTENT
    max_active_skills: int = 5
    skill_overrides: dict[str, SkillLifecycleMode] = field(
        default_factory=dict[str, SkillLifecycleMode]
    )
    revalidate_skills: bool = False

    def __post_init__(self) -> None:
        if self.max_active_skills < 1:
            raise AgentConfigError(
                f"SkillLifecycleConfig: max_active_skills is {self.max_active_skills}, but must be "
                "1 or more."
            )

    def mode_of(self, name: str) -> SkillLifecycleMode:
        """Return the lifecycle of a skill."""
        if not self.enabled:
            return SkillLifecycleMode.PERSISTENT
        return self.skill_overrides.get(name, self.default_mode)


class RunView(Protocol):
    """The part of a context that tells which agent runs, in which invocation, with which state."""

    @property
    def agent_name(self) -> str: ...
    @property
    def invocation_id(self) -> str: ...
    @property
    def state(self) -> Any: ...


def read_active(view: RunView | None) -> list[str]:
    """Return the names of an agent's active skills, the one loaded last at the end."""
    if view is None:
        return []
    names: Any = view.state.get(_ACTIVE + view.agent_name)
    if not isinstance(names, list):
        return []
    notes = _read_notes(view)
    return [
        name
        for name in cast("list[Any]", names)
        if isinstance(name, str) and _is_current(notes.get(name), view.invocation_id)
    ]


def read_limits(view: RunView) -> dict[str, str]:
    """Return what `allowed-tools` of an agent's active skills said when each was loaded."""
    limits: Any = view.state.get(LIMITS + view.agent_name)
    return cast("dict[str, str]", limits) if isinstance(limits, dict) else {}


def _read_notes(view: RunView) -> dict[str, Any]:
    notes: Any = view.state.get(_NOTES + view.agent_name)
    return cast("dict[str, Any]", notes) if isinstance(notes, dict) else {}


def _is_current(note: Any, invocation_id: str) -> bool:
    """Return whether a skill is still active that a note may bind to an invocation."""
    if not isinstance(note, Mapping):
        return True
    return cast("Mapping[str, Any]", note).get("activated_in") == invocation_id


def activate(
    view: RunView, config: SkillLifecycleConfig, name: str, limit: str | None = None
) -> list[str]:
    """Make a skill active.

    Args:
      view: the context of the call that loads it; its state takes the change.
      config: the lifecycles.
      name: the skill.
      limit: its `allowed-tools`, which bind the agent even after the skill has gone; None if it has
        none, or if they have no effect.

    Returns:
      The skills that are no longer active because of it.
    """
    mode, before = config.mode_of(name), read_active(view)
    active = list(before)
    if mode is not SkillLifecycleMode.PERSISTENT and name in active:
        active.remove(name)
    if name not in active:
        active.append(name)
    bounded = [one for one in active if config.mode_of(one) is SkillLifecycleMode.BOUNDED]
    unloaded = bounded[: max(0, len(bounded) - config.max_active_skills)]
    active = [one for one in active if one not in unloaded]
    if active != before:
        view.state[_ACTIVE + view.agent_name] = active
    old = _read_notes(view)
    notes = {one: note for one, note in old.items() if one in active and one != name}
    if mode is SkillLifecycleMode.EPHEMERAL:
        notes[name] = {"lifecycle": mode.value, "activated_in": view.invocation_id}
    if notes != old:
        view.state[_NOTES + view.agent_name] = notes
    old_limits = read_limits(view)
    limits = {one: text for one, text in old_limits.items() if one in active and one != name}
    if limit is not None:
        limits[name] = limit
    if limits != old_limits:
        view.state[LIMITS + view.agent_name] = limits
    return unloaded


def deactivate(view: RunView, name: str) -> bool:
    """End a skill; return whether it was active."""
    active = read_active(view)
    if name not in active:
        return False
    view.state[_ACTIVE + view.agent_name] = [one for one in active if one != name]
    return True
