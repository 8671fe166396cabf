"""EvalBaseModel: base of the records in evaluation files."""

from __future__ import annotations

from typing import Any, ClassVar

from pydantic import BaseModel, ConfigDict, SerializationInfo, SerializerFunctionWrapHandler
from pydantic import model_serializer as serialize_model
from pydantic.alias_generators import to_camel

ADK_230 = "2.3.0"
"""The version of google-adk whose files hold no newer fields."""


class EvalBaseModel(BaseModel):
    """A record of an evaluation file: snake_case or camelCase, unknown fields refused."""

    model_config = ConfigDict(
        alias_generator=to_camel,
        populate_by_name=True,
        extra="forbid",
        arbitrary_types_allowed=True,
        protected_namespaces=(),
        ser_json_bytes="base64",
        val_json_bytes="base64",
        defer_build=True,
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
