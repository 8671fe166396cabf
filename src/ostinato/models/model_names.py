"""What the name of a model says. `utils.model_name_utils` and `utils.output_schema_utils` are the
public faces.
"""

import re

from ..errors import ModelUnavailableError
from ..features.environment import is_env_enabled
from .base_llm import BaseLlm
from .registry import LLMRegistry

_PATHS = (
    re.compile(r"projects/[^/]+/locations/[^/]+/publishers/[^/]+/models/(.+)"),
    re.compile(r"apigee/(?:[^/]+/){0,2}([^/]+)"),
    re.compile(r"models/(.+)"),
)

_EARLY = re.compile(r"gemini-[a-z0-9_]+(?:-[a-z0-9_]+)*-early-exp\d*")


def extract_model_name(model_string: str) -> str:
    """Return the bare name of a model, without the path of Vertex AI, Apigee or `models/`."""
    for path in _PATHS:
        if match := path.fullmatch(model_string):
            return match[1]
    return model_string


def is_gemini_model(model_string: str | None) -> bool:
    """True for a name, or the path of one, that begins with `gemini-`."""
    return extract_model_name(model_string or "").startswith("gemini-")


def is_gemini_1_model(model_string: str | None) -> bool:
    """True for Gemini 1.x."""
    return bool(re.match(r"gemini-1\.\d", extract_model_name(model_string or "")))


def is_gemini_eap_or_2_or_above(model_string: str | None) -> bool:
    """True for Gemini with a version of 2 or more in its name, and for early experimental names."""
    name = extract_model_name(model_string or "")
    if _EARLY.fullmatch(name):
        return True
    match = re.match(r"gemini-(\d+)(?:\.\d+)*(?:-|$)", name)
    return bool(match) and int(match[1]) >= 2


def is_new_gemini(model_string: str | None) -> bool:
    """True for Gemini 2 or later: by its version, an early experimental name or an alias such as
    gemini-flash-latest, which has no version and is always a newer one.
    """
    if is_gemini_eap_or_2_or_above(model_string):
        return True
    return is_gemini_model(model_string) and (model_string or "").endswith("-latest")


def is_gemini_3_1_flash_live(model_string: str | None) -> bool:
    """True for the live model of Gemini 3.1 Flash."""
    return extract_model_name(model_string or "").startswith("gemini-3.1-flash-live")


def is_gemini_3_5_live_translate(model_string: str | None) -> bool:
    """True for the translating live model of Gemini 3.5."""
    return extract_model_name(model_string or "").startswith("gemini-3.5-live-translate")


def is_gemini_model_id_check_disabled() -> bool:
    """True if the environment says that names of models are not to be checked."""
    return is_env_enabled("ADK_DISABLE_GEMINI_MODEL_ID_CHECK")


def can_use_output_schema_with_tools(model: str | BaseLlm) -> bool:
    """Whether a request to the model may carry a response schema and tools together (Spec 2 §3.3).

    False for a name that no class serves.
    """
    try:
        llm = LLMRegistry.new_llm(model) if isinstance(model, str) else model
    except ModelUnavailableError:
        return False
    return llm.supports_output_schema_with_tools
