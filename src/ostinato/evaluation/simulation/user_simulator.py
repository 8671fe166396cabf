"""UserSimulator: base of simulated users."""

from __future__ import annotations

import abc
import enum
from typing import Any, Self

from pydantic import ConfigDict, Field, ValidationError, model_validator

from ... import types
from ...events.event import Event
from ..eval_base_model import EvalBaseModel, TwoSpellingsModel


class BaseUserSimulatorConfig(TwoSpellingsModel):
    """Settings of a simulated user; each kind has its own fields."""

    model_config = ConfigDict(extra="allow")


class Status(enum.Enum):
    """Why there is a next message, or none."""

    SUCCESS = "success"
    TURN_LIMIT_REACHED = "turn_limit_reached"
    STOP_SIGNAL_DETECTED = "stop_signal_detected"
    NO_MESSAGE_GENERATED = "no_message_generated"


class NextUserMessage(EvalBaseModel):
    """The next message of a simulated user.

    Attributes:
      status: SUCCESS, or why the conversation ends.
      user_message: the message; None if it ends.
    """

    status: Status
    user_message: types.Content | None = Field(default=None)

    @model_validator(mode="after")
    def ensure_user_message_iff_success(self) -> Self:
        """Refuse a success without a message, and a message without success."""
        if (self.status is Status.SUCCESS) == (self.user_message is None):
            raise ValueError("Give a user_message with the status SUCCESS, and with no other.")
        return self


class UserSimulator(abc.ABC):  # noqa: B024
    """A simulated user of one conversation.

    Args:
      config: its settings.
      config_type: the class of settings that this kind of user needs.

    Raises:
      ValueError: the settings do not fit.
    """

    def __init__(
        self, config: BaseUserSimulatorConfig, config_type: type[BaseUserSimulatorConfig]
    ) -> None:
        try:
            self._config: Any = config_type.model_validate(config.model_dump())
        except ValidationError as error:
            raise ValueError(
                f"The user_simulator_config does not fit {config_type.__name__}: {error}"
            ) from error

    async def get_next_user_message(self, events: list[Event]) -> NextUserMessage:
        """Return the next message.

        Args:
          events: the conversation so far.
        """
        raise NotImplementedError(f"{type(self).__name__} does not generate messages")

    def get_simulation_evaluator(self) -> Any:
        """Return the Evaluator of the simulation itself, or None."""
        raise NotImplementedError(f"{type(self).__name__} has no evaluator")
