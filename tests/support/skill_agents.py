"""Skills made in Python, and agents that have them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ostinato.agents import Agent
from ostinato.skills import Frontmatter, Resources, Script, Skill
from ostinato.testing import Conversation, ScriptedModel
from ostinato.tools.skill_toolset import SkillToolset
from tests.support.published_skills import PNG


def make_skill(
    name: str, *, allowed: str | None = None, text: str = "", scripts: Any = None, **metadata: Any
) -> Skill:
    return Skill(
        frontmatter=Frontmatter(
            name=name,
            description=f"Does {name} work.",
            allowed_tools=allowed,
            metadata=metadata,
        ),
        instructions=text or f"Instructions of {name}.",
        resources=Resources(
            references={"guide.md": "G"},
            assets={"logo.png": PNG},
            scripts={path: Script(src=source) for path, source in (scripts or {}).items()},
            files={"notes.md": "N"},
        ),
    )


def talk(toolset: SkillToolset, *turns: Any, tools: Sequence[Any] = (), **options: Any) -> Any:
    """Return a conversation with an agent that has skills, and its model."""
    model = ScriptedModel(list(turns))
    agent = Agent(name="clerk", model=model, tools=[*tools, toolset], **options)
    return Conversation(agent), model


def answers(conversation: Conversation, name: str = "") -> list[Any]:
    return [
        response.response
        for event in conversation.events
        for response in event.get_function_responses()
        if not name or response.name == name
    ]
