"""Which agent goes on with a conversation, and what else the runner asks of the agent tree."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import takewhile

from .._log import get_logger
from ..agents.base_agent import BaseAgent
from ..agents.llm_agent import LlmAgent
from ..agents.node_agent import NodeAgent, within
from ..context.invocation import InvocationContext
from ..errors import AgentConfigError
from ..models.base_llm import BaseLlm
from ..sessions._resume import Resume
from ..sessions.event_log import (
    AGENT_STATE,
    END_OF_AGENT,
    TASK_ANSWER,
    EventLog,
    EventRecord,
    newest_visible,
)
from ..tools.agent_tool import AgentTool
from ..tools.base_toolset import BaseToolset
from .task_choice import graph_of, outermost

logger = get_logger(__name__)


def find_agent_to_run(log: EventLog, root_agent: BaseAgent, end: int | None = None) -> BaseAgent:
    """Return the agent that goes on (Spec 2 §1.4, FEATURES A.27 X16).

    An answer goes to the agent that made its call; what is said to a task goes to the agent that
    gave it, which goes on with it. Otherwise the newest agent that spoke goes on,
    if control can pass from it back to the root; else the root.

    Args:
      log: the session's records.
      root_agent: the root.
      end: index of the first record that does not count.
    """
    if isinstance(root_agent, NodeAgent):
        return root_agent
    last = len(log.records) if end is None else end
    newest = log.records[last - 1] if last > 0 else None
    if newest is not None and (newest.responses or newest.scope is not None):
        asked = caller_of(log, newest)
        agent = None
        if asked is not None:
            agent = graph_of(root_agent, asked) or root_agent.find_agent(asked.author)
        if agent is not None:
            return agent
    for record in newest_visible(log, end=end):
        if record.author == "user" or record.kinds & (AGENT_STATE | END_OF_AGENT):
            continue
        if record.scope is not None:
            continue  # an agent that was called has given control back
        if record.author == root_agent.name:
            return root_agent
        agent = root_agent.find_sub_agent(record.author)
        if agent is None:
            logger.warning(
                "Event %s is by %r, which is not in the agent tree of %r.",
                record.id,
                record.author,
                root_agent.name,
            )
        elif is_transferable_across_agent_tree(agent):
            return agent
    return root_agent


def check_mode(root_agent: BaseAgent) -> None:
    """Make a root that says nothing a chat agent (FEATURES row 68).

    Raises:
      AgentConfigError: the root is one that other agents call.
    """
    if not isinstance(root_agent, LlmAgent):
        return
    if root_agent.mode is None:
        root_agent.mode = "chat"
    elif root_agent.mode != "chat":
        raise AgentConfigError(
            f"Agent {root_agent.name!r} is the root and has mode {root_agent.mode!r}, but a root "
            "talks with the user: give it mode='chat', or put it below an agent that calls it."
        )


def caller_of(log: EventLog, newest: EventRecord) -> EventRecord | None:
    """Return the record with the call that a message of the user is about: the one that it answers,
    or the one that gave the task to which it was said; within tasks, the outermost.
    """
    asked: EventRecord | None = newest
    if newest.responses:
        asked = log.find_call(newest.responses[0][0] or "")
    return outermost(log, asked) if asked is not None else None


def go_on(ctx: InvocationContext, root_agent: BaseAgent) -> None:
    """Set the agent and the branch with which an invocation goes on, and what it had done.

    In a resumable run it is the agent that the invocation began with, which finds its way down to
    where it was. In another run an answer of the user's goes to the agent that made the call; and
    after a crash the agent goes on that the newest message had gone to.
    """
    log, ports = ctx.log, ctx.ports
    first = log.start_of(ctx.invocation_id) or 0
    newest = next(
        (
            index
            for index in range(len(log.records) - 1, first - 1, -1)
            if log.records[index].invocation_id == ctx.invocation_id
            and log.records[index].author == "user"
            and not log.records[index].kinds & TASK_ANSWER
        ),
        first,
    )
    responses = log.records[newest].responses if log.records[newest].author == "user" else ()
    asked = log.find_call(responses[0][0] or "") if responses else None
    caller = outermost(log, asked) if asked is not None else None
    if ctx.is_resumable and not (asked is not None and asked.invocation_id != ctx.invocation_id):
        ctx.agent, start = find_agent_to_run(log, root_agent, first + 1), first
    elif asked is not None:
        ctx.agent = find_agent_to_run(log, root_agent, newest + 1)
        ctx.branch = (caller or asked).branch
        start = log.records.index(asked)
    else:
        ctx.agent, start = find_agent_to_run(log, root_agent, newest + 1), newest + 1
    if isinstance(ctx.agent, NodeAgent) and not ctx.is_resumable:  # it looks itself where to go on
        ctx.branch, start = _branch_outside((asked or log.records[newest]).branch, ctx.agent), first
    resume = ports.resume = Resume(log, ctx.invocation_id, start, ports.checkpoints)
    agent: BaseAgent = ctx.agent
    if isinstance(agent, LlmAgent) and not resume.look(agent.name, ctx.branch).closed:
        # What ended was a later run of it, to which another agent had transferred.
        ctx.end_of_agents.pop(agent.name, None)


def _branch_outside(branch: str | None, graph: NodeAgent) -> str | None:
    """Return the part of a branch that lies outside of a graph, and is made by agents above it."""
    above, agent = {graph.name}, graph.parent_agent
    while agent is not None:
        above.add(agent.name)
        agent = agent.parent_agent
    segments = branch.split(".") if branch else ()
    return ".".join(takewhile(lambda one: one.partition("@")[0] in above, segments)) or None


def is_transferable_across_agent_tree(agent_to_run: BaseAgent) -> bool:
    """Tell whether control can pass from an agent up to the root (Spec 2 §1.4)."""
    agent: BaseAgent | None = agent_to_run
    while agent is not None:
        if not isinstance(agent, LlmAgent) or agent.disallow_transfer_to_parent:
            return False
        agent = agent.parent_agent
    return True


def agents_below(root: BaseAgent) -> Iterator[BaseAgent]:
    """Yield an agent and all below it."""
    yield root
    for agent in root.sub_agents:
        yield from agents_below(agent)
    if isinstance(root, NodeAgent):
        yield from (one for one in within(root.root_node) if isinstance(one, BaseAgent))


def toolsets_of(root: BaseAgent) -> list[BaseToolset]:
    """Return the toolsets of a tree, each once."""
    found: dict[int, BaseToolset] = {}
    for agent in agents_below(root):
        for tool in agent.tools if isinstance(agent, LlmAgent) else ():
            if isinstance(tool, BaseToolset):
                found[id(tool)] = tool
    return list(found.values())


def open_models_of(root: BaseAgent) -> list[BaseLlm]:
    """Return the models that a tree's agents have, those behind agent tools too, each once."""
    found: dict[int, BaseLlm] = {}
    seen: set[int] = set()
    agents = [root]
    while agents:
        agent = agents.pop()
        if id(agent) in seen:
            continue
        seen.add(id(agent))
        agents += agent.sub_agents
        if isinstance(agent, NodeAgent):
            agents += [one for one in within(agent.root_node) if isinstance(one, BaseAgent)]
        if isinstance(agent, LlmAgent):
            tools = [tool for tool in agent.tools if isinstance(tool, AgentTool)]
            agents += [tool.agent for tool in tools if isinstance(tool.agent, BaseAgent)]
            if agent.present_model is not None:
                found[id(agent.present_model)] = agent.present_model
    return list(found.values())


def summarizing_model(root: BaseAgent) -> BaseLlm:
    """Return the model that summarises for a tree: that of its first agent with one."""
    for agent in agents_below(root):
        if isinstance(agent, LlmAgent):
            return agent.canonical_model
    raise AgentConfigError(
        f"Compaction needs a model, and the tree below {root.name!r} has no LlmAgent. "
        "Give EventsCompactionConfig a summarizer."
    )
