"""Handler: A2A's methods over sessions and runs; the SDK's routes call it.

It has the methods of the SDK's RequestHandler, whose class cannot be named here because the SDK is
optional.
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
from ...errors import NotFoundError
from ...events.event import Event
from ...events.pending import Pending
from ...running.run import Run
from ...sessions._durable_store import Place
from ..conversation import answering, begin
from ..host import Host
from ..place import checked, numbered, outline
from ..problems import problem_of
from ..runs import run_status
from .task_list import TaskQuery
from .tasks import (
    TERMINAL,
    WORKING,
    Artifacts,
    invocation_of,
    place_of,
    task_id,
    task_of,
    waiting_in,
)

APP = "app"  # where the context's state names the app

_YES = frozenset({"approve", "approved", "confirm", "ok", "true", "yes"})
_NO = frozenset({"deny", "false", "no", "reject", "rejected"})
_POLL = 1.0  # seconds between looks at a run of another process
_TASKS = 50  # on a page

logger = get_logger(__name__)

_T = TypeVar("_T")
# The session, the run, and what its task had answered before.
_Started = tuple[Place, Run, list[Event]]


def _problem(kind: str, message: str) -> Exception:
    return getattr(need("a2a.utils.errors", extra=EXTRA), kind)(message=message)


def _not_found() -> Exception:
    return _problem("TaskNotFoundError", "There is no such task.")


def _protocols(error: Exception) -> Exception:
    """Return an error of ours as one of the protocol's."""
    if isinstance(error, NotFoundError):
        return _not_found()
    problem = problem_of(error)
    if problem.status < 500:
        return _problem("InvalidParamsError", problem.message)
    logger.error("A2A: a method failed: %s", error, exc_info=error)
    return _problem("InternalError", problem.message or "The agent failed; the log has more.")


def _checks(params: Any) -> None:
    need("a2a.utils.proto_utils", extra=EXTRA).validate_proto_required_fields(params)


def _tells(
    method: Callable[[Handler, Any, Any], Awaitable[_T]],
) -> Callable[[Handler, Any, Any], Awaitable[_T]]:
    """Have a method check its parameters, and raise the protocol's errors."""

    @wraps(method)
    async def telling(self: Handler, params: Any, context: Any) -> _T:
        _checks(params)
        try:
            return await method(self, params, context)
        except need("a2a.utils.errors", extra=EXTRA).A2AError:
            raise
        except Exception as error:  # boundary: the SDK would tell a client what went wrong inside
            raise _protocols(error) from error

    return telling


