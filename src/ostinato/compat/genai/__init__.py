"""Stands in for `google.genai` where google-genai is not installed: it has `types` and says about
everything else what to install. The alias's finder hands it out."""

from __future__ import annotations

from typing import NoReturn

from ostinato import types as types


def __getattr__(name: str) -> NoReturn:
    raise AttributeError(
        f"google.genai.{name} needs google-genai, which is not installed; without it only "
        "google.genai.types is there. Install it with: pip install google-genai"
    )
