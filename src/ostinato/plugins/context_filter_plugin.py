"""ContextFilterPlugin: shows the model the last invocations only, or what a function leaves."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import TypeAlias

from .. import types
from .._log import get_logger
from ..context.context import Context as CallbackContext
from ..errors import AgentConfigError
from ..models.llm_request import LlmRequest
from ..models.llm_response import LlmResponse
from .base_plugin import BasePlugin

logger = get_logger(__name__)

_Key: TypeAlias = tuple[str | None, str | None]


class ContextFilterPlugin(BasePlugin):
    """Leaves old contents out of each request; the session keeps them (FEATURES row 158).

    An invocation begins with the user's words, which may come in several contents, and reaches to
    the next. A response is never shown without its call: where cutting would part them, more is
    kept.

    Args:
      num_invocations_to_keep: how many of the last invocations to show, the present one included;
        None and numbers below 1 show all.
      custom_filter: takes the contents that are left and returns those to show; a call or response
        whose other half it left out is left out too. One that raises is logged, and the contents
        stay as they were.
      name: unique among an app's plugins.
      remove_amount: cut only when at least this many invocations go at once, so that the beginning
        of the request, which providers cache, changes less often.

    Raises:
      AgentConfigError: `remove_amount` is below 1.
    """

    def __init__(
        self,
        num_invocations_to_keep: int | None = None,
        custom_filter: Callable[[list[types.Content]], list[types.Content]] | None = None,
        name: str = "context_filter_plugin",
        remove_amount: int = 1,
    ) -> None:
        super().__init__(name)
        if remove_amount < 1:
            raise AgentConfigError(
                f"ContextFilterPlugin: remove_amount is {remove_amount}, but must be at least 1."
            )
        self._keep = num_invocations_to_keep
        self._filter = custom_filter
        self._remove_amount = remove_amount

    async def before_model_callback(
        self, *, callback_context: CallbackContext, llm_request: LlmRequest
    ) -> LlmResponse | None:
        """Cut the request's contents."""
        contents = llm_request.contents
        if self._keep is not None and self._keep > 0:
            starts = invocation_starts(contents)
            if len(starts) >= self._keep + self._remove_amount:
                contents = contents[start_with_calls(contents, starts[-self._keep]) :]
        if self._filter is not None:
            try:
                contents = restore_pairs(list(self._filter(list(contents))), contents)
            except Exception:  # boundary: a user's filter; the contents stay as they were
                logger.error(
                    "The custom_filter of plugin %r failed; the model sees all contents.",
                    self.name,
                    exc_info=True,
                )
                return
        llm_request.contents = contents


def invocation_starts(contents: Sequence[types.Content]) -> list[int]:
    """Return where each run of the user's own words begins; answers to calls do not count."""
    starts: list[int] = []
    for index, content in enumerate(contents):
        if _is_users_words(content) and (index == 0 or not _is_users_words(contents[index - 1])):
            starts.append(index)
    return starts


def start_with_calls(contents: Sequence[types.Content], start: int) -> int:
    """Return where to cut, at `start` or before, so that every response keeps its call."""
    missing: Counter[_Key] = Counter()
    for index in range(len(contents) - 1, -1, -1):
        if index < start and not missing:
            break
        parts = contents[index].parts or []
        for part in parts:
            if part.function_response:
                key = _key(part.function_response)
                # Calls with an id are answered twice where an interim result came first.
                missing[key] = 1 if key[0] else missing[key] + 1
        missing -= Counter(_key(part.function_call) for part in parts if part.function_call)
        start = min(start, index)
    return start


def restore_pairs(
    contents: Sequence[types.Content], before: Sequence[types.Content]
) -> list[types.Content]:
    """Return contents without the calls and responses that have lost their other half.

    Args:
      contents: what a filter left.
      before: what it was given; calls that had no response there may stay without one.
    """
    alone = _alone(contents)
    waiting = {_key(part.function_call) for part in _alone(before) if part.function_call}
    lost = {
        id(part)
        for part in alone
        if not (part.function_call and _key(part.function_call) in waiting)
    }
    if not lost:
        return list(contents)
    left: list[types.Content] = []
    for content in contents:
        parts = [part for part in content.parts or [] if id(part) not in lost]
        if len(parts) == len(content.parts or []):
            left.append(content)
        elif parts:
            left.append(content.model_copy(update={"parts": parts}))
    return left


def _alone(contents: Sequence[types.Content]) -> list[types.Part]:
    """Return the calls without a response and the responses without a call before them."""
    calls: dict[_Key, list[types.Part]] = {}
    answered: set[_Key] = set()
    alone: list[types.Part] = []
    for part in (part for content in contents for part in content.parts or []):
        if part.function_call:
            calls.setdefault(_key(part.function_call), []).append(part)
        elif part.function_response:
            key = _key(part.function_response)
            if calls.get(key):
                calls[key].pop(0)
                answered.add(key)
            elif not (key[0] and key in answered):
                alone.append(part)
    return [*alone, *(part for parts in calls.values() for part in parts)]


def _key(half: types.FunctionCall | types.FunctionResponse) -> _Key:
    """Return what a call and its response share; the ids that this runtime gave are not shown."""
    return (half.id, None) if half.id else (None, half.name)


def _is_users_words(content: types.Content) -> bool:
    parts = content.parts or []
    return content.role == "user" and not any(part.function_response for part in parts)
