"""What is said when a run fails: one paragraph with the error, where it comes from, what to do."""

from __future__ import annotations

import traceback
from pathlib import Path

from ..errors import ModelBehaviorError, ModelUnavailableError
from ..hosting.load_failure import message_of, place_of
from .shorten import safe

_REMEDIES: tuple[tuple[type[Exception], str], ...] = (
    (ModelUnavailableError, ""),
    (ModelBehaviorError, "Ask again, or give the agent a clearer instruction or another model."),
)


def explain_run(error: Exception, folder: Path, verbose: bool) -> str:
    """Return the text for a run that raised.

    Args:
      error: what it raised.
      folder: the agent's folder, to find the place in the user's code.
      verbose: put the traceback in front.
    """
    text = f"{type(error).__name__}: {message_of(error)}".rstrip(": ")
    pieces = [text if text.endswith((".", "!", "?")) else f"{text}."]
    pieces += [f"{note[:1].upper()}{note[1:]}".rstrip(".") + "." for note in _notes(error)]
    where = place_of(error, folder).rstrip(", ")
    if ", line " in where:
        pieces.append(f"Raised at {where}.")
    for kind, remedy in _REMEDIES:
        if isinstance(error, kind) and remedy:
            pieces.append(remedy)
    if not verbose:
        pieces.append("--verbose shows the traceback.")
    paragraph = safe(" ".join(pieces))
    if not verbose:
        return paragraph
    return safe("".join(traceback.format_exception(error))) + paragraph


def _notes(error: BaseException) -> list[str]:
    return [str(note) for note in getattr(error, "__notes__", ())]
