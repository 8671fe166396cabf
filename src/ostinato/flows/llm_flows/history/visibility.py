"""What an agent sees of a conversation: events of its scope and branch; others are quoted."""

from typing import Any, NamedTuple

from pydantic import BaseModel, ConfigDict

from .... import types
from ....events.event_actions import EventActions
from ....events.pending import IMPORTED
from ....events.request_input import QUESTION_ID, TOOL_QUESTION
from ....models.llm_request import CLIENT_ID_PREFIX
from ....sessions.log.event_log import EventRecord

RESERVED_CALLS = frozenset(("adk_request_credential", "adk_request_confirmation", "adk_framework"))
NO_REQUEST = "ostinato:no_request"
"""Custom metadata key of a model's response that calls a tool by a reserved name."""
# The framework makes this call, but a long-running tool has the name, too, and the model needs its
# answers.
INPUT_REQUEST = "adk_request_input"


class StoredContent(BaseModel):
    """The fields of a stored event that contents are built from."""

    model_config = ConfigDict(extra="ignore", defer_build=True)

    content: types.Content | None = None
    inputTranscription: dict[str, Any] | None = None
    outputTranscription: dict[str, Any] | None = None
    actions: EventActions | None = None


class View(NamedTuple):
    """The agent that sees a conversation, and which part; the key of its projection.

    Attributes:
      agent_name: the agent; messages of other agents are quoted.
      branch: its branch.
      keep_ids: whether client-made ids stay in calls and responses.
      quote: whether to mark quotes of other agents as untrusted data.
      scope: isolation scope; events of other scopes are hidden.
      path: node of a graph, which sees only its own run and the user's answers.
      is_nested: whether open calls are hidden, because they are those of the containing run.
    """

    agent_name: str
    branch: str | None = None
    keep_ids: bool = False
    quote: bool = False
    scope: str | None = None
    path: str | None = None
    is_nested: bool = False


def belongs_to_branch(branch: str | None, event_branch: str | None) -> bool:
    """Return whether an event of `event_branch` is visible on `branch` (Spec 2 §4.3)."""
    if not branch or not event_branch:
        return True
    return branch == event_branch or branch.startswith(event_branch + ".")


def is_visible_part(part: types.Part) -> bool:
    """Return whether a part counts as content (Spec 2 §4.3)."""
    if part.function_call is not None or part.function_response is not None:
        return True
    if part.thought:
        return False
    return bool(
        part.text
        or part.inline_data
        or part.file_data
        or part.executable_code
        or part.code_execution_result
    )


def is_internal(record: EventRecord) -> bool:
    """Return whether a record is one of the runtime's own requests, or the answer to one.

    A call that a model made up under a reserved name is not: the model gets an error for it.
    """
    for call, name in record.calls:
        if name == INPUT_REQUEST and (
            call not in record.long_running or record.has_metadata(TOOL_QUESTION)
        ):
            return True
        if name in RESERVED_CALLS and not record.has_metadata(NO_REQUEST):
            return True
    for call, name in record.responses:
        if call is not None and call.startswith(QUESTION_ID):
            return True
        if name in RESERVED_CALLS:
            return record.author == "user" or record.has_metadata(IMPORTED)
    return False


def is_of_other(record: EventRecord, view: View) -> bool:
    """Return whether a record is of an agent other than the viewing one."""
    return record.author not in ("user", view.agent_name) and bool(view.agent_name)


def is_in_view(record: EventRecord, view: View) -> bool:
    """Return whether a record is of the scope, branch and node of a view."""
    if record.scope != view.scope or not belongs_to_branch(view.branch, record.branch):
        return False
    if view.path is None or record.path == view.path:
        return True
    return record.author == "user" and bool(record.responses)


def find_reserved_answers(record: EventRecord) -> set[str | None]:
    """Return the ids of the user's answers to requests of the runtime."""
    if record.author != "user" or record.has_metadata(IMPORTED):
        return set()
    return {
        call
        for call, name in record.responses
        if name in RESERVED_CALLS or (call or "").startswith(QUESTION_ID)
    }


def list_shown_answers(record: EventRecord) -> list[str | None]:
    """Return the ids of the calls whose responses in a record a view may show."""
    if not is_internal(record):
        return [call for call, _ in record.responses]
    reserved = find_reserved_answers(record)
    return [call for call, _ in record.responses if call not in reserved] if reserved else []


def strip_client_ids(content: types.Content) -> None:
    """Remove client-made call ids, which the model never gave (Spec 2 §6.9)."""
    for part in content.parts or ():
        holder = part.function_call or part.function_response
        if holder is not None and holder.id and holder.id.startswith(CLIENT_ID_PREFIX):
            holder.id = None


def quote_other_agent(
    content: types.Content, author: str, marked: bool = False
) -> types.Content | None:
    """Quote another agent's message as user content; None if nothing is left (Spec 2 §4.1)."""
    parts = [types.Part(text="For context:")]
    for part in content.parts or ():
        if part.thought:
            continue
        text = None
        if part.text is not None and part.text.strip():
            text = f"[{author}] said: {part.text}"
        elif part.function_call is not None:
            call = part.function_call
            text = f"[{author}] called tool `{call.name}` with parameters: {call.args}"
        elif part.function_response is not None:
            answer = part.function_response
            text = f"[{author}] `{answer.name}` tool returned result: {answer.response}"
        elif part.text is None:
            parts.append(part)
        if text is not None:
            parts.append(types.Part(text=_mark_untrusted(text) if marked else text))
    return types.Content(role="user", parts=parts) if len(parts) > 1 else None


def _mark_untrusted(text: str) -> str:
    return f"<quoted-agent-output untrusted>\n{text}\n</quoted-agent-output>"
