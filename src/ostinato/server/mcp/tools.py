"""Tools: apps as the tools of an MCP server, over HTTP and over standard input and output."""

from __future__ import annotations

from typing import Any, cast

from ... import _clock, types
from ..._log import get_logger
from ..._optional import need
from ...context.run_config import RunConfig
from ...errors import InputValidationError, NotFoundError
from ...events.pending import Pending
from ...running.pieces import Called, Closed, Pieces
from ...running.run import Run
from ...sessions._durable_store import Place
from ...version import __version__
from ..conversation import answering, begin, packed, unpacked, waiting
from ..host import Host
from ..place import checked, outline
from ..problems import Problem, problem_of, public_text

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
            "description": "The conversation to go on with, as an earlier result names it.",
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


class Tools:
    """Lists and calls the tools.

    Args:
      host: the server's.
    """

    def __init__(self, host: Host) -> None:
        self._host = host
        self._own = _clock.new_id()  # the conversation of a client without sessions of its own

    def server(self) -> Any:
        """Return the SDK's server.

        Raises:
          MissingExtraError: the SDK is not installed.
        """
        sdk = need("mcp.server.lowlevel.server", extra=EXTRA)
        return sdk.Server(
            "ostinato", version=__version__, on_list_tools=self.listed, on_call_tool=self.call
        )

    async def listed(self, context: Any, params: Any) -> Any:
        """List the apps that can be loaded."""
        kinds = need("mcp.types", extra=EXTRA)
        tools: list[Any] = []
        for name in self._host.agents.folders():
            try:
                app = await self._host.agents.get(name)
            except Problem:  # the server's log says what is wrong with it
                continue
            told = app.runner.agent.description or f"Asks the agent {name}."
            tools.append(
                kinds.Tool(name=name, description=told, input_schema=_INPUT, output_schema=_OUTPUT)
            )
        return kinds.ListToolsResult(tools=tools)

    async def call(self, context: Any, params: Any) -> Any:
        """Say something to an agent; return what it answers, or what it has to be told first."""
        kinds = need("mcp.types", extra=EXTRA)
        try:
            return await self._call(context, params)
        except need("mcp", extra=EXTRA).MCPError:
            raise
        except Exception as error:  # boundary: whatever fails is the tool's answer
            problem = problem_of(error)
            if problem.status >= 500:
                logger.error("MCP: tool %s failed: %s", params.name, error, exc_info=error)
            told = problem.message or public_text(str(error)) or problem.kind
            return kinds.CallToolResult(
                content=[kinds.TextContent(type="text", text=told)], is_error=True
            )

    async def _call(self, context: Any, params: Any) -> Any:
        app = await self._host.agents.get(params.name)
        arguments: dict[str, Any] = params.arguments or {}
        if params.request_state is not None:
            place, message = await self._resumed(app.name, params)
        else:
            text = arguments.get("message")
            if not isinstance(text, str) or not text:
                raise InputValidationError("'message' has to be a text.")
            place = checked(Place(app.name, USER, self._session(context, arguments)))
            if await outline(self._host.services.sessions, place) is None:
                await begin(self._host, app, USER, session_id=place.session_id)
            message = types.Content(role="user", parts=[types.Part(text=text)])
        while True:
            run = self._host.runs.start(
                app.runner, place, new_message=message, run_config=RunConfig()
            )
            text = await self._followed(context, run)
            pending = await waiting(self._host, place)
            asks = [one for one in pending if one.kind == "approval"]
            if not asks or not _can_be_asked(context):
                return self._result(place, text, pending)
            if not context.session.can_send_request:
                return _wanted(place, asks)
            answers: dict[str, Any] = {}
            for one in asks:
                told = await context.session.elicit_form(_question(one), _APPROVAL)
                answers[one.call.id or ""] = _decision(told)
            message = await answering(self._host, place, answers, params.name)

    def _session(self, context: Any, arguments: dict[str, Any]) -> str:
        """Return the session: the one that is named, else that of the client's connection."""
        named = arguments.get("session")
        if named is not None:
            return cast(str, named)
        if context.request is None:
            return self._own
        return context.request.headers.get(_HEADER) or _clock.new_id()

    async def _resumed(self, app: str, params: Any) -> tuple[Place, types.Content]:
        """Return the session that waits, and the message with what the client was asked."""
        names = unpacked(_STATE, params.request_state, 1)
        if names is None:
            raise NotFoundError("There is no such request to go on with.")
        place = checked(Place(app, USER, names[0]))
        told: dict[str, Any] = params.input_responses or {}
        answers = {call: _decision(one) for call, one in told.items()}
        return place, await answering(self._host, place, answers, params.name)

    async def _followed(self, context: Any, run: Run) -> str:
        """Tell of a run's steps; return what it says. A client that goes ends it."""
        pieces = Pieces()
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
            code, told = pieces.failure
            raise Problem(502, code, public_text(told) or code)
        return "\n\n".join(said)

    def _result(self, place: Place, text: str, pending: list[Pending]) -> Any:
        kinds = need("mcp.types", extra=EXTRA)
        for one in pending:
            text += f"\n\n{one.tool} waits for somebody ({one.kind}): {one.args}"
        return kinds.CallToolResult(
            content=[kinds.TextContent(type="text", text=text.strip())],
            structured_content={"text": text.strip(), "session": place.session_id},
        )


def _can_be_asked(context: Any) -> bool:
    can = context.session.client_capabilities
    return can is not None and can.elicitation is not None


def _wanted(place: Place, asks: list[Pending]) -> Any:
    """Return what the client has to ask its user before the call is answered."""
    kinds = need("mcp.types", extra=EXTRA)
    return kinds.InputRequiredResult(
        input_requests={
            one.call.id: kinds.ElicitRequest(
                params=kinds.ElicitRequestFormParams(
                    message=_question(one), requested_schema=_APPROVAL
                )
            )
            for one in asks
        },
        request_state=packed(_STATE, place.session_id),
    )


def _question(one: Pending) -> str:
    return one.hint or f"May {one.tool} be called with {one.args}?"


def _decision(told: Any) -> dict[str, Any]:
    content: dict[str, Any] = getattr(told, "content", None) or {}
    return {"confirmed": told.action == "accept" and content.get("approve") is True}
