"""Sampling: a server asks for a text of the agent's model while it works on a call.

Without a policy it gets none. With one, the agent's model answers, after a person's consent if the
policy says so. A server since 2026-07-28 waits for that as long as it takes; the question lies in
the event log.
"""

from __future__ import annotations

import json
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from ... import types
from ..._aclosing import Aclosing
from ..._log import get_logger
from ..._optional import need
from ...errors import AgentConfigError, BudgetExceededError
from ...models.llm_request import LlmRequest
from .connection_params import EXTRA

if TYPE_CHECKING:
    from ...context.context import Context as ToolContext

_log = get_logger(__name__)

MAX_INPUT = 1_000_000
"""Characters of a server's request as JSON."""

SAMPLING = "sampling"
METHOD = "sampling/createMessage"
CONSENT_SCHEMA = {"type": "boolean", "title": "Whether the model may answer the server"}
_SHOWN = 2_000


@dataclass(frozen=True, slots=True)
class SamplingPolicy:
    """What a server may ask of the agent's model.

    Args:
      consent: whether a person agrees to each request.
      max_tokens: length of an answer, whatever the server asks for.
      max_requests: requests that a server may make while it works on one call.

    Raises:
      AgentConfigError: a limit is not positive.
    """

    consent: bool = True
    max_tokens: int = 4_096
    max_requests: int = 10

    def __post_init__(self) -> None:
        if self.max_tokens < 1 or self.max_requests < 1:
            raise AgentConfigError(
                f"SamplingPolicy: max_tokens is {self.max_tokens} and max_requests is "
                f"{self.max_requests}, but both must be more than 0."
            )


class Sampler:
    """Answers the requests of a server that works on one call, by the model of the call's agent.

    Args:
      policy: what the server may ask for.
      tool_context: the call's context.
      server: the server's name for messages.
    """

    def __init__(self, policy: SamplingPolicy, tool_context: ToolContext, server: str) -> None:
        self.policy = policy
        self._ctx: Any = tool_context.get_invocation_context()
        self._server = server
        self._requests = 0

    @property
    def owner(self) -> tuple[Any, ...]:
        """The run and the agent whose model answers."""
        return (self._ctx.invocation_id, self._ctx.agent.name, id(self._ctx.session))

    async def answer(self, params: dict[str, Any]) -> dict[str, Any]:
        """Return the model's answer as JSON of the protocol.

        Args:
          params: the request's parameters as JSON.

        Raises:
          MCPError: the request is not supported, or the model failed.
          BudgetExceededError, LlmCallsLimitExceededError: the run has no room for the call.
        """
        self._requests += 1
        if self._requests > self.policy.max_requests:
            raise _refuse(f"it asked the model more than {self.policy.max_requests} times")
        request = make_request(params, self.policy.max_tokens)
        model: Any = getattr(self._ctx.agent, "canonical_model", None)
        if model is None:
            raise _refuse("the agent has no model")
        request.model = model.model
        self._ctx.increment_llm_call_count()
        try:
            text, is_cut = await self._ask_model(model, request)
        except Exception as error:  # boundary: the server learns no more than its type
            if isinstance(error, BudgetExceededError):
                raise
            _log.warning("MCP server %s: sampling failed.", self._server, exc_info=True)
            raise _refuse(f"the model failed ({type(error).__name__})") from error
        return {
            "role": "assistant",
            "content": {"type": "text", "text": text},
            "model": str(model.model),
            "stopReason": "maxTokens" if is_cut else "endTurn",
        }

    async def _ask_model(self, model: Any, request: LlmRequest) -> tuple[str, bool]:
        """Return the model's text, and whether it was cut at the token limit."""
        spending, pieces, is_cut = self._ctx.services.budget_usage, list[str](), False
        async with Aclosing(model.generate_content_async(request, stream=False)) as responses:
            while True:
                response = await (
                    anext(responses, None)
                    if spending is None
                    else spending.next_response(responses, self._ctx.agent)
                )
                if response is None:
                    break
                if response.error_code:
                    raise RuntimeError(response.error_code)
                is_cut = is_cut or response.finish_reason == types.FinishReason.MAX_TOKENS
                for part in (response.content.parts if response.content else None) or ():
                    pieces += [part.text] if part.text and not part.thought else []
        return "".join(pieces), is_cut


