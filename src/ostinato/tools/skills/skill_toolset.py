"""SkillToolset: skills for an agent, told at once or searched, and loaded when they are needed."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Any, Self, cast

from ..._adk_mode import follows_adk
from ...code_executors.base_code_executor import BaseCodeExecutor
from ...context.context import Context as ToolContext
from ...context.context import invocation_of
from ...context.readonly import ReadonlyContext
from ...environment import BaseEnvironment
from ...errors import AgentConfigError
from ...models.llm_request import LlmRequest
from ...skills.models import Skill
from ...skills.prompt import (
    LOAD,
    RUN,
    SKILL_TOOLS,
    build_instruction,
    format_skills_as_xml,
)
from ...skills.skill_registry import SkillRegistry
from ..base_tool import BaseTool, InDoubt
from ..base_toolset import BaseToolset, ToolPredicate
from ..function_tool import FunctionTool
from ..policy.policy import Policy
from ..policy.rule import STRICTNESS, Verdict
from .allowed_tools import build_policies, split_entries
from .catalog import RegistryError, ScriptSettings, SkillCatalog
from .lifecycle import (
    LIMITS,
    SkillLifecycleConfig,
    activate,
    deactivate,
    read_active,
    read_limits,
)
from .script_tool import RunSkillScriptTool, find_executor
from .skill_environment import SkillEnvironment
from .skill_tools import (
    ListSkillsTool,
    LoadSkillResourceTool,
    LoadSkillTool,
    SearchSkillsTool,
    UnloadSkillTool,
    fill_instructions,
    read_skill_name,
)

MAX_EAGER = 8_000
"""Characters of a catalogue that each request tells; a longer one is searched."""
_LOADED = "These skills are loaded. Follow their instructions.\n"
_PLACE = """
- Scripts run in the environment's working directory. From the first run of one of its scripts on, \
the files of skill NAME are in `{folder}/NAME`."""
_RUNTIME_TOOLS = ("transfer_to_agent", "search_tools", "read_result", "request_input")


class SkillDiscoveryMode(StrEnum):
    """How the model learns of the toolset's own skills."""

    LAZY = "lazy"
    """By `list_skills`."""
    EAGER = "eager"
    """By each request's instructions."""


