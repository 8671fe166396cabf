"""SaveFilesAsArtifactsPlugin: files that users send become artifacts, and references to these."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from .. import types
from .._log import get_logger
from ..context.context import Context as CallbackContext
from ..context.invocation import InvocationContext
from .base_plugin import BasePlugin

if TYPE_CHECKING:
    from ..context._ports import AgentLike

logger = get_logger(__name__)

_SAVED_KEY = "temp:ostinato:saved_files"
_READABLE_SCHEMES = frozenset({"gs", "https", "http"})


class SaveFilesAsArtifactsPlugin(BasePlugin):
    """Saves the files in a user's message as artifacts, so that the session stays small (FEATURES
    row 158).

    In the message a note stands for each file, `[Uploaded Artifact: "name"]`, and a reference where
    the artifact has an address that the model's service can read. The versions are noted on an
    event of the first agent that runs. Give the agent the tool `load_artifacts`, or the model will
    not see the files.

    A file that cannot be saved stays in the message. Without an artifact service nothing happens.

    Args:
      name: unique among an app's plugins.
      attach_file_reference: whether to add references.
    """

    def __init__(
        self,
        name: str = "save_files_as_artifacts_plugin",
        *,
        attach_file_reference: bool = True,
    ) -> None:
        super().__init__(name)
        self._attach_file_reference = attach_file_reference
        self._lock = threading.Lock()
        self._pending: dict[str, dict[str, int]] = {}

    async def on_user_message_callback(
        self, *, invocation_context: InvocationContext, user_message: types.Content
    ) -> types.Content | None:
        """Save the files; return the message with notes in their place; None if none is saved.

        Without an artifact service the message is returned unchanged.
        """
        if invocation_context.artifact_service is None:
            if any(part.inline_data for part in user_message.parts or []):
                logger.warning("No artifact service is set, so no file of the user is saved.")
            return user_message
        versions: dict[str, int] = {}
        parts: list[types.Part] = []
        for index, part in enumerate(user_message.parts or []):
            parts += await self._save_part(invocation_context, part, index, versions) or [part]
        if not versions:
            return None
        with self._lock:
            self._pending[invocation_context.invocation_id] = versions
        return types.Content(role=user_message.role, parts=parts)

    async def before_agent_callback(
        self, *, agent: AgentLike, callback_context: CallbackContext
    ) -> types.Content | None:
        """Note the versions, once, on the event of the first agent."""
        with self._lock:
            versions = self._pending.pop(callback_context.invocation_id, None)
        if versions:
            callback_context.actions.artifact_delta.update(versions)
            callback_context.state[_SAVED_KEY] = versions  # effects without state make no event

    async def after_run_callback(self, *, invocation_context: InvocationContext) -> None:
        self._forget(invocation_context)

    async def on_run_error_callback(
        self, *, invocation_context: InvocationContext, error: Exception
    ) -> None:
        self._forget(invocation_context)

    def _forget(self, ctx: InvocationContext) -> None:
        with self._lock:
            self._pending.pop(ctx.invocation_id, None)

    async def _save_part(
        self, ctx: InvocationContext, part: types.Part, index: int, versions: dict[str, int]
    ) -> list[types.Part] | None:
        """Save one part; return what stands for it, or None if it is not a file or is not saved."""
        blob, service = part.inline_data, ctx.artifact_service
        if blob is None or service is None:
            return None
        display_name = blob.display_name or f"artifact_{ctx.invocation_id}_{index}"
        try:
            version = await service.save_artifact(
                app_name=ctx.app_name,
                user_id=ctx.user_id,
                session_id=ctx.session.id,
                filename=display_name,
                artifact=part.model_copy(deep=True),
            )
        except Exception:  # boundary: a user's service, a user's name; the file stays
            logger.warning("A file of the user could not be saved as artifact.", exc_info=True)
            return None
        versions[display_name] = version
        note = types.Part(text=f'[Uploaded Artifact: "{display_name}"]')
        reference = None
        if self._attach_file_reference:
            reference = await self._build_file_reference_part(
                invocation_context=ctx,
                filename=display_name,
                version=version,
                mime_type=blob.mime_type,
                display_name=display_name,
            )
        return [note] if reference is None else [note, reference]

    async def _build_file_reference_part(
        self,
        *,
        invocation_context: InvocationContext,
        filename: str,
        version: int,
        mime_type: str | None,
        display_name: str,
    ) -> types.Part | None:
        """Return a reference to an artifact, or None if no model's service could read it."""
        ctx, service = invocation_context, invocation_context.artifact_service
        if service is None:
            return None
        try:
            found = await service.get_artifact_version(
                app_name=ctx.app_name,
                user_id=ctx.user_id,
                session_id=ctx.session.id,
                filename=filename,
                version=version,
            )
        except Exception:  # boundary: a user's service; the note alone is enough
            logger.warning("The address of an artifact could not be had.", exc_info=True)
            return None
        if found is None or urlsplit(str(found.canonical_uri)).scheme not in _READABLE_SCHEMES:
            return None
        data = types.FileData(
            file_uri=found.canonical_uri,
            mime_type=mime_type or found.mime_type,
            display_name=display_name,
        )
        return types.Part(file_data=data)
