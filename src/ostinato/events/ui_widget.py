"""UiWidget: a widget that a tool asks the user interface to render."""

from typing import Any, cast

from pydantic import BaseModel, ConfigDict, Field, model_validator
from pydantic.alias_generators import to_camel

from .. import _clock


class UiWidget(BaseModel):
    """A widget carried in `EventActions.render_ui_widgets` (Spec 4 §8).

    `UiWidget(iframe_url=..., title=...)` is accepted too and becomes provider `iframe`.

    Attributes:
      id: id of this widget, unique within the event.
      provider: who renders it, such as `mcp` or `iframe`.
      payload: what the provider needs, as JSON.
    """

    model_config = ConfigDict(
        extra="forbid", alias_generator=to_camel, populate_by_name=True, defer_build=True
    )

    id: str
    provider: str
    payload: dict[str, Any] = Field(default_factory=dict)

    @model_validator(mode="before")
    @classmethod
    def _accept_iframe_form(cls, data: Any) -> Any:
        if not isinstance(data, dict) or "iframe_url" not in data:
            return cast(Any, data)
        fields = cast(dict[str, Any], data)
        payload = {k: v for k, v in fields.items() if k in ("iframe_url", "title")}
        rest = {k: v for k, v in fields.items() if k not in payload}
        return {"id": _clock.new_id(), "provider": "iframe", "payload": payload} | rest
