"""The tools by which a model finds, loads, reads and unloads skills."""

from __future__ import annotations

from mimetypes import guess_type
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, cast

from ... import types
from ...context.template import inject_session_state
from ...models.llm_request import LlmRequest
from ...skills.models import Skill
from ...skills.prompt import LIST, LOAD, RESOURCE, SEARCH, UNLOAD, format_skills_as_xml
from ...skills.skill_files import normalize_path
from ..base_tool import BaseTool, InDoubt
from ..load_artifacts_tool import readable_part
from .catalog import RegistryError, SkillCatalog
from .lifecycle import SkillLifecycleMode, activate, deactivate

if TYPE_CHECKING:
    from ...context.context import Context as ToolContext

_MAX_LISTED = 50  # files that an error names
_BINARY = "The file is not text; its content was shown to you with this response only."
_EPHEMERAL = "This skill ends with this turn. Do now what it is for; load it again in a later turn."


class HasCatalog(Protocol):
    """A toolset with skills."""

    @property
    def catalog(self) -> SkillCatalog: ...


def text_parameter(description: str) -> dict[str, Any]:
    """Return the schema of a parameter that takes a text."""
    return {"type": "string", "description": description}


SKILL_NAME = text_parameter("Name of the skill.")


class SkillTool(BaseTool):
    """A tool over the skills of a toolset; its required arguments are texts.

    Args:
      toolset: the toolset.
      description: what the model is told; that of the class if empty.
      in_doubt: as for BaseTool.

    Attributes:
      tool_name: the tool's name.
      told: what the model is told.
      parameters: JSON schemas of the parameters, by name.
      optional: the parameters that may be left out.
    """

    has_outside_results = True
    tool_name: ClassVar[str]
    told: ClassVar[str]
    parameters: ClassVar[dict[str, Any]] = {}
    optional: ClassVar[tuple[str, ...]] = ()

    def __init__(
        self, toolset: HasCatalog, *, description: str = "", in_doubt: InDoubt | None = None
    ) -> None:
        description = description or self.told
        super().__init__(name=self.tool_name, description=description, in_doubt=in_doubt)
        self.catalog = toolset.catalog
        self._required = [name for name in self.parameters if name not in self.optional]
        schema: dict[str, Any] = {"type": "object", "properties": self.parameters}
        if self._required:
            schema["required"] = self._required
        self._declaration = types.FunctionDeclaration(
            name=self.name, description=description, parameters_json_schema=schema
        )

    def _get_declaration(self) -> types.FunctionDeclaration:
        return self._declaration

    def find_missing(self, args: dict[str, Any]) -> dict[str, Any] | None:
        """Return the answer to a call without a required argument, or None."""
        for name in self._required:
            if not isinstance(args.get(name), str) or not args[name]:
                return make_error("INVALID_ARGUMENTS", f"Argument '{name}' is required.")
        return None

    async def find_skill(self, args: dict[str, Any], view: ToolContext) -> Skill | dict[str, Any]:
        """Return the skill that a call names, or the answer that says why it does not exist."""
        missing = self.find_missing(args)
        if missing is not None:
            return missing
        try:
            skill = await self.catalog.find(args["skill_name"], view.invocation_id, again=True)
        except RegistryError as error:
            return make_error("REGISTRY_ERROR", str(error))
        if skill is None:
            return make_error("SKILL_NOT_FOUND", f"Skill '{args['skill_name']}' not found.")
        return skill


def make_error(code: str, text: str) -> dict[str, Any]:
    """Return an answer that tells the model what went wrong."""
    return {"error": text, "error_code": code}


def count_miss(context: ToolContext, what: str, path: str, skill: Skill) -> dict[str, Any]:
    """Return the answer to a path that does not exist; the second in an invocation is fatal.

    Args:
      context: the call's context, which keeps the count.
      what: `Resource` or `Script`.
      path: the path that the model gave.
      skill: the skill.
    """
    key = f"temp:_adk_skill_{what.lower()}_not_found_count_{context.invocation_id}"
    known: Any = context.state.get(key)
    count = context.state[key] = (known if isinstance(known, int) else 0) + 1
    code, text = f"{what.upper()}_NOT_FOUND", f"{what} '{path}' not found in skill '{skill.name}'."
    if count > 1:
        code = f"{code}_FATAL"
        text += f" That was miss {count} of this turn: do not try another path; tell the user."
    files = skill.resources.all_files()
    names = [name for name in files if what == "Resource" or name.startswith("scripts/")]
    return {**make_error(code, text), "available": names[:_MAX_LISTED]}


class ListSkillsTool(SkillTool):
    """Lists the names and descriptions of the toolset's own skills."""

    repeatable = True

    tool_name = LIST
    told = "List the available skills with their names and descriptions."

    async def run_async(self, *, args: dict[str, Any], tool_context: ToolContext) -> Any:
        """Return the skills as `<available_skills>`."""
        return format_skills_as_xml(self.catalog.skills.values())


class SearchSkillsTool(SkillTool):
    """Finds skills by what they do, among the toolset's own and in its registry."""

    repeatable = True

    tool_name = SEARCH
    told = "Search for skills by what they should do, or by name."
    parameters: ClassVar = {"query": text_parameter("What the skill should do, in a few words.")}

    def __init__(self, toolset: HasCatalog) -> None:
        registry = toolset.catalog.registry
        told = None if registry is None else registry.search_tool_description()
        super().__init__(toolset, description=told or "")

    async def run_async(self, *, args: dict[str, Any], tool_context: ToolContext) -> Any:
        """Return the frontmatter of the skills that fit `query` best."""
        missing = self.find_missing(args)
        if missing is not None:
            return missing
        try:
            found = await self.catalog.search(args["query"])
        except RegistryError as error:
            return make_error("REGISTRY_ERROR", str(error))
        return [one.model_dump(mode="json") for one in found]


