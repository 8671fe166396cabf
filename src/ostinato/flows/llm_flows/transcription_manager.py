"""TranscriptionManager: turns transcriptions of a live run into events.

It is for programs that transcribe themselves; live models send their own transcriptions.
"""

from __future__ import annotations

from ... import types
from ...context.invocation import InvocationContext
from ...events.event import Event


class TranscriptionManager:
    """Turns transcriptions into events (Spec 1 §17)."""

    async def handle_input_transcription(
        self, invocation_context: InvocationContext, transcription: types.Transcription
    ) -> Event:
        """Return the event of the user's speech; the caller appends it."""
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
        """Return the event of the model's speech; the caller appends it."""
        ctx = invocation_context
        return Event(
            invocation_id=ctx.invocation_id,
            author=ctx.agent.name,
            branch=ctx.branch,
            output_transcription=transcription,
        )

    def get_transcription_stats(self, invocation_context: InvocationContext) -> dict[str, int]:
        """Return the number of transcriptions in the session."""
        events = invocation_context.session.events
        inputs = sum(event.input_transcription is not None for event in events)
        outputs = sum(event.output_transcription is not None for event in events)
        return {
            "input_transcriptions": inputs,
            "output_transcriptions": outputs,
            "total_transcriptions": inputs + outputs,
        }
