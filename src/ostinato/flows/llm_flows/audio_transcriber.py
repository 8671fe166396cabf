"""AudioTranscriber: a name of google-adk that raises; live models transcribe themselves."""

from ..._later_on import NotBuilt


class AudioTranscriber(
    NotBuilt,
    part="transcription by Google Cloud Speech",
    instead="use RunConfig.input_audio_transcription, which the live model fills",
):
    """Transcribes collected audio."""
