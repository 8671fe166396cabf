"""Workflow graphs: nodes, edges, and the workflow that runs them."""

from typing import TYPE_CHECKING

from ostinato._lazy import attach

if TYPE_CHECKING:
    from ostinato.context.node import BaseNode as BaseNode
    from ostinato.context.node import RetryConfig as RetryConfig
    from ostinato.workflow.edge import Edge as Edge
    from ostinato.workflow.function_node import FunctionNode as FunctionNode
    from ostinato.workflow.node_errors import NodeTimeoutError as NodeTimeoutError
    from ostinato.workflow.nodes import DEFAULT_ROUTE as DEFAULT_ROUTE
    from ostinato.workflow.nodes import START as START
    from ostinato.workflow.nodes import JoinNode as JoinNode
    from ostinato.workflow.nodes import Node as Node
    from ostinato.workflow.nodes import node as node
    from ostinato.workflow.workflow import Workflow as Workflow

__getattr__, __dir__, __all__ = attach(__name__)
