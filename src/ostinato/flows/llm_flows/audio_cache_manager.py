"""AudioCacheManager: collects what is said in a live run and stores it as artifacts, so that the
session can refer to it. The live flow uses it where `RunConfig.save_live_blob` is set.
"""

from __future__ import annotations

import mimetypes
from typing import Literal

from ... import _clock, types
from ...artifacts.artifact_util import get_artifact_uri
from ...context.invocation import InvocationContext, RealtimeCacheEntry
from ...errors import AgentConfigError
from ...events.event import Event

# Types of raw sound, which the system's table does not know.
_SUFFIXES = {"audio/pcm": ".pcm", "audio/pcmu": ".pcmu", "audio/pcma": ".pcma"}


class AudioCacheConfig:
    """How much is collected before it is stored.

    Args:
      max_cache_size_bytes: greatest number of bytes in both caches; full ones are stored at once.
      max_cache_duration_seconds: taken for compatibility, and not used.
      auto_flush_threshold: taken for compatibility, and not used.
    """

    def __init__(
        self,
        max_cache_size_bytes: int = 10 * 1024 * 1024,
        max_cache_duration_seconds: float = 300.0,
        auto_flush_threshold: int = 100,
    ) -> None:
        self.max_cache_size_bytes = max_cache_size_bytes
        self.max_cache_duration_seconds = max_cache_duration_seconds
        self.auto_flush_threshold = auto_flush_threshold


class AudioCacheManager:
    """Keeps pieces of sound in the invocation until a turn ends (FEATURES row 203).

    Args:
      config: how much is collected.
    """

    def __init__(self, config: AudioCacheConfig | None = None) -> None:
        self.config = config or AudioCacheConfig()
        self._held = 0

    def cache_audio(
        self,
        invocation_context: InvocationContext,
        audio_blob: types.Blob,
        cache_type: Literal["input", "output"],
    ) -> None:
        """Add a piece.

        Args:
          invocation_context: the run.
          audio_blob: the piece.
          cache_type: `input` for the user's, `output` for the model's.

        Raises:
          ValueError: `cache_type` is something else.
        """
        ctx = invocation_context
        if cache_type == "input":
            role = "user"
            if ctx.input_realtime_cache is None:
                ctx.input_realtime_cache = []
            cache = ctx.input_realtime_cache
        elif cache_type == "output":
            role = "model"
            if ctx.output_realtime_cache is None:
                ctx.output_realtime_cache = []
            cache = ctx.output_realtime_cache
        else:
            raise ValueError("cache_type must be either 'input' or 'output'")
        cache.append(RealtimeCacheEntry(role=role, data=audio_blob, timestamp=_clock.now()))
        self._held += len(audio_blob.data or b"")

    @property
    def is_full(self) -> bool:
        """Whether as much is collected as may be."""
        return self._held >= self.config.max_cache_size_bytes

    async def flush_caches(
        self,
        invocation_context: InvocationContext,
        flush_user_audio: bool = True,
        flush_model_audio: bool = True,
    ) -> list[Event]:
        """Store what was collected as artifacts and empty the caches.

        Args:
          invocation_context: the run.
          flush_user_audio: whether to store the user's.
          flush_model_audio: whether to store the model's.

        Returns:
          Events that refer to the files; they are to be appended to the session.

        Raises:
          AgentConfigError: the runner has no artifact service.
        """
        ctx, events = invocation_context, list[Event]()
        if flush_user_audio and ctx.input_realtime_cache:
            pieces, ctx.input_realtime_cache = ctx.input_realtime_cache, []
            events.append(await _stored(ctx, pieces, "input"))
        if flush_model_audio and ctx.output_realtime_cache:
            pieces, ctx.output_realtime_cache = ctx.output_realtime_cache, []
            events.append(await _stored(ctx, pieces, "output"))
        self._held = self.get_cache_stats(ctx)["total_bytes"]
        return events

    def get_cache_stats(self, invocation_context: InvocationContext) -> dict[str, int]:
        """Return how many pieces and bytes are collected."""
        said = invocation_context.input_realtime_cache or []
        heard = invocation_context.output_realtime_cache or []
        said_bytes = sum(len(piece.data.data or b"") for piece in said)
        heard_bytes = sum(len(piece.data.data or b"") for piece in heard)
        return {
            "input_chunks": len(said),
            "output_chunks": len(heard),
            "input_bytes": said_bytes,
            "output_bytes": heard_bytes,
            "total_chunks": len(said) + len(heard),
            "total_bytes": said_bytes + heard_bytes,
        }


async def _stored(ctx: InvocationContext, pieces: list[RealtimeCacheEntry], kind: str) -> Event:
    """Store pieces as one file and return the event that refers to it."""
    if ctx.artifact_service is None:
        raise AgentConfigError(
            "RunConfig.save_live_blob stores sound as artifacts: give the Runner an "
            "artifact_service."
        )
    first = pieces[0]
    mime_type = first.data.mime_type or "application/octet-stream"
    plain = mime_type.partition(";")[0].strip()
    suffix = _SUFFIXES.get(plain) or mimetypes.guess_extension(plain) or ".bin"
    name = f"adk_live_audio_storage_{kind}_audio_{int(first.timestamp * 1000)}{suffix}"
    data = b"".join(piece.data.data or b"" for piece in pieces)
    address = {
        "app_name": ctx.app_name,
        "user_id": ctx.user_id,
        "session_id": ctx.session.id,
        "filename": name,
    }
    part = types.Part(inline_data=types.Blob(data=data, mime_type=mime_type))
    version = await ctx.artifact_service.save_artifact(**address, artifact=part)
    uri = get_artifact_uri(**address, version=version)
    file = types.Part(file_data=types.FileData(file_uri=uri, mime_type=mime_type))
    return Event(
        invocation_id=ctx.invocation_id,
        author="user" if first.role == "user" else ctx.agent.name,
        branch=ctx.branch,
        content=types.Content(role=first.role, parts=[file]),
        timestamp=first.timestamp,
    )
