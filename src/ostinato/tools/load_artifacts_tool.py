"""load_artifacts: shows the model the artifacts that it asks for, for one request."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, TypeGuard, cast

from .. import types
from ..errors import InputValidationError
from ..models.llm_request import LlmRequest
from .base_tool import BaseTool
from .model_mistake import ModelMistake, wrong_arguments

if TYPE_CHECKING:
    from ..context.context import Context as ToolContext

NAME = "load_artifacts"
_DESCRIPTION = (
    "Show the content of artifacts, which are the files of this conversation and of its user. Call "
    "it before you say anything about what such a file holds."
)
_SHOWN = (
    "The contents were shown to you with this response only; call load_artifacts again for another "
    "look."
)
_LISTED = (
    "These artifacts (files) can be shown to you, by name: {names}\nBefore you answer from one, "
    "call load_artifacts with its name. Never ask the user to show it."
)
_MEDIA = ("image/", "audio/", "video/", "application/pdf")
_TEXT = (
    "text/",
    "application/json",
    "application/xml",
    "application/yaml",
    "application/x-yaml",
    "application/csv",
    "application/javascript",
    "image/svg+xml",
)
_TEXT_SUFFIXES = ("+xml", "+json", "+yaml")


class LoadArtifactsTool(BaseTool):
    """Tells the model which artifacts there are, and shows those that it asks for (Spec 3,
    "Services").

    What it asked for stands in the next request only, one content per artifact behind the tool's
    response, and is never stored with the session. The Runner needs an artifact service.
    """

    keeps_result = True
    repeatable = True

    def __init__(self) -> None:
        super().__init__(name=NAME, description=_DESCRIPTION)
        self._declaration = types.FunctionDeclaration(
            name=NAME,
            description=_DESCRIPTION,
            parameters_json_schema={
                "type": "object",
                "properties": {"artifact_names": {"type": "array", "items": {"type": "string"}}},
            },
        )

    def _get_declaration(self) -> types.FunctionDeclaration:
        return self._declaration

    async def run_async(self, *, args: dict[str, Any], tool_context: ToolContext) -> Any:
        """Note what was asked for; the next request shows it."""
        names: Any = args.get("artifact_names") or []
        if not _are_names(names):
            return wrong_arguments(
                self.name, ["artifact_names: expected a list of artifact names, each a string"]
            )
        return {"artifact_names": names, "status": _SHOWN}

    async def process_llm_request(
        self, *, tool_context: ToolContext, llm_request: LlmRequest
    ) -> None:
        """Add the tool, list the artifacts, and show those asked for just now."""
        await super().process_llm_request(tool_context=tool_context, llm_request=llm_request)
        names = await tool_context.list_artifacts()
        if not names:
            return
        listed = json.dumps(names, ensure_ascii=False)
        llm_request.append_instructions([_LISTED.replace("{names}", listed)])
        for name in _asked_for(llm_request.contents[-1:], self.name):
            llm_request.contents.append(await _shown(name, tool_context))


def _asked_for(contents: list[types.Content], tool: str) -> list[str]:
    """Return the names in the tool's responses, each once."""
    names: dict[str, None] = {}
    for content in contents:
        for part in content.parts or []:
            answer = part.function_response
            if answer is None or answer.name != tool or isinstance(answer.response, ModelMistake):
                continue
            asked: Any = (answer.response or {}).get("artifact_names")
            if _are_names(asked):
                names |= dict.fromkeys(asked)
    return list(names)


def _are_names(value: Any) -> TypeGuard[list[str]]:
    return isinstance(value, list) and all(isinstance(name, str) for name in cast(list[Any], value))


async def _shown(name: str, tool_context: ToolContext) -> types.Content:
    """Return an artifact as a content; one that is not there says so."""
    artifact = await _load(name, tool_context)
    if artifact is None and not name.startswith("user:"):
        artifact = await _load(f"user:{name}", tool_context)
    if artifact is None:
        return _user_content(types.Part(text=f"There is no artifact {name}."))
    return _user_content(types.Part(text=f"Artifact {name} is:"), readable_part(artifact, name))


async def _load(name: str, tool_context: ToolContext) -> types.Part | None:
    try:
        return await tool_context.load_artifact(name)
    except InputValidationError:
        return None  # The model made up a name that no artifact can have.


def _user_content(*parts: types.Part) -> types.Content:
    return types.Content(role="user", parts=list(parts))


load_artifacts_tool = LoadArtifactsTool()


def readable_part(artifact: types.Part, name: str) -> types.Part:
    """Return what to send to the model for an artifact.

    Args:
      artifact: its content, which is not changed.
      name: its name, for a note in place of bytes that no model reads.
    """
    blob = artifact.inline_data
    if blob is None:
        return artifact
    data = blob.data or b""
    media_type = (blob.mime_type or "").partition(";")[0].strip().lower()
    if media_type.startswith(_TEXT) or media_type.endswith(_TEXT_SUFFIXES):
        return types.Part(text=data.decode("utf-8", "replace"))
    if media_type.startswith(_MEDIA):
        return artifact
    kind = media_type or "unknown"
    return types.Part(
        text=f"[Artifact {name}: {len(data):,} bytes of type {kind}, which cannot be shown here.]"
    )
