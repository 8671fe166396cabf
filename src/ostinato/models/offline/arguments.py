"""Arguments of a tool call, found in the user's words and in earlier results."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, cast

from .request_view import RequestView, ToolView
from .schema import Param
from .words import find_stems, is_common, split_words, stem_word

_NAME = r"[A-ZÀ-Þ][\w'-]*(?: (?:(?:de|la|le|of|am|van|von) )?[A-ZÀ-Þ][\w'-]*){0,4}"
_NAMES = rf"({_NAME}(?:(?:, and|,| and) {_NAME}){{0,8}})"
_LOWER = r"((?:new |san |los |las )?[a-zß-ÿ]{3,})\b"
_DAY = (
    r"\b(?:\d{4}-\d\d-\d\d|(?:mon|tues|wednes|thurs|fri|satur|sun)day|today|tonight|tomorrow"
    r"|\d{1,2}\.? (?:jan|feb|mar|apr|may|june?|july?|aug|sep|oct|nov|dec)[a-z]{0,6})\b"
)
_CODE = r"(?<![\w-])(?:[A-Za-z]{1,8}-?\d[\w-]{0,30})(?![\w-])"
_NUMBER_WORDS = "zero one two three four five six seven eight nine ten eleven twelve".split()
_NUMBER = rf"(?<![\w.-])(?:\d[\d,]{{0,20}}(?:\.\d{{1,9}})?|{'|'.join(_NUMBER_WORDS)})(?![\w-])"
_MONEY = frozenset("amount price budget cost total sum max min".split())
_ORIGIN = frozenset("from origin departure source start".split())
_GOAL = frozenset("to destination arrival target goal".split())
_PLACE = _ORIGIN | _GOAL | frozenset("city location place town country".split())
_DATE = frozenset("date day when".split())
_ID = frozenset("id number reference code".split())
_PERSON = frozenset("name person customer passenger guest user".split())
_REASON = frozenset("reason purpose".split())
_WHOLE = frozenset("query question request message text prompt input".split())


def fill_arguments(view: RequestView, tool: ToolView) -> tuple[list[dict[str, Any]], list[Param]]:
    """Return the arguments of the calls of a tool, and the required parameters without a value.

    A message may name several places ("in Rome and Oslo"); each is a call of its own.
    """
    said = {param.name: _find(param, view.message) for param in tool.params}
    values = {
        param.name: said[param.name]
        or _find(param, view.asked)
        or (_find_in_results(param.name, view) if param.required else [])
        for param in tool.params
    }
    missing = [param for param in tool.params if param.required and not values[param.name]]
    if missing and view.asked and not any(said.values()) and missing[0].kind == "string":
        values[missing.pop(0).name] = [view.message.strip()]  # it answers the question as a whole
    args = {name: found[0] for name, found in values.items() if found}
    further = [{**args, name: one} for name, found in values.items() for one in found[1:]]
    return [args, *further], missing


def _find(param: Param, text: str) -> list[Any]:
    """Return the values of a parameter in a text; several only for a place."""
    words = set(split_words(param.name))
    if param.enum:
        places = [(_find_value(str(one), text), one) for one in param.enum]
        return [one for place, one in sorted(places, key=lambda p: p[0]) if place >= 0][:1]
    if param.kind in ("integer", "number"):
        return _find_number(param, words, text)
    if param.kind != "string":
        return []
    if words & _PLACE:
        return _find_places(words, text)
    if words & _DATE:
        return re.findall(_DAY, text, re.IGNORECASE)[:1]
    if words & _PERSON and not words & _ID:
        return re.findall(rf"\b(?:for|is|named|called|by) ({_NAME})", text)[:1]
    if words & _ID:
        return re.findall(_CODE, text)[:1] or re.findall(r"(?<![\w.])\d{2,12}\b", text)[:1]
    quoted = re.search(r"[\"“]([^\"”]{1,500})[\"”]", text)
    before = "for|because of" if words & _REASON else "about|regarding"
    found = quoted or re.search(rf"\b(?:{before}) (?:an? |the |my )?([^.,;:!?\n]+)", text)
    if found is not None:
        return [found[1].strip()]
    return [text.strip()] if words & _WHOLE and len(find_stems(text)) > 1 else []


def _find_value(value: str, text: str) -> int:
    match = re.search(rf"\b{re.escape(value.replace('_', ' '))}\b", text, re.IGNORECASE)
    return match.start() if match else -1


def _find_places(words: set[str], text: str) -> list[str]:
    before = "from" if words & _ORIGIN else "to" if words & _GOAL else "in|at|near|to|of"
    for found in re.finditer(rf"\b(?:{before}) {_NAMES}", text):
        return re.split(r", and |, | and ", found[1])
    for lower in re.finditer(rf"\b(?:{before}) {_LOWER}", text):
        if not is_common(lower[1]) and not re.fullmatch(_DAY, lower[1]):
            return [lower[1]]
    if words & (_ORIGIN | _GOAL):
        return []
    names = (one[0] for one in re.finditer(_NAME, text))
    return [one for one in names if not is_common(one)][:1]


def _find_number(param: Param, words: set[str], text: str) -> list[Any]:
    """Return the number that belongs to a parameter: an amount of money, or one near its name."""
    text = re.sub(_DAY, " ", text, flags=re.IGNORECASE)
    wanted, wants_money = set(map(stem_word, words)), bool(words & _MONEY)
    fitting: list[Any] = []
    others: list[Any] = []
    for found in re.finditer(_NUMBER, text, re.IGNORECASE):
        left, right = text[max(0, found.start() - 20) : found.start()], text[found.end() :][:20]
        is_money = left.rstrip().endswith(("$", "€", "£")) or bool(
            re.match(r" ?(?:[$€£]|dollars?\b|euros?\b|pounds?\b|EUR\b|USD\b)", right)
        )
        digits = found[0].lower().replace(",", "")
        value = _NUMBER_WORDS.index(digits) if digits in _NUMBER_WORDS else float(digits)
        value = int(value) if param.kind == "integer" or value == int(value) else value
        near = {*find_stems(left)[-1:], *find_stems(right)[:1]}
        if is_money if wants_money else near & wanted and not is_money:
            fitting.append(value)
        elif param.required and not is_money:
            others.append(value)
    return (fitting or others)[:1]


def _find_in_results(name: str, view: RequestView) -> list[Any]:
    """Return the value that results have under a name; empty if they have none or several."""
    found = list(_walk_values(name, [result.value for result in view.results], 0))
    return found[:1] if found[:1] * len(found) == found else []


def _walk_values(name: str, value: Any, depth: int) -> Iterator[Any]:
    if isinstance(value, dict) and depth < 4:
        for key, inner in cast(dict[str, Any], value).items():
            if key == name and isinstance(inner, str | int | float):
                yield inner
            yield from _walk_values(name, inner, depth + 1)
    elif isinstance(value, list) and depth < 4:
        for inner in cast(list[Any], value):
            yield from _walk_values(name, inner, depth + 1)
