"""Which task a message of the user belongs to, and who had given it. Read from the log alone."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from typing import Any, NamedTuple

from .. import types
from ..agents.base_agent import BaseAgent
from ..agents.llm_agent import LlmAgent
from ..agents.node_agent import NodeAgent, within
from ..context.delegation import branch_of_call
from ..context.invocation import InvocationContext
from ..events.event import Event
from ..flows.llm_flows.delegation import is_rewound, run_after_tasks
from ..sessions.event_log import EventLog, EventRecord
from ..workflow.requests import is_request


class Whereto(NamedTuple):
    """Where in a session a message is said.

    Attributes:
      branch: its branch.
      scope: its isolation scope.
      asked: the record of the call whose task it belongs to; None for no task.
    """

    branch: str | None = None
    scope: str | None = None
    asked: EventRecord | None = None


Run = Callable[[InvocationContext], AsyncGenerator[Event, None]]


def after_tasks(run: Run) -> Run:
    """Return a run that first goes on with the tasks that its agent has open."""

    def run_after(ctx: InvocationContext) -> AsyncGenerator[Event, None]:
        return run_after_tasks(ctx, run) if isinstance(ctx.agent, LlmAgent) else run(ctx)

    return run_after


def where_answered(log: EventLog, message: types.Content) -> Whereto:
    """Return where the calls were made that a message answers; nowhere in particular where they are
    in several places, so that each of their agents sees it, and where a workflow node asked, which
    finds it anywhere.
    """
    answers = [p.function_response for p in message.parts or () if p.function_response]
    found = [log.find_call(answer.id or "") for answer in answers]
    places = {
        (None if is_request(record) else record.branch, record.scope)
        for record in found
        if record is not None
    }
    return Whereto(*places.pop()) if len(places) == 1 else Whereto()


def where_to(log: EventLog, root_agent: BaseAgent, message: types.Content) -> Whereto:
    """Return where a message is said: to the innermost task that waits for the user, if one does;
    an answer, where its call was made.
    """
    if any(part.function_response for part in message.parts or ()):
        return where_answered(log, message)
    found = Whereto()
    if not log.scopes:
        return found
    while True:
        inner = _waiting_task(log, root_agent, found.scope) or _task_in_graph(log, found.scope)
        if inner is None:
            return found
        found = inner


def _waiting_task(log: EventLog, root_agent: BaseAgent, scope: str | None) -> Whereto | None:
    """Return the oldest task given in a scope that has begun and is not done, outside of graphs."""
    for call_id, record in log.unanswered.items():
        if call_id is None or record.scope != scope or log.scopes.get(call_id, record) is not None:
            continue
        name = next(name for call, name in record.calls if call == call_id)
        if is_task(log, root_agent, record, call_id) and call_id not in log.tasks:
            if not is_rewound(log, record):
                return Whereto(branch_of_call(record.branch, name, call_id), call_id, record)
    return None


def _task_in_graph(log: EventLog, scope: str | None) -> Whereto | None:
    """Return the oldest task of a graph, in a scope, that is not done."""
    for inner, record in log.tasks.items():
        asked = log.unanswered.get(inner, record)
        outer = asked.scope
        if asked is record:  # the node itself has the task
            outer = inner.removesuffix(f":{record.path}")
            outer = outer if outer in log.scopes else None
        if outer == scope and not is_rewound(log, record):
            return Whereto(record.branch, inner, asked)
    return None


def is_task(log: EventLog, root_agent: BaseAgent, record: EventRecord, call_id: str) -> bool:
    """Tell whether a call that an agent made hands a task to one of its sub-agents."""
    if call_id in log.tasks:
        return True
    agent: Any = root_agent.find_agent(record.author)
    if isinstance(agent, NodeAgent):
        agent = next((one for one in within(agent) if one.name == record.author), None)
    name = next(name for call, name in record.calls if call == call_id)
    delegate = agent.delegates.get(name) if isinstance(agent, LlmAgent) else None
    return delegate is not None and delegate.mode == "task"


def graph_of(root_agent: BaseAgent, record: EventRecord) -> NodeAgent | None:
    """Return the graph that a record comes from; None outside of graphs."""
    name = record.path.partition("@")[0]
    agent = root_agent.find_agent(name) if name else None
    return agent if isinstance(agent, NodeAgent) else None


def outermost(log: EventLog, record: EventRecord) -> EventRecord | None:
    """Return the record that a record's scope goes back to: the first call of the conversation
    itself; the record where it has no scope, or where a node of a graph has the task; None where
    the call is not in the log.
    """
    found: EventRecord | None = record
    while found is not None and (scope := found.scope) is not None:
        found = log.find_call(scope) or next(
            (one for one in log.records if one.scope == scope and one.path), None
        )
        if found is not None and found.scope == scope:
            return found
    return found
