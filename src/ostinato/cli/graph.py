"""`ostinato graph`: writes the workflows of an agent as Mermaid diagrams."""

from __future__ import annotations

import argparse

from ..agents.node_agent import within
from ..hosting.loader import load
from ..workflow.workflow import Workflow
from .failure import FAILED, CliError


def main(args: argparse.Namespace) -> int:
    """Write each workflow that stands by itself; those within another are boxes in its diagram.

    Raises:
      CliError: the agent has no workflow.
    """
    found = [one for one in within(load(args.path).root) if isinstance(one, Workflow)]
    inner = {id(one) for flow in found for one in within(flow) if one is not flow}
    outer = [flow for flow in found if id(flow) not in inner]
    if not outer:
        raise CliError(
            f"{args.path} has no workflow: its agents run without a graph. "
            "`ostinato.workflow.Workflow` makes one.",
            FAILED,
        )
    print("\n".join(flow.to_mermaid() for flow in outer), end="")
    return 0
