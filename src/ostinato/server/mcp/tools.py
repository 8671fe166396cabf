"""Apps as the tools of an MCP server, for both transports."""

from __future__ import annotations

import json
from typing import Any

from ... import _clock, types
from ..._log import get_logger
from ..._optional import need
from ...context.run_config import RunConfig
from ...errors import InputValidationError, NotFoundError
from ...events.pending import Pending
from ...execution.run_handle import Run
from ...execution.stream_items import Called, Closed, StreamItems
from ...sessions.store.durable_store import Place
from ...version import __version__
from ..client_conversations import (
    begin_session,
    build_answers,
    build_text_answer,
    load_pending,
    pack_id,
    question_of,
    unpack_id,
)
from ..host import Host
from ..place import check_place, load_outline
from ..problems import (
    Problem,
    error_id,
    loggable_text,
    problem_of,
    public_message,
    public_name,
    stack_of,
)

logger = get_logger(__name__)

EXTRA = "mcp"
USER = "mcp"

_STATE = "run_"
_HEADER = "mcp-session-id"
_INPUT: dict[str, Any] = {
    "type": "object",
    "properties": {
        "message": {"type": "string", "description": "What to say to the agent."},
        "session": {
            "type": "string",
            "description": "The conversation to continue: 'session' of an earlier result.",
        },
    },
    "required": ["message"],
}
_OUTPUT: dict[str, Any] = {
    "type": "object",
    "properties": {"text": {"type": "string"}, "session": {"type": "string"}},
    "required": ["text", "session"],
}
_APPROVAL: dict[str, Any] = {
    "type": "object",
    "properties": {"approve": {"type": "boolean", "description": "Whether it may be done."}},
    "required": ["approve"],
}


