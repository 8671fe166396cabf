"""AudioTranscriber: the name; transcription by a service of its own is not built yet."""

from ..._later_on import NotBuilt


class AudioTranscriber(
    NotBuilt,
    part="transcription by Google Cloud Speech",
    instead="use RunConfig.input_audio_transcription, which the live model fills",
):
    """Makes text of collected audio."""