class Handler:
    """Answers A2A's methods for all apps of a server.

    Args:
      host: the server's.
    """

    def __init__(self, host: Host) -> None:
        self._host = host

    @_tells
    async def on_message_send(self, params: Any, context: Any) -> Any:
        """Run the agent; answer with the task, when it has ended or once it has begun."""
        place, run, _ = await self._start(params, context)
        invocation = await self._begun(run)
        if not params.configuration.return_immediately:
            async for _ in run.follow(0):
                pass
        return await self._record(place, invocation, params.configuration)

    async def on_message_send_stream(self, params: Any, context: Any) -> AsyncGenerator[Any, None]:
        """Run the agent; yield the task, then what changes. A reader that goes leaves the task."""
        place, run, past = await self._started(params, context)
        invocation = await self._begun(run)
        yield await self._running(place, invocation, past)
        async for one in self._updates(place, invocation, run, past):
            yield one

    @_tells
    async def _started(self, params: Any, context: Any) -> _Started:
        return await self._start(params, context)

    @_tells
    async def on_get_task(self, params: Any, context: Any) -> Any:
        """Return a task."""
        place, invocation = self._named(params.id, context)
        return await self._record(place, invocation, params)

    @_tells
    async def on_list_tasks(self, params: Any, context: Any) -> Any:
        """List the tasks of a context or of all, the newest first, page by page."""
        shorten = need("a2a.utils.task", extra=EXTRA)
        shorten.validate_history_length(params)
        if params.HasField("page_size"):
            shorten.validate_page_size(params.page_size)
        query = _query_of(params)
        tasks, token = await query.page(self._host, context.state[APP])
        told = {"totalSize": len(tasks), "pageSize": query.size, "nextPageToken": token}
        answer = message_of("ListTasksResponse", told)
        answer.tasks.extend(
            shorten.apply_history_length(message_of("Task", one), params) for one in tasks
        )
        return answer

    @_tells
    async def on_cancel_task(self, params: Any, context: Any) -> Any:
        """Cancel a task that runs."""
        place, invocation = self._named(params.id, context)
        app = await self._host.agents.get(place.app_name)
        if await task_of(self._host, place, invocation) is None:
            raise _not_found()
        cancelled = await app.runner.cancel(
            user_id=place.user_id, session_id=place.session_id, invocation_id=invocation
        )
        if not cancelled:
            raise _problem("TaskNotCancelableError", "The task does not run.")
        for run in self._host.runs.of(place):
            async for _ in run.follow(0):
                pass
        return await self._record(place, invocation)

    async def on_subscribe_to_task(self, params: Any, context: Any) -> AsyncGenerator[Any, None]:
        """Yield a task that runs, then what changes."""
        place, invocation, task = await self._followed(params, context)
        if task["status"]["state"] in TERMINAL:
            raise _problem("UnsupportedOperationError", "The task has ended.")
        for run in self._host.runs.of(place):
            if invocation == await self._begun(run):
                seen = len(run.so_far())
                past = await self._past(place, invocation, run)
                so_far = [one for one in run.so_far()[:seen] if not one.partial]
                yield await self._running(place, invocation, [*past, *so_far])
                async for one in self._updates(place, invocation, run, past, seen):
                    yield one
                return
        yield message_of("Task", task)
        if task["status"]["state"] == WORKING:  # in another process
            while (await run_status(self._host, place)).state == "running":
                await self._host.runs.news(place, _POLL)
            yield await self._end(place, invocation)

    @_tells
    async def _followed(self, params: Any, context: Any) -> tuple[Place, str, Json]:
        place, invocation = self._named(params.id, context)
        task = await task_of(self._host, place, invocation)
        if task is None:
            raise _not_found()
        return place, invocation, task

    @_tells
    async def on_get_extended_agent_card(self, params: Any, context: Any) -> Any:
        """Refuse: the card tells everything."""
        raise _problem("ExtendedAgentCardNotConfiguredError", "There is no further card.")

    @_tells
    async def _no_push(self, params: Any, context: Any) -> Any:
        raise _problem("PushNotificationNotSupportedError", "There are no push notifications.")

    on_create_task_push_notification_config = _no_push
    on_get_task_push_notification_config = _no_push
    on_list_task_push_notification_configs = _no_push
    on_delete_task_push_notification_config = _no_push

    def _named(self, task: str, context: Any) -> tuple[Place, str]:
        """Return the session and the invocation of a task."""
        found = invocation_of(context.state[APP], task)
        if found is None:
            raise _not_found()
        return checked(found[0]), found[1]

    async def _start(self, params: Any, context: Any) -> _Started:
        """Start what a message asks for: a new task, or one that goes on with an answer."""
        told = json_of(params.message)
        app = await self._host.agents.get(context.state[APP])
        try:
            parts = parts_of(told.get("parts", []))
        except ValueError as error:
            raise _problem("InvalidParamsError", "A part cannot be read.") from error
        message = types.Content(role="user", parts=parts)
        past: list[Event] = []
        if told.get("taskId"):
            place, invocation = self._named(told["taskId"], context)
            if told.get("contextId", place.session_id) != place.session_id:
                raise _problem("InvalidParamsError", "The task is of another context.")
            message = await self._answer(place, invocation, message)
            past = await self._past(place, invocation)
        else:
            session = told.get("contextId") or _clock.new_id()
            place = checked(place_of(app.name, session))
            if await outline(self._host.services.sessions, place) is None:
                await begin(self._host, app, place.user_id, session_id=session)
        config = RunConfig(streaming_mode=StreamingMode.SSE)
        run = self._host.runs.start(app.runner, place, new_message=message, run_config=config)
        return place, run, past

    async def _answer(self, place: Place, invocation: str, message: types.Content) -> types.Content:
        """Return the message that answers what a task waits for."""
        if await task_of(self._host, place, invocation) is None:
            raise _not_found()
        pending = await waiting_in(self._host, place, invocation)
        if not pending:
            raise _problem("UnsupportedOperationError", "The task waits for nothing.")
        answers: Json = {}
        for part in message.parts or ():
            if part.function_response is not None and part.function_response.id:
                answers[part.function_response.id] = part.function_response.response or {}
        if not answers:
            if len(pending) > 1:
                raise _problem("InvalidParamsError", "Several calls wait: answer them by id.")
            words = "".join(part.text or "" for part in message.parts or ())
            answers[pending[0].call.id or ""] = _in_words(pending[0], words)
        return await answering(self._host, place, answers, "message")

    async def _begun(self, run: Run) -> str:
        """Wait until a run has begun; return its invocation."""
        async for event in run.follow(0):
            return event.invocation_id
        try:
            await run.result()
        except Exception as error:  # boundary: it ended before its first event; the client is told
            raise _protocols(error) from error
        raise _problem("InternalError", "The agent answered nothing.")

    async def _running(self, place: Place, invocation: str, answered: list[Event]) -> Any:
        """Return a task that runs, with what it has answered so far."""
        task = await task_of(self._host, place, invocation, running=True, answered=answered)
        if task is None:
            raise _not_found()
        return message_of("Task", task)

    async def _record(self, place: Place, invocation: str, history: Any = None) -> Any:
        """Return a task as the SDK's record, with as much of its history as is asked for."""
        task = await task_of(self._host, place, invocation)
        if task is None:
            raise _not_found()
        shorten = need("a2a.utils.task", extra=EXTRA)
        shorten.validate_history_length(history)
        return shorten.apply_history_length(message_of("Task", task), history)

    async def _updates(
        self, place: Place, invocation: str, run: Run, past: list[Event], seen: int = 0
    ) -> AsyncGenerator[Any, None]:
        """Yield what changes in a task while it runs, and how it ends.

        Args:
          place: the session.
          invocation: the invocation.
          run: runs it.
          past: what the task had answered before this run of it.
          seen: how many events of the run the task that was sent has already; parts of an answer
            that is still being made are sent again.
        """
        artifacts = Artifacts(place, invocation)
        artifacts.whole(past)
        number = 0
        again: list[Json] = []
        async for event in run.follow(0):
            updates = artifacts.of(event)
            number += 1
            if number <= seen:
                again = [*again, *updates] if event.partial else []
                continue
            for one in (*again, *updates):
                yield message_of("TaskArtifactUpdateEvent", one)
            again = []
        yield await self._end(place, invocation)

    async def _past(self, place: Place, invocation: str, run: Run | None = None) -> list[Event]:
        """Return what a task has answered, before a run where one is given."""
        first, records = await numbered(self._host.services.sessions, place)
        end = None if run is None else min(run.numbers.values(), default=None)
        if end is not None:
            records = records[: max(0, end - first)]
        found = [one.event() for one in records if one.invocation_id == invocation]
        return [one for one in found if one.author != "user"]

    async def _end(self, place: Place, invocation: str) -> Any:
        task = await task_of(self._host, place, invocation, running=False)
        if task is None:
            raise _not_found()
        ids = {"taskId": task_id(place, invocation), "contextId": place.session_id}
        return message_of("TaskStatusUpdateEvent", {**ids, "status": task["status"]})


def _query_of(params: Any) -> TaskQuery:
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


def _in_words(pending: Pending, words: str) -> Json:
    """Return what a call is answered with by words."""
    if pending.kind != "approval":
        return {"result": words}
    said = words.strip().strip(".!").lower()
    if said not in _YES and said not in _NO:
        raise _problem(
            "InvalidParamsError",
            f"{pending.tool} waits for approval: answer 'yes' or 'no', or with a data part.",
        )
    return {"confirmed": said in _YES}
