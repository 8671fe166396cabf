"""Agent Skills: folders of instructions, files and scripts that an agent loads on demand."""

from typing import TYPE_CHECKING

from ostinato._lazy import attach

if TYPE_CHECKING:
    from ostinato.skills.loading import list_skills_in_dir as list_skills_in_dir
    from ostinato.skills.loading import list_skills_in_dir_async as list_skills_in_dir_async
    from ostinato.skills.loading import list_skills_in_gcs_dir as list_skills_in_gcs_dir
    from ostinato.skills.loading import list_skills_in_gcs_dir_async as list_skills_in_gcs_dir_async
    from ostinato.skills.loading import load_skill_from_dir as load_skill_from_dir
    from ostinato.skills.loading import load_skill_from_dir_async as load_skill_from_dir_async
    from ostinato.skills.loading import load_skill_from_gcs_dir as load_skill_from_gcs_dir
    from ostinato.skills.loading import (
        load_skill_from_gcs_dir_async as load_skill_from_gcs_dir_async,
    )
    from ostinato.skills.loading import load_skills_from_dir as load_skills_from_dir
    from ostinato.skills.loading import load_skills_from_dir_async as load_skills_from_dir_async
    from ostinato.skills.loading import load_skills_from_project as load_skills_from_project
    from ostinato.skills.models import Frontmatter as Frontmatter
    from ostinato.skills.models import Resources as Resources
    from ostinato.skills.models import Script as Script
    from ostinato.skills.models import Skill as Skill
    from ostinato.skills.prompt import (
        DEFAULT_SKILL_SYSTEM_INSTRUCTION as DEFAULT_SKILL_SYSTEM_INSTRUCTION,
    )
    from ostinato.skills.skill_registry import SkillRegistry as SkillRegistry

__getattr__, __dir__, __all__ = attach(__name__)
