"""An agent's live run under guardrails, which check all text and transcriptions."""

from __future__ import annotations

from collections.abc import AsyncGenerator

from .. import types
from .._aclosing import Aclosing
from ..context.guardrail import Guards
from ..context.invocation import InvocationContext, ensure_live_state
from ..context.readonly import ReadonlyContext
from ..errors import AgentConfigError
from ..events.event import Event
from ..types.content import extract_text_from_content
from .guarded_run import check_output, report_results


async def run_guarded_live(
    ctx: InvocationContext, guards: Guards, run: AsyncGenerator[Event, None]
) -> AsyncGenerator[Event, None]:
    """Run an agent live under guardrails.

    The user's text is checked before the model gets it, the user's speech once it is transcribed.
    The model's text is held back until it is complete and checked, its speech until the end of its
    turn; audio without a transcription is dropped.

    Args:
      ctx: the agent's context.
      guards: its guardrails.
      run: its run, not started yet.

    Raises:
      AgentConfigError: the run does not transcribe audio, so guardrails could not check it.
      GuardrailStop: a guardrail tripped, and its event was committed.
      GuardrailTrippedError: the same, for `on_trip="raise"`.
    """
    _check_settings(ctx, guards)
    view: ReadonlyContext = ReadonlyContext(ctx)

    async def check_input(content: types.Content) -> AsyncGenerator[Event, None]:
        for owner, one in guards.input:
            async for event in report_results(
                ctx, "input", [(owner, one, await one.run(view, content))]
            ):
                yield event

    live_state = ensure_live_state(ctx)
    live_state.input_checks = (*live_state.input_checks, check_input)
    turn = _HeldTurn()
    try:
        async with Aclosing(run) as events:
            async for event in events:
                if not guards.output:
                    yield event
                elif not turn.hold_back(event):
                    to_check = turn.text_to_check(event)
                    if to_check is not None:
                        async for notice in check_output(ctx, guards.output, to_check, view):
                            yield notice
                    for piece in turn.release_before(event):
                        yield piece
                    yield event
                heard = _heard_content(event)
                if heard is not None:
                    async for notice in check_input(heard):
                        yield notice
    finally:
        live_state.input_checks = tuple(
            one for one in live_state.input_checks if one is not check_input
        )


class _HeldTurn:
    """The model's output of one turn that is held back."""

    def __init__(self) -> None:
        self._pieces: list[Event] = []
        self._text = ""  # their text since the last complete one
        self._is_transcribed = False  # whether the speech had a transcription to check

    def hold_back(self, event: Event) -> bool:
        """Hold back a partial event until its full text is checked; return whether it is one."""
        if not _is_incomplete(event):
            return False
        self._pieces.append(event)
        self._text += _event_text(event)
        return True

    def text_to_check(self, event: Event) -> Event | None:
        """Return the event to check before an event is yielded; None for nothing."""
        if event.author == "user" or event.interrupted:
            return None
        spoken = event.output_transcription
        text = spoken.text if spoken is not None else None
        if text is None and event.turn_complete:
            text = self._text  # no complete text followed
        if text:
            self._text, self._is_transcribed = "", True
            content = types.Content(role="model", parts=[types.Part(text=text)])
            return Event(author=event.author, content=content)
        return event

    def release_before(self, event: Event) -> list[Event]:
        """Return the events held back that are released before an event.

        Text is released when it is complete, audio at the end of the turn, because transcriptions
        do not say which audio they cover. Interrupted output is dropped.
        """
        released: list[Event] = []
        if event.author == "user":
            return released
        if event.turn_complete or event.interrupted:
            if not event.interrupted:
                released = [p for p in self._pieces if self._is_transcribed or not _has_sound(p)]
            self._pieces, self._text, self._is_transcribed = [], "", False
        elif _event_text(event) and event.output_transcription is None:
            released = [p for p in self._pieces if not _has_sound(p)]
            self._pieces, self._text = [p for p in self._pieces if _has_sound(p)], ""
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
            f"The guardrails of agent {ctx.agent.name!r}, its app or an agent above it cannot "
            f"check speech: this live run has no {' and no '.join(missing)}. Set it in RunConfig, "
            "or leave the guardrails out."
        )


def _is_incomplete(event: Event) -> bool:
    """Return whether an event is a part of the model's output that is completed later."""
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


def _event_text(event: Event) -> str:
    if event.output_transcription is not None:
        return event.output_transcription.text or ""
    return extract_text_from_content(event.content)


def _heard_content(event: Event) -> types.Content | None:
    """Return the user's transcribed speech once it is complete, or None."""
    heard = event.input_transcription
    if heard is None or not heard.text or event.partial:
        return None
    return types.Content(role="user", parts=[types.Part(text=heard.text)])