class SkillToolset(BaseToolset):
    """Offers skills, and the tools that belong to loaded ones.

    Each request tells names and descriptions, in an order that does not change; a catalogue of
    more than 8,000 characters is searched instead. What a loaded skill says stays in the requests,
    whatever becomes of the conversation. Scripts have a tool if there are scripts, and a code
    executor of the toolset or the agent. While skills with `allowed-tools` are active, the agent
    may call only what one of them names.

    Args:
      skills: the skills.
      registry: where other skills come from.
      code_executor: runs scripts; that of the agent if None.
      environment: runs scripts instead, in its working directory. It is initialized for the first
        script, and closed with the toolset.
      skills_folder: the absolute path in the environment where the files of skills are written;
        `skills` in the working directory if None.
      script_timeout: seconds that a script may take; an executor may allow less.
      save_output_artifacts: whether files that scripts make become artifacts of the session.
      script_in_doubt: what happens to a script that a crash interrupted: `at_most_once` tells the
        model, `rerun` runs it again, `ask` asks a person.
      additional_tools: tools that appear once a skill is loaded whose metadata names them in
        `adk_additional_tools`: functions, tools and toolsets.
      tool_name_prefix, tool_filter: as for BaseToolset.
      discovery_mode: how the model learns of the skills; by the length of the catalogue if None.
      lifecycle_config: how long loaded skills stay active; for the session if None.
      other_tools: the verdict on tools that `allowed-tools` of the active skills do not name;
        `allow` leaves `allowed-tools` without effect. If None `deny`, and `allow` in programs for
        google-adk.

    Raises:
      AgentConfigError: two skills have one name, or a setting is unknown or contradicts another.
    """

    def __init__(
        self,
        skills: Sequence[Skill] | None = None,
        *,
        registry: SkillRegistry | None = None,
        code_executor: BaseCodeExecutor | None = None,
        environment: BaseEnvironment | None = None,
        skills_folder: Path | str | None = None,
        script_timeout: float = 300,
        save_output_artifacts: bool = False,
        script_in_doubt: InDoubt = "at_most_once",
        additional_tools: Sequence[Callable[..., Any] | BaseTool | BaseToolset] | None = None,
        tool_name_prefix: str | None = None,
        tool_filter: ToolPredicate | list[str] | None = None,
        discovery_mode: SkillDiscoveryMode | None = None,
        lifecycle_config: SkillLifecycleConfig | None = None,
        other_tools: Verdict | None = None,
    ) -> None:
        super().__init__(tool_filter=tool_filter, tool_name_prefix=tool_name_prefix)
        if other_tools is None:
            other_tools = "allow" if follows_adk() else "deny"
        if other_tools not in STRICTNESS:
            raise AgentConfigError(
                f"SkillToolset: other_tools is {other_tools!r}, but must be one of "
                f"{', '.join(STRICTNESS)}."
            )
        if script_timeout <= 0:
            raise AgentConfigError(
                f"SkillToolset: script_timeout is {script_timeout}, but must be more than 0."
            )
        if follows_adk() and discovery_mode is None:
            discovery_mode = SkillDiscoveryMode.LAZY
        self._registry = registry
        self._discovery_mode = discovery_mode
        self._lifecycle = lifecycle_config
        self._scripts = ScriptSettings(
            code_executor,
            _make_environment(environment, skills_folder, code_executor, save_output_artifacts),
            script_timeout,
            save_output_artifacts,
            script_in_doubt,
        )
        self._other_tools: Verdict = other_tools
        self._additional = [
            tool if isinstance(tool, BaseTool | BaseToolset) else FunctionTool(tool)
            for tool in additional_tools or ()
        ]
        self._set_skills(skills or ())

    def _set_skills(self, skills: Sequence[Skill]) -> None:
        """Take skills, and make the tools that they need."""
        lifecycle, mode = self._lifecycle, self._discovery_mode
        is_enforced = self._other_tools != "allow"
        self.restricts_calls = is_enforced and (
            self._registry is not None
            or any(skill.frontmatter.allowed_tools is not None for skill in skills)
        )
        # A skill that has gone from the toolset may be active still.
        self.restricting_key = LIMITS if is_enforced else ""
        self.catalog = SkillCatalog(
            skills,
            self._registry,
            lifecycle or SkillLifecycleConfig(),
            self._scripts,
            restricts_calls=is_enforced,
        )
        self._listed_text = format_skills_as_xml(self.skills)
        is_small = len(self._listed_text) <= MAX_EAGER
        self._is_eager = is_small if mode is None else mode is SkillDiscoveryMode.EAGER
        is_searched = self._registry is not None or (mode is None and not is_small)
        offered = {
            ListSkillsTool: mode is SkillDiscoveryMode.LAZY,
            LoadSkillTool: True,
            LoadSkillResourceTool: True,
            RunSkillScriptTool: True,
            SearchSkillsTool: is_searched,
            UnloadSkillTool: lifecycle is not None and lifecycle.enabled,
        }
        self._skill_tools: list[BaseTool] = [
            kind(self) for kind, is_offered in offered.items() if is_offered
        ]
        self._policies: dict[tuple[str, ...], list[Policy]] = {}
        self._offered: set[str] = set()
        self._listed = None

    @property
    def skills(self) -> list[Skill]:
        """The toolset's own skills."""
        return list(self.catalog.skills.values())

    @property
    def skills_folder(self) -> Path | None:
        """The folder in the environment for the files of skills; None without an environment.

        Raises:
          RuntimeError: an environment that makes its working directory has not been initialized.
        """
        environment = self._scripts.environment
        return None if environment is None else environment.folder

    async def load_skill(self, ctx: ToolContext, skill_name: str) -> bool:
        """Make a skill active without the model, which does not read its instructions before the
        next request.

        Args:
          ctx: the context of a tool or callback of the agent.
          skill_name: the skill.

        Returns:
          Whether it was not active before.

        Raises:
          ValueError: there is no such skill.
          RegistryError: the registry failed.
        """
        was_active = skill_name in read_active(ctx)
        skill = await self.catalog.find(skill_name, ctx.invocation_id, again=True)
        if skill is not None:  # an active one counts as used
            activate(ctx, self.catalog.lifecycle, skill_name, self.catalog.find_limit(skill))
        elif not was_active:
            raise ValueError(f"Skill {skill_name!r} not found.")
        return not was_active

    def unload_skill(self, ctx: ToolContext, skill_name: str) -> bool:
        """End a skill without the model; return whether it was active."""
        return deactivate(ctx, skill_name)

    def list_active_skills(self, ctx: ReadonlyContext) -> list[str]:
        """Return the names of the agent's active skills, the one loaded last at the end."""
        return read_active(ctx)

    def clone_with_updated_skills(self, skills: Sequence[Skill]) -> Self:
        """Return a toolset with the same settings and other skills."""
        other = copy.copy(self)
        other._set_skills(skills)
        return other

    async def get_tools(self, readonly_context: ReadonlyContext | None = None) -> list[BaseTool]:
        """Return the tools for skills, then those that active skills bring."""
        if not self.catalog.skills and self.catalog.registry is None:
            return []
        active = await self.catalog.list_active(readonly_context)
        has_scripts = any(skill.resources.scripts for skill in (*self.skills, *active))
        can_run = (
            self._scripts.environment is not None
            or find_executor(self._scripts.code_executor, readonly_context) is not None
        )
        tools = [
            tool for tool in self._skill_tools if tool.name != RUN or (has_scripts and can_run)
        ]
        tools += await self._list_additional(active, readonly_context)
        return [tool for tool in tools if self._is_tool_selected(tool, readonly_context)]

    async def _list_additional(
        self, active: Sequence[Skill], context: ReadonlyContext | None
    ) -> list[BaseTool]:
        wanted = _find_additional_names(active)
        found: dict[str, BaseTool] = {}
        for one in self._additional if wanted else ():
            tools = (
                await one.get_tools_with_prefix(context) if isinstance(one, BaseToolset) else [one]
            )
            found |= {tool.name: tool for tool in tools if tool.name in wanted}
        return [tool for name, tool in found.items() if name not in SKILL_TOOLS]

    async def process_llm_request(
        self, *, tool_context: ToolContext, llm_request: LlmRequest
    ) -> None:
        """Tell the model of its skills, and again of what loaded ones say if that is gone."""
        tools = await self.get_tools(tool_context)
        self._refresh_listing(tool_context, tools)
        names = {tool.name for tool in tools}
        if LOAD not in names:
            return
        text = build_instruction(names, self._add_prefix("").removesuffix("_"))
        if RUN in names and self._scripts.environment is not None:
            text += _PLACE.format(folder=self._scripts.environment.shown_folder)
        if self._is_eager and self.catalog.skills:
            text += f"\n\n{self._listed_text}"
        llm_request.append_instructions([text])
        missing = await self._restate(tool_context, llm_request)
        if missing:
            llm_request.append_instructions([_LOADED + "\n".join(missing)])

    def _refresh_listing(self, tool_context: ToolContext, tools: list[BaseTool]) -> None:
        """Have the agent's tools listed again if skills have brought or taken some since."""
        names = {self._add_prefix(tool.name) for tool in tools}
        self._offered |= names
        ctx = tool_context.get_invocation_context()
        known: Any = ctx.canonical_tools_cache
        if isinstance(known, list):
            listed = {tool.name for tool in cast("list[BaseTool]", known)}
            if listed & self._offered != names:
                self._listed = None
                ctx.canonical_tools_cache = None

    async def _restate(self, context: ToolContext, llm_request: LlmRequest) -> list[str]:
        """Return the instructions of active skills that the contents no longer hold."""
        active = await self.catalog.list_active(context)
        if not active:
            return []
        held: dict[str, str] = {}
        load = self._add_prefix(LOAD)
        for content in llm_request.contents:
            for part in content.parts or ():
                given = part.function_response
                if given is not None and given.name == load and read_skill_name(given.response):
                    answer = given.response or {}
                    held[answer["skill_name"]] = answer["instructions"]
        told: list[str] = []
        for skill in active:
            instructions = await fill_instructions(skill, context)
            is_held = skill.name in held and (
                not self.catalog.lifecycle.revalidate_skills or held[skill.name] == instructions
            )
            if not is_held:
                told.append(f'<skill name="{skill.name}">\n{instructions}\n</skill>')
        return told

    async def get_call_policies(self, context: ReadonlyContext) -> Sequence[Policy]:
        """Return what `allowed-tools` of the active skills say about the agent's calls."""
        names = tuple(read_active(context))
        if not names or self._other_tools == "allow":
            return ()
        try:
            active = await self.catalog.list_active(context, strict=True)
        except RegistryError as error:
            message = f"It is not known what the active skills allow: {error}."
            return self._make_policies((), {}, message)
        gone = await self._find_gone(context, names, active)
        if self.catalog.registry is not None or gone:
            return self._build_policies(active, gone)
        if names not in self._policies:
            self._policies[names] = self._build_policies(active, {})
        return self._policies[names]

    async def _find_gone(
        self, context: ReadonlyContext, names: Sequence[str], active: Sequence[Skill]
    ) -> dict[str, str]:
        """Return the `allowed-tools` of active skills that no toolset of the agent has any more."""
        left = set(names) - {skill.name for skill in active}
        limits = {name: text for name, text in read_limits(context).items() if name in left}
        if not limits:
            return {}
        tools: Any = getattr(invocation_of(context).agent, "tools", ())
        for other in tools:
            if isinstance(other, SkillToolset) and other is not self and other.restricting_key:
                try:
                    found = await other.catalog.list_active(context, strict=True)
                except RegistryError:
                    return {}  # that toolset refuses the agent's calls
                for skill in found:
                    limits.pop(skill.name, None)
        return limits

    def _build_policies(self, active: Sequence[Skill], gone: Mapping[str, str]) -> list[Policy]:
        texts = {
            skill.name: skill.frontmatter.allowed_tools
            for skill in active
            if skill.frontmatter.allowed_tools is not None
        }
        texts.update(gone)
        if not texts:
            return []
        entries: dict[str, list[str]] = {}
        for name, text in texts.items():
            for entry in split_entries(text):
                entries.setdefault(entry, []).append(name)
        allowed = ", ".join(entries) or "no further tool"
        message = f"the active skills ({', '.join(texts)}) allow only: {allowed}."
        return self._make_policies(active, entries, message)

    def _make_policies(
        self, active: Sequence[Skill], entries: Mapping[str, Sequence[str]], message: str
    ) -> list[Policy]:
        """Return the policies; tools of the runtime and those that skills bring stay allowed."""
        own = [name for name in SKILL_TOOLS if name != RUN] + list(_find_additional_names(active))
        always = [*map(self._add_prefix, own), *_RUNTIME_TOOLS]
        return build_policies(
            entries, always, self._other_tools, message, run=self._add_prefix(RUN)
        )

    async def close(self) -> None:
        """Close the environment of the scripts, and the toolsets among `additional_tools`."""
        if self._scripts.environment is not None:
            await self._scripts.environment.close()
        for tool in self._additional:
            if isinstance(tool, BaseToolset):
                await tool.close()


def _make_environment(
    environment: BaseEnvironment | None,
    folder: Path | str | None,
    code_executor: BaseCodeExecutor | None,
    saves_artifacts: bool,
) -> SkillEnvironment | None:
    """Return the place where scripts run, or None for a code executor.

    Raises:
      AgentConfigError: settings contradict each other.
    """
    path = None if folder is None else Path(folder)
    fault = ""
    if path is not None and not path.is_absolute():
        fault = f"skills_folder is {str(path)!r}, but must be an absolute path."
    elif path is not None and environment is None:
        fault = "skills_folder was given without an environment, which it is a folder of."
    elif environment is not None and code_executor is not None:
        fault = "both code_executor and environment were given; keep the one that runs scripts."
    elif environment is not None and saves_artifacts:
        fault = "save_output_artifacts needs a code_executor: an environment keeps its files."
    if fault:
        raise AgentConfigError(f"SkillToolset: {fault}")
    return None if environment is None else SkillEnvironment(environment, path)


def _find_additional_names(active: Sequence[Skill]) -> dict[str, None]:
    """Return the names of the tools that skills bring, in the order of loading."""
    return {
        name: None
        for skill in active
        for name in skill.frontmatter.metadata.get("adk_additional_tools", ())
    }
