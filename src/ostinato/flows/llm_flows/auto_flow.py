"""AutoFlow: the loop of an agent that may transfer to others."""

from __future__ import annotations

from . import agent_transfer
from .single_flow import SingleFlow


class AutoFlow(SingleFlow):
    """SingleFlow with transfers (Spec 1 §22)."""

    def __init__(self) -> None:
        super().__init__()
        # Last, so that its text follows the agent's identity (FEATURES A.27 X1).
        self.request_processors.append(agent_transfer.request_processor)
