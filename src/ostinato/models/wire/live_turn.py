"""LiveTurn, which joins the partial texts and transcriptions of a live model. All live connections
use it.
"""

from __future__ import annotations

from typing import Any

from ... import types
from ..llm_response import LlmResponse


class LiveTurn:
    """The texts and transcriptions of the current turn.

    Args:
      model_version: the model's name, for each response.
      session_id: the provider's id of the live session, for each response.
    """

    def __init__(self, model_version: str | None, session_id: str | None) -> None:
        self._common: dict[str, Any] = {}
        if model_version is not None:
            self._common["model_version"] = model_version
        if session_id is not None:
            self._common["live_session_id"] = session_id
        self._texts: list[str] = []
        self._thought = False
        self._heard: list[str] = []
        self._spoken: list[str] = []
        self._grounding: types.GroundingMetadata | None = None

    def response(self, **fields: Any) -> LlmResponse:
        """Return a response that says which model and session it is from."""
        return LlmResponse(**self._common, **fields)

    def text(self, text: str, *, thought: bool = False) -> list[LlmResponse]:
        """Take a piece of text; a whole text goes before it where thinking ends or begins."""
        ended = self.end_text() if self._texts and thought is not self._thought else []
        self._thought = thought
        self._texts.append(text)
        return [*ended, self.response(content=self._content(text), partial=True)]

    def sound(self, data: bytes, mime_type: str | None) -> LlmResponse:
        """Add an audio chunk or an image."""
        part = types.Part(inline_data=types.Blob(data=data, mime_type=mime_type))
        return self.response(content=types.Content(role="model", parts=[part]))

    def calls(self, calls: list[types.FunctionCall]) -> list[LlmResponse]:
        """Take calls; what was said before them is whole now."""
        parts = [types.Part(function_call=call) for call in calls]
        content = types.Content(role="model", parts=parts)
        return [*self.end_text(), *self.end_transcriptions(), self.response(content=content)]

    def heard(self, text: str | None, finished: bool | None) -> list[LlmResponse]:
        """Add a partial transcription of the user's speech."""
        return self._add_transcription("input_transcription", self._heard, text, finished)

    def heard_all(self, text: str) -> list[LlmResponse]:
        """Replace the user's partial transcriptions by the complete one."""
        self._heard.clear()
        if not text:
            return []
        said = types.Transcription(text=text, finished=True)
        return [self.response(input_transcription=said, partial=False)]

    def spoken(self, text: str | None, finished: bool | None) -> list[LlmResponse]:
        """Add a partial transcription of the model's speech."""
        return self._add_transcription("output_transcription", self._spoken, text, finished)

    def ground(self, grounding: types.GroundingMetadata) -> None:
        """Keep what an answer is grounded on, for the whole text."""
        self._grounding = _merge_groundings(self._grounding, grounding)

    def end_text(self, *, interrupted: bool | None = None) -> list[LlmResponse]:
        """Return the text as a whole, if there is any."""
        text, thought = "".join(self._texts), self._thought
        self._texts, self._thought = [], False
        if not text:
            return []
        fields: dict[str, Any] = {"content": self._content(text, thought), "partial": False}
        if interrupted is not None:
            fields["interrupted"] = interrupted
        if self._grounding is not None:
            fields["grounding_metadata"], self._grounding = self._grounding, None
        return [self.response(**fields)]

    def end_transcriptions(self) -> list[LlmResponse]:
        """Return the complete transcriptions, the user's first."""
        return [*self.heard(None, True), *self.spoken(None, True)]

    def end(self, *, complete: bool, interrupted: bool, reason: Any = None) -> list[LlmResponse]:
        """Return what is whole now that a turn ends or is interrupted, and that it is so."""
        text = self.end_text(interrupted=True if interrupted else None)
        whole = [*text, *self.end_transcriptions()]
        if interrupted and not complete and text:
            return whole  # the text says so itself
        fields: dict[str, Any] = {}
        if interrupted:
            fields["interrupted"] = True
        if complete:
            fields["turn_complete"] = True
        if reason is not None:
            fields["turn_complete_reason"] = reason
        self._grounding = None
        return [*whole, self.response(**fields)]

    def _add_transcription(
        self, field: str, pieces: list[str], text: str | None, finished: bool | None
    ) -> list[LlmResponse]:
        found: list[LlmResponse] = []
        if text:
            pieces.append(text)
            said = types.Transcription(text=text, finished=False)
            found.append(self.response(**{field: said}, partial=True))
        if finished and pieces:
            said = types.Transcription(text="".join(pieces), finished=True)
            pieces.clear()
            found.append(self.response(**{field: said}, partial=False))
        return found

    def _content(self, text: str, thought: bool | None = None) -> types.Content:
        thought = self._thought if thought is None else thought
        part = types.Part(text=text, thought=True) if thought else types.Part(text=text)
        return types.Content(role="model", parts=[part])


def _merge_groundings(
    before: types.GroundingMetadata | None, now: types.GroundingMetadata
) -> types.GroundingMetadata:
    """Merge two groundings: join lists, and take any other field from the newer."""
    if before is None:
        return now
    fields = {name: getattr(now, name) for name in now.model_fields_set}
    for name, value in fields.items():
        old = getattr(before, name)
        if isinstance(value, list) and isinstance(old, list):
            fields[name] = [*old, *value]  # pyright: ignore[reportUnknownVariableType]
    return before.model_copy(update=fields)
