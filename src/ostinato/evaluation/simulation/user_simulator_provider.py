"""UserSimulatorProvider: the simulated user that fits a case."""

from __future__ import annotations

from typing import Any

from ..eval_case import EvalCase
from .llm_backed_user_simulator import LlmBackedUserSimulator
from .static_user_simulator import StaticUserSimulator
from .user_simulator import BaseUserSimulatorConfig, UserSimulator


class UserSimulatorProvider:
    """Makes one simulated user for each case.

    Args:
      user_simulator_config: settings of the users of scenarios.

    Raises:
      ValueError: the settings have another type.
    """

    def __init__(self, user_simulator_config: BaseUserSimulatorConfig | None = None) -> None:
        config: Any = user_simulator_config
        if config is None:
            config = BaseUserSimulatorConfig()
        if not isinstance(config, BaseUserSimulatorConfig):
            raise ValueError(
                "user_simulator_config must be a BaseUserSimulatorConfig, not a "
                f"{type(config).__name__}."
            )
        self._config = config

    def provide(self, eval_case: EvalCase) -> UserSimulator:
        """Return the user of a case.

        Args:
          eval_case: the case.

        Raises:
          ValueError: the case has neither a conversation nor a scenario, or both; or the settings
            do not fit.
          ModelUnavailableError: the model of the simulated user is not available.
        """
        conversation, scenario = eval_case.conversation, eval_case.conversation_scenario
        if conversation is not None and scenario is None:
            return StaticUserSimulator(static_conversation=conversation)
        if scenario is not None and conversation is None:
            return LlmBackedUserSimulator(config=self._config, conversation_scenario=scenario)
        raise ValueError(
            f"Case {eval_case.eval_id!r} needs either a conversation or a conversation_scenario."
        )
