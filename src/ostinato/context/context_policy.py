"""ContextPolicy: how much of a conversation's tool results a request holds."""

from __future__ import annotations

from typing import Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

CHARS_PER_TOKEN = 4
"""Characters of JSON that count as one token. The providers' tokenizers lie between 3 and 5."""


class ContextPolicy(BaseModel):
    """Limits on tool results in the requests of an app (`App(context=...)`).

    Tokens of results are estimated, as no provider counts a part of a request: four characters of
    JSON are a token.

    Attributes:
      result_tokens: a larger result becomes an artifact, and the log holds its beginning. Without
        an artifact service the log holds all of it, and requests its beginning.
      preview_tokens: the length of such a beginning.
      history_tokens: what all results in a request may hold together. Above it the oldest are left
        out, until half of it is left, so that the start of the prompt changes rarely.
      read_tokens: the most JSON that one call of `read_result` returns, within `result_tokens`.

    Raises:
      ValidationError: a limit is too small, or a smaller one exceeds a larger one.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)

    result_tokens: int = Field(default=4_000, ge=50)
    preview_tokens: int = Field(default=250, ge=10)
    history_tokens: int = Field(default=40_000, ge=100)
    read_tokens: int = Field(default=2_000, ge=50)

    @model_validator(mode="after")
    def _check_order(self) -> Self:
        for small, large in (
            ("preview_tokens", "result_tokens"),
            ("result_tokens", "history_tokens"),
            ("read_tokens", "history_tokens"),
        ):
            if getattr(self, small) > getattr(self, large):
                raise ValueError(
                    f"{small} of a ContextPolicy is {getattr(self, small)}, which is more than its "
                    f"{large} of {getattr(self, large)}; lower {small} or raise {large}."
                )
        return self

    @property
    def result_chars(self) -> int:
        """`result_tokens` in characters."""
        return self.result_tokens * CHARS_PER_TOKEN

    @property
    def preview_chars(self) -> int:
        """`preview_tokens` in characters."""
        return self.preview_tokens * CHARS_PER_TOKEN

    @property
    def history_chars(self) -> int:
        """`history_tokens` in characters."""
        return self.history_tokens * CHARS_PER_TOKEN

    @property
    def read_chars(self) -> int:
        """`read_tokens` in characters."""
        return self.read_tokens * CHARS_PER_TOKEN
