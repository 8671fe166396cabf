"""The transfer processor: offers `transfer_to_agent` and tells whom to transfer to (Spec 2 §3.7,
§8).
"""

from __future__ import annotations

from collections.abc import Awaitable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from ...context.context import Context
from ...context.invocation import InvocationContext
from ...models.llm_request import LlmRequest
from ...tools.transfer_to_agent_tool import TransferToAgentTool
from ._base_llm_processor import RequestEdit

if TYPE_CHECKING:
    from ...context._ports import AgentLike


class _AgentTransferLlmRequestProcessor(RequestEdit):
    """Adds the transfer tool and its instruction where there is somebody to transfer to."""

    def edit(
        self, invocation_context: InvocationContext, llm_request: LlmRequest
    ) -> Awaitable[None] | None:
        """Add tool and instruction."""
        agent = invocation_context.agent
        targets = _get_transfer_targets(agent)
        if not targets:
            return None
        tool = _transfer_tool(tuple(t.name for t in targets))
        llm_request.append_instructions([_build_transfer_instructions(tool.name, agent, targets)])
        return tool.process_llm_request(
            tool_context=Context(invocation_context), llm_request=llm_request
        )


request_processor = _AgentTransferLlmRequestProcessor()


@lru_cache(maxsize=1024)
def _transfer_tool(names: tuple[str, ...]) -> TransferToAgentTool:
    """Return the tool for these targets; its declaration is made once, not at each step."""
    return TransferToAgentTool(agent_names=list(names))


def _get_transfer_targets(agent: Any) -> list[AgentLike]:
    """Return sub-agents, the parent and peers, as far as the agent may transfer (Spec 2 §8.3).

    Agents that are called like tools are none of them; nor is the parent, where it made the call.
    """
    targets: list[AgentLike] = [a for a in agent.sub_agents if not _is_called(a)]
    parent = agent.parent_agent
    # Only an agent that itself transfers can be gone back to, or passed by to a peer.
    if parent is None or not hasattr(parent, "disallow_transfer_to_parent"):
        return targets
    if not agent.disallow_transfer_to_parent and not _is_called(agent):
        targets.append(parent)
    if not agent.disallow_transfer_to_peers:
        targets.extend(
            peer for peer in parent.sub_agents if peer.name != agent.name and not _is_called(peer)
        )
    return targets


def _is_called(agent: Any) -> bool:
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
