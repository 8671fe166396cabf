"""Endpoints that list the apps and describe their agents."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

from pydantic import BaseModel

from .. import types
from ..agents.base_agent import BaseAgent
from ..agents.llm_agent import LlmAgent
from ..agents.node_agent import as_agent
from ..hosting.loader import language_of, uses_computer
from ..tools.base_tool import describe_origin
from .agents import ServedApp
from .endpoint import Call, Endpoint
from .example_prompts import list_examples
from .problems import Problem
from .runs import WireRecord
from .source_place import SourcePlace


class ListQuery(BaseModel):
    """How much to tell: names, or what the apps are, too."""

    detailed: bool = False
    relative_path: str | None = None


class InfoQuery(BaseModel):
    """How much to tell of agents: what google-adk's server tells, or their tools' origins, too."""

    detailed: bool = False


class AppSummary(WireRecord):
    """An app in a list.

    Attributes:
      error: why it cannot be loaded.
      notice: what its user should know first, such as that a stand-in answers for its model.
      examples: messages to begin with.
      source: where in its code it failed to load; `ostinato web` tells it.
    """

    name: str
    root_agent_name: str
    description: str
    language: str
    is_computer_use: bool = False
    agents: None = None
    error: str | None = None
    notice: str | None = None
    examples: list[str] | None = None
    source: SourcePlace | None = None


class AppInfo(WireRecord):
    """An app with its agents, by name."""

    name: str
    root_agent_name: str
    description: str
    language: str = "python"
    is_computer_use: bool = False
    agents: dict[str, AgentInfo]


class AgentInfo(BaseModel):
    """An agent; its keys are as google-adk's server has them.

    Attributes:
      tool_origins: where each tool comes from, by its name (docs/server.md), if it was asked for.
    """

    name: str
    description: str
    instruction: str
    tools: list[dict[str, Any]]
    sub_agents: list[str]
    tool_origins: dict[str, dict[str, str]] | None = None


async def list_apps(call: Call) -> Any:
    """List all apps, including those that cannot be loaded."""
    folders: dict[str, Path] = call.host.agents.list_folders()
    if not call.query.detailed:
        return list(folders)
    apps = [await _summarize_app(call, name, folder) for name, folder in folders.items()]
    found: dict[str, Any] = {"apps": apps}
    if not folders and call.host.settings.developer:
        found["folder"] = str(call.host.settings.agents.expanduser().resolve())
    return found


async def _summarize_app(call: Call, name: str, folder: Path) -> dict[str, Any]:
    language = language_of(folder)
    try:
        app = await call.host.agents.get_app(name)
    except Problem as problem:
        found = AppSummary(
            name=name,
            root_agent_name="",
            description="",
            language=language,
            error=problem.message,
        )
        found.source = call.host.agents.find_source(name)
        return found.model_dump(
            by_alias=True, exclude=_unset(found, "notice", "examples", "source")
        )
    root = as_agent(app.runner.agent)
    found = AppSummary(
        name=name,
        root_agent_name=root.name,
        description=root.description,
        language=language,
        is_computer_use=uses_computer(root),
        notice=app.notice or None,
        examples=list_examples(app) or None,
    )
    left_out = _unset(found, "error", "notice", "examples", "source")
    return found.model_dump(by_alias=True, exclude=left_out)


def _unset(found: AppSummary, *names: str) -> set[str]:
    """Return which fields say nothing; google-adk's server does not have them."""
    return {name for name in names if not getattr(found, name)}


async def get_app_info(call: Call) -> AppInfo:
    """Return the agents of an app."""
    app: ServedApp = await call.host.agents.get_app(call.path["app"])
    root = as_agent(app.runner.agent)
    agents: dict[str, AgentInfo] = {}
    await _add_agent(root, agents, call.query.detailed)
    return AppInfo(
        name=app.name,
        root_agent_name=root.name,
        description=root.description,
        agents=agents,
    )


async def _add_agent(agent: BaseAgent, agents: dict[str, AgentInfo], with_origins: bool) -> None:
    if agent.name in agents:
        return
    agents[agent.name] = await describe_agent(agent, with_origins=with_origins)
    for one in agent.sub_agents:
        await _add_agent(one, agents, with_origins)


async def describe_agent(agent: BaseAgent, *, with_origins: bool = False) -> AgentInfo:
    """Return an agent's description, instruction, tools and sub-agents.

    Args:
      agent: the agent.
      with_origins: also where its tools come from.
    """
    instruction = ""
    tools: list[dict[str, Any]] = []
    origins: dict[str, dict[str, str]] = {}
    if isinstance(agent, LlmAgent):
        instruction = agent.instruction if isinstance(agent.instruction, str) else ""
        for tool in await cast(LlmAgent, agent).canonical_tools():
            declaration = tool._get_declaration()  # pyright: ignore[reportPrivateUsage]
            if declaration is not None:
                entry = types.Tool(function_declarations=[declaration])
                tools.append(entry.model_dump(by_alias=True, exclude_none=True, mode="json"))
                origins[declaration.name or tool.name] = describe_origin(tool).to_json()
    return AgentInfo(
        name=agent.name,
        description=agent.description,
        instruction=instruction,
        tools=tools,
        sub_agents=[one.name for one in agent.sub_agents],
        tool_origins=origins if with_origins else None,
    )


ENDPOINTS = (
    Endpoint(
        "GET",
        "/list-apps",
        "List the apps",
        list_apps,
        query=ListQuery,
        answer=list[str] | dict[str, list[AppSummary]],
    ),
    Endpoint(
        "GET",
        "/apps/{app}/app-info",
        "Tell what an app is made of",
        get_app_info,
        query=InfoQuery,
        answer=AppInfo,
    ),
)
