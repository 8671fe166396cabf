"""The records of a skill: frontmatter, files and scripts."""

from __future__ import annotations

import re
from typing import Any, cast

from pydantic import AliasChoices, BaseModel, ConfigDict, Field, field_validator

from ..features import FeatureName, is_feature_enabled

MAX_NAME, MAX_DESCRIPTION, MAX_COMPATIBILITY = 64, 1024, 500
_KEBAB = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
_SNAKE = re.compile(r"[a-z0-9]+(_[a-z0-9]+)*")


class Frontmatter(BaseModel):
    """The fields at the head of a SKILL.md; others than these are kept too.

    Attributes:
      name: 1 to 64 lower-case letters and digits, with single hyphens between; the folder's name.
      description: what the skill does and when to use it, at most 1024 characters.
      license: its license.
      compatibility: what it needs, at most 500 characters.
      allowed_tools: the tools that it uses, with spaces between; `allowed-tools` in the file.
      metadata: further values; `adk_additional_tools` lists tools that appear once the skill is
        loaded, and `adk_inject_state: true` fills `{keys}` of its instructions from the state.
    """

    model_config = ConfigDict(extra="allow", defer_build=True)

    name: str
    description: str
    license: str | None = None
    compatibility: str | None = None
    allowed_tools: str | None = Field(
        default=None,
        validation_alias=AliasChoices("allowed-tools", "allowed_tools"),
        serialization_alias="allowed-tools",
    )
    metadata: dict[str, Any] = Field(default_factory=dict)

    @field_validator("name")
    @classmethod
    def _check_name(cls, name: str) -> str:
        if len(name) > MAX_NAME:
            raise ValueError(f"name must be at most {MAX_NAME} characters; it has {len(name)}")
        is_snake = is_feature_enabled(FeatureName.SNAKE_CASE_SKILL_NAME) and _SNAKE.fullmatch(name)
        if not is_snake and _KEBAB.fullmatch(name) is None:
            raise ValueError(
                "name must be lowercase kebab-case: a-z and 0-9, with single hyphens between"
            )
        return name

    @field_validator("description")
    @classmethod
    def _check_description(cls, text: str) -> str:
        if not text:
            raise ValueError("description must not be empty")
        return _check_length("description", text, MAX_DESCRIPTION)

    @field_validator("compatibility")
    @classmethod
    def _check_compatibility(cls, text: str | None) -> str | None:
        return text and _check_length("compatibility", text, MAX_COMPATIBILITY)

    @field_validator("metadata")
    @classmethod
    def _check_metadata(cls, values: dict[str, Any]) -> dict[str, Any]:
        tools: Any = values.get("adk_additional_tools", [])
        if not isinstance(tools, list) or not all(
            isinstance(one, str) for one in cast("list[Any]", tools)
        ):
            raise ValueError("adk_additional_tools must be a list of strings")
        if not isinstance(values.get("adk_inject_state", False), bool):
            raise ValueError("adk_inject_state must be a bool")
        return values


def _check_length(name: str, text: str, most: int) -> str:
    if len(text) > most:
        raise ValueError(f"{name} must be at most {most} characters; it has {len(text)}")
    return text


class Script(BaseModel):
    """A script of a skill.

    Attributes:
      src: its source.
    """

    src: str

    def __str__(self) -> str:
        return self.src


class Resources(BaseModel):
    """The files of a skill, by path; a text, or bytes of another file.

    Attributes:
      references: files below `references/`, by their path in it.
      assets: files below `assets/`.
      scripts: the scripts below `scripts/`.
      files: all other files, by their path in the skill's folder.
    """

    references: dict[str, str | bytes] = Field(default_factory=dict)
    assets: dict[str, str | bytes] = Field(default_factory=dict)
    scripts: dict[str, Script] = Field(default_factory=dict)
    files: dict[str, str | bytes] = Field(default_factory=dict)

    def get_reference(self, reference_id: str) -> str | bytes | None:
        """Return a reference, or None if no file has that path."""
        return self.references.get(reference_id)

    def get_asset(self, asset_id: str) -> str | bytes | None:
        """Return an asset, or None if no file has that path."""
        return self.assets.get(asset_id)

    def get_script(self, script_id: str) -> Script | None:
        """Return a script, or None if no script has that path."""
        return self.scripts.get(script_id)

    def list_references(self) -> list[str]:
        """Return the paths of the references."""
        return list(self.references)

    def list_assets(self) -> list[str]:
        """Return the paths of the assets."""
        return list(self.assets)

    def list_scripts(self) -> list[str]:
        """Return the paths of the scripts."""
        return list(self.scripts)

    def all_files(self) -> dict[str, str | bytes]:
        """Return every file by its path in the skill's folder, without SKILL.md."""
        return {
            **{f"references/{path}": data for path, data in self.references.items()},
            **{f"assets/{path}": data for path, data in self.assets.items()},
            **{f"scripts/{path}": script.src for path, script in self.scripts.items()},
            **self.files,
        }


class Skill(BaseModel):
    """A skill.

    Attributes:
      frontmatter: the fields at the head of its SKILL.md.
      instructions: the text below them.
      resources: its other files.
    """

    frontmatter: Frontmatter
    instructions: str
    resources: Resources = Field(default_factory=Resources)

    @property
    def name(self) -> str:
        """The skill's name."""
        return self.frontmatter.name

    @property
    def description(self) -> str:
        """What the skill does and when to use it."""
        return self.frontmatter.description
