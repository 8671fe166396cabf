"""Installation and removal of the alias `google.adk`.

Programs call `install` through `ostinato.compat`. The command line calls `arm`, which installs the
alias at the first import of `google.adk` if google-adk is not installed.
"""

from __future__ import annotations

import sys
import threading
from dataclasses import dataclass, field

from .._adk_mode import set_follows_adk
from .._log import rename_loggers
from ..context.run_config import RunConfig, set_process_defaults
from ..errors import DeveloperError
from .finder import ADK, AliasFinder
from .genai_records import teach_loaded_records, unteach_records
from .installed import child_folders, place_of_adk


@dataclass(slots=True)
class _Alias:
    """State that `uninstall` needs to undo `install`."""

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
    by `ostinato.types`; where it is, its records equal Ostinato's of the same fields. RunConfigs
    made from now on run plain `def` tools on the event loop and hand models copies of the history,
    as google-adk does. Child processes of `multiprocessing` get the alias too, through `sys.path`.
    A second call does nothing.

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
    """Install the alias at the first import of `google.adk` if google-adk is not installed."""
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
    """Remove the alias: the names, the finder and the defaults; for tests."""
    with _lock:
        finder, before, folders = _alias.finder, _alias.before, _alias.folders
        _alias.finder, _alias.before, _alias.folders = None, None, []
        sys.path[:] = [folder for folder in sys.path if folder not in folders]
        if finder is not None:
            sys.meta_path.remove(finder)
            finder.forget()
            unteach_records()
        if before is not None:
            set_process_defaults(sync_tools=before.sync_tools, copy_contents=before.copy_contents)
            set_follows_adk(False)
            rename_loggers(False)


def child_path() -> list[str]:
    """Return the folders to put in front of PYTHONPATH for a child that is another command.

    With them the child finds `google.adk` here without calling `install`, even if google-adk is
    installed.
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
    teach_loaded_records()
    set_process_defaults(sync_tools="inline", copy_contents=True)
    set_follows_adk(True)
    rename_loggers(True)


def _refuse_a_loaded_adk() -> None:
    loaded = sys.modules.get(ADK)
    if loaded is not None and loaded.__name__ == ADK:
        raise DeveloperError(
            f"google.adk has been imported already, from {loaded.__file__}. Call "
            "ostinato.compat.install() before the first import of google.adk."
        )
