"""What the log says about a node's run, read from events alone."""

from __future__ import annotations

from typing import Any

from ostinato import types
from ostinato.events import Event, EventActions, NodeInfo
from ostinato.sessions.log.event_log import EventLog, EventRecord
from ostinato.workflow.rehydrate import Past, PastRun

PATH = "flow@1/clerk@1"


def calls(call_id: str) -> types.Content:
    call = types.FunctionCall(id=call_id, name="order", args={})
    return types.Content(role="model", parts=[types.Part(function_call=call)])


def answers(call_id: str) -> types.Content:
    answer = types.FunctionResponse(id=call_id, name="order", response={"result": "it is here"})
    return types.Content(role="user", parts=[types.Part(function_response=answer)])


def of_clerk(content: types.Content | None, *, said: bool = False, **fields: Any) -> Event:
    info = NodeInfo(path=PATH, message_as_output=said or None)
    return Event(author="clerk", invocation_id="i", node_info=info, content=content, **fields)


def read(events: list[Event]) -> PastRun:
    past = Past("i")
    past.read_log(EventLog(EventRecord.of(event) for event in events))
    return past.runs[PATH]


def test_an_agent_that_goes_on_after_a_late_result_has_not_ended() -> None:
    words = types.Content(role="model", parts=[types.Part(text="Ordered.")])
    events = [
        Event(author="user", invocation_id="i", content=types.Content(role="user", parts=[])),
        of_clerk(calls("late"), long_running_tool_ids={"late"}),
        of_clerk(words, said=True),
        of_clerk(None, actions=EventActions(end_of_agent=True)),
    ]
    assert read(events).closed and read(events).finished is not None
    events.append(Event(author="user", invocation_id="i", content=answers("late")))
    assert read(events).has_new_answer
    events.append(of_clerk(calls("next")))
    assert read(events).finished is None and not read(events).closed
    events += [of_clerk(answers("next")), of_clerk(words, said=True)]
    assert read(events).finished is not None
