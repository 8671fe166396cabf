"""Choice of the agent that handles a message, and other queries on the agent tree."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import takewhile
from typing import Any

from ... import types
from ..._adk_mode import follows_adk
from ..._log import get_logger
from ...agents.base_agent import BaseAgent
from ...agents.llm_agent import LlmAgent
from ...agents.node_agent import NodeAgent, iterate_nodes
from ...context.invocation import InvocationContext
from ...context.run_path import path_of_agent
from ...errors import AgentConfigError, InvalidAnswerError
from ...models.base_llm import BaseLlm
from ...sessions.log.call_requests import find_original, original_call_id
from ...sessions.log.event_log import (
    AGENT_STATE,
    END_OF_AGENT,
    TASK_ANSWER,
    EventLog,
    EventRecord,
    newest_visible,
)
from ...sessions.log.resume import Resume
from ...tools.agent_tool import AgentTool
from ...tools.base_toolset import BaseToolset
from ...workflow.nodes import ToolNode
from .task_choice import find_graph, find_outermost_call, is_transferable_across_agent_tree

logger = get_logger(__name__)


def find_agent_to_run(log: EventLog, root_agent: BaseAgent, end: int | None = None) -> BaseAgent:
    """Return the agent that handles the next message (Spec 2 §1.4, FEATURES A.27 X16).

    An answer goes to the agent that made its call; a message for a task goes to the agent that
    delegated it. Otherwise the newest author takes it, if it can transfer back to the root; else
    the root.

    Args:
      log: the session's records.
      root_agent: the root.
      end: index behind the last record to read.
    """
    if isinstance(root_agent, NodeAgent):
        return root_agent
    last = len(log.records) if end is None else end
    newest = log.records[last - 1] if last > 0 else None
    if newest is not None and (newest.responses or newest.scope is not None):
        asked = caller_of(log, newest)
        agent = None
        if asked is not None:
            agent = find_graph(root_agent, asked) or root_agent.find_agent(asked.author)
        if agent is not None:
            return agent
    for record in newest_visible(log, end=end):
        if record.author == "user" or record.kinds & (AGENT_STATE | END_OF_AGENT):
            continue
        if record.scope is not None:
            continue  # a called agent has returned control
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
    """Set the root's mode to chat by default (FEATURES row 68).

    Raises:
      AgentConfigError: the root has a mode for agents that other agents call.
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
    """Return the record of the outermost call that a user's message concerns: the call that it
    answers, or the call of its task.
    """
    asked: EventRecord | None = newest
    if newest.responses:
        asked = log.find_call(newest.responses[0][0] or "")
    return find_outermost_call(log, asked) if asked is not None else None


def prepare_resume(ctx: InvocationContext, root_agent: BaseAgent) -> None:
    """Set the agent, the branch and the resume data of a resumed invocation.

    A resumable run resumes at its first agent, which finds the interrupted one. In other runs an
    answer goes to the agent that made the call, and after a crash the agent of the newest message
    resumes. If a message answers calls of several agents, the others follow: see `other_answers`
    of the run's state.
    """
    log = ctx.log
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
    answered = find_answered_calls(ctx, root_agent, [call for call, _ in responses])
    if answered:
        asked, *ctx.run_state.other_answers = answered
    if ctx.is_resumable and not (asked is not None and asked.invocation_id != ctx.invocation_id):
        ctx.agent, start = find_agent_to_run(log, root_agent, _end_of_first(ctx, first)), first
        if asked is not None and _has_ended(ctx, first):
            start = _go_to_call(ctx, root_agent, asked, newest)
    elif asked is not None:
        _resume_at_call(ctx, root_agent, asked, newest)
        return
    else:
        ctx.agent = find_agent_to_run(log, root_agent, _end_of_first(ctx, newest))
        start = newest + 1
        go_to_task(ctx, log.records[newest])
    if not ctx.run_path:
        place_run(ctx, root_agent, None)
    _set_resume(ctx, start, asked or log.records[newest])


def go_to_task(ctx: InvocationContext, record: EventRecord | None) -> None:
    """Set the branch of a run whose message is for a task: that on which its agent called the task.

    Args:
      ctx: the run; its agent is chosen.
      record: the message, or the call of the task; None for no task.
    """
    caller = None if record is None else find_outermost_call(ctx.log, record)
    if caller is not None and caller.author == ctx.agent.name:
        ctx.branch = caller.branch


