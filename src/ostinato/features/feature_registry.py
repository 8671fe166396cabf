"""ADK's feature switches: their names, and whether each is on. `ostinato.features` is the face.

Programs may ask and set them; nothing in Ostinato itself depends on one.
"""

import warnings
from collections.abc import Generator
from contextlib import contextmanager
from enum import Enum

from .environment import is_env_enabled


class FeatureName(str, Enum):  # noqa: UP042 - its text is `FeatureName.X`, as in ADK
    """The features that ADK 2.3.0 guards by a switch."""

    AGENT_CONFIG = "AGENT_CONFIG"
    AGENT_STATE = "AGENT_STATE"
    AUTHENTICATED_FUNCTION_TOOL = "AUTHENTICATED_FUNCTION_TOOL"
    BASE_AUTHENTICATED_TOOL = "BASE_AUTHENTICATED_TOOL"
    BIG_QUERY_TOOLSET = "BIG_QUERY_TOOLSET"
    BIG_QUERY_TOOL_CONFIG = "BIG_QUERY_TOOL_CONFIG"
    BIGTABLE_TOOL_SETTINGS = "BIGTABLE_TOOL_SETTINGS"
    BIGTABLE_TOOLSET = "BIGTABLE_TOOLSET"
    COMPUTER_USE = "COMPUTER_USE"
    DATA_AGENT_TOOL_CONFIG = "DATA_AGENT_TOOL_CONFIG"
    DATA_AGENT_TOOLSET = "DATA_AGENT_TOOLSET"
    ENVIRONMENT_SIMULATION = "ENVIRONMENT_SIMULATION"
    GCS_ADMIN_TOOLSET = "GCS_ADMIN_TOOLSET"
    GCS_TOOL_SETTINGS = "GCS_TOOL_SETTINGS"
    GCS_TOOLSET = "GCS_TOOLSET"
    GOOGLE_CREDENTIALS_CONFIG = "GOOGLE_CREDENTIALS_CONFIG"
    GOOGLE_TOOL = "GOOGLE_TOOL"
    JSON_SCHEMA_FOR_FUNC_DECL = "JSON_SCHEMA_FOR_FUNC_DECL"
    _MCP_GRACEFUL_ERROR_HANDLING = "MCP_GRACEFUL_ERROR_HANDLING"
    PROGRESSIVE_SSE_STREAMING = "PROGRESSIVE_SSE_STREAMING"
    PUBSUB_TOOL_CONFIG = "PUBSUB_TOOL_CONFIG"
    PUBSUB_TOOLSET = "PUBSUB_TOOLSET"
    SKILL_TOOLSET = "SKILL_TOOLSET"
    SPANNER_TOOLSET = "SPANNER_TOOLSET"
    SPANNER_ADMIN_TOOLSET = "SPANNER_ADMIN_TOOLSET"
    SPANNER_TOOL_SETTINGS = "SPANNER_TOOL_SETTINGS"
    SPANNER_VECTOR_STORE = "SPANNER_VECTOR_STORE"
    TOOL_CONFIG = "TOOL_CONFIG"
    TOOL_CONFIRMATION = "TOOL_CONFIRMATION"
    PLUGGABLE_AUTH = "PLUGGABLE_AUTH"
    SNAKE_CASE_SKILL_NAME = "SNAKE_CASE_SKILL_NAME"
    IN_MEMORY_SESSION_SERVICE_LIGHT_COPY = "IN_MEMORY_SESSION_SERVICE_LIGHT_COPY"


class FeatureStage(Enum):
    """How finished a feature is."""

    WIP = "wip"
    EXPERIMENTAL = "experimental"
    STABLE = "stable"


_STAGES: dict[str, FeatureStage] = {
    **{feature.value: FeatureStage.EXPERIMENTAL for feature in FeatureName},
    "BIG_QUERY_TOOLSET": FeatureStage.STABLE,
    "BIG_QUERY_TOOL_CONFIG": FeatureStage.STABLE,
    "SKILL_TOOLSET": FeatureStage.STABLE,
    "IN_MEMORY_SESSION_SERVICE_LIGHT_COPY": FeatureStage.WIP,
}
_OFF = {"SNAKE_CASE_SKILL_NAME", "IN_MEMORY_SESSION_SERVICE_LIGHT_COPY"}
_overrides: dict[str, bool] = {}
_warned: set[str] = set()


def register(feature_name: FeatureName | str, stage: FeatureStage) -> None:
    """Note the stage of a feature; a new one is on, unless it is work in progress.

    Raises:
      ValueError: the feature is known with another stage.
    """
    name = _text(feature_name)
    known = _STAGES.get(name)
    if known is None:
        _STAGES[name] = stage
        if stage is FeatureStage.WIP:
            _OFF.add(name)
    elif known is not stage:
        raise ValueError(
            f"Feature {name} is {known.value}, and cannot be marked as {stage.value} as well."
        )


def is_feature_enabled(feature_name: FeatureName | str) -> bool:
    """Return whether a feature is on.

    An override counts first, then the variables ADK_ENABLE_<name> and ADK_DISABLE_<name>, then the
    feature's own default. The first time an unfinished feature is found on, a UserWarning says so.

    Raises:
      ValueError: there is no such feature.
    """
    name = _check_name(feature_name)
    enabled = _overrides.get(name)
    if enabled is None:
        enabled = is_env_enabled(f"ADK_ENABLE_{name}") or (
            name not in _OFF and not is_env_enabled(f"ADK_DISABLE_{name}")
        )
    stage = _STAGES[name]
    if enabled and stage is not FeatureStage.STABLE and name not in _warned:
        _warned.add(name)
        kind = stage.name
        warnings.warn(f"[{kind}] feature FeatureName.{name} is enabled.", stacklevel=2)
    return enabled


def override_feature_enabled(feature_name: FeatureName | str, enabled: bool) -> None:
    """Switch a feature on or off for this process, whatever the environment says.

    Raises:
      ValueError: there is no such feature.
    """
    _overrides[_check_name(feature_name)] = enabled


@contextmanager
def temporary_feature_override(
    feature_name: FeatureName | str, enabled: bool
) -> Generator[None, None, None]:
    """Switch a feature on or off for a `with` block.

    Raises:
      ValueError: there is no such feature.
    """
    name = _check_name(feature_name)
    before = _overrides.get(name)
    _overrides[name] = enabled
    try:
        yield
    finally:
        if before is None:
            _overrides.pop(name, None)
        else:
            _overrides[name] = before


def _text(feature_name: FeatureName | str) -> str:
    return feature_name.value if isinstance(feature_name, FeatureName) else feature_name


def _check_name(feature_name: FeatureName | str) -> str:
    name = _text(feature_name)
    if name not in _STAGES:
        raise ValueError(f"There is no feature {name!r}; FeatureName lists them.")
    return name
