"""McpSkillRegistry: the skills that an MCP server offers as resources."""

from __future__ import annotations

import base64
import re
from pathlib import Path
from typing import Any

from ...errors import AgentFileError, NotFoundError
from ...skills.loading import build_skill
from ...skills.models import MAX_DESCRIPTION, Frontmatter, Skill
from ...skills.skill_files import SKILL_FILE
from ...skills.skill_registry import SkillRegistry
from ..mcp.mcp_toolset import McpToolset
from .catalog import MAX_FOUND, rank_skills

_ADDRESS = re.compile(r"skill://([^/?#]+)/([^?#]+)")


class McpSkillRegistry(SkillRegistry):
    """Finds skills among a server's resources: `skill://NAME/SKILL.md`, and their other files.

    A file belongs to the skill whose address it shares. Paths that lead out of a skill are refused.

    Args:
      toolset: the connection to the server; the program closes it.
    """

    def __init__(self, toolset: McpToolset) -> None:
        self._toolset = toolset

    async def get_skill(self, *, name: str) -> Skill:
        """Return a skill with all its files.

        Args:
          name: its name.

        Raises:
          NotFoundError: the server has no such skill.
          AgentFileError: the skill cannot be used; the message names file, line and field.
          McpConnectionError, McpCallError: the server cannot be reached, or refuses.
        """
        files: dict[str, bytes] = {}
        for skill, path, info in await self._list_files():
            if skill != name:
                continue
            if ".." in path.split("/") or "\\" in path or ":" in path:
                raise AgentFileError(
                    f"Skill {name!r} of MCP server {self._toolset.label}: the path {path!r} leads "
                    "out of the skill.",
                    file=path,
                )
            files[path] = await self._read(info["uri"])
        if SKILL_FILE not in files:
            raise NotFoundError(
                f"MCP server {self._toolset.label} has no skill {name!r}: it offers no resource "
                f"skill://{name}/{SKILL_FILE}."
            )
        return build_skill(Path("/mcp") / name, name, dict(sorted(files.items())))

    async def search_skills(self, *, query: str) -> list[Frontmatter]:
        """Return the skills that fit a query best, by what the server says about them.

        Args:
          query: what the skill should do.

        Raises:
          McpConnectionError, McpCallError: the server cannot be reached, or refuses.
        """
        found: dict[str, Frontmatter] = {}
        for name, path, info in await self._list_files():
            if path == SKILL_FILE:
                text = str(info.get("description") or info.get("title") or name)
                found[name] = Frontmatter.model_construct(
                    name=name, description=text[:MAX_DESCRIPTION], metadata={}
                )
        ranked = rank_skills(found.values()).find(query, MAX_FOUND)
        return [found[one.name] for one in ranked]

    async def _list_files(self) -> list[tuple[str, str, dict[str, Any]]]:
        """Return the skill, the path in it, and what the server says of each file."""
        infos = await self._toolset.list_resource_infos()
        addresses = [(_ADDRESS.fullmatch(str(info["uri"])), info) for info in infos]
        return [(found[1], found[2], info) for found, info in addresses if found is not None]

    async def _read(self, uri: str) -> bytes:
        parts = await self._toolset.read_resource(uri)
        texts: list[bytes] = []
        for part in parts:
            text: str | None = getattr(part, "text", None)
            texts.append(text.encode() if text is not None else base64.b64decode(part.blob))
        return b"".join(texts)
