"""Budget: the limits of an invocation, and BudgetUsage: its usage so far.

All contexts of a run share one BudgetUsage, including sub-agents, parallel branches and agents of
AgentTool. The flow checks it before each model and tool call.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable
from typing import Any, NoReturn, TypeVar

from pydantic import BaseModel, ConfigDict, Field

from ..errors import AgentConfigError, BudgetExceededError
from ..models.llm_response import LlmResponse
from ..sessions.log.event_log import EventLog
from ..types import GenerateContentResponseUsageMetadata
from .model_prices import find_list_price

_R = TypeVar("_R")
_MILLION = 1_000_000
# Requests to the user are calls, but not tools.
_REQUESTS = "adk_request_"


class Price(BaseModel):
    """The price of a million tokens of a model, in any currency.

    Attributes:
      input: tokens of the prompt.
      output: tokens of the answer, those of its thoughts included.
      cached: cached tokens of the prompt; the price of `input` if None.
    """

    model_config = ConfigDict(extra="forbid", defer_build=True)

    input: float = Field(ge=0, allow_inf_nan=False)
    output: float = Field(ge=0, allow_inf_nan=False)
    cached: float | None = Field(default=None, ge=0, allow_inf_nan=False)

    def of(self, usage: GenerateContentResponseUsageMetadata) -> float:
        """Return the cost of one response."""
        cached = usage.cached_content_token_count or 0
        fresh = (usage.prompt_token_count or 0) + (usage.tool_use_prompt_token_count or 0) - cached
        made = (usage.candidates_token_count or 0) + (usage.thoughts_token_count or 0)
        kept = self.input if self.cached is None else self.cached
        return (max(fresh, 0) * self.input + cached * kept + made * self.output) / _MILLION


class Budget(BaseModel):
    """The limits of one invocation; None sets no limit.

    Limits are checked before each model and tool call, so the response that exceeds one is still
    stored, and an invocation that needs no further call ends as usual.

    Attributes:
      max_tokens: tokens of all model calls, prompts and answers, as the models report them.
      max_tool_calls: tools that run; a call that a hook answers does not count.
      max_seconds: running time since the start or the resumption of the run; the current model
        call or tool is then cancelled.
      max_cost: cost of all model calls, in the currency of `prices`.
      prices: the prices of the models, by the agents' model names; if there are none, the list
        prices of `model_prices` count, in US dollars.
    """

    model_config = ConfigDict(extra="forbid", defer_build=True)

    max_tokens: int | None = Field(default=None, ge=1)
    max_tool_calls: int | None = Field(default=None, ge=0)
    max_seconds: float | None = Field(default=None, gt=0, allow_inf_nan=False)
    max_cost: float | None = Field(default=None, gt=0, allow_inf_nan=False)
    prices: dict[str, Price] = Field(default_factory=dict[str, Price])

    def over(self, other: Budget | None) -> Budget:
        """Return this budget, with `other`'s limits and prices as defaults."""
        if other is None:
            return self
        mine = {name: value for name in _LIMITS if (value := getattr(self, name)) is not None}
        return other.model_copy(update={**mine, "prices": {**other.prices, **self.prices}})

    def find_price(self, model: str) -> Price | None:
        """Return the price of a model, or None if it is not known.

        Prices of your own replace all list prices, because their currency may be another.

        Args:
          model: the name that an agent gives its model.
        """
        if self.prices:
            return self.prices.get(model)
        listed = find_list_price(model)
        return None if listed is None else Price(**listed._asdict())


_LIMITS = ("max_tokens", "max_tool_calls", "max_seconds", "max_cost")


