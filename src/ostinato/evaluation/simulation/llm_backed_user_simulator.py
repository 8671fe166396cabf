"""LlmBackedUserSimulator: a model that plays the user of a scenario."""

from __future__ import annotations

from typing import Any, ClassVar

from pydantic import Field, field_validator

from ... import types
from ..._aclosing import Aclosing
from ..._log import get_logger
from ...events.event import Event
from ...models.llm_request import LlmRequest
from ...models.registry import LLMRegistry
from ..conversation_scenarios import ConversationScenario
from .llm_backed_user_simulator_prompts import (
    get_llm_backed_user_simulator_prompt,
    is_valid_user_simulator_template,
)
from .user_simulator import BaseUserSimulatorConfig, NextUserMessage, Status, UserSimulator

logger = get_logger(__name__)

_STOP_SIGNAL = "</finished>"


class LlmBackedUserSimulatorConfig(BaseUserSimulatorConfig):
    """Settings of a simulated user.

    Attributes:
      model: name of any model that agents can use.
      model_configuration: settings of its requests.
      max_allowed_invocations: limit of messages, the first included; -1 sets none.
      custom_instructions: a template of the prompt with the placeholders `{{ stop_signal }}`,
        `{{ conversation_plan }}` and `{{ conversation_history }}`; with a persona also
        `{{ persona }}`.
      include_function_calls: whether the simulated user sees calls of tools and their responses.
    """

    model: str = "gemini-2.5-flash"
    model_configuration: types.GenerateContentConfig = Field(
        default_factory=types.GenerateContentConfig
    )
    max_allowed_invocations: int = 20
    custom_instructions: str | None = None
    include_function_calls: bool = False

    @field_validator("custom_instructions")
    @classmethod
    def validate_custom_instructions(cls, value: str | None) -> str | None:
        """Refuse instructions without the required placeholders."""
        required = ["stop_signal", "conversation_plan", "conversation_history"]
        if value is not None and not is_valid_user_simulator_template(value, required):
            raise ValueError(
                "custom_instructions must use the placeholders {{ stop_signal }}, "
                "{{ conversation_plan }} and {{ conversation_history }}."
            )
        return value


class LlmBackedUserSimulator(UserSimulator):
    """A model that plays the user of a scenario; the first message is the scenario's own.

    Args:
      config: settings.
      conversation_scenario: the scenario.

    Raises:
      ModelUnavailableError: the model is not available.
    """

    config_type: ClassVar[type[LlmBackedUserSimulatorConfig]] = LlmBackedUserSimulatorConfig

    def __init__(
        self, *, config: BaseUserSimulatorConfig, conversation_scenario: ConversationScenario
    ) -> None:
        super().__init__(config, config_type=self.config_type)
        self._scenario = conversation_scenario
        self._sent = 0
        self._model = LLMRegistry.new_llm(self._config.model)

    async def get_next_user_message(self, events: list[Event]) -> NextUserMessage:
        """Return the next message.

        Raises:
          RuntimeError: the model wrote none.
        """
        limit: int = self._config.max_allowed_invocations
        if 0 <= limit <= self._sent:
            logger.warning("The simulated user stops after %d messages, the limit.", limit)
            return NextUserMessage(status=Status.TURN_LIMIT_REACHED)
        self._sent += 1
        if self._sent == 1:
            text = self._scenario.starting_prompt
        else:
            text = await self._ask_model(events)
        if _STOP_SIGNAL in text.lower():
            return NextUserMessage(status=Status.STOP_SIGNAL_DETECTED)
        return NextUserMessage(
            status=Status.SUCCESS,
            user_message=types.Content(role="user", parts=[types.Part(text=text)]),
        )

    def get_simulation_evaluator(self) -> Any:
        """Raise NotImplementedError: `per_turn_user_simulator_quality_v1` is a metric of its own.

        Raises:
          NotImplementedError: always.
        """
        raise NotImplementedError(
            "Use the metric per_turn_user_simulator_quality_v1 to evaluate a simulated user."
        )

    async def _ask_model(self, events: list[Event]) -> str:
        prompt = get_llm_backed_user_simulator_prompt(
            conversation_plan=self._scenario.conversation_plan,
            conversation_history=_format_history(events, self._config.include_function_calls),
            stop_signal=_STOP_SIGNAL,
            custom_instructions=self._config.custom_instructions,
            user_persona=self._scenario.user_persona,
        )
        request = LlmRequest(
            model=self._model.model,
            contents=[types.Content(role="user", parts=[types.Part(text=prompt)])],
            config=self._config.model_configuration.model_copy(deep=True),
        )
        text, reason = "", "it answered with no text"
        async with Aclosing(self._model.generate_content_async(request)) as responses:
            async for response in responses:
                if response.error_code:
                    text, reason = "", f"{response.error_code}: {response.error_message}"
                    break
                parts = response.content.parts if response.content is not None else None
                text += "".join(part.text or "" for part in parts or () if not part.thought)
        if not text.strip():
            raise RuntimeError(
                f"The simulated user ({self._model.model}) wrote no message: {reason}."
            )
        return text


def _format_history(events: list[Event], with_calls: bool) -> str:
    """Return a conversation as text, without thoughts."""
    lines: list[str] = []
    for event in events:
        parts = event.content.parts if event.content is not None else None
        for part in parts or ():
            if part.text and not part.thought:
                lines.append(f"{event.author}: {part.text}")
            elif with_calls and part.function_call is not None:
                call = part.function_call
                lines.append(f"{event.author} called the tool {call.name!r} with {call.args}")
            elif with_calls and part.function_response is not None:
                answer = part.function_response
                lines.append(f"The tool {answer.name!r} returned {answer.response}")
    return "\n\n".join(lines)
