"""A2A's methods over sessions and runs.

`A2aHandler` has the methods of the SDK's RequestHandler. It does not inherit from it, because the
SDK is optional.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable
from functools import wraps
from typing import Any, TypeVar

from ... import _clock, types
from ..._log import get_logger
from ..._optional import need
from ...a2a.wire import EXTRA, Json, json_of, message_of, parts_of
from ...context.run_config import RunConfig, StreamingMode
from ...errors import CallNotOpenError, NotFoundError
from ...events.event import Event
from ...events.pending import Pending
from ...execution.run_handle import Run
from ...hosting.input_answers import read_answer
from ...sessions.store.durable_store import Place
from ..client_conversations import begin_session, build_answers
from ..client_input import check_message
from ..host import Host
from ..names import LONGEST_PACKED, check_id
from ..place import check_place, load_outline, load_records
from ..problems import error_id, problem_of, stack_of
from ..runs import read_run_status
from .task_list import TaskQuery
from .tasks import (
    TERMINAL,
    WORKING,
    Artifacts,
    invocation_of,
    load_pending,
    load_task,
    place_of,
    task_id,
)

APP = "app"  # key of the app's name in the context's state

_YES = frozenset({"approve", "approved", "confirm", "ok", "true", "yes"})
_NO = frozenset({"deny", "false", "no", "reject", "rejected"})
_POLL = 1.0  # seconds between polls of a run in another process
_TASKS = 50  # on a page

logger = get_logger(__name__)

_T = TypeVar("_T")
# The session, the run, and the earlier answers of its task.
_StartedRun = tuple[Place, Run, list[Event]]


def _protocol_error(kind: str, message: str) -> Exception:
    return getattr(need("a2a.utils.errors", extra=EXTRA), kind)(message=message)


def _not_found() -> Exception:
    return _protocol_error("TaskNotFoundError", "There is no such task.")


def _to_protocol_error(error: Exception) -> Exception:
    """Convert an error to one of the protocol's."""
    if isinstance(error, NotFoundError) and not isinstance(error, CallNotOpenError):
        return _not_found()
    problem = problem_of(error)
    if problem.status < 500:
        return _protocol_error("InvalidParamsError", problem.message)
    logger.error(
        "A2A: a method failed (error %s): %s", error_id(error), error, exc_info=stack_of(error)
    )
    return _protocol_error("InternalError", problem.message)


def _check_params(params: Any) -> None:
    need("a2a.utils.proto_utils", extra=EXTRA).validate_proto_required_fields(params)


def _protocol_method(
    method: Callable[[A2aHandler, Any, Any], Awaitable[_T]],
) -> Callable[[A2aHandler, Any, Any], Awaitable[_T]]:
    """Decorate a method to check its parameters and to raise the protocol's errors."""

    @wraps(method)
    async def call_method(self: A2aHandler, params: Any, context: Any) -> _T:
        _check_params(params)
        try:
            return await method(self, params, context)
        except need("a2a.utils.errors", extra=EXTRA).A2AError:
            raise
        except Exception as error:  # boundary: the SDK would send internal details to the client
            raise _to_protocol_error(error) from error

    return call_method


