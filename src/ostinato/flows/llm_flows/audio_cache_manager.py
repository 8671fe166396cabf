"""AudioCacheManager: collects the audio of a live run and stores it as artifacts.

The live flow uses it with `RunConfig.save_live_blob`.
"""

from __future__ import annotations

import mimetypes
from typing import Literal

from ... import _clock, types
from ...artifacts.artifact_util import get_artifact_uri
from ...context.invocation import InvocationContext, RealtimeCacheEntry
from ...errors import AgentConfigError
from ...events.event import Event

# Types of raw audio, which the system's table does not know.
_SUFFIXES = {"audio/pcm": ".pcm", "audio/pcmu": ".pcmu", "audio/pcma": ".pcma"}


class AudioCacheConfig:
    """Limits of the audio caches.

    Args:
      max_cache_size_bytes: maximum number of bytes in both caches; full caches are stored at once.
      max_cache_duration_seconds: accepted for compatibility, and not used.
      auto_flush_threshold: accepted for compatibility, and not used.
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
    """Keeps audio chunks in the invocation until a turn ends (FEATURES row 203).

    Args:
      config: limits of the caches.
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
        """Add a chunk.

        Args:
          invocation_context: the run.
          audio_blob: the chunk.
          cache_type: `input` for the user's, `output` for the model's.

        Raises:
          ValueError: `cache_type` is another value.
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
        """Whether the caches have reached their maximum size."""
        return self._held >= self.config.max_cache_size_bytes

    async def flush_caches(
        self,
        invocation_context: InvocationContext,
        flush_user_audio: bool = True,
        flush_model_audio: bool = True,
    ) -> list[Event]:
        """Store the collected audio as artifacts and empty the caches.

        Args:
          invocation_context: the run.
          flush_user_audio: whether to store the user's.
          flush_model_audio: whether to store the model's.

        Returns:
          Events that refer to the files; the caller appends them to the session.

        Raises:
          AgentConfigError: the runner has no artifact service.
        """
        ctx, events = invocation_context, list[Event]()
        if flush_user_audio and ctx.input_realtime_cache:
            chunks, ctx.input_realtime_cache = ctx.input_realtime_cache, []
            events.append(await _store_chunks(ctx, chunks, "input"))
        if flush_model_audio and ctx.output_realtime_cache:
            chunks, ctx.output_realtime_cache = ctx.output_realtime_cache, []
            events.append(await _store_chunks(ctx, chunks, "output"))
        self._held = self.get_cache_stats(ctx)["total_bytes"]
        return events

    def get_cache_stats(self, invocation_context: InvocationContext) -> dict[str, int]:
        """Return the number of collected chunks and bytes."""
        user_chunks = invocation_context.input_realtime_cache or []
        model_chunks = invocation_context.output_realtime_cache or []
        user_bytes = sum(len(chunk.data.data or b"") for chunk in user_chunks)
        model_bytes = sum(len(chunk.data.data or b"") for chunk in model_chunks)
        return {
            "input_chunks": len(user_chunks),
            "output_chunks": len(model_chunks),
            "input_bytes": user_bytes,
            "output_bytes": model_bytes,
            "total_chunks": len(user_chunks) + len(model_chunks),
            "total_bytes": user_bytes + model_bytes,
        }


async def _store_chunks(
    ctx: InvocationContext, chunks: list[RealtimeCacheEntry], kind: str
) -> Event:
    """Store chunks as one file and return the event that refers to it."""
    if ctx.artifact_service is None:
        raise AgentConfigError(
            "RunConfig.save_live_blob stores audio as artifacts: give the Runner an "
            "artifact_service."
        )
    first = chunks[0]
    mime_type = first.data.mime_type or "application/octet-stream"
    plain = mime_type.partition(";")[0].strip()
    suffix = _SUFFIXES.get(plain) or mimetypes.guess_extension(plain) or ".bin"
    name = f"adk_live_audio_storage_{kind}_audio_{int(first.timestamp * 1000)}{suffix}"
    data = b"".join(chunk.data.data or b"" for chunk in chunks)
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
