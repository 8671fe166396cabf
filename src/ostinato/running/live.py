"""What is different for a live run: its settings, what of it is stored, and how one is ended whose
process is gone. The runner's parts use it.
"""

from __future__ import annotations

from .. import context
from ..context.invocation import InvocationContext
from ..errors import RunCancelledError
from ..events.event import Event
from ..sessions._durable_store import Lease

LIVE_DIGEST = "live"
"""Stands in a lease in place of the agent tree's digest. A live run is never gone on with, for what
was said is gone with its process: its calls are answered, and the next run begins with the log."""

PROCESS_GONE = RunCancelledError(
    "The process of the live run ended before this call did; its outcome is unknown."
)


def live_config(config: context.RunConfig | None) -> context.RunConfig:
    """Return a run's settings as a live run needs them: two ways, and with sound unless the caller
    says otherwise.
    """
    config = config or context.RunConfig()
    changes: dict[str, object] = {"streaming_mode": context.StreamingMode.BIDI}
    if config.response_modalities is None:
        changes["response_modalities"] = ["AUDIO"]
    return config.model_copy(update=changes)


def is_stored(ctx: InvocationContext, event: Event) -> bool:
    """Tell whether an event goes into the session (Spec 2 §7.3): partial ones never do, nor does
    the sound of live runs; files that hold it do.
    """
    if event.partial:
        return False
    if ctx.live_request_queue is None or event.content is None:
        return True
    return not any(
        part.inline_data is not None
        and (part.inline_data.mime_type or "").startswith(("audio/", "video/"))
        for part in event.content.parts or ()
    )


def was_live(lease: Lease) -> bool:
    """Tell whether a lease was that of a live run."""
    return lease.digest == LIVE_DIGEST