class A2aHandler:
    """Answers A2A's methods for all apps of a server."""

    def __init__(self, host: Host) -> None:
        self._host = host

    @_protocol_method
    async def on_message_send(self, params: Any, context: Any) -> Any:
        """Run the agent; return the task when it has ended, or once it has started."""
        place, run, _ = await self._start_run(params, context)
        invocation = await self._wait_for_invocation(run)
        if not params.configuration.return_immediately:
            async for _ in run.follow(0):
                pass
        return await self._task_record(place, invocation, params.configuration)

    async def on_message_send_stream(self, params: Any, context: Any) -> AsyncGenerator[Any, None]:
        """Run the agent; yield the task, then its updates. The run outlives its reader."""
        place, run, past = await self._start_checked(params, context)
        invocation = await self._wait_for_invocation(run)
        yield await self._running_task(place, invocation, past)
        async for one in self._stream_updates(place, invocation, run, past):
            yield one

    @_protocol_method
    async def _start_checked(self, params: Any, context: Any) -> _StartedRun:
        return await self._start_run(params, context)

    @_protocol_method
    async def on_get_task(self, params: Any, context: Any) -> Any:
        """Return a task."""
        place, invocation = self._parse_task_id(params.id, context)
        return await self._task_record(place, invocation, params)

    @_protocol_method
    async def on_list_tasks(self, params: Any, context: Any) -> Any:
        """List the tasks of one context or of all contexts, newest first, page by page."""
        shorten = need("a2a.utils.task", extra=EXTRA)
        shorten.validate_history_length(params)
        if params.HasField("page_size"):
            shorten.validate_page_size(params.page_size)
        query = _read_query(params)
        tasks, token = await query.load_page(self._host, context.state[APP])
        fields = {"totalSize": len(tasks), "pageSize": query.size, "nextPageToken": token}
        answer = message_of("ListTasksResponse", fields)
        answer.tasks.extend(
            shorten.apply_history_length(message_of("Task", one), params) for one in tasks
        )
        return answer

    @_protocol_method
    async def on_cancel_task(self, params: Any, context: Any) -> Any:
        """Cancel a running task."""
        place, invocation = self._parse_task_id(params.id, context)
        app = await self._host.agents.get_app(place.app_name)
        if await load_task(self._host, place, invocation) is None:
            raise _not_found()
        cancelled = await app.runner.cancel(
            user_id=place.user_id, session_id=place.session_id, invocation_id=invocation
        )
        if not cancelled:
            raise _protocol_error("TaskNotCancelableError", "The task is not running.")
        for run in self._host.runs.runs_of(place):
            async for _ in run.follow(0):
                pass
        return await self._task_record(place, invocation)

    async def on_subscribe_to_task(self, params: Any, context: Any) -> AsyncGenerator[Any, None]:
        """Yield a running task, then its updates."""
        place, invocation, task = await self._find_task(params, context)
        if task["status"]["state"] in TERMINAL:
            raise _protocol_error("UnsupportedOperationError", "The task has ended.")
        for run in self._host.runs.runs_of(place):
            if invocation == await self._wait_for_invocation(run):
                seen = len(run.so_far())
                past = await self._earlier_events(place, invocation, run)
                so_far = [one for one in run.so_far()[:seen] if not one.partial]
                yield await self._running_task(place, invocation, [*past, *so_far])
                async for one in self._stream_updates(place, invocation, run, past, seen):
                    yield one
                return
        yield message_of("Task", task)
        if task["status"]["state"] == WORKING:  # in another process
            while (await read_run_status(self._host, place)).state == "running":
                await self._host.runs.wait_for_change(place, _POLL)
            yield await self._final_update(place, invocation)

    @_protocol_method
    async def _find_task(self, params: Any, context: Any) -> tuple[Place, str, Json]:
        place, invocation = self._parse_task_id(params.id, context)
        task = await load_task(self._host, place, invocation)
        if task is None:
            raise _not_found()
        return place, invocation, task

    @_protocol_method
    async def on_get_extended_agent_card(self, params: Any, context: Any) -> Any:
        """Refuse: the public card is complete."""
        raise _protocol_error("ExtendedAgentCardNotConfiguredError", "There is no further card.")

    @_protocol_method
    async def _no_push(self, params: Any, context: Any) -> Any:
        raise _protocol_error(
            "PushNotificationNotSupportedError", "There are no push notifications."
        )

    on_create_task_push_notification_config = _no_push
    on_get_task_push_notification_config = _no_push
    on_list_task_push_notification_configs = _no_push
    on_delete_task_push_notification_config = _no_push

    def _parse_task_id(self, task: str, context: Any) -> tuple[Place, str]:
        """Return the session and the invocation of a task."""
        found = invocation_of(context.state[APP], check_id("task", task, LONGEST_PACKED))
        if found is None:
            raise _not_found()
        return check_place(found[0]), found[1]

    async def _start_run(self, params: Any, context: Any) -> _StartedRun:
        """Start a run for a message: a new task, or a task that resumes with an answer."""
        fields = json_of(params.message)
        for name in ("messageId", "taskId", "contextId"):
            check_id(name, str(fields.get(name, "")), LONGEST_PACKED)
        app = await self._host.agents.get_app(context.state[APP])
        try:
            parts = parts_of(fields.get("parts", []))
        except ValueError as error:
            raise _protocol_error("InvalidParamsError", "A part cannot be read.") from error
        message = types.Content(role="user", parts=parts)
        check_message(message)
        past: list[Event] = []
        if fields.get("taskId"):
            place, invocation = self._parse_task_id(fields["taskId"], context)
            if fields.get("contextId", place.session_id) != place.session_id:
                raise _protocol_error("InvalidParamsError", "The task belongs to another context.")
            message = await self._build_answer(place, invocation, message)
            past = await self._earlier_events(place, invocation)
        else:
            session = fields.get("contextId") or _clock.new_id()
            place = check_place(place_of(app.name, session))
            if await load_outline(self._host.services.sessions, place) is None:
                await begin_session(self._host, app, place.user_id, session_id=session)
        config = RunConfig(streaming_mode=StreamingMode.SSE)
        run = self._host.runs.start_run(app.runner, place, new_message=message, run_config=config)
        await run.wait_until_accepted()
        return place, run, past

    async def _build_answer(
        self, place: Place, invocation: str, message: types.Content
    ) -> types.Content:
        """Return the message that answers the calls that a task waits for."""
        if await load_task(self._host, place, invocation) is None:
            raise _not_found()
        pending = await load_pending(self._host, place, invocation)
        answers: list[tuple[str, Json]] = [
            (part.function_response.id, part.function_response.response or {})
            for part in message.parts or ()
            if part.function_response is not None and part.function_response.id
        ]
        if not answers:
            if not pending:
                raise _protocol_error(
                    "UnsupportedOperationError", "The task does not wait for an answer."
                )
            if len(pending) > 1:
                raise _protocol_error(
                    "InvalidParamsError", "Several calls wait: answer them by id."
                )
            words = "".join(part.text or "" for part in message.parts or ())
            answers = [(pending[0].call.id or "", _answer_from_text(pending[0], words))]
        return await build_answers(self._host, place, answers, "message")

    async def _wait_for_invocation(self, run: Run) -> str:
        """Wait for a run's first event; return its invocation."""
        async for event in run.follow(0):
            return event.invocation_id
        try:
            await run.result()
        except Exception as error:  # boundary: the run failed before its first event
            raise _to_protocol_error(error) from error
        raise _protocol_error("InternalError", "The agent answered nothing.")

    async def _running_task(self, place: Place, invocation: str, answered: list[Event]) -> Any:
        """Return a running task with its answers so far."""
        task = await load_task(self._host, place, invocation, running=True, answered=answered)
        if task is None:
            raise _not_found()
        return message_of("Task", task)

    async def _task_record(self, place: Place, invocation: str, history: Any = None) -> Any:
        """Return a task as the SDK's record, with as much history as the request wants."""
        task = await load_task(self._host, place, invocation)
        if task is None:
            raise _not_found()
        shorten = need("a2a.utils.task", extra=EXTRA)
        shorten.validate_history_length(history)
        return shorten.apply_history_length(message_of("Task", task), history)

    async def _stream_updates(
        self, place: Place, invocation: str, run: Run, past: list[Event], seen: int = 0
    ) -> AsyncGenerator[Any, None]:
        """Yield a task's updates while it runs, and its final status.

        Args:
          place: the session.
          invocation: the invocation.
          run: the run of the task.
          past: the task's answers before this run.
          seen: number of the run's events that the client already has; partial answers among them
            are sent again.
        """
        artifacts = Artifacts(place, invocation)
        artifacts.list_artifacts(past)
        number = 0
        again: list[Json] = []
        async for event in run.follow(0):
            updates = artifacts.take_event(event)
            number += 1
            if number <= seen:
                again = [*again, *updates] if event.partial else []
                continue
            for one in (*again, *updates):
                yield message_of("TaskArtifactUpdateEvent", one)
            again = []
        yield await self._final_update(place, invocation)

    async def _earlier_events(
        self, place: Place, invocation: str, run: Run | None = None
    ) -> list[Event]:
        """Return a task's stored answers; with a run, only those from before the run."""
        first, records = await load_records(self._host.services.sessions, place)
        end = None if run is None else min(run.numbers.values(), default=None)
        if end is not None:
            records = records[: max(0, end - first)]
        found = [one.event() for one in records if one.invocation_id == invocation]
        return [one for one in found if one.author != "user"]

    async def _final_update(self, place: Place, invocation: str) -> Any:
        task = await load_task(self._host, place, invocation, running=False)
        if task is None:
            raise _not_found()
        ids = {"taskId": task_id(place, invocation), "contextId": place.session_id}
        return message_of("TaskStatusUpdateEvent", {**ids, "status": task["status"]})


def _read_query(params: Any) -> TaskQuery:
    states = need("a2a.types", extra=EXTRA).TaskState
    since = params.status_timestamp_after if params.HasField("status_timestamp_after") else None
    return TaskQuery(
        size=params.page_size or _TASKS,
        token=params.page_token,
        context=params.context_id,
        state=states.Name(params.status) if params.status else None,
        after=None if since is None else since.seconds + since.nanos / 1e9,
        artifacts=params.include_artifacts,
    )


def _answer_from_text(pending: Pending, words: str) -> Json:
    """Return the answer to a call that a text stands for."""
    if pending.kind == "input":
        return read_answer(pending, words)
    if pending.kind != "approval":
        return {"result": words}
    said = words.strip().strip(".!").lower()
    if said not in _YES and said not in _NO:
        raise _protocol_error(
            "InvalidParamsError",
            f"{pending.tool} waits for approval: answer 'yes' or 'no', or with a data part.",
        )
    return {"confirmed": said in _YES}