class McpTools:
    """Lists and calls the tools."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._own = _clock.new_id()  # the session of a client on standard input

    def make_server(self) -> Any:
        """Return the SDK's server.

        Raises:
          MissingExtraError: the SDK is not installed.
        """
        sdk = need("mcp.server.lowlevel.server", extra=EXTRA)
        return sdk.Server(
            "ostinato",
            version=__version__,
            on_list_tools=self.list_tools,
            on_call_tool=self.call_tool,
        )

    async def list_tools(self, context: Any, params: Any) -> Any:
        """List the apps that can be loaded."""
        kinds = need("mcp.types", extra=EXTRA)
        tools: list[Any] = []
        for name in self._host.agents.list_folders():
            try:
                app = await self._host.agents.get_app(name)
            except Problem:  # the reason is in the server's log
                continue
            description = app.runner.agent.description or f"Asks the agent {name}."
            tools.append(
                kinds.Tool(
                    name=name, description=description, input_schema=_INPUT, output_schema=_OUTPUT
                )
            )
        return kinds.ListToolsResult(tools=tools)

    async def call_tool(self, context: Any, params: Any) -> Any:
        """Send a message to an agent; return its answer, or a request for the user's approval."""
        kinds = need("mcp.types", extra=EXTRA)
        try:
            return await self._run_tool(context, params)
        except need("mcp", extra=EXTRA).MCPError:
            raise
        except Exception as error:  # boundary: every error becomes the tool's result
            problem = problem_of(error)
            if problem.status >= 500:
                logger.error(
                    "MCP: tool %s failed (error %s): %s",
                    loggable_text(params.name),
                    error_id(error),
                    error,
                    exc_info=stack_of(error),
                )
            text = problem.message or problem.kind
            return kinds.CallToolResult(
                content=[kinds.TextContent(type="text", text=text)], is_error=True
            )

    async def _run_tool(self, context: Any, params: Any) -> Any:
        app = await self._host.agents.get_app(params.name)
        arguments: dict[str, Any] = params.arguments or {}
        if params.request_state is not None:
            place, message = await self._read_resumed_call(app.name, params)
        else:
            text = arguments.get("message")
            if not isinstance(text, str) or not text:
                raise InputValidationError("'message' has to be a non-empty text.")
            place = check_place(Place(app.name, USER, self._session_id(context, arguments)))
            if await load_outline(self._host.services.sessions, place) is None:
                await begin_session(self._host, app, USER, session_id=place.session_id)
            answer = await build_text_answer(self._host, place, text)
            message = answer or types.Content(role="user", parts=[types.Part(text=text)])
        while True:
            run = self._host.runs.start_run(
                app.runner, place, new_message=message, run_config=RunConfig()
            )
            text = await self._follow_run(context, run)
            pending = await load_pending(self._host, place)
            asks = [one for one in pending if one.kind == "approval"]
            if not asks or not _has_elicitation(context):
                return self._tool_result(place, text, pending)
            if not context.session.can_send_request:
                return _request_input(place, asks)
            answers: list[tuple[str, Any]] = []
            for one in asks:
                decision = await context.session.elicit_form(_approval_question(one), _APPROVAL)
                answers.append((one.call.id or "", _read_decision(decision)))
            message = await build_answers(self._host, place, answers, params.name)

    def _session_id(self, context: Any, arguments: dict[str, Any]) -> str:
        """Return the session in the arguments, else the session of the client's connection."""
        named = arguments.get("session")
        if isinstance(named, str):
            return named
        if named is not None:
            raise InputValidationError("'session' has to be a text.")
        if context.request is None:
            return self._own
        return context.request.headers.get(_HEADER) or _clock.new_id()

    async def _read_resumed_call(self, app: str, params: Any) -> tuple[Place, types.Content]:
        """Return the waiting session, and the message with the client's answers."""
        names = unpack_id(_STATE, params.request_state, 1)
        if names is None:
            raise NotFoundError("The request to resume does not exist.")
        place = check_place(Place(app, USER, names[0]))
        decisions: dict[str, Any] = params.input_responses or {}
        answers = [(call, _read_decision(one)) for call, one in decisions.items()]
        return place, await build_answers(self._host, place, answers, params.name)

    async def _follow_run(self, context: Any, run: Run) -> str:
        """Report a run's progress; return its text. The run ends when the client disconnects."""
        pieces = StreamItems()
        said: list[str] = []
        steps = 0
        over = False
        try:
            async for event in run:
                for piece in pieces.of(event):
                    if isinstance(piece, Closed) and not piece.thought:
                        said.append(piece.text)
                    if isinstance(piece, Called | Closed):
                        steps += 1
                        what = piece.call.name if isinstance(piece, Called) else event.author
                        await context.session.report_progress(steps, message=what)
            over = True
        finally:
            if not over:
                await run.cancel()
        if pieces.failure is not None:
            code, detail = pieces.failure
            raise Problem(
                502, code, public_message(code, detail, pieces.invocation) or public_name(code)
            )
        return "\n\n".join(said)

    def _tool_result(self, place: Place, text: str, pending: list[Pending]) -> Any:
        kinds = need("mcp.types", extra=EXTRA)
        for one in pending:
            if one.kind == "input":
                text += f"\n\n{question_of(one)}"
            else:
                text += f"\n\n{one.tool} waits for an answer ({one.kind}): {_arguments_of(one)}"
        return kinds.CallToolResult(
            content=[kinds.TextContent(type="text", text=text.strip())],
            structured_content={"text": text.strip(), "session": place.session_id},
        )


def _has_elicitation(context: Any) -> bool:
    can = context.session.client_capabilities
    return can is not None and can.elicitation is not None


def _request_input(place: Place, asks: list[Pending]) -> Any:
    """Return the result that makes the client ask its user for approvals."""
    kinds = need("mcp.types", extra=EXTRA)
    return kinds.InputRequiredResult(
        input_requests={
            one.call.id: kinds.ElicitRequest(
                params=kinds.ElicitRequestFormParams(
                    message=_approval_question(one), requested_schema=_APPROVAL
                )
            )
            for one in asks
        },
        request_state=pack_id(_STATE, place.session_id),
    )


def _approval_question(one: Pending) -> str:
    return one.hint or f"May {one.tool} be called with {_arguments_of(one)}?"


def _arguments_of(one: Pending) -> str:
    """Return the arguments of a call as JSON."""
    return json.dumps(one.args, ensure_ascii=False, default=str)


def _read_decision(decision: Any) -> dict[str, Any]:
    content: dict[str, Any] = getattr(decision, "content", None) or {}
    return {"confirmed": decision.action == "accept" and content.get("approve") is True}
