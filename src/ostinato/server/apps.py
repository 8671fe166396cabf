"""Endpoints that tell which apps there are, and what they are made of."""

from __future__ import annotations

from typing import Any, cast

from pydantic import BaseModel

from .. import types
from ..agents.base_agent import BaseAgent
from ..agents.llm_agent import LlmAgent
from .agents import ServedApp
from .endpoint import Call, Endpoint
from .problems import Problem
from .runs import Wire

_LANGUAGE = "python"


class ListQuery(BaseModel):
    """How much to tell: names, or what the apps are, too."""

    detailed: bool = False
    relative_path: str | None = None


class AppSummary(Wire):
    """An app in a list; `error` says why it cannot be loaded."""

    name: str
    root_agent_name: str
    description: str
    language: str = _LANGUAGE
    is_computer_use: bool = False
    agents: None = None
    error: str | None = None


class AppInfo(Wire):
    """An app with its agents, by name."""

    name: str
    root_agent_name: str
    description: str
    language: str = _LANGUAGE
    is_computer_use: bool = False
    agents: dict[str, AgentInfo]


class AgentInfo(BaseModel):
    """An agent; its keys are as google-adk's server has them."""

    name: str
    description: str
    instruction: str
    tools: list[dict[str, Any]]
    sub_agents: list[str]


async def list_apps(call: Call) -> Any:
    """List the apps, those too that cannot be loaded."""
    names = list(call.host.agents.folders())
    if not call.query.detailed:
        return names
    return {"apps": [await _summary(call, name) for name in names]}


async def _summary(call: Call, name: str) -> dict[str, Any]:
    try:
        app = await call.host.agents.get(name)
    except Problem as problem:
        found = AppSummary(name=name, root_agent_name="", description="", error=problem.message)
        return found.model_dump(by_alias=True)
    root = app.runner.agent
    found = AppSummary(name=name, root_agent_name=root.name, description=root.description)
    return found.model_dump(by_alias=True, exclude={"error"})


async def app_info(call: Call) -> AppInfo:
    """Tell what an app is made of."""
    app: ServedApp = await call.host.agents.get(call.path["app"])
    root = app.runner.agent
    agents: dict[str, AgentInfo] = {}
    await _add(root, agents)
    return AppInfo(
        name=app.name,
        root_agent_name=root.name,
        description=root.description,
        agents=agents,
    )


async def _add(agent: BaseAgent, agents: dict[str, AgentInfo]) -> None:
    if agent.name in agents:
        return
    agents[agent.name] = await info_of(agent)
    for one in agent.sub_agents:
        await _add(one, agents)


async def info_of(agent: BaseAgent) -> AgentInfo:
    """Tell what an agent is made of."""
    instruction, tools = "", []
    if isinstance(agent, LlmAgent):
        instruction = agent.instruction if isinstance(agent.instruction, str) else ""
        tools = await _declarations(cast(LlmAgent, agent))
    return AgentInfo(
        name=agent.name,
        description=agent.description,
        instruction=instruction,
        tools=tools,
        sub_agents=[one.name for one in agent.sub_agents],
    )


async def _declarations(agent: LlmAgent) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for tool in await agent.canonical_tools():
        declaration = tool._get_declaration()  # pyright: ignore[reportPrivateUsage]
        if declaration is not None:
            entry = types.Tool(function_declarations=[declaration])
            found.append(entry.model_dump(by_alias=True, exclude_none=True, mode="json"))
    return found


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
        app_info,
        answer=AppInfo,
        problems=(404, 503),
    ),
)
