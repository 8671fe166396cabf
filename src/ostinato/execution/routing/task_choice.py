"""Choice of the call or task that a user's message is for, from the log alone."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from ... import types
from ...agents.base_agent import BaseAgent
from ...agents.llm_agent import LlmAgent
from ...agents.node_agent import NodeAgent, iterate_nodes
from ...context.delegation import branch_of_call
from ...context.invocation import InvocationContext
from ...errors import CallNotOpenError
from ...events.event import Event
from ...events.pending import pending_calls
from ...flows.llm_flows.delegation import is_rewound, run_after_tasks
from ...sessions.log.event_log import EventLog, EventRecord
from ...sessions.log.late_results import LATE, LateResult, find_late_results, find_reader
from ...sessions.log.resume import waits_for_words
from ...sessions.log.word_readers import WORDS, WordReader
from ...sessions.session import Session, log_of
from ...workflow.requests import is_request


class MessageTarget(NamedTuple):
    """The target of a message within a session.

    Attributes:
      branch: its branch.
      scope: its isolation scope.
      asked: the record of the task's call; None for no task.
      late: the late results in the message.
      word_readers: who reads what the message holds beside its answers, and does not see the
        whole message.
    """

    branch: str | None = None
    scope: str | None = None
    asked: EventRecord | None = None
    late: Mapping[str, LateResult] = MappingProxyType({})
    word_readers: Sequence[WordReader] = ()

    def mark_message(
        self, message: types.Content, metadata: dict[str, Any] | None
    ) -> dict[str, Any] | None:
        """Return the custom metadata of the message's event: those given, the late results, and
        the readers of its words.

        Args:
          message: the message to store.
          metadata: those given.
        """
        marks: dict[str, Any] = {}
        if self.late:
            marks[LATE] = {call_id: [*one] for call_id, one in self.late.items()}
        if self.word_readers and any(not part.function_response for part in message.parts or ()):
            marks[WORDS] = [[*one] for one in self.word_readers]
        return {**(metadata or {}), **marks} if marks else metadata


Run = Callable[[InvocationContext], AsyncGenerator[Event, None]]


def after_tasks(run: Run) -> Run:
    """Return a run that first resumes the open tasks of its agent."""

    def run_after(ctx: InvocationContext) -> AsyncGenerator[Event, None]:
        return run_after_tasks(ctx, run) if isinstance(ctx.agent, LlmAgent) else run(ctx)

    return run_after


def answered_call(session: Session, message: types.Content) -> EventRecord | None:
    """Return the record of the first call that a message answers, or None.

    Raises:
      CallNotOpenError: an answered call does not exist.
    """
    first: EventRecord | None = None
    for part in message.parts or ():
        if part.function_response is None:
            continue
        answer = part.function_response
        record = log_of(session).find_call(answer.id or "")
        if record is None:
            raise CallNotOpenError(
                f"The message answers function call {answer.id!r} ({answer.name}), which is not in "
                f"session {session.id!r}. Use the id of the call as it was yielded."
            )
        first = first or record
    return first


def resolve_answer_target(log: EventLog, message: types.Content) -> MessageTarget:
    """Return the branch and scope of the agents that read the answers in a message.

    The target is empty if these are several, so that each of the agents sees the message, and for
    requests of workflow nodes, which find it anywhere.
    """
    answers = [p.function_response for p in message.parts or () if p.function_response]
    late, places = find_late_results(log, message), set[tuple[str | None, str | None]]()
    for answer in answers:
        asked = log.find_call(answer.id or "")
        reader = late.get(answer.id or "") or asked
        if asked is not None and reader is not None:
            places.add((None if is_request(asked) else reader.branch, reader.scope))
    branch, scope = places.pop() if len(places) == 1 else (None, None)
    whole = WordReader(branch, scope, "")
    readers = [one for one in _find_word_readers(log, answers) if one != whole]
    return MessageTarget(branch, scope, late=late, word_readers=readers)


def _find_word_readers(
    log: EventLog, answers: Sequence[types.FunctionResponse]
) -> Sequence[WordReader]:
    """Return the agents whose requests a message answers, and then the tasks of their graphs that
    wait for words of the user."""
    found: dict[WordReader, None] = {}
    waiting: dict[WordReader, None] = {}
    for answer in answers:
        asked = log.find_call(answer.id or "")
        if asked is None:
            continue
        reader = find_reader(log, asked)
        if not is_request(asked):
            found[WordReader.of(reader, reader.scope)] = None
        task = _find_waiting_task(log, asked)
        if task is not None:
            waiting[task] = None
    return [*(found | waiting)]


def _find_waiting_task(log: EventLog, asked: EventRecord) -> WordReader | None:
    """Return the oldest task that waits for words of the user in the graph of a call, or None."""
    graph = asked.path.partition("/")[0]
    for scope, first in log.tasks.items():
        if first.invocation_id != asked.invocation_id or first.path.partition("/")[0] != graph:
            continue
        if waits_for_words(log, scope) and not is_rewound(log, first):
            return WordReader.of(first, scope)
    return None


def resolve_target(log: EventLog, root_agent: BaseAgent, message: types.Content) -> MessageTarget:
    """Return the target of a message: the innermost task that waits for the user, if any; for an
    answer, the place of its call.
    """
    if any(part.function_response for part in message.parts or ()):
        return resolve_answer_target(log, message)
    found = MessageTarget()
    if not log.scopes:
        return found
    while True:
        inner = _waiting_task(log, root_agent, found.scope) or _task_in_graph(log, found.scope)
        if inner is None:
            return found
        found = inner


def _waiting_task(log: EventLog, root_agent: BaseAgent, scope: str | None) -> MessageTarget | None:
    """Return the oldest unfinished task that was delegated in a scope, outside of graphs."""
    for call_id, record in log.unanswered.items():
        if call_id is None or record.scope != scope or log.scopes.get(call_id, record) is not None:
            continue
        name = next(name for call, name in record.calls if call == call_id)
        if is_task(log, root_agent, record, call_id) and call_id not in log.tasks:
            if not is_rewound(log, record):
                return MessageTarget(branch_of_call(record.branch, name, call_id), call_id, record)
    return None


def _task_in_graph(log: EventLog, scope: str | None) -> MessageTarget | None:
    """Return the oldest unfinished task of a graph in a scope."""
    for inner, record in log.tasks.items():
        asked = log.unanswered.get(inner, record)
        outer = asked.scope
        if asked is record:  # the node itself has the task
            outer = inner.removesuffix(f":{record.path}")
            outer = outer if outer in log.scopes else None
        if outer == scope and not is_rewound(log, record):
            return MessageTarget(record.branch, inner, asked)
    return None


def is_task(log: EventLog, root_agent: BaseAgent, record: EventRecord, call_id: str) -> bool:
    """Return whether a call delegates a task to a sub-agent of its author."""
    return call_id in log.tasks or _find_mode(root_agent, record, call_id) == "task"


def waits_for_user(log: EventLog, root_agent: BaseAgent, record: EventRecord, call_id: str) -> bool:
    """Return whether a call waits for the user: that of a task, or of a single-turn agent that has
    asked for an approval, a credential or a result.

    The call of a task that has not begun, or that has ended, waits for the agent that made it, if
    that agent handles messages.

    Args:
      log: the records.
      root_agent: the agents.
      record: the record of the call.
      call_id: the call.
    """
    if call_id in log.tasks:
        return True
    mode = _find_mode(root_agent, record, call_id)
    if mode == "task":
        is_open = record.scope is not None or log.scopes.get(call_id, record) is None
        return is_open or _handles_messages(root_agent, record)
    return mode == "single_turn" and has_open_request(log, call_id)


def _handles_messages(root_agent: BaseAgent, record: EventRecord) -> bool:
    """Return whether the agent of a record handles the message after its own words."""
    if find_graph(root_agent, record) is not None:
        return False
    agent = root_agent.find_agent(record.author)
    return agent is root_agent or (agent is not None and is_transferable_across_agent_tree(agent))


def is_transferable_across_agent_tree(agent_to_run: BaseAgent) -> bool:
    """Return whether an agent can transfer control up to the root (Spec 2 §1.4)."""
    agent: BaseAgent | None = agent_to_run
    while agent is not None:
        if not isinstance(agent, LlmAgent) or agent.disallow_transfer_to_parent:
            return False
        agent = agent.parent_agent
    return True


def has_open_request(log: EventLog, call_id: str) -> bool:
    """Return whether a request waits of the agent that a call runs, or of one that it calls."""
    scopes, events = {call_id}, list[Event]()
    for record in log.records:
        if record.scope in scopes:
            scopes.update(call for call, _ in record.calls if call)
            events.append(record.event())
    return bool(pending_calls(events))


def _find_mode(root_agent: BaseAgent, record: EventRecord, call_id: str) -> str | None:
    """Return the mode of the sub-agent that a call runs; None for other calls."""
    agent: Any = root_agent.find_agent(record.author)
    if isinstance(agent, NodeAgent):
        agent = next((one for one in iterate_nodes(agent) if one.name == record.author), None)
    name = next(name for call, name in record.calls if call == call_id)
    delegate = agent.delegates.get(name) if isinstance(agent, LlmAgent) else None
    return None if delegate is None else delegate.mode


def find_graph(root_agent: BaseAgent, record: EventRecord) -> NodeAgent | None:
    """Return the graph that a record comes from, or None outside of graphs."""
    name = record.path.partition("@")[0]
    agent = root_agent.find_agent(name) if name else None
    return agent if isinstance(agent, NodeAgent) else None


def find_outermost_call(log: EventLog, record: EventRecord) -> EventRecord | None:
    """Return the outermost call that a record's scope derives from.

    That is the record itself without a scope, or the first record of a graph node's task; None if
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
