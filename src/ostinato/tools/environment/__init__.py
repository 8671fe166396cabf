"""Tools over an environment: run commands, read, edit and write files."""

from typing import TYPE_CHECKING

from ostinato._lazy import attach

if TYPE_CHECKING:
    from ostinato.tools.environment._environment_toolset import (
        EnvironmentToolset as EnvironmentToolset,
    )

__getattr__, __dir__, __all__ = attach(__name__)
