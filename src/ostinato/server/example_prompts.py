"""Messages to begin with: those of the App, else those in the docstring of the agent's module."""

from __future__ import annotations

import inspect
import re

from .agents import ServedApp

_MOST = 6
_LONGEST = 300  # characters
_HEADING = re.compile(r"(?:try|examples?|example prompts)( it)?:\Z", re.IGNORECASE)


def list_examples(app: ServedApp) -> list[str]:
    """Return the messages that a page offers to a new user of an app."""
    found = app.runner.app.examples or read_examples(app.loaded.doc)
    return [text[:_LONGEST] for text in (one.strip() for one in found) if text][:_MOST]


def read_examples(doc: str) -> list[str]:
    """Return the entries of the list below `Try:`, `Examples:` or `Example prompts:`."""
    found: list[str] = []
    within = False
    for line in inspect.cleandoc(doc).splitlines():
        text = line.strip()
        if _HEADING.match(text):
            within = True
        elif within and text[:2] in ("- ", "* "):
            found.append(text[2:])
        elif within and text and found and line[:1] == " ":
            found[-1] += f" {text}"  # a wrapped line
        elif text:
            within = False
    return [text.strip().strip('`"') for text in found]
