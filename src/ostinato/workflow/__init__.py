"""Workflow graphs: the names; only the node that agents share with them is built yet."""

from typing import TYPE_CHECKING

from ostinato._lazy import attach

if TYPE_CHECKING:
    from ostinato.context.node import BaseNode as BaseNode
    from ostinato.context.node import RetryConfig as RetryConfig
    from ostinato.workflow.graph import DEFAULT_ROUTE as DEFAULT_ROUTE
    from ostinato.workflow.graph import START as START
    from ostinato.workflow.graph import Edge as Edge
    from ostinato.workflow.graph import FunctionNode as FunctionNode
    from ostinato.workflow.graph import JoinNode as JoinNode
    from ostinato.workflow.graph import Node as Node
    from ostinato.workflow.graph import NodeTimeoutError as NodeTimeoutError
    from ostinato.workflow.graph import Workflow as Workflow
    from ostinato.workflow.graph import node as node

__getattr__, __dir__, __all__ = attach(__name__)
