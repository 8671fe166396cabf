"""RateLimit: how much may be asked of a model in a minute, by the whole process. ProviderLlm takes
a turn before each request.
"""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Hashable

from pydantic import BaseModel, ConfigDict, Field

from ..errors import ModelRateLimitError
from . import _waiting
from .llm_response import LlmResponse

_MINUTE = 60.0


class RateLimit(BaseModel):
    """Requests and tokens in any minute; None sets no limit.

    Requests wait in the order in which they came. What a request will take in tokens is not known
    before its answer: it is taken to be what the one before took, and put right afterwards.

    Attributes:
      requests_per_minute: requests.
      tokens_per_minute: tokens of prompts and answers, as the model reports them.
      max_wait: seconds a request waits at most; one that would wait longer fails at once.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    requests_per_minute: int | None = Field(default=None, ge=1)
    tokens_per_minute: int | None = Field(default=None, ge=1)
    max_wait: float = Field(default=60.0, ge=0)

    async def take(self, key: Hashable, *, model: str, provider: str = "") -> Turn:
        """Wait for a turn; one that is given up while it waits leaves its place to others.

        Args:
          key: what shares the limit: all turns in the process with the same key.
          model: the model's name, for errors.
          provider: the provider's name, for errors.

        Returns:
          The turn, to count the answer's tokens with.

        Raises:
          ModelRateLimitError: it would wait longer than `max_wait`.
        """
        with _lock:
            window = _windows.setdefault(key, _Window())
        turn, wait = window.take(self)
        if turn is None:
            error = ModelRateLimitError(
                f"{provider or 'The'} model {model!r} is limited by its RateLimit "
                f"({self._words()}), and the next free turn is in {wait:.1f} s; max_wait is "
                f"{self.max_wait:g} s. Ask less at once, or raise the limit or max_wait.",
                provider=provider,
                model=model,
                status=429,
                retry_after=wait,
            )
            error.retryable = False  # it has been waited for already
            raise error
        if wait > 0:
            try:
                await _waiting.sleep(wait)
            except asyncio.CancelledError:
                window.give_up(turn)
                raise
        return turn

    def _words(self) -> str:
        limits = {"requests": self.requests_per_minute, "tokens": self.tokens_per_minute}
        return ", ".join(f"{n} {name} a minute" for name, n in limits.items() if n is not None)


class Turn:
    """One request's place in the minute."""

    __slots__ = ("_window", "start", "tokens")

    def __init__(self, window: _Window, start: float, tokens: int) -> None:
        self._window, self.start, self.tokens = window, start, tokens

    def count(self, response: LlmResponse) -> None:
        """Put right what the request took, once its answer says so."""
        usage = response.usage_metadata
        if usage is not None and usage.total_token_count:
            self._window.correct(self, usage.total_token_count)


class _Window:
    """The turns of the last minute and those that wait, by their start."""

    def __init__(self) -> None:
        self._lock = threading.Lock()  # turns may be taken in several event loops
        self._turns: deque[Turn] = deque()
        self._tokens = 0
        self._usual = 0

    def take(self, limit: RateLimit) -> tuple[Turn | None, float]:
        """Return a turn and the seconds until it starts; no turn where that is too long."""
        with self._lock:
            now = _waiting.now()
            while self._turns and self._turns[0].start + _MINUTE <= now:
                self._tokens -= self._turns.popleft().tokens
            start = max(now, self._turns[-1].start if self._turns else now)
            requests, tokens = len(self._turns), self._tokens
            for turn in self._turns:
                if _fits(requests + 1, limit.requests_per_minute) and (
                    not tokens or _fits(tokens + self._usual, limit.tokens_per_minute)
                ):
                    break
                if turn.start + _MINUTE > start:
                    start = turn.start + _MINUTE
                requests, tokens = requests - 1, tokens - turn.tokens
            if start - now > limit.max_wait:
                return None, start - now
            mine = Turn(self, start, self._usual)
            self._turns.append(mine)
            self._tokens += mine.tokens
            return mine, start - now

    def give_up(self, turn: Turn) -> None:
        """Take a turn that was not used out."""
        with self._lock:
            if turn in self._turns:
                self._turns.remove(turn)
                self._tokens -= turn.tokens

    def correct(self, turn: Turn, tokens: int) -> None:
        """Note what a request took."""
        with self._lock:
            self._usual = tokens
            if turn in self._turns:
                self._tokens += tokens - turn.tokens
                turn.tokens = tokens


def _fits(wanted: int, limit: int | None) -> bool:
    return limit is None or wanted <= limit


_lock = threading.Lock()
_windows: dict[Hashable, _Window] = {}
