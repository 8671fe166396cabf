"""The command `ostinato graph`: prints the workflows of an agent as Mermaid diagrams."""

from __future__ import annotations

import argparse

from ..agents.node_agent import iterate_nodes
from ..hosting.loader import load_agent
from ..workflow.workflow import Workflow
from .cli_error import FAILED, CliError


def main(args: argparse.Namespace) -> int:
    """Print each outermost workflow; nested ones are boxes in its diagram.

    Raises:
      CliError: the agent has no workflow.
    """
    found = [one for one in iterate_nodes(load_agent(args.path).root) if isinstance(one, Workflow)]
    inner = {id(one) for flow in found for one in iterate_nodes(flow) if one is not flow}
    outer = [flow for flow in found if id(flow) not in inner]
    if not outer:
        raise CliError(
            f"{args.path} has no workflow. Define one with ostinato.workflow.Workflow.",
            FAILED,
        )
    print("\n".join(flow.to_mermaid() for flow in outer), end="")
    return 0