class LiveSampling:
    """Requests that servers before 2026-07-28 make over their open connection.

    Such a request does not name the call that it belongs to. It is answered only if all calls under
    way on its connection have the same run and agent. No pause survives the connection, so that a
    policy with consent refuses it.

    Args:
      server: the server's name for messages.
    """

    def __init__(self, server: str) -> None:
        self._server = server
        self._active: dict[int, list[Sampler]] = {}

    @contextmanager
    def serve(self, session: Any, sampler: Sampler) -> Generator[None]:
        """Let requests of a session be answered by a sampler meanwhile.

        Args:
          session: the SDK's session.
          sampler: that of the call.
        """
        active = self._active.setdefault(id(session), [])
        active.append(sampler)
        try:
            yield
        finally:
            active.remove(sampler)
            if not active:
                self._active.pop(id(session), None)

    async def answer(self, context: Any, params: Any) -> Any:
        """Answer a request; the SDK calls it.

        Args:
          context: the SDK's `ClientRequestContext`.
          params: `mcp.types.CreateMessageRequestParams`.

        Returns:
          `mcp.types.CreateMessageResult`, or `ErrorData` that the server is told.
        """
        kinds = need("mcp.types", extra=EXTRA)
        active = self._active.get(id(context.session), [])
        owners = {sampler.owner for sampler in active}
        problem = ""
        if len(owners) != 1:
            problem = "it is not clear for which call the model is asked"
        elif active[0].policy.consent:
            problem = "a person has to agree, which takes a server of protocol 2026-07-28"
        if problem:
            _log.warning("MCP server %s: sampling was refused: %s.", self._server, problem)
            return kinds.ErrorData(code=kinds.INVALID_REQUEST, message=f"Refused: {problem}.")
        try:
            found = await active[0].answer(dump_params(params))
        except Exception as error:  # boundary: the server is told, and the run meets its own limits
            return kinds.ErrorData(code=kinds.INTERNAL_ERROR, message=str(error)[:500])
        return kinds.CreateMessageResult.model_validate(found)


def dump_params(params: Any) -> dict[str, Any]:
    """Return the parameters of a request as JSON.

    Raises:
      MCPError: they are too long.
    """
    found: dict[str, Any] = params.model_dump(mode="json", by_alias=True, exclude_none=True)
    found.pop("_meta", None)
    if len(json.dumps(found)) > MAX_INPUT:
        raise _refuse(f"it asked the model with more than {MAX_INPUT:,} characters")
    return found


def make_request(params: dict[str, Any], max_tokens: int) -> LlmRequest:
    """Return the request to the model that a server's request stands for.

    Args:
      params: the parameters as JSON.
      max_tokens: the length of an answer at most.

    Raises:
      MCPError: it asks for tools, or holds something that no model takes.
    """
    if params.get("tools"):
        raise _refuse("it asked the model with tools, which is not supported")
    wanted = int(params.get("maxTokens") or max_tokens)
    try:
        contents = [_read_message(message) for message in params.get("messages") or ()]
        config = types.GenerateContentConfig(
            system_instruction=params.get("systemPrompt"),
            temperature=params.get("temperature"),
            max_output_tokens=max(min(wanted, max_tokens), 1),
            stop_sequences=params.get("stopSequences"),
        )
    except ValueError as error:
        raise _refuse("its request to the model is malformed") from error
    if not contents:
        raise _refuse("it asked the model nothing")
    return LlmRequest(contents=contents, config=config)


def describe_request(params: dict[str, Any], server: str) -> str:
    """Return what a person reads who is asked for consent: who asks the model, and what.

    Args:
      params: the parameters as JSON.
      server: the server's name.
    """
    lines = [f"The MCP server {server} wants to ask the agent's model:"]
    if params.get("systemPrompt"):
        lines.append(f"instruction: {params['systemPrompt']}")
    for message in params.get("messages") or ():
        texts = [str(block.get("text") or f"[{block.get('type')}]") for block in _blocks(message)]
        lines.append(f"{message.get('role')}: {' '.join(texts)}")
    text = "\n".join(lines)
    rest = len(text) - _SHOWN
    return text if rest <= 0 else f"{text[:_SHOWN]}... ({rest:,} more characters)"


def _blocks(message: dict[str, Any]) -> list[dict[str, Any]]:
    content: Any = message.get("content")
    return cast("list[dict[str, Any]]", content if isinstance(content, list) else [content])


def _read_message(message: dict[str, Any]) -> types.Content:
    parts: list[types.Part] = []
    for block in _blocks(message):
        kind = block.get("type")
        if kind == "text":
            parts.append(types.Part(text=str(block.get("text") or "")))
        elif kind in ("image", "audio"):
            blob = types.Blob.model_validate(
                {"data": block.get("data"), "mimeType": block.get("mimeType")}
            )
            parts.append(types.Part(inline_data=blob))
        else:
            raise _refuse(f"it asked the model with content of type {str(kind)[:50]!r}")
    return types.Content(
        role="model" if message.get("role") == "assistant" else "user", parts=parts
    )


def _refuse(problem: str) -> Exception:
    kinds = need("mcp.types", extra=EXTRA)
    return need("mcp", extra=EXTRA).MCPError(kinds.INVALID_REQUEST, f"Refused: {problem}")
