"""TranscriptionManager: the name; live runs are not built yet."""

from ..._later_on import NotBuilt


class TranscriptionManager(
    NotBuilt,
    part="live runs",
    instead="use run_async with RunConfig(streaming_mode=StreamingMode.SSE)",
):
    """Makes events of transcriptions."""