class LoadSkillTool(SkillTool):
    """Returns a skill's instructions, and makes the skill active."""

    repeatable = True
    keeps_result = True

    tool_name = LOAD
    told = "Load the instructions of a skill, which its SKILL.md holds."
    parameters: ClassVar = {"skill_name": SKILL_NAME}

    async def run_async(self, *, args: dict[str, Any], tool_context: ToolContext) -> Any:
        """Return `skill_name`, `instructions` and `frontmatter`."""
        skill = await self.find_skill(args, tool_context)
        if not isinstance(skill, Skill):
            return skill
        lifecycle = self.catalog.lifecycle
        answer: dict[str, Any] = {
            "skill_name": skill.name,
            "instructions": await fill_instructions(skill, tool_context),
            "frontmatter": skill.frontmatter.model_dump(mode="json"),
        }
        limit = self.catalog.find_limit(skill)
        unloaded = activate(tool_context, lifecycle, skill.name, limit)
        if unloaded:
            answer["unloaded_skills"] = unloaded
        if lifecycle.mode_of(skill.name) is SkillLifecycleMode.EPHEMERAL:
            answer["lifecycle_notice"] = _EPHEMERAL
        return answer


async def fill_instructions(skill: Skill, context: ToolContext) -> str:
    """Return a skill's instructions, with state in them if its metadata wants that."""
    if skill.frontmatter.metadata.get("adk_inject_state") is not True:
        return skill.instructions
    return await inject_session_state(skill.instructions, context)


class UnloadSkillTool(SkillTool):
    """Ends an active skill."""

    repeatable = True

    tool_name = UNLOAD
    told = "End a skill that is no longer needed, with the tools that came with it."
    parameters: ClassVar = {"skill_name": SKILL_NAME}

    async def run_async(self, *, args: dict[str, Any], tool_context: ToolContext) -> Any:
        """Return `skill_name` and whether the skill was active, as `status`."""
        missing = self.find_missing(args)
        if missing is not None:
            return missing
        name: str = args["skill_name"]
        return {
            "skill_name": name,
            "status": "unloaded" if deactivate(tool_context, name) else "not active",
        }


class LoadSkillResourceTool(SkillTool):
    """Returns a file of a skill; one that is not text is shown with the next request."""

    repeatable = True

    tool_name = RESOURCE
    told = "Read a file of a skill, such as a reference, a template or a script."
    parameters: ClassVar = {
        "skill_name": SKILL_NAME,
        "file_path": text_parameter(
            "Path of the file in the skill's folder, such as references/guide.md or notes.md."
        ),
    }

    async def run_async(self, *, args: dict[str, Any], tool_context: ToolContext) -> Any:
        """Return `skill_name`, `file_path` and `content`."""
        skill = await self.find_skill(args, tool_context)
        if not isinstance(skill, Skill):
            return skill
        path = normalize_path(args["file_path"])
        if not path or path.lower() == "skill.md":
            return make_error(
                "INVALID_RESOURCE_PATH",
                "The path must be that of a file in the skill's folder, such as "
                "'references/guide.md'. Its SKILL.md is what load_skill returns.",
            )
        content = skill.resources.all_files().get(path)
        if content is None:
            return count_miss(tool_context, "Resource", args["file_path"], skill)
        answer = {"skill_name": skill.name, "file_path": args["file_path"]}
        return answer | (
            {"status": _BINARY} if isinstance(content, bytes) else {"content": content}
        )

    async def process_llm_request(
        self, *, tool_context: ToolContext, llm_request: LlmRequest
    ) -> None:
        """Add the tool, and show the files that are not text and were asked for just now."""
        await super().process_llm_request(tool_context=tool_context, llm_request=llm_request)
        for content in llm_request.contents[-1:]:
            for part in content.parts or []:
                given = part.function_response
                if given is not None and given.name == self.name:
                    shown = await self._show_file(given.response or {}, tool_context)
                    if shown is not None:
                        llm_request.contents.append(shown)

    async def _show_file(
        self, answer: dict[str, Any], tool_context: ToolContext
    ) -> types.Content | None:
        """Return the content of the file that an answer is about, if it is not text."""
        if answer.get("status") != _BINARY:
            return None
        skill = await self.find_skill(answer, tool_context)
        path = normalize_path(str(answer.get("file_path")))
        if not isinstance(skill, Skill):
            return None
        data = skill.resources.all_files().get(path)
        if not isinstance(data, bytes):
            return None
        kind = guess_type(path)[0] or "application/octet-stream"
        part = types.Part(inline_data=types.Blob(data=data, mime_type=kind))
        title = types.Part(text=f"The file {path} of skill {skill.name} is:")
        return types.Content(role="user", parts=[title, readable_part(part, path)])


def read_skill_name(answer: Any) -> str:
    """Return the skill whose instructions an answer of `load_skill` holds, or ''."""
    if not isinstance(answer, dict):
        return ""
    known = cast("dict[str, Any]", answer)
    name: Any = known.get("skill_name")
    return name if isinstance(name, str) and isinstance(known.get("instructions"), str) else ""
