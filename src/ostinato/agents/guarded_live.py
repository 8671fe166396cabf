"""An agent's live run under guardrails: as far as there are words, nothing goes in or comes out
that was not checked. `BaseAgent.run_live` comes here where there are any.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator

from .. import types
from .._aclosing import Aclosing
from ..context.guardrail import Guards
from ..context.invocation import InvocationContext
from ..context.readonly import ReadonlyContext
from ..errors import AgentConfigError
from ..events.event import Event
from ..types.content_text import extract_text_from_content
from .guarded_run import check_output, tell


async def guarded_live(
    ctx: InvocationContext, guards: Guards, run: AsyncGenerator[Event, None]
) -> AsyncGenerator[Event, None]:
    """Run an agent live under guardrails.

    What the user writes is checked before the model gets it, what the user says when its
    transcription is there. What the model writes is held back until it is whole and was checked,
    what it says until the end of its turn; sound without a transcription is not let through.

    Args:
      ctx: the agent's context.
      guards: its guardrails.
      run: its run, not begun yet.

    Raises:
      AgentConfigError: sound has no transcription in this run, so that nothing could be checked.
      GuardrailStop: one has tripped, and its event was committed.
      GuardrailTrippedError: the same, for `on_trip="raise"`.
    """
    _check_settings(ctx, guards)
    view: ReadonlyContext = ReadonlyContext(ctx)

    async def check_input(said: types.Content) -> AsyncGenerator[Event, None]:
        for owner, one in guards.input:
            async for event in tell(ctx, "input", [(owner, one, await one.run(view, said))]):
                yield event

    ports = ctx.ports
    ports.live_input = (*ports.live_input, check_input)
    turn = _Turn()
    try:
        async with Aclosing(run) as events:
            async for event in events:
                if not guards.output:
                    yield event
                elif not turn.holds(event):
                    words = turn.words_before(event)
                    if words is not None:
                        async for told in check_output(ctx, guards.output, words, view):
                            yield told
                    for piece in turn.released_by(event):
                        yield piece
                    yield event
                heard = _heard(event)
                if heard is not None:
                    async for told in check_input(heard):
                        yield told
    finally:
        ports.live_input = tuple(one for one in ports.live_input if one is not check_input)


class _Turn:
    """What the model has said in its turn and nobody has heard yet."""

    def __init__(self) -> None:
        self._pieces: list[Event] = []
        self._words = ""  # of them, since the last whole words
        self._is_told = False  # whether words of what is spoken were there to be checked

    def holds(self, event: Event) -> bool:
        """Keep an event back that is a piece of something whose whole is yet to come."""
        if not _is_piece(event):
            return False
        self._pieces.append(event)
        self._words += _text(event)
        return True

    def words_before(self, event: Event) -> Event | None:
        """Return what is to be checked before an event goes on; None for nothing."""
        if event.author == "user" or event.interrupted:
            return None
        spoken = event.output_transcription
        text = spoken.text if spoken is not None else None
        if text is None and event.turn_complete:
            text = self._words  # no whole came of them
        if text:
            self._words, self._is_told = "", True
            said = types.Content(role="model", parts=[types.Part(text=text)])
            return Event(author=event.author, content=said)
        return event

    def released_by(self, event: Event) -> list[Event]:
        """Return what was kept back and goes on before an event.

        Written words go once they are whole, what is spoken at the end of the turn, as its
        transcriptions do not say how far they reach. What is interrupted is not heard any more.
        """
        released: list[Event] = []
        if event.author == "user":
            return released
        if event.turn_complete or event.interrupted:
            if not event.interrupted:
                released = [p for p in self._pieces if self._is_told or not _has_sound(p)]
            self._pieces, self._words, self._is_told = [], "", False
        elif _text(event) and event.output_transcription is None:
            released = [p for p in self._pieces if not _has_sound(p)]
            self._pieces, self._words = [p for p in self._pieces if _has_sound(p)], ""
        return released


def _check_settings(ctx: InvocationContext, guards: Guards) -> None:
    run = ctx.run_config
    if run is None:
        return
    spoken = "AUDIO" in [str(getattr(one, "value", one)) for one in run.response_modalities or ()]
    missing: list[str] = []
    if guards.input and run.input_audio_transcription is None:
        missing.append("input_audio_transcription")
    if guards.output and spoken and run.output_audio_transcription is None:
        missing.append("output_audio_transcription")
    if missing:
        raise AgentConfigError(
            f"Agent {ctx.agent.name!r} has guardrails, or the app or an agent above it has, and "
            f"this live run has no {' and no '.join(missing)}: what is spoken could not be "
            "checked. Set it in RunConfig, or leave the guardrails out."
        )


def _is_piece(event: Event) -> bool:
    """Tell whether an event is a part of what the model says, whose whole is yet to come."""
    if event.author == "user" or event.get_function_calls():
        return False
    if event.output_transcription is not None:
        return bool(event.partial)
    return _has_sound(event) or bool(event.partial and event.content is not None)


def _has_sound(event: Event) -> bool:
    parts = (event.content.parts if event.content is not None else None) or ()
    return any(
        part.inline_data is not None
        and (part.inline_data.mime_type or "").startswith(("audio/", "video/"))
        for part in parts
    )


def _text(event: Event) -> str:
    if event.output_transcription is not None:
        return event.output_transcription.text or ""
    return extract_text_from_content(event.content)


def _heard(event: Event) -> types.Content | None:
    """Return what the user has said aloud, once it is whole."""
    heard = event.input_transcription
    if heard is None or not heard.text or event.partial:
        return None
    return types.Content(role="user", parts=[types.Part(text=heard.text)])
