"""The base of every credential, scheme and confirmation record: one pydantic configuration.

Here because these records sit on the ground floor, are imported by the events, and must cost next
to nothing until somebody builds one (validators are compiled at first use).
"""

from pydantic import BaseModel, ConfigDict
from pydantic.alias_generators import to_camel


def json_name(field: str) -> str:
    """`project_id` -> `projectId`; `type_` -> `type` (the underscore avoids a Python word)."""
    return to_camel(field.rstrip("_"))


class BaseModelWithConfig(BaseModel):
    """A record with camelCase JSON that keeps fields it does not know."""

    model_config = ConfigDict(
        alias_generator=json_name,
        populate_by_name=True,
        extra="allow",
        from_attributes=True,
        defer_build=True,
    )
