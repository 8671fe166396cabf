"""AutoTracingPlugin: the name; spans for functions of a program are not built yet."""

from .._later_on import NotBuilt

DEFAULT_MAX_WALK_DEPTH = 30


class AutoTracingPlugin(
    NotBuilt,
    part="tracing",
    instead="use the spans that every run makes, and an OpenTelemetry SDK of your choice",
):
    """Wraps the functions of a program into spans."""