def _has_ended(ctx: InvocationContext, first: int) -> bool:
    """Return whether the first agent of an invocation has ended, so that only the one that made an
    answered call has to act: a further update of a long-running call, for instance."""
    agent: BaseAgent = ctx.agent
    if isinstance(agent, NodeAgent):
        return False
    if isinstance(agent, LlmAgent):
        resume = Resume(ctx.log, ctx.invocation_id, first, ctx.run_state.checkpoints)
        return resume.look(agent.name, ctx.branch).kind == "ended"
    return bool(ctx.end_of_agents.get(agent.name))


def prepare_answer(ctx: InvocationContext, root_agent: BaseAgent, asked: EventRecord) -> None:
    """Set the agent, the branch and the resume data of a run that acts on another answer of the
    message than the first.

    Args:
      ctx: a context of its own, of the resumed invocation.
      root_agent: the root.
      asked: the record of the answered call.
    """
    _resume_at_call(ctx, root_agent, asked, len(ctx.log.records) - 1)


def find_answered_calls(
    ctx: InvocationContext, root_agent: BaseAgent, call_ids: Sequence[str | None]
) -> list[EventRecord]:
    """Return the records of answered calls, one for each run that has to act on the answers.

    One run acts on all calls of an agent on a branch, of a graph, of a shell that is run anew, and
    of a resumable invocation. Calls of agents that are gone have none.

    Args:
      ctx: the resumed invocation.
      root_agent: the root.
      call_ids: the answered calls.
    """
    found: dict[Any, EventRecord] = {}
    for call_id in call_ids:
        asked = ctx.log.find_call(call_id or "")
        if asked is None:
            continue
        caller = find_outermost_call(ctx.log, asked) or asked
        agent = _agent_of_call(root_agent, caller)
        if ctx.is_resumable and asked.invocation_id == ctx.invocation_id:
            found.setdefault(None, asked)
        elif agent is None:
            continue
        elif isinstance(agent, NodeAgent) or find_shell(ctx, agent) is not agent:
            found.setdefault(find_shell(ctx, agent).name, asked)
        else:
            found.setdefault((agent.name, caller.branch), asked)
    return list(found.values())


def check_graphs_answered(
    log: EventLog, root_agent: BaseAgent, message: types.Content, invocation_id: str
) -> None:
    """Refuse a message for several invocations of which a graph waits in another than the first: a
    graph resumes its own invocation only.

    Args:
      log: the session's records.
      root_agent: the root.
      message: the user's message.
      invocation_id: the invocation that the message resumes.

    Raises:
      InvalidAnswerError: it answers such a call.
    """
    for part in message.parts or ():
        answer = part.function_response
        asked = None if answer is None else log.find_call(answer.id or "")
        if answer is None or asked is None or asked.invocation_id == invocation_id:
            continue
        agent = _agent_of_call(root_agent, find_outermost_call(log, asked) or asked)
        if isinstance(agent, NodeAgent):
            raise InvalidAnswerError(
                f"The message answers calls of several invocations, and call {answer.id!r} is of "
                f"workflow graph {agent.name!r}, which resumes its own invocation "
                f"{asked.invocation_id!r} only. Answer the calls of each invocation in a message "
                "of its own. All calls stay open."
            )


def _agent_of_call(root_agent: BaseAgent, caller: EventRecord) -> BaseAgent | None:
    """Return the agent whose run acts on the answer to a call; None if it is gone."""
    if isinstance(root_agent, NodeAgent):
        return root_agent
    return find_graph(root_agent, caller) or root_agent.find_agent(caller.author)


def find_shell(ctx: InvocationContext, agent: BaseAgent) -> BaseAgent:
    """Return the agent that is run when an agent's call is answered: the agent itself.

    In google-adk an answer is a message like any other if the app is not resumable: the agents
    around that cannot transfer (sequences, loops, own classes) are run anew. Programs that come
    through the alias get the outermost one of these.
    """
    if ctx.is_resumable or isinstance(agent, NodeAgent) or not follows_adk():
        return agent
    while agent.parent_agent is not None and not isinstance(
        agent.parent_agent, LlmAgent | NodeAgent
    ):
        agent = agent.parent_agent
    return agent


