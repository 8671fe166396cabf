"""Agent Skills as tools of an agent."""

from typing import TYPE_CHECKING

from ostinato._lazy import attach

if TYPE_CHECKING:
    from ostinato.tools.skills.lifecycle import SkillLifecycleConfig as SkillLifecycleConfig
    from ostinato.tools.skills.lifecycle import SkillLifecycleMode as SkillLifecycleMode
    from ostinato.tools.skills.mcp_registry import McpSkillRegistry as McpSkillRegistry
    from ostinato.tools.skills.skill_toolset import SkillDiscoveryMode as SkillDiscoveryMode
    from ostinato.tools.skills.skill_toolset import SkillToolset as SkillToolset

__getattr__, __dir__, __all__ = attach(__name__)
