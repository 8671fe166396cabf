"""Computer use: a model that sees a screen and acts on it with predefined functions."""

from typing import TYPE_CHECKING

from ostinato._lazy import attach

if TYPE_CHECKING:
    from ostinato.tools.computer_use.base_computer import BaseComputer as BaseComputer
    from ostinato.tools.computer_use.base_computer import ComputerEnvironment as ComputerEnvironment
    from ostinato.tools.computer_use.base_computer import ComputerState as ComputerState
    from ostinato.tools.computer_use.computer_use_tool import ComputerUseTool as ComputerUseTool
    from ostinato.tools.computer_use.computer_use_toolset import (
        ComputerUseToolset as ComputerUseToolset,
    )

__getattr__, __dir__, __all__ = attach(__name__)
