"""The keys and defaults of records as programs store them: dumps of events, sessions, requests."""

from google.adk.events import Event, EventActions
from google.adk.models import LlmResponse
from google.adk.sessions import Session
from google.genai import types
from showing import show


def shape(value):
    if isinstance(value, dict):
        return {key: shape(item) for key, item in value.items()}
    if isinstance(value, (list, tuple, set)):
        return f"{type(value).__name__} of {len(value)}"
    return type(value).__name__ if isinstance(value, (float, str)) and value else value


event = Event(author="a", content=types.ModelContent("hi"), invocation_id="i")
show(event=shape(event.model_dump(exclude={"content"})))
show(actions=shape(EventActions().model_dump(by_alias=True)))
show(session=shape(Session(id="s", app_name="a", user_id="u").model_dump(by_alias=True)))
show(response=shape(LlmResponse().model_dump(mode="json")))
show(copy=event.model_copy() == event, deep=event.model_copy(deep=True) == event)
show(alias=Event.model_validate({"author": "a", "invocationId": "i"}).invocation_id)
show(both=Event(author="a", invocationId="i").invocation_id)
event.custom_metadata = {"k": 1}
event.actions.state_delta["x"] = 1
show(set=event.custom_metadata, delta=event.actions.state_delta)
show(fields=sorted(set(Event.model_fields) - {"environment_id"}))
