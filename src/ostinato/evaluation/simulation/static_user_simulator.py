"""StaticUserSimulator: the fixed messages of a case."""

from __future__ import annotations

from ...events.event import Event
from ..eval_case import StaticConversation
from .user_simulator import BaseUserSimulatorConfig, NextUserMessage, Status, UserSimulator


class StaticUserSimulator(UserSimulator):
    """A user who sends the messages of a case in order.

    Args:
      static_conversation: the turns of the case.
    """

    def __init__(self, *, static_conversation: StaticConversation) -> None:
        super().__init__(BaseUserSimulatorConfig(), config_type=BaseUserSimulatorConfig)
        self.static_conversation = static_conversation
        self.invocation_idx = 0

    async def get_next_user_message(self, events: list[Event]) -> NextUserMessage:
        """Return the next message of the case; the conversation so far does not matter."""
        if self.invocation_idx >= len(self.static_conversation):
            return NextUserMessage(status=Status.STOP_SIGNAL_DETECTED)
        turn = self.static_conversation[self.invocation_idx]
        self.invocation_idx += 1
        return NextUserMessage(status=Status.SUCCESS, user_message=turn.user_content)

    def get_simulation_evaluator(self) -> None:
        """Return None: fixed messages need no evaluator."""
        return None