def _resume_at_call(
    ctx: InvocationContext, root_agent: BaseAgent, asked: EventRecord, newest: int
) -> None:
    """Set the agent, the branch, the path and the resume data of a run that acts on an answer.

    Args:
      ctx: the run.
      root_agent: the root.
      asked: the record of the answered call.
      newest: index of the user's message.
    """
    start, only = _go_to_call(ctx, root_agent, asked, newest), None
    shell = find_shell(ctx, ctx.agent)
    if shell is not ctx.agent:
        start, only = _go_to_shell(ctx, root_agent, shell, newest)
    if not ctx.run_path:
        place_run(ctx, root_agent, None)
    _set_resume(ctx, start, asked, only)


def _go_to_shell(
    ctx: InvocationContext, root_agent: BaseAgent, shell: BaseAgent, newest: int
) -> tuple[int, set[int]]:
    """Set the agent and the branch of a run that runs a shell anew. The agents below it whose calls
    the message answers act on the answers; what the other ones did before does not count.

    Returns:
      Index of the first record that counts, and the indexes of all that do.
    """
    log, start = ctx.log, newest
    asking = set[tuple[str, str | None]]()
    for call_id, _ in log.records[newest].responses:
        asked = log.find_call(call_id or "")
        caller = asked and (find_outermost_call(log, asked) or asked)
        agent = caller and _agent_of_call(root_agent, caller)
        if caller and agent and find_shell(ctx, agent) is shell:
            asking.add((caller.author, caller.branch))
            start = min(start, _find_response_start(log, caller))
    ctx.branch, ctx.agent = _branch_made_by(ctx.branch, shell.parent_agent), shell
    counted = {
        index
        for index in range(start, len(log.records))
        if index > newest or (log.records[index].author, log.records[index].branch) in asking
    }
    below = {agent.name for agent in agents_below(shell)}
    for name in below:
        ctx.agent_states.pop(name, None)
        ctx.end_of_agents.pop(name, None)
    ctx.run_state.checkpoints = [
        mark
        for mark in ctx.run_state.checkpoints
        if mark.at > newest or mark.agent not in below or (mark.agent, mark.branch) in asking
    ]
    ctx.restore_agent_states(ctx.run_state.checkpoints)
    return start, counted


def _go_to_call(
    ctx: InvocationContext, root_agent: BaseAgent, asked: EventRecord, newest: int
) -> int:
    """Set the agent, the branch and the path of a run that acts on an answer.

    Args:
      ctx: the run.
      root_agent: the root.
      asked: the record of the answered call.
      newest: index of the user's message.

    Returns:
      Index of the first record that counts.
    """
    caller = find_outermost_call(ctx.log, asked) or asked
    agent = _agent_of_call(root_agent, caller)
    ctx.agent = agent or find_agent_to_run(ctx.log, root_agent, newest + 1)
    ctx.branch = caller.branch
    place_run(ctx, root_agent, caller)
    if agent is None:
        return newest + 1  # another agent takes the message, and its earlier words do not count
    return _find_response_start(ctx.log, caller)


def _find_response_start(log: EventLog, asked: EventRecord) -> int:
    """Return the index of the model response that led to a call: for a request, that of the tool's
    call. The agents that the same response called count as well.
    """
    at = log.records.index(asked)
    origins = [at]
    for call in asked.event().get_function_calls() if asked.long_running else ():
        original = original_call_id(call.name or "", call.args or {})
        record = find_original(log, at, asked, original) if original else None
        if record is not None:
            origins.append(log.records.index(record))
    return min(origins)


def _set_resume(
    ctx: InvocationContext, start: int, asked: EventRecord, only: set[int] | None = None
) -> None:
    """Set the resume data of a run; its agent is chosen.

    Args:
      ctx: the run.
      start: index of the first record that counts.
      asked: the record of the call, or of the message, that the run starts from.
      only: indexes of the records that count, beside the user's; None for all.
    """
    log, state = ctx.log, ctx.run_state
    if (
        isinstance(ctx.agent, NodeAgent) and not ctx.is_resumable
    ):  # a graph finds its resume point itself
        start = log.start_of(ctx.invocation_id) or 0
        ctx.branch = _branch_made_by(asked.branch, ctx.agent)
    resume = state.resume = Resume(log, ctx.invocation_id, start, state.checkpoints, only)
    agent: BaseAgent = ctx.agent
    if isinstance(agent, LlmAgent) and not resume.look(agent.name, ctx.branch).closed:
        # The ended run was a later one, after a transfer from another agent.
        ctx.end_of_agents.pop(agent.name, None)


