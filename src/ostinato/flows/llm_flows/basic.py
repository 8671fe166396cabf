"""The basic processor: model name, generation settings and output schema (Spec 2 §3.3)."""

from __future__ import annotations

from ... import context, types
from ...context.invocation import InvocationContext
from ...models.llm_request import LlmRequest
from ._base_llm_processor import RequestEdit
from ._output_schema_processor import has_schema_support

_LIVE_FIELDS = frozenset(
    (
        "response_modalities",
        "speech_config",
        "output_audio_transcription",
        "input_audio_transcription",
        "realtime_input_config",
        "enable_affective_dialog",
        "proactivity",
        "session_resumption",
        "context_window_compression",
        "history_config",
        "avatar_config",
        "translation_config",
    )
)


class _BasicLlmRequestProcessor(RequestEdit):
    """Sets the model and copies the agent's settings, so that others may edit the request."""

    def edit(self, invocation_context: InvocationContext, llm_request: LlmRequest) -> None:
        """Fill in model and config."""
        agent = invocation_context.agent
        model = agent.canonical_model
        llm_request.model = model.model
        settings: types.GenerateContentConfig | None = agent.generate_content_config
        if settings is not None:
            llm_request.config = settings.model_copy(deep=True)
        if agent.output_schema is not None and agent.mode != "task" and has_schema_support(agent):
            llm_request.set_output_schema(agent.output_schema)
        _copy_live_settings(invocation_context, llm_request)


request_processor = _BasicLlmRequestProcessor()


def _copy_live_settings(ctx: InvocationContext, llm_request: LlmRequest) -> None:
    """Copy the live settings that the run sets; all of them if the run is live."""
    run = ctx.run_config
    if run is None:
        return
    live = run.streaming_mode is context.StreamingMode.BIDI
    for name in _LIVE_FIELDS if live else _LIVE_FIELDS & run.model_fields_set:
        setattr(llm_request.live_connect_config, name, getattr(run, name))
