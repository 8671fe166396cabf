"""The one way to reach a dependency that loads at its first use: `need("sqlalchemy", extra="sql")`.

Adapters, stores and hosts call it on first use, so that importing Ostinato never imports an
integration.
"""

from __future__ import annotations

import importlib
from types import ModuleType

from .errors import MissingExtraError


def need(module: str, *, extra: str = "") -> ModuleType:
    """Import and return a module that is not loaded before its first use.

    Args:
      module: dotted name of the module.
      extra: the extra of this package that installs it; without one, the package itself does.

    Raises:
      MissingExtraError: the module's distribution is not installed; the message holds the install
        line.
    """
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or not (module == error.name or module.startswith(error.name + ".")):
            raise  # it is installed, and something that it imports is missing: that error says more
        package = f"'ostinato[{extra}]'" if extra else "ostinato"
        raise MissingExtraError(
            f"{module!r} is not installed. Install it with: pip install {package}"
        ) from error
