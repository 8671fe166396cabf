"""Environments: places where an agent runs commands and keeps files."""

from typing import TYPE_CHECKING

from ostinato._lazy import attach

if TYPE_CHECKING:
    from ostinato.environment._base_environment import BaseEnvironment as BaseEnvironment
    from ostinato.environment._base_environment import ExecutionResult as ExecutionResult
    from ostinato.environment._container_environment import (
        ContainerEnvironment as ContainerEnvironment,
    )
    from ostinato.environment._local_environment import LocalEnvironment as LocalEnvironment

__getattr__, __dir__, __all__ = attach(__name__)
