"""Base of every credential and scheme record: pydantic configuration, and `repr` without secrets.

The events import these records, so validators are compiled at their first use.
"""

from collections.abc import Iterator
from typing import Any

from pydantic import BaseModel, ConfigDict
from pydantic.alias_generators import to_camel

# Fields whose values let their holder act as the user or the client.
SECRET_FIELDS = frozenset(
    (
        "access_token",
        "additional_headers",
        "api_key",
        "auth_code",
        "auth_response_uri",
        "client_secret",
        "code_verifier",
        "id_token",
        "password",
        "private_key",
        "private_key_id",
        "refresh_token",
        "token",
    )
)


class _Hidden:
    def __repr__(self) -> str:
        return "***"


_HIDDEN = _Hidden()


def json_name(field: str) -> str:
    """`project_id` -> `projectId`; `type_` -> `type` (the underscore avoids a Python word)."""
    return to_camel(field.rstrip("_"))


class BaseModelWithConfig(BaseModel):
    """A record with camelCase JSON that keeps fields it does not know.

    Its `repr` and `str` hide secrets and the values of unknown fields; a validation error does not
    show the value that was refused.
    """

    model_config = ConfigDict(
        alias_generator=json_name,
        populate_by_name=True,
        extra="allow",
        from_attributes=True,
        defer_build=True,
        hide_input_in_errors=True,
    )

    def __repr_args__(self) -> Iterator[tuple[str | None, Any]]:
        unknown = self.model_extra or {}
        for name, value in super().__repr_args__():
            secret = name in SECRET_FIELDS or name in unknown
            yield name, _HIDDEN if secret and value is not None else value
