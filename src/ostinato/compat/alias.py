"""Puts the alias of google.adk in place and takes it away again.

Programs call `install` through `ostinato.compat`; the command line calls `arm`, which installs at
the first import of `google.adk` that nothing else answers.
"""

from __future__ import annotations

import sys
import threading
from dataclasses import dataclass, field

from ..context.run_config import RunConfig, set_process_defaults
from ..errors import DeveloperError
from .finder import ADK, AliasFinder
from .installed import child_folders, place_of_adk


@dataclass(slots=True)
class _Alias:
    """What `install` did, for `uninstall`."""

    finder: AliasFinder | None = None
    before: RunConfig | None = None
    folders: list[str] = field(default_factory=list[str])


_alias = _Alias()
_lock = threading.RLock()


def is_installed() -> bool:
    """Return True while `google.adk` is Ostinato in this process."""
    return _alias.before is not None


def install(*, force: bool = False) -> None:
    """Let `google.adk` and all below it mean `ostinato`, from now on and in the whole process.

    Call it before the first import of `google.adk`. Modules are the same objects under both names.
    Where google-genai is not installed, `google.genai` and `google.genai.types` are answered too,
    by `ostinato.types`. RunConfigs made from now on run plain `def` tools on the event loop and
    hand models copies of the history, as google-adk does. Child processes of `multiprocessing` get
    the alias too, through `sys.path`. A second call does nothing.

    Args:
      force: take the name although google-adk is installed in this environment.

    Raises:
      DeveloperError: google-adk is installed and `force` is not set, or has been imported already.
    """
    with _lock:
        if is_installed():
            return
        _refuse_a_loaded_adk()
        place = None if force else place_of_adk(_alias.finder)
        if place is not None:
            raise DeveloperError(
                f"google-adk is installed in this environment ({place}), so `google.adk` is that "
                "package. Uninstall it (pip uninstall google-adk), or take the name in this "
                "process with ostinato.compat.install(force=True)."
            )
        _put_in_place(_alias.finder or AliasFinder(), force)


def arm() -> None:
    """Install the alias at the first import of `google.adk` that google-adk does not answer."""
    with _lock:
        if _alias.finder is None:
            _alias.finder = AliasFinder(_install_if_free)
            sys.meta_path.insert(0, _alias.finder)


def _install_if_free() -> bool:
    with _lock:
        if not is_installed() and place_of_adk(_alias.finder) is None:
            install()
        return is_installed()


def uninstall() -> None:
    """Take the alias away: the names, the finder and the defaults; for tests."""
    with _lock:
        finder, before, folders = _alias.finder, _alias.before, _alias.folders
        _alias.finder, _alias.before, _alias.folders = None, None, []
        sys.path[:] = [folder for folder in sys.path if folder not in folders]
        if finder is not None:
            sys.meta_path.remove(finder)
            finder.forget()
        if before is not None:
            set_process_defaults(sync_tools=before.sync_tools, copy_contents=before.copy_contents)


def child_path() -> list[str]:
    """Return the folders to put in front of PYTHONPATH for a child that is another command.

    With them it finds `google.adk` here without calling `install`; an installed google-adk is
    passed over.
    """
    return child_folders(_alias.finder)


def _put_in_place(finder: AliasFinder, first: bool) -> None:
    _alias.before = RunConfig()
    _alias.finder = finder
    if finder not in sys.meta_path:
        sys.meta_path.insert(0, finder)
    _alias.folders = [folder for folder in child_path() if folder not in sys.path]
    at = 1 if first else len(sys.path)
    sys.path[at:at] = _alias.folders  # multiprocessing hands its children this list
    finder.answer()
    set_process_defaults(sync_tools="inline", copy_contents=True)


def _refuse_a_loaded_adk() -> None:
    loaded = sys.modules.get(ADK)
    if loaded is not None and loaded.__name__ == ADK:
        raise DeveloperError(
            f"google.adk has been imported already, from {loaded.__file__}. Call "
            "ostinato.compat.install() before the first import of google.adk."
        )
