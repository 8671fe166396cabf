"""Compatibility with programs written for google-adk.

Call `ostinato.compat.install()` before their first import, or run them unchanged with
`python -m ostinato.compat program.py`.
"""

from typing import TYPE_CHECKING

from ostinato._lazy import attach

if TYPE_CHECKING:
    from ostinato.compat.alias import arm as arm
    from ostinato.compat.alias import child_path as child_path
    from ostinato.compat.alias import install as install
    from ostinato.compat.alias import is_installed as is_installed
    from ostinato.compat.alias import uninstall as uninstall

__getattr__, __dir__, __all__ = attach(__name__)
