"""Constants of the evaluation, under google-adk's names."""

from __future__ import annotations

MISSING_EVAL_DEPENDENCIES_MESSAGE = (
    "A package that this metric needs is not installed. Install it with: pip install "
    "'ostinato[vertex]'"
)

DEFAULT_LIVE_TIMEOUT_SECONDS = 300
