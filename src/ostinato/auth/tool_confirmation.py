"""The human's yes or no to a tool call: asked for by a tool, answered by the client.

Kept on the ground floor because event actions carry it; `ostinato.tools.tool_confirmation` is the
path that users import.
"""

from typing import Any, Optional

from pydantic import BaseModel, ConfigDict
from pydantic.alias_generators import to_camel


class ToolConfirmation(BaseModel):
    """A request for confirmation, or the answer to it.

    `hint` tells the human what is asked, `payload` is any JSON that the tool wants filled in, and
    `confirmed` is the answer (False until there is one).
    """

    model_config = ConfigDict(
        extra="forbid",
        alias_generator=to_camel,
        populate_by_name=True,
        from_attributes=True,
        defer_build=True,
    )

    hint: str = ""
    confirmed: bool = False
    payload: Optional[Any] = None
