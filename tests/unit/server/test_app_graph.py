"""The graph of an app and the prices of its models, as the page gets them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.unit.server.conftest import Serve

_AGENTS = """
from ostinato.agents import Agent, LoopAgent, ParallelAgent, SequentialAgent
from ostinato.apps import App, Budget, Price
from ostinato.tools.agent_tool import AgentTool


def look(city: str, days: int = 1) -> dict:
    "Look up a city."
    return {}


def agent(name, **more):
    return Agent(name=name, model="gemini-2.5-flash", **more)


both = ParallelAgent(name="both", sub_agents=[agent("left"), agent("right")])
loop = LoopAgent(name="loop", sub_agents=[agent("write"), agent("judge")])
steps = SequentialAgent(name="steps", sub_agents=[both, loop])
root = agent("root", tools=[look, AgentTool(agent("expert"))], sub_agents=[steps])
app = App(name="tree", root_agent=root, budget=Budget(prices={"m": Price(input=1, output=2)}))
"""

_FLOW = """
from ostinato.workflow import START, Workflow


def plan(node_input):
    "Plan."


def work(node_input):
    "Work."


def stop(node_input):
    "Stop."


inner = Workflow(name="inner", edges=[(START, work)])
root_agent = Workflow(
    name="flow", edges=[(START, plan, {"go": inner, "__DEFAULT__": stop}), (inner, plan)]
)
"""


def _write(folder: Path, name: str, text: str) -> Path:
    folder.joinpath(name).mkdir(parents=True)
    folder.joinpath(name, "agent.py").write_text(text)
    return folder


def _edges(graph: dict[str, Any]) -> set[tuple[str, str, str, str]]:
    return {(e["source"], e["target"], e["kind"], e["label"]) for e in graph["edges"]}


async def test_agents_are_drawn_with_their_tools_and_order(serve: Serve, tmp_path: Path) -> None:
    agents = _write(tmp_path / "agents", "tree", _AGENTS)
    async with serve(agents=agents, stand_in=True) as served:
        graph = (await served.ask("GET", "/apps/tree/graph")).json()
    nodes = {one["id"]: one for one in graph["nodes"]}
    assert graph["root"] == "root"
    assert graph["complete"] is True
    kinds = {key: (one["kind"], one.get("group")) for key, one in nodes.items()}
    assert kinds == {
        "root": ("agent", None),
        "root/expert": ("agent", None),
        "root/steps": ("sequence", None),
        "root/steps/both": ("parallel", "root/steps"),
        "root/steps/both/left": ("agent", "root/steps/both"),
        "root/steps/both/right": ("agent", "root/steps/both"),
        "root/steps/loop": ("loop", "root/steps"),
        "root/steps/loop/write": ("agent", "root/steps/loop"),
        "root/steps/loop/judge": ("agent", "root/steps/loop"),
    }
    assert _edges(graph) == {
        ("root", "root/steps", "transfer", ""),
        ("root", "root/expert", "call", ""),
        ("root/steps/both", "root/steps/loop", "next", ""),
        ("root/steps/loop/write", "root/steps/loop/judge", "next", ""),
        ("root/steps/loop/judge", "root/steps/loop/write", "again", ""),
    }
    look = next(one for one in nodes["root"]["tools"] if one["name"] == "look")
    assert look["description"] == "Look up a city."
    assert set(look["parameters"]["properties"]) == {"city", "days"}


_LIVE = """
from ostinato.agents import Agent
from ostinato.models.base_llm import BaseLlm


class Mute(BaseLlm):
    async def generate_content_async(self, llm_request, stream=False):
        return
        yield


class Talks(Mute):
    def connect(self, llm_request):
        raise OSError


other = Agent(name="other", model=Talks(model="talks"))
root_agent = Agent(name="root", model=Mute(model="mute"), sub_agents=[other])
"""


async def test_the_graph_tells_which_models_are_live(serve: Serve, tmp_path: Path) -> None:
    async with serve(agents=_write(tmp_path / "agents", "two", _LIVE)) as served:
        graph = (await served.ask("GET", "/apps/two/graph")).json()
    assert {one["name"]: one["isLive"] for one in graph["nodes"]} == {"root": False, "other": True}


async def test_a_workflow_is_drawn_with_routes_and_loops(serve: Serve, tmp_path: Path) -> None:
    async with serve(agents=_write(tmp_path / "agents", "flow", _FLOW)) as served:
        graph = (await served.ask("GET", "/apps/flow/graph")).json()
    kinds = {one["id"]: (one["kind"], one.get("group")) for one in graph["nodes"]}
    start = next(key for key, (kind, group) in kinds.items() if (kind, group) == ("start", "flow"))
    assert kinds["flow/inner"] == ("workflow", "flow")
    assert kinds["flow/inner/work"] == ("node", "flow/inner")
    assert _edges(graph) >= {
        (start, "flow/plan", "next", ""),
        ("flow/plan", "flow/inner", "route", "go"),
        ("flow/plan", "flow/stop", "route", "otherwise"),
        ("flow/inner", "flow/plan", "next", ""),
    }


async def test_the_prices_are_the_list_and_those_of_the_budget(
    serve: Serve, tmp_path: Path
) -> None:
    agents = _write(tmp_path / "agents", "tree", _AGENTS)
    async with serve(agents=agents, stand_in=True) as served:
        found = (await served.ask("GET", "/apps/tree/prices")).json()
        unknown = await served.ask("GET", "/apps/nobody/prices")
    assert found["currency"] == "USD"
    assert found["asOf"] > "2026"
    assert found["prices"]["gemini-2.5-flash"] == {"input": 0.3, "output": 2.5, "cached": 0.03}
    assert found["own"] == {"m": {"input": 1, "output": 2}}
    assert unknown.status_code == 404
