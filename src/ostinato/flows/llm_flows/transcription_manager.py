"""TranscriptionManager: makes events of what was heard in a live run, for programs that transcribe
by themselves. Live models send their own transcriptions, which need none of this.
"""

from __future__ import annotations

from ... import types
from ...context.invocation import InvocationContext
from ...events.event import Event


class TranscriptionManager:
    """Makes events of transcriptions (Spec 1 §17)."""

    async def handle_input_transcription(
        self, invocation_context: InvocationContext, transcription: types.Transcription
    ) -> Event:
        """Return the event of something that the user said; it is not appended yet."""
        ctx = invocation_context
        return Event(
            invocation_id=ctx.invocation_id,
            author="user",
            branch=ctx.branch,
            input_transcription=transcription,
        )

    async def handle_output_transcription(
        self, invocation_context: InvocationContext, transcription: types.Transcription
    ) -> Event:
        """Return the event of something that the model said; it is not appended yet."""
        ctx = invocation_context
        return Event(
            invocation_id=ctx.invocation_id,
            author=ctx.agent.name,
            branch=ctx.branch,
            output_transcription=transcription,
        )

    def get_transcription_stats(self, invocation_context: InvocationContext) -> dict[str, int]:
        """Return how many transcriptions the session holds."""
        events = invocation_context.session.events
        said = sum(event.input_transcription is not None for event in events)
        heard = sum(event.output_transcription is not None for event in events)
        return {
            "input_transcriptions": said,
            "output_transcriptions": heard,
            "total_transcriptions": said + heard,
        }
