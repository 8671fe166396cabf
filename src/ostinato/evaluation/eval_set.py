"""EvalSet: the cases of one file."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from .eval_case import EvalCase


class EvalSet(BaseModel):
    """A named set of cases; the content of `<eval_set_id>.evalset.json`.

    Attributes:
      eval_set_id: its id.
      name, description: for people.
      eval_cases: the cases.
      creation_timestamp: seconds since 1970.
    """

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, defer_build=True)

    eval_set_id: str
    name: str | None = None
    description: str | None = None
    eval_cases: list[EvalCase]
    creation_timestamp: float = Field(default=0.0)
