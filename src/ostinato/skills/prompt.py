"""What the model is told about skills."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from html import escape

from .models import Frontmatter, Skill

LIST, LOAD, RESOURCE, RUN, SEARCH, UNLOAD = (
    "list_skills",
    "load_skill",
    "load_skill_resource",
    "run_skill_script",
    "search_skills",
    "unload_skill",
)
SKILL_TOOLS = (LIST, SEARCH, LOAD, RESOURCE, RUN, UNLOAD)
_INTRODUCTION = """\
You have skills: tested instructions for certain tasks, some with files and scripts. Reach a skill \
only by the skill tools.
"""
_RULES = (
    (LIST, "Call `{list_skills}` to see which skills there are."),
    (SEARCH, "Call `{search_skills}` to find a skill for a task; not all of them are listed here."),
    (
        LOAD,
        "If a skill fits the request, call `{load_skill}` before you do anything else, and follow "
        "its instructions step by step. Loading it does not answer the request: continue in the "
        "same turn.",
    ),
    (
        RESOURCE,
        "Read a file of a skill by `{load_skill_resource}` when its instructions refer to it. The "
        "tool reads no files of the user. If it fails twice, tell the user.",
    ),
    (
        RUN,
        "Run a script of a skill by `{run_skill_script}`. If a script does not exist or fails, do "
        "not guess another path: tell the user.",
    ),
    (UNLOAD, "Call `{unload_skill}` once a skill is no longer needed."),
)


def build_instruction(tools: Collection[str], prefix: str | None = None) -> str:
    """Return the rules for the skill tools that an agent has.

    Args:
      tools: the tools, without the prefix.
      prefix: of their names; None without one.
    """
    names = {name: f"{prefix}_{name}" if prefix else name for name in SKILL_TOOLS}
    rules = [text.format(**names) for tool, text in _RULES if tool in tools]
    return _INTRODUCTION + "\n".join(f"- {rule}" for rule in rules)


DEFAULT_SKILL_SYSTEM_INSTRUCTION = build_instruction((LIST, LOAD, RESOURCE, RUN))


def format_skills_as_xml(skills: Iterable[Frontmatter | Skill]) -> str:
    """Return names and descriptions as `<available_skills>`, in the given order."""
    lines = ["<available_skills>"]
    for one in skills:
        lines += ["<skill>", "<name>", escape(one.name, quote=False), "</name>"]
        lines += ["<description>", escape(one.description, quote=False), "</description>"]
        lines.append("</skill>")
    return "\n".join([*lines, "</available_skills>"])