def place_run(ctx: InvocationContext, root_agent: BaseAgent, asked: EventRecord | None) -> None:
    """Set the path of the run: below a root that is an LlmAgent, as in google-adk.

    Args:
      ctx: the run; its agent is chosen.
      root_agent: the root.
      asked: the record of the call whose answer resumes the run, or None.
    """
    if isinstance(root_agent, LlmAgent):
        known = asked.place().path if asked is not None else ""
        if ctx.agent is root_agent:
            known = known or f"{root_agent.name}@1"
        ctx.run_path = known or path_of_agent(ctx.agent, root_agent.name)


def _end_of_first(ctx: InvocationContext, message: int) -> int:
    """Return the index behind the first event that answers a message, or behind the message if
    there is no such event.

    Its author handled the message, even if the older events that chose that agent were deleted.

    Args:
      ctx: the invocation.
      message: index of its user's message.
    """
    records = ctx.log.records
    for index in range(message + 1, len(records)):
        record = records[index]
        if record.invocation_id != ctx.invocation_id or record.author == "user":
            continue
        if not record.responses and record.scope is None:
            return index + 1
    return message + 1


def _branch_made_by(branch: str | None, agent: BaseAgent | None) -> str | None:
    """Return the part of a branch that an agent and those above it made."""
    above = set[str]()
    while agent is not None:
        above.add(agent.name)
        agent = agent.parent_agent
    segments = branch.split(".") if branch else ()
    return ".".join(takewhile(lambda one: one.partition("@")[0] in above, segments)) or None


def agents_below(root: BaseAgent) -> Iterator[BaseAgent]:
    """Yield an agent and all below it."""
    yield root
    for agent in root.sub_agents:
        yield from agents_below(agent)
    if isinstance(root, NodeAgent):
        yield from (one for one in iterate_nodes(root.root_node) if isinstance(one, BaseAgent))


def may_run_from_code(root: BaseAgent, record: EventRecord) -> bool:
    """Return whether a record may be of an agent that a node's own code runs with `ctx.run_node`.

    Such an agent is in no tree; a run of its node finds it.

    Args:
      root: the agents.
      record: what the agent said or called.
    """
    graph = find_graph(root, record)
    if graph is None:
        return False
    nodes = {node.name: node for node in iterate_nodes(graph.root_node)}
    above = [nodes.get(segment.partition("@")[0]) for segment in record.path.split("/")[:-1]]
    return any(
        node is not None and node.rerun_on_resume and not node.runs_graph
        for node in above
        if not isinstance(node, BaseAgent | ToolNode)
    )


def toolsets_of(root: BaseAgent) -> list[BaseToolset]:
    """Return the toolsets of a tree, each once."""
    found: dict[int, BaseToolset] = {}
    for agent in agents_below(root):
        for tool in agent.tools if isinstance(agent, LlmAgent) else ():
            if isinstance(tool, BaseToolset):
                found[id(tool)] = tool
    return list(found.values())


def open_models_of(root: BaseAgent) -> list[BaseLlm]:
    """Return the models of a tree's agents and of its agent tools, each once."""
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
            agents += [one for one in iterate_nodes(agent.root_node) if isinstance(one, BaseAgent)]
        if isinstance(agent, LlmAgent):
            tools = [tool for tool in agent.tools if isinstance(tool, AgentTool)]
            agents += [tool.agent for tool in tools if isinstance(tool.agent, BaseAgent)]
            if agent.present_model is not None:
                found[id(agent.present_model)] = agent.present_model
    return list(found.values())


def summarizing_model(root: BaseAgent) -> BaseLlm:
    """Return the model that summarizes for a tree: that of its first LlmAgent."""
    for agent in agents_below(root):
        if isinstance(agent, LlmAgent):
            return agent.canonical_model
    raise AgentConfigError(
        f"Compaction needs a model, and the tree below {root.name!r} has no LlmAgent. "
        "Give EventsCompactionConfig a summarizer."
    )
