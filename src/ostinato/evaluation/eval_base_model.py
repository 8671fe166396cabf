"""EvalBaseModel: base of the records in evaluation files."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self, cast

from pydantic import (
    BaseModel,
    ConfigDict,
    SerializationInfo,
    SerializerFunctionWrapHandler,
    ValidationError,
    model_validator,
)
from pydantic import model_serializer as serialize_model
from pydantic.alias_generators import to_camel
from pydantic_core import InitErrorDetails

ADK_230 = "2.3.0"
"""The version of google-adk whose files hold no newer fields."""


class TwoSpellingsModel(BaseModel):
    """A record whose fields are written in snake_case or camelCase, and each only once."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, defer_build=True)

    @model_validator(mode="before")
    @classmethod
    def _refuse_both_spellings(cls, data: Any) -> Any:
        refuse_both_spellings(data)
        return data


def refuse_both_spellings(data: Any) -> None:
    """Raise ValueError if an object has a field in snake_case and in camelCase.

    Args:
      data: the object as a dict, or anything else.
    """
    names = cast(dict[Any, Any], data) if isinstance(data, dict) else {}
    for name in names:
        other = to_camel(name) if isinstance(name, str) and "_" in name else name
        if other != name and other in names:
            raise ValueError(
                f"{name!r} and {other!r} are two spellings of one field, and only one of them "
                "would count; leave one out"
            )


class CommentedModel(TwoSpellingsModel):
    """A record that may hold comments, whose names begin with `_`, `$`, `#` or `/`.

    Other unknown fields are refused: a misspelled expectation would never be checked.
    """

    model_config = ConfigDict(extra="allow")

    @model_validator(mode="after")
    def _refuse_unknown(self) -> Self:
        refuse_unknown(type(self), self.model_extra or {})
        return self


def refuse_unknown(kind: type[BaseModel], unknown: Mapping[str, Any], *place: str) -> None:
    """Raise ValidationError if unknown fields of a record are not comments.

    Args:
      kind: the class of the record.
      unknown: the fields.
      place: the path of the object that has them in the record.
    """
    problems: list[InitErrorDetails] = [
        {"type": "extra_forbidden", "loc": (*place, name), "input": value}
        for name, value in unknown.items()
        if not is_comment(name)
    ]
    if problems:
        raise ValidationError.from_exception_data(kind.__name__, problems)


def is_comment(name: str) -> bool:
    """Return whether the name of a field says that it is a comment.

    Args:
      name: the name.
    """
    return name[:1] in tuple("_$#/")


class EvalBaseModel(TwoSpellingsModel):
    """A record of an evaluation file; unknown fields are refused."""

    model_config = ConfigDict(
        extra="forbid",
        arbitrary_types_allowed=True,
        protected_namespaces=(),
        ser_json_bytes="base64",
        val_json_bytes="base64",
    )


class NewerFieldsModel(EvalBaseModel):
    """A record with fields that google-adk 2.3.0 refuses.

    They are left out if the serialization context is `{"adk": "2.3.0"}`.
    """

    newer_fields: ClassVar[frozenset[str]] = frozenset()

    @serialize_model(mode="wrap")
    def _leave_newer_out(
        self, handler: SerializerFunctionWrapHandler, info: SerializationInfo
    ) -> dict[str, Any]:
        written: dict[str, Any] = handler(self)
        context: Any = info.context
        if isinstance(context, dict) and context.get("adk") == ADK_230:  # pyright: ignore[reportUnknownMemberType]
            for name in self.newer_fields:
                written.pop(name, None)
                written.pop(to_camel(name), None)
        return written
