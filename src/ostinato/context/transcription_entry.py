"""TranscriptionEntry: what was said in a live run, kept until it is written down. An invocation
lists them; `ostinato.agents.transcription_entry` faces it.
"""

from pydantic import BaseModel, ConfigDict

from .. import types


class TranscriptionEntry(BaseModel):
    """A piece of a live conversation (Spec 1 §17).

    Attributes:
      role: who spoke; None where it is not known.
      data: the sound, or the content.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True, extra="forbid", defer_build=True)

    role: str | None = None
    data: types.Blob | types.Content
