"""Answers of the offline model: sentences made of results, greetings and questions."""

from __future__ import annotations

import re
from typing import Any, cast

from .matching import list_tools
from .request_view import RequestView, ToolResult, ToolView
from .schema import Param
from .words import speak_name, split_words

_TEXTS = ("result", "report", "answer", "message", "summary", "text")
_MOST_ROWS = 6
_GREETING = frozenset("hello hi hey morning evening afternoon welcome good day there".split())
_THANKS = frozenset("thanks thank you very much".split())


def greet(view: RequestView) -> str:
    """Return the answer to a greeting or an empty message; empty for any other message."""
    words = set(split_words(view.message))
    if not words:
        return f"I got no text to work with. {_offer_help(view)}"
    if words <= _GREETING:
        return f"Hello! {_offer_help(view)}"
    return "You're welcome." if words <= _THANKS else ""


def ask_for(tool: ToolView, missing: list[Param]) -> str:
    """Return a question for missing arguments."""
    names = [
        f"the {speak_name(one.name)}"
        + (f" (one of {', '.join(map(str, one.enum))})" if one.enum else "")
        for one in missing
    ]
    listed = " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)
    return f"To {speak_name(tool.name)} I still need {listed}. What should I use?"


def admit_defeat(view: RequestView) -> str:
    """Return the answer to a message that no tool or agent fits."""
    message = " ".join(view.message.split())
    short = message if len(message) <= 60 else message[:57] + "..."
    if list_tools(view) or view.agents:
        return f"I found nothing among my tools that fits “{short}”. {_offer_help(view)}"
    return (
        f"As an offline stand-in without tools I have no answer to “{short}”; "
        "a real model would be needed for that."
    )


def tell_results(view: RequestView) -> str:
    """Return the results of this turn as sentences, without those that an agent has told."""
    results = [one for one in view.results if one.author not in view.heard]
    return " ".join(dict.fromkeys(map(_tell_result, results)))


def tell_heard(view: RequestView) -> str:
    """Return the texts of the other agents, joined."""
    return "\n\n".join(dict.fromkeys(filter(None, view.heard.values())))


def _offer_help(view: RequestView) -> str:
    offers = [*list_tools(view), *(one for one in view.agents if one.name != view.parent)]
    texts = [re.split(r"(?<=[.!?])\s", one.about)[0].rstrip(".") or one.name for one in offers]
    return f"I can help with: {'; '.join(texts)}." if texts else "What can I do for you?"


def _tell_result(result: ToolResult) -> str:
    name = speak_name(result.tool).capitalize()
    value: Any = result.value
    fields: dict[str, Any] = {**value} if isinstance(value, dict) else {"result": value}
    failure = fields.get("error") or fields.get("error_message")
    if failure:
        return _end_sentence(f"{name} did not work: {str(failure).splitlines()[0]}")
    if fields.get("status") in ("success", "ok"):
        del fields["status"]
    if len(fields) != 1:
        return _end_sentence(f"{name}: {_plain(fields)}") if fields else f"{name}: done."
    ((key, only),) = fields.items()
    if only in (None, "", []):
        return f"{name}: nothing found." if only == [] else f"{name}: done."
    if isinstance(only, list):
        records = cast(list[Any], only)
        noun = "results" if key == "result" else speak_name(key)
        noun = noun.removesuffix("s") if len(records) == 1 else noun
        rows = [f"({n}) {_plain(one)}" for n, one in enumerate(records[:_MOST_ROWS], 1)]
        return _end_sentence(f"Found {len(records)} {noun}: {'; '.join(rows)}")
    if isinstance(only, str) and key in _TEXTS:
        return _end_sentence(only)
    return _end_sentence(f"{name}: {_plain(only if key == 'result' else fields)}")


def _plain(value: Any) -> str:
    if isinstance(value, dict):
        fields = cast(dict[str, Any], value)
        return ", ".join(f"{speak_name(key)} {_plain(inner)}" for key, inner in fields.items())
    if isinstance(value, list):
        return ", ".join(map(_plain, cast(list[Any], value))) or "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "unknown" if value is None else str(value)


def _end_sentence(text: str) -> str:
    text = text.strip()
    return text if not text or text[-1] in ".!?…" else f"{text}."
