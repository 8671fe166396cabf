"""Agent Skills as tools of an agent."""

from typing import TYPE_CHECKING

from ostinato._lazy import attach

if TYPE_CHECKING:
    from ostinato.skills.prompt import (
        DEFAULT_SKILL_SYSTEM_INSTRUCTION as DEFAULT_SKILL_SYSTEM_INSTRUCTION,
    )
    from ostinato.tools.skills.lifecycle import SkillLifecycleConfig as SkillLifecycleConfig
    from ostinato.tools.skills.lifecycle import SkillLifecycleMode as SkillLifecycleMode
    from ostinato.tools.skills.script_tool import RunSkillScriptTool as RunSkillScriptTool
    from ostinato.tools.skills.skill_tools import ListSkillsTool as ListSkillsTool
    from ostinato.tools.skills.skill_tools import LoadSkillResourceTool as LoadSkillResourceTool
    from ostinato.tools.skills.skill_tools import LoadSkillTool as LoadSkillTool
    from ostinato.tools.skills.skill_tools import SearchSkillsTool as SearchSkillsTool
    from ostinato.tools.skills.skill_tools import UnloadSkillTool as UnloadSkillTool
    from ostinato.tools.skills.skill_toolset import SkillDiscoveryMode as SkillDiscoveryMode
    from ostinato.tools.skills.skill_toolset import SkillToolset as SkillToolset

__getattr__, __dir__, __all__ = attach(__name__)
