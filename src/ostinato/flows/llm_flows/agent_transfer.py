"""The transfer processor: adds `transfer_to_agent` and its instruction (Spec 2 §3.7, §8)."""

from __future__ import annotations

from collections.abc import Awaitable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from ..._absences import refuse_absent
from ...context.context import Context
from ...context.invocation import InvocationContext
from ...models.llm_request import LlmRequest
from ...tools.transfer_to_agent_tool import TransferToAgentTool
from ._base_llm_processor import RequestEdit

if TYPE_CHECKING:
    from ...context._ports import AgentLike

__getattr__ = refuse_absent(__name__)  # of google-adk's further names here


class _AgentTransferLlmRequestProcessor(RequestEdit):
    """Adds the transfer tool and its instruction if there is an agent to transfer to."""

    def edit(
        self, invocation_context: InvocationContext, llm_request: LlmRequest
    ) -> Awaitable[None] | None:
        """Add tool and instruction."""
        agent = invocation_context.agent
        targets = _get_transfer_targets(agent)
        if not targets:
            return None
        tool = _transfer_tool(tuple(t.name for t in targets))
        if agent.mode != "task" and not invocation_context.is_single_turn:
            text = _build_transfer_instructions(tool.name, agent, targets)
            llm_request.append_instructions([text])
        return tool.process_llm_request(
            tool_context=Context(invocation_context), llm_request=llm_request
        )


request_processor = _AgentTransferLlmRequestProcessor()


def find_transfer_tool(agent: Any) -> TransferToAgentTool | None:
    """Return the tool by which an agent transfers; None if there is no agent to transfer to."""
    targets = _get_transfer_targets(agent)
    return _transfer_tool(tuple(one.name for one in targets)) if targets else None


@lru_cache(maxsize=1024)
def _transfer_tool(names: tuple[str, ...]) -> TransferToAgentTool:
    """Return the tool for these targets; cached, so that its declaration is built once."""
    return TransferToAgentTool(agent_names=list(names))


def _get_transfer_targets(agent: Any) -> list[AgentLike]:
    """Return the sub-agents, parent and peers that the agent may transfer to (Spec 2 §8.3).

    Agents that are called like tools are left out; so is the parent if it made the call.
    """
    targets: list[AgentLike] = [a for a in agent.sub_agents if not _is_called_like_tool(a)]
    parent = agent.parent_agent
    # Only a parent that can transfer takes the conversation back or hands it to a peer.
    if parent is None or not hasattr(parent, "disallow_transfer_to_parent"):
        return targets
    if not agent.disallow_transfer_to_parent and not _is_called_like_tool(agent):
        targets.append(parent)
    if not agent.disallow_transfer_to_peers:
        targets.extend(
            peer
            for peer in parent.sub_agents
            if peer.name != agent.name and not _is_called_like_tool(peer)
        )
    return targets


def check_transfer_target(agent: Any, target: Any) -> None:
    """Check that a transfer requested by a tool leads to a neighbour in the agent tree.

    Args:
      agent: the agent that transfers.
      target: the agent to transfer to.

    Raises:
      ValueError: it is the agent itself, or neither its parent nor a sub-agent of one of the two.
    """
    if target is agent:
        raise ValueError(
            f"Agent {agent.name!r} cannot transfer to itself: a tool set "
            "actions.transfer_to_agent to its name. Leave it unset to stay with the agent."
        )
    above = agent.parent_agent
    # Agents without a model, such as a SequentialAgent, only pass the conversation on.
    while above is not None and not hasattr(above, "disallow_transfer_to_parent"):
        if above is target or any(target is peer for peer in above.sub_agents):
            return
        above = above.parent_agent
    near = [*agent.sub_agents, *(() if above is None else (above, *above.sub_agents))]
    if not any(target is one for one in near):
        names = ", ".join(one.name for one in near if one is not agent) or "none"
        raise ValueError(
            f"Agent {agent.name!r} cannot transfer to {target.name!r}, which is neither its "
            "parent, nor a sub-agent of its parent, nor one of its own: a tool set "
            f"actions.transfer_to_agent to it. Agents that it can transfer to: {names}."
        )


def _is_called_like_tool(agent: Any) -> bool:
    return getattr(agent, "mode", None) in ("task", "single_turn")


def _build_transfer_instructions(
    tool_name: str, agent: Any, target_agents: Sequence[AgentLike]
) -> str:
    """Return the instruction that goes with the transfer tool (Spec 2 §8.4)."""
    listed = "\n\n".join(
        f"Agent name: {t.name}\nAgent description: {t.description}" for t in target_agents
    )
    names = ", ".join(f"`{t.name}`" for t in sorted(target_agents, key=lambda t: t.name))
    text = f"""You have a list of other agents to transfer to:

{listed}

If you are the best to answer the question according to your description,
you can answer it.

If another agent is better for answering the question according to its
description, call `{tool_name}` function to transfer the question to that
agent. When transferring, do not generate any text other than the function call.

**NOTE**: the only available agents for `{tool_name}` function are
{names}.
"""
    parent = agent.parent_agent
    if any(target is parent for target in target_agents):
        text += f"""
If neither you nor the other agents are best for the question, transfer to your
parent agent {parent.name}.
"""
    return text
