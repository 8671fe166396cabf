"""Judge: a model of the registry that gives several verdicts, some at once, cached."""

from __future__ import annotations

import asyncio
import hashlib
from collections import OrderedDict

from .. import types
from .._aborted_tool import ABORTS, as_tool_error
from .._aclosing import Aclosing
from .._task_group import TaskGroup
from ..models.base_llm import BaseLlm
from ..models.llm_request import LlmRequest
from ..models.llm_response import LlmResponse
from ..models.registry import LLMRegistry
from .eval_metrics import JudgeModelOptions
from .llm_as_judge_utils import get_text_from_content

_CACHED = 4096

_cache: OrderedDict[str, list[LlmResponse]] = OrderedDict()


def forget_verdicts() -> None:
    """Empty the cache of verdicts of this process."""
    _cache.clear()


class Judge:
    """Asks a judge model the same question several times.

    The same prompt to the same model with the same settings is asked once per process.

    Args:
      options: model, settings, number of samples and of parallel requests.
      model: the model object, in place of the one that `options` names.

    Raises:
      ModelUnavailableError: no model has this name.
    """

    def __init__(self, options: JudgeModelOptions, model: BaseLlm | None = None) -> None:
        self.options = options
        self.model = model or LLMRegistry.new_llm(options.judge_model)

    async def ask(self, prompt: str, *, samples: int | None = None) -> list[str]:
        """Return the texts of the answers.

        Args:
          prompt: the question.
          samples: number of answers; by default that of the options.

        Raises:
          ProviderError: the model cannot be reached, or refuses.
        """
        responses = await self.ask_responses(prompt, samples=samples)
        return [get_text_from_content(one.content) or "" for one in responses]

    async def ask_responses(self, prompt: str, *, samples: int | None = None) -> list[LlmResponse]:
        """Return the answers as responses; arguments as for `ask`."""
        wanted = samples or self.options.num_samples
        key = self._key_of(prompt)
        known = _cache.get(key, [])
        if len(known) < wanted:
            limit = asyncio.Semaphore(self.options.parallelism_limit)
            async with TaskGroup() as tasks:
                asked = [
                    tasks.create_task(self._ask_once(prompt, limit))
                    for _ in range(wanted - len(known))
                ]
            answers = [*known, *(task.result() for task in asked)]
            # A failed answer is not cached: the next evaluation asks again.
            _cache[key] = known = [one for one in answers if one.content and not one.error_code]
            if len(_cache) > _CACHED:
                _cache.popitem(last=False)
            return answers[:wanted]
        return known[:wanted]

    def _key_of(self, prompt: str) -> str:
        config = self.options.judge_model_config
        settings = config.model_dump_json(exclude_none=True, fallback=str) if config else ""
        maker = f"{type(self.model).__module__}.{type(self.model).__qualname__}"
        parts = (maker, self.model.model, settings, prompt)
        return hashlib.sha256("\0".join(parts).encode()).hexdigest()

    async def _ask_once(self, prompt: str, limit: asyncio.Semaphore) -> LlmResponse:
        config = self.options.judge_model_config
        request = LlmRequest(
            model=self.model.model,
            contents=[types.Content(role="user", parts=[types.Part(text=prompt)])],
            config=config.model_copy(deep=True) if config else types.GenerateContentConfig(),
        )
        last = LlmResponse()
        try:
            async with limit, Aclosing(self.model.generate_content_async(request)) as responses:
                async for response in responses:
                    if not response.partial:
                        last = response
        except ABORTS as abort:  # asyncio would stop the loop at a SystemExit of this task
            raise as_tool_error(abort, f"The judge model {self.model.model!r}") from abort
        return last
