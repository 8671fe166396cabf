"""AudioTranscriber: the name; live runs are not built yet."""

from ..._later_on import NotBuilt


class AudioTranscriber(
    NotBuilt,
    part="live runs",
    instead="use run_async with RunConfig(streaming_mode=StreamingMode.SSE)",
):
    """Makes text of collected audio."""