class BudgetUsage:
    """The usage of an invocation's budget; create it in the run's event loop.

    Attributes:
      tokens, tool_calls, cost: usage so far, in the units of the Budget.
    """

    def __init__(self, budget: Budget) -> None:
        self.tokens = 0
        self.tool_calls = 0
        self.cost = 0.0
        self._budget = budget
        self._prices: dict[str, Price | None] = {}
        self._refused = False  # a tool call; the run ends even if the error is handled
        self._loop = asyncio.get_running_loop()
        self._began = self._loop.time()

    def begin_model_call(self, agent: Any) -> None:
        """Check that the budget allows a model call.

        Raises:
          BudgetExceededError: a limit is reached.
          AgentConfigError: `max_cost` is set, and the agent's model has no price.
        """
        self._check_limits(agent.name)
        budget = self._budget
        if self._refused:
            self._raise_exceeded(agent.name, "max_tool_calls", f"{self.tool_calls} tool calls")
        model = agent.canonical_model.model
        if budget.max_cost is not None and self._find_price(model) is None:
            known = ", ".join(map(repr, budget.prices)) or "none, and no list price is known"
            raise AgentConfigError(
                f"Agent {agent.name!r} uses the model {model!r}, for which Budget.prices has no "
                f"price (it has: {known}), and max_cost is set. Add prices={{{model!r}: "
                "Price(input=..., output=...)}."
            )

    def begin_tool_call(self, agent: Any) -> None:
        """Check that the budget allows a tool call, and count it.

        Raises:
          BudgetExceededError: a limit is reached.
        """
        self._check_limits(agent.name)
        allowed = self._budget.max_tool_calls
        if allowed is not None and self.tool_calls >= allowed:
            self._refused = True
            self._raise_exceeded(agent.name, "max_tool_calls", f"{self.tool_calls} tool calls")
        self.tool_calls += 1

    async def next_response(
        self, responses: AsyncIterator[LlmResponse], agent: Any
    ) -> LlmResponse | None:
        """Wait for a model's next response and count it; None at the end.

        Raises:
          BudgetExceededError: the time is up.
        """
        response = await self.in_time(anext(responses, None), agent)
        if isinstance(response, LlmResponse) and not response.partial:
            self.count(response.usage_metadata, agent.canonical_model.model)
        return response

    async def in_time(self, work: Awaitable[_R], agent: Any) -> _R:
        """Wait for a model or a tool; cancel it when the time is up.

        Raises:
          BudgetExceededError: the time is up.
        """
        seconds = self._budget.max_seconds
        if seconds is None:
            return await work
        limit = asyncio.timeout_at(self._began + seconds)
        try:
            async with limit:
                return await work
        except TimeoutError:
            if not limit.expired():
                raise
        used = f"{self._seconds:.3g} seconds"
        self._raise_exceeded(agent.name, "max_seconds", used, cuts_call=True)

    def count(self, usage: GenerateContentResponseUsageMetadata | None, model: str) -> None:
        """Count the usage of one response."""
        if usage is None:
            return
        self.tokens += usage.total_token_count or sum(
            count or 0
            for count in (
                usage.prompt_token_count,
                usage.tool_use_prompt_token_count,
                usage.candidates_token_count,
                usage.thoughts_token_count,
            )
        )
        if self._budget.max_cost is None and not self._budget.prices:
            return
        price = self._find_price(model)
        if price is not None:
            self.cost += price.of(usage)

    def _find_price(self, model: str) -> Price | None:
        if model not in self._prices:
            self._prices[model] = self._budget.find_price(model)
        return self._prices[model]

    def restore_usage(self, log: EventLog, invocation_id: str, root_agent: Any) -> None:
        """Count the tokens and tool calls of a resumed invocation in the log.

        The log lacks the usage of agents that AgentTool ran to their end.

        Args:
          log: the session's events.
          invocation_id: the invocation; a new one has no events.
          root_agent: the agent tree, which knows the models.
        """
        run: set[str | None] = set()
        answered: set[str | None] = set()
        for record in log.invocation(invocation_id):
            answered.update(call_id for call_id, _ in record.responses)
            if record.author == "user":
                continue
            run.update(call_id for call_id, name in record.calls if not name.startswith(_REQUESTS))
            answered |= record.long_running  # it ran, even if the answer comes from outside
            agent = root_agent.find_agent(record.author)
            model = getattr(agent, "canonical_model", None)
            self.count(record.event().usage_metadata, model.model if model is not None else "")
        self.tool_calls += len(run & answered)

    @property
    def _seconds(self) -> float:
        return self._loop.time() - self._began

    def _check_limits(self, agent: str) -> None:
        budget = self._budget
        if budget.max_tokens is not None and self.tokens >= budget.max_tokens:
            self._raise_exceeded(agent, "max_tokens", f"{self.tokens} tokens")
        if budget.max_cost is not None and self.cost >= budget.max_cost:
            self._raise_exceeded(agent, "max_cost", f"a cost of {self.cost:.6g}")
        if budget.max_seconds is not None and self._seconds >= budget.max_seconds:
            self._raise_exceeded(agent, "max_seconds", f"{self._seconds:.3g} seconds")

    def _raise_exceeded(
        self, agent: str, limit: str, used: str, *, cuts_call: bool = False
    ) -> NoReturn:
        error = BudgetExceededError(
            f"Agent {agent!r} must stop: the invocation has used {used}, and its budget allows "
            f"{limit}={getattr(self._budget, limit)}. Raise it in RunConfig.budget or App.budget."
        )
        error.cuts_call = cuts_call
        raise error
