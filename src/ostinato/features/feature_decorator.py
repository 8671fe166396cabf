"""Decorators that put a class or function behind a feature switch.
`ostinato.features` is the face.
"""

from collections.abc import Callable
from typing import TypeVar

from .feature_registry import FeatureName, FeatureStage, is_feature_enabled, register
from .markers import guard_with

T = TypeVar("T")


def _behind(feature_name: FeatureName, stage: FeatureStage) -> Callable[[T], T]:
    register(feature_name, stage)

    def check() -> None:
        if not is_feature_enabled(feature_name):
            raise RuntimeError(f"Feature {feature_name} is not enabled.")

    return lambda thing: guard_with(thing, check)


def working_in_progress(feature_name: FeatureName) -> Callable[[T], T]:
    """Put a class or function behind a switch that is off by default.

    Raises:
      ValueError: the feature is known with another stage.
      RuntimeError: when the class or function is used while the feature is off.
    """
    return _behind(feature_name, FeatureStage.WIP)


def experimental(feature_name: FeatureName) -> Callable[[T], T]:
    """Put a class or function behind a switch that is on by default.

    Raises:
      ValueError: the feature is known with another stage.
      RuntimeError: when the class or function is used while the feature is off.
    """
    return _behind(feature_name, FeatureStage.EXPERIMENTAL)


def stable(feature_name: FeatureName) -> Callable[[T], T]:
    """As `experimental`, for a finished feature: no warning is given.

    Raises:
      ValueError: the feature is known with another stage.
      RuntimeError: when the class or function is used while the feature is off.
    """
    return _behind(feature_name, FeatureStage.STABLE)
