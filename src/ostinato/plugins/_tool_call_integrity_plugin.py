"""ToolCallIntegrityPlugin: signs the model's tool calls, and runs no call that was changed since.

For stores that others can write to: a call waits there for a confirmation or a resume, and must not
come back as another.
"""

from __future__ import annotations

import hmac
import json
from collections.abc import Sequence
from typing import Any, cast

from .. import types
from .._log import get_logger
from ..context.context import Context as ToolContext
from ..context.invocation import InvocationContext
from ..errors import AgentConfigError, InputValidationError
from ..events.event import Event
from ..sessions.session import Session
from ..tools.base_tool import BaseTool
from .base_plugin import BasePlugin

logger = get_logger(__name__)

_STAMPS = "__adk_internal_fc_hmac"
_RESTORED = "__adk_internal_restored_event"
_VERSION = "v1:"


class ToolCallIntegrityError(InputValidationError):
    """A tool call that is not, or not provably, the one that the model made."""


class ToolCallIntegrityPlugin(BasePlugin):
    """Signs each call when it is made, and checks the signature before the tool runs (name as in
    google-adk 2.13).

    The signature covers app, user, session, id, name and arguments of a call, and stands in the
    event's `custom_metadata`. A run that answers a call, such as a confirmation, is refused at its
    start where the stored call was changed. A before_tool hook that changes arguments on purpose
    has to come after this plugin.

    Args:
      secret_key: key of the signatures, at least 32 random bytes; or several, of which the first
        signs and all check, so that keys can be changed.
      allow_unstamped_calls: whether to run calls without a signature, from before the plugin was
        there; they are logged.
      name: unique among an app's plugins.

    Raises:
      AgentConfigError: there is no key, or it is empty or no bytes.
    """

    def __init__(
        self,
        secret_key: bytes | Sequence[bytes],
        *,
        allow_unstamped_calls: bool = False,
        name: str = "tool_call_integrity",
    ) -> None:
        super().__init__(name)
        keys: list[Any] = [secret_key] if isinstance(secret_key, bytes) else list(secret_key)
        if not keys or not all(isinstance(key, bytes) and key for key in keys):
            raise AgentConfigError(
                f"Plugin {name!r}: secret_key must be non-empty bytes or a non-empty list of them; "
                "secrets.token_bytes(32) makes one."
            )
        self._keys: list[bytes] = keys
        self._allow_unstamped_calls = allow_unstamped_calls

    @staticmethod
    def prepare_restored_event(event: Event) -> Event:
        """Return a copy of an event that was stored elsewhere: without signatures, and marked.

        Its calls are then unsigned in any session, whichever part hands it to this plugin.
        """
        metadata = {k: v for k, v in (event.custom_metadata or {}).items() if k != _STAMPS}
        return event.model_copy(update={"custom_metadata": {**metadata, _RESTORED: True}})

    async def on_event_callback(
        self, *, invocation_context: InvocationContext, event: Event
    ) -> Event | None:
        """Sign the calls of an event before it is stored."""
        calls = event.get_function_calls()
        metadata = event.custom_metadata or {}
        if event.partial or not calls or _RESTORED in metadata:
            return
        session = invocation_context.session
        stamps = {
            call.id: self._sign(_payload(session, call.id, call.name, call.args))
            for call in calls
            if call.id
        }
        event.custom_metadata = {**metadata, _STAMPS: stamps}

    async def before_run_callback(
        self, *, invocation_context: InvocationContext
    ) -> types.Content | None:
        """Check the calls that the user's message answers.

        Raises:
          ToolCallIntegrityError: one was changed, or has no signature.
        """
        message = invocation_context.user_content
        waiting = [
            part.function_response.id
            for part in (message.parts if message else None) or []
            if part.function_response and part.function_response.id
        ]
        while waiting:
            event, call = _find(invocation_context, waiting.pop())
            if event is None or call is None:
                continue  # No call of this session; the runner says so.
            self._check(invocation_context.session, event, call.id, call.name, call.args)
            original: Any = (call.args or {}).get("originalFunctionCall")
            if isinstance(original, dict):
                waiting.append(str(cast(dict[str, Any], original).get("id")))

    async def before_tool_callback(
        self, *, tool: BaseTool, tool_args: dict[str, Any], tool_context: ToolContext
    ) -> dict[str, Any] | None:
        """Check a call just before it runs.

        Raises:
          ToolCallIntegrityError: name or arguments are not those signed, or there is no signature.
        """
        ctx, call_id = tool_context.get_invocation_context(), tool_context.function_call_id
        event, _ = _find(ctx, call_id or "")
        self._check(ctx.session, event, call_id, tool.name, tool_args)

    def _check(
        self,
        session: Session,
        event: Event | None,
        call_id: str | None,
        name: str | None,
        args: dict[str, Any] | None,
    ) -> None:
        stamp = _stamps(event).get(call_id or "")
        if stamp is None:
            self._refuse_unstamped(name, call_id)
        elif not self._verify(_payload(session, call_id, name, args), stamp):
            raise ToolCallIntegrityError(
                f"Call {call_id!r} of tool {name!r} does not match its signature: the stored call, "
                "its arguments or the key were changed. Let the model make the call again."
            )

    def _refuse_unstamped(self, name: str | None, call_id: str | None) -> None:
        if not self._allow_unstamped_calls:
            raise ToolCallIntegrityError(
                f"Call {call_id!r} of tool {name!r} has no signature. Let the model make it again, "
                "or allow older calls with allow_unstamped_calls=True."
            )
        logger.warning("Call %r of tool %r has no signature; it is allowed.", call_id, name)

    def _sign(self, payload: bytes) -> str:
        return _VERSION + hmac.digest(self._keys[0], payload, "sha256").hex()

    def _verify(self, payload: bytes, stamp: str) -> bool:
        return any(
            hmac.compare_digest(_VERSION + hmac.digest(key, payload, "sha256").hex(), stamp)
            for key in self._keys
        )


def _payload(
    session: Session, call_id: str | None, name: str | None, args: dict[str, Any] | None
) -> bytes:
    """Return what is signed: JSON, so that no field can run into the next."""
    fields = [session.app_name, session.user_id, session.id, call_id, name, args or {}]
    return json.dumps(
        fields, sort_keys=True, separators=(",", ":"), ensure_ascii=True, default=str
    ).encode()


def _find(ctx: InvocationContext, call_id: str) -> tuple[Event | None, types.FunctionCall | None]:
    """Return the stored event and the call of this id."""
    record = ctx.log.find_call(call_id)
    event = record.event() if record is not None else None
    calls = event.get_function_calls() if event else []
    return event, next((call for call in calls if call.id == call_id), None)


def _stamps(event: Event | None) -> dict[str, str]:
    metadata = (event.custom_metadata if event else None) or {}
    stamps: Any = metadata.get(_STAMPS)
    if _RESTORED in metadata or not isinstance(stamps, dict):
        return {}
    pairs = cast(dict[Any, Any], stamps).items()
    return {str(key): value for key, value in pairs if isinstance(value, str) and value.isascii()}
