"""One message and the answer it should get."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict

from ..types import Content


class Example(BaseModel):
    """A message of the user and how a model should answer it (Spec 1 §10).

    Attributes:
      input: the message.
      output: the answer, in steps: calls of tools, their responses, the final text.
    """

    model_config = ConfigDict(defer_build=True)

    input: Content
    output: list[Content]
