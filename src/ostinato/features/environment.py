"""Switches that programs for ADK read from the environment. `utils.env_utils` and
`utils.variant_utils` are the public faces; the feature registry asks here too.
"""

import os
from enum import Enum


class GoogleLLMVariant(Enum):
    """The two back ends that serve Google's models."""

    VERTEX_AI = "VERTEX_AI"
    GEMINI_API = "GEMINI_API"


def is_env_enabled(env_var_name: str, default: str = "0") -> bool:
    """True if the variable, or `default` where it is not set, is `1` or `true` in any case."""
    return os.environ.get(env_var_name, default).lower() in ("1", "true")


def is_switch_on(env_var_name: str) -> bool:
    """True if the variable is `1`, `true`, `yes` or `on` in any case."""
    return os.environ.get(env_var_name, "").strip().lower() in ("1", "true", "yes", "on")


def find_variable(*names: str) -> tuple[str, str]:
    """Return the first of these variables that is not empty and its value, or two empty strings."""
    return next(((name, os.environ[name]) for name in names if os.environ.get(name)), ("", ""))


def is_enterprise_mode_enabled() -> bool:
    """True if the environment asks for Google Cloud's back end instead of the Gemini API."""
    names = ("GOOGLE_GENAI_USE_ENTERPRISE", "GOOGLE_GENAI_USE_VERTEXAI")
    return any(is_env_enabled(name) for name in names)


def get_google_llm_variant() -> GoogleLLMVariant:
    """Return the back end that the environment asks for."""
    if is_enterprise_mode_enabled():
        return GoogleLLMVariant.VERTEX_AI
    return GoogleLLMVariant.GEMINI_API
